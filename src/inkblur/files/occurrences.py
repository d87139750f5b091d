"""How many times a text has occurred so far in a file, at sixteen bytes a distinct text."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Run = tuple[NDArray[np.uint64], NDArray[np.int64]]  # sorted hashes, and how often each occurred


class Occurrences:
    """Counts texts by a 64-bit hash, in sorted runs that are merged when they grow alike.

    Two texts that hash alike (3 in a million files of ten million texts) are counted together: the
    second then gets a higher number than it needs, which changes its noise and nothing else.
    """

    def __init__(self) -> None:
        self._runs: list[Run] = []

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
