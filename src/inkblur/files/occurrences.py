"""How many times a text has occurred so far in a file, at sixteen bytes a distinct text."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import cycle

import numpy as np
from numpy.typing import NDArray

Run = tuple[NDArray[np.uint64], NDArray[np.int64]]  # sorted hashes, and how often each occurred


class Occurrences:
    """Counts texts by a 64-bit hash, in sorted runs that are merged when they grow alike.

    Two texts that hash alike (3 in a million files of ten million texts) are counted together: the
    second then gets a higher number than it needs, which changes its noise and nothing else.
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
        numbers = self.number(marks)
        # Blank texts are many, and say nothing.
        again = (text for text, n in zip(texts, numbers, strict=True) if n > 1)
        self.repeated += sum(bool(text.strip()) for text in again)
        return [f"{mark.hex()}.{n}" for mark, n in zip(marks, numbers, strict=True)]

    def number(self, digests: Sequence[bytes]) -> list[int]:
        """Which occurrence each text is, from 1 on.

        >>> counted = Occurrences()
        >>> one, two = digest("a"), digest("b")
        >>> counted.number([one, two, one]), counted.number([one])
        ([1, 1, 2], [3])
        """
        if not digests:
            return []
        hashes = np.frombuffer(b"".join(digest[:8] for digest in digests), dtype="<u8")
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
