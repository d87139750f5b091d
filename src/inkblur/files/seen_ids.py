"""Tell whether an id was seen before, at eight bytes an id."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class UniqueIds:
    """All ids so far, as sorted runs of 64-bit hashes that are merged when they grow alike.

    Two different ids hash alike with a chance of about 3 in a million among ten million ids; a
    false alarm stops the run, it never lets a repeat through.
    """

    def __init__(self) -> None:
        self._runs: list[NDArray[np.int64]] = []

    def add(self, ids: Sequence[str]) -> int | None:
        """Remember the ids; the position of the first that repeats an earlier one, if any.

        >>> seen = UniqueIds()
        >>> seen.add(["a", "b"]), seen.add(["c", "a"])
        (None, 1)
        """
        hashes = np.fromiter((hash(name) for name in ids), np.int64, len(ids))
        fresh, first = np.unique(hashes, return_index=True)
        repeated = np.ones(len(ids), bool)
        repeated[first] = False  # what is left is a repeat within this batch
        for run in self._runs:
            places = np.minimum(np.searchsorted(run, hashes), len(run) - 1)
            repeated |= run[places] == hashes
        if repeated.any():
            return int(np.argmax(repeated))
        if len(fresh):
            self._runs.append(fresh)
        while len(self._runs) > 1 and 2 * len(self._runs[-1]) >= len(self._runs[-2]):
            last = self._runs.pop()
            self._runs[-1] = np.sort(np.concatenate((self._runs[-1], last)), kind="stable")
        return None
