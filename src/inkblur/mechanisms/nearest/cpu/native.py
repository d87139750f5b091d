"""Exact nearest words in C++: an int8 scan of the whole vocabulary with a proved margin.

Words and queries are rounded to 8-bit integers, so one instruction multiplies and adds 64 pairs.
The rounding moves a score by at most a margin (Cauchy-Schwarz on what was rounded off; the formula
opens `_scan.cpp`), so the scan keeps every word that could still be the answer, about three of
28,596. Those get float64 distances, and `canonical.decide` chooses where float64 leaves a doubt.

The extension is optional: `built()` says whether it is there. It holds several paths (AVX-512
VNNI, AVX2, portable C++) and uses those that the processor announces *and* that pass a self-test in
which a fault is caught. All paths, thread counts and batch sizes give the same ids.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from inkblur.blas import processors
from inkblur.mechanisms.nearest.canonical import (
    checked_queries,
    checked_vectors,
    decide,
    exhaustive,
    shaped_queries,
)
from inkblur.types import Ids, counted

PATH_VARIABLE = "INKBLUR_SCAN_PATH"  # forces a path, for tests and for comparing
_UNDECIDED, _FAR_AWAY = -1, -2  # what the extension writes instead of an id


def _extension() -> Any:
    try:
        return importlib.import_module("inkblur.mechanisms.nearest.cpu._scan")
    except ImportError:
        return None


def built() -> bool:
    """Whether the extension was built and can be loaded."""
    return _extension() is not None


def paths() -> tuple[str, ...]:
    """The paths that run on this machine, fastest first; none where there is no extension."""
    scan = _extension()
    return tuple(scan.paths()) if scan is not None else ()


def isa() -> str:
    """The path a new `Native` takes, or "none"."""
    found = paths()
    return os.environ.get(PATH_VARIABLE) or (found[0] if found else "none")


def available() -> bool:
    """Whether to search with it: NumPy beats portable C++, which must be forced."""
    return built() and (isa() != "portable" or PATH_VARIABLE in os.environ)


class NativeScan:
    """The C++ backend. Threads are its own and end with each call; BLAS is not involved."""

    def __init__(self, *, threads: int | None = None, path: str | None = None) -> None:
        """threads: at least 1, by default one for each processor. path: one of `paths()`."""
        self._scan = _extension()
        if self._scan is None:
            raise RuntimeError(
                "inkblur.mechanisms.nearest.cpu._scan is not built here: use Reference"
            )
        self.threads = processors() if threads is None else threads
        if self.threads < 1:
            raise ValueError(f"threads is {threads}, expected at least 1")
        self.path = path or isa()
        if self.path not in paths():
            raise ValueError(f"path {self.path!r} does not run here, these do: {paths()}")

    def describe(self) -> str:
        """One phrase for `--version` and reports."""
        threads = counted(self.threads, "thread")
        return f"native int8 scan ({self.path}, {threads})"

    def put(self, vectors: npt.ArrayLike) -> None:
        """Take the vocabulary, float32 (V, n). Keeps it, and a byte for each number beside it."""
        self._vectors = checked_vectors(vectors)
        self._index = self._scan.Index(self._vectors, self.path)

    def nearest(self, queries: npt.ArrayLike) -> Ids:
        """The id of the nearest word of each query, float64 (B, n) -> int64 (B,)."""
        points = shaped_queries(queries, self._vectors.shape[1])
        ids: Ids
        threads = min(self.threads, len(points))  # C++ counts them in 32 bits
        ids, candidates, offsets = self._index.nearest(points, threads)
        if ids.min(initial=0) < 0:
            far = np.flatnonzero(ids == _FAR_AWAY)
            if len(far):
                checked_queries(points, points.shape[1])  # a NaN is among the far ones
                ids[far] = exhaustive(self._vectors, points[far])
            unsure = np.flatnonzero(ids == _UNDECIDED)
            if len(unsure):
                ids[unsure] = decide(self._vectors, points[unsure], candidates, offsets)
        return ids
