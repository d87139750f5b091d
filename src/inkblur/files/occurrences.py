"""How many times a text or an id has occurred so far, at sixteen bytes a distinct one."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import cycle

import numpy as np
from numpy.typing import NDArray

Run = tuple[NDArray[np.uint64], NDArray[np.int64]]  # sorted hashes, and how often each occurred


class Occurrences:
    """Counts by 64-bit hashes, in sorted runs that are merged when they grow alike.

    Two texts that hash alike (3 in a million files of ten million texts) are counted together: the
    second then gets a higher number than it needs, which changes its noise and nothing else. Of two
    ids, the second is taken for a repeat, which stops the run.
    """

    def __init__(self) -> None:
        self.repeated = 0  # texts given to `ids` that had occurred before, blank ones aside
        self._runs: list[Run] = []

    def ids(self, texts: Sequence[str], columns: Sequence[str] = ()) -> list[str]:
        """What names records that have no id: the text's hash, and which occurrence of it this is.
        So equal texts draw apart, and a text that is added or removed changes no other's id.

        Where rows have texts of several `columns`, equal texts of two of them are told apart.
        """
        named: Sequence[str | None] = columns if len(columns) > 1 else (None,)
        marks = [digest(*pair) for pair in zip(texts, cycle(named), strict=False)]
        numbers = self.number(np.frombuffer(b"".join(mark[:8] for mark in marks), dtype="<u8"))
        # Blank texts are many, and say nothing.
        again = (text for text, n in zip(texts, numbers, strict=True) if n > 1)
        self.repeated += sum(bool(text.strip()) for text in again)
        return [f"{mark.hex()}.{n}" for mark, n in zip(marks, numbers, strict=True)]

    def repeat(self, ids: Sequence[str]) -> int | None:
        """The position of the first id that was given before, if any.

        >>> seen = Occurrences()
        >>> seen.repeat(["a", "b"]), seen.repeat(["c", "a"])
        (None, 1)
        """
        numbers = self.number(np.array([hash(name) for name in ids], dtype=np.int64).view("<u8"))
        return next((place for place, number in enumerate(numbers) if number > 1), None)

    def number(self, hashes: NDArray[np.uint64]) -> list[int]:
        """Which occurrence each of these is, from 1 on.

        >>> counted = Occurrences()
        >>> counted.number(np.uint64([5, 7, 5])), counted.number(np.uint64([5]))
        ([1, 1, 2], [3])
        """
        if not len(hashes):
            return []
        fresh, which, counts = np.unique(hashes, return_inverse=True, return_counts=True)
        before = np.zeros(len(fresh), dtype=np.int64)
        for known, times in self._runs:
            places = np.minimum(np.searchsorted(known, fresh), len(known) - 1)
            before += np.where(known[places] == fresh, times[places], 0)
        order = np.argsort(which, kind="stable")
        first = np.cumsum(counts) - counts  # where each hash begins in that order
        rank = np.empty(len(hashes), dtype=np.int64)
        rank[order] = np.arange(len(hashes)) - np.repeat(first, counts)
        numbers = before[which] + rank + 1
        self._runs.append((fresh, counts.astype(np.int64)))
        while len(self._runs) > 1 and 2 * len(self._runs[-1][0]) >= len(self._runs[-2][0]):
            self._runs[-2:] = [_merged(self._runs[-2], self._runs[-1])]
        found: list[int] = numbers.tolist()
        return found


def digest(text: str, column: str | None = None) -> bytes:
    """What the default id is made of; `column` tells equal texts of several columns apart."""
    named = "" if column is None else f"{len(column)}:{column}"
    return hashlib.blake2b((named + text).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _merged(left: Run, right: Run) -> Run:
    hashes, which = np.unique(np.concatenate((left[0], right[0])), return_inverse=True)
    times = np.zeros(len(hashes), dtype=np.int64)
    np.add.at(times, which, np.concatenate((left[1], right[1])))
    return hashes, times
