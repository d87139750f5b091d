"""Nearest words with NumPy alone: what the engine is raced against, and what it is checked by."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from inkblur.evaluation import Array, Ids

NearestSearch = Callable[[Array], Ids]
_WORDS = 1 << 15  # vocabulary words that the brute force compares at a time


def numpy_product(vectors: NDArray[np.float32], batch: int) -> NearestSearch:
    """The usual way: one float32 product into a preallocated matrix, half norms, argmax."""
    half = (np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64) / 2).astype(np.float32)
    scores = np.empty((batch, len(vectors)), dtype=np.float32)

    def search(queries: Array) -> Ids:
        out = np.empty(len(queries), dtype=np.int64)
        for start in range(0, len(queries), batch):
            part = queries[start : start + batch].astype(np.float32)
            rows = scores[: len(part)]
            np.matmul(part, vectors.T, out=rows)
            np.subtract(rows, half, out=rows)
            np.argmax(rows, axis=1, out=out[start : start + batch])
        return out

    return search


def numpy_tiled(vectors: NDArray[np.float32]) -> NearestSearch:
    """The same in tiles of 1024 queries x 2048 words, half norms as one more dimension."""
    half = (np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64) / 2).astype(np.float32)
    longer = np.concatenate([vectors, -half[:, None]], axis=1)
    scores = np.empty((1024, 2048), dtype=np.float32)

    def search(queries: Array) -> Ids:
        points = np.ones((len(queries), longer.shape[1]), dtype=np.float32)
        points[:, :-1] = queries
        out = np.empty(len(queries), dtype=np.int64)
        for first in range(0, len(points), 1024):
            part = points[first : first + 1024]
            rows = np.arange(len(part))
            best = np.full(len(part), -np.inf, dtype=np.float32)
            ids = np.zeros(len(part), dtype=np.int64)
            for start in range(0, len(longer), 2048):
                words = longer[start : start + 2048]
                tile = scores.ravel()[: len(part) * len(words)].reshape(len(part), len(words))
                np.matmul(part, words.T, out=tile)
                top = tile.argmax(axis=1)
                value = tile[rows, top]
                better = value > best
                best[better] = value[better]
                ids[better] = top[better] + start
            out[first : first + 1024] = ids
        return out

    return search


def brute_force(vectors: NDArray[np.float32], queries: Array) -> Ids:
    """The largest float64 product less half the squared length; of equal ones the first."""
    best = np.full(len(queries), -np.inf)
    ids = np.zeros(len(queries), dtype=np.int64)
    for start in range(0, len(vectors), _WORDS):
        wide = vectors[start : start + _WORDS].astype(np.float64)
        scores = queries @ wide.T
        scores -= np.einsum("ij,ij->i", wide, wide) / 2
        top = np.argmax(scores, axis=1)
        value = np.take_along_axis(scores, top[:, None], axis=1)[:, 0]
        better = value > best
        best[better] = value[better]
        ids[better] = top[better] + start
    return ids
