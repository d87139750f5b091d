"""The one definition of "nearest word", and the last judge of every backend.

The nearest word of a query q is the id i that minimizes the float64 value

    C_i = ((vectors[i].astype(float64) - q) ** 2).sum()

and, where several ids share the smallest value, the lowest of them. C_i is what NumPy computes for
one contiguous row: a fixed order of additions, no fused multiply-add, hence the same bits on every
machine. A backend may be as clever as it likes about finding *candidates*; when more than one is
left it asks `decide`, so all backends agree bit for bit, whatever their batches and threads.

How far C_i lies from the true squared distance D_i. Each difference, each square and each of the
n - 1 additions of non-negative terms rounds once, with relative error at most u = 2**-53, so

    |C_i - D_i| <= g D_i,    g = (n + 4) u    (n + 2 roundings, the rest pays for second order)

whatever the order of summation. So the minimizer of C satisfies D_i <= (1 + g)/(1 - g) min D: it
need not be the true nearest word, and a backend that prunes must leave room for that. In terms of
the score T_i = (|q|^2 - D_i)/2, whose maximum is wanted, the room is `canonical_slack`, once for
the winner and once for its rival.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from inkblur.types import Ids

Float32s = npt.NDArray[np.float32]
Float64s = npt.NDArray[np.float64]


UNIT_64 = 2.0**-53  # half an ulp of float64: the largest relative error of one rounding
FAR = 2.0**36  # queries further out than this many vocabulary radii are compared with every word
_PAIR_VALUES = 1 << 20  # float64 numbers held at a time while pairs are compared (8 MB)


def checked_vectors(vectors: npt.ArrayLike) -> Float32s:
    """The vocabulary as contiguous float32 (V, n), not copied where it already is that."""
    table = np.ascontiguousarray(vectors, dtype=np.float32)
    if table.ndim != 2 or 0 in table.shape:
        raise ValueError(f"vectors have shape {table.shape}, expected (words, dimensions)")
    for start in range(0, len(table), 4096):
        if not np.isfinite(table[start : start + 4096]).all():
            raise ValueError(f"vectors {start} to {start + 4095} hold a NaN or an infinity")
    return table


def shaped_queries(queries: npt.ArrayLike, dimension: int) -> Float64s:
    """The queries as contiguous float64 (B, n), not copied where they already are that."""
    points = np.ascontiguousarray(queries, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != dimension:
        raise ValueError(f"queries have shape {points.shape}, expected (batch, {dimension})")
    return points


def checked_queries(queries: npt.ArrayLike, dimension: int) -> Float64s:
    """`shaped_queries`, refused where they hold a NaN or an infinity: it has no nearest word."""
    points = shaped_queries(queries, dimension)
    finite = np.isfinite(points).all(axis=1)
    if not finite.all():
        raise ValueError(f"query {int(np.argmin(finite))} holds a NaN or an infinity")
    return points


def canonical_rounding(dimension: int) -> float:
    """g of the module's first lines: |C_i - D_i| <= g D_i."""
    return (dimension + 4) * UNIT_64


def canonical_slack(dimension: int, query_norm: Float64s, vector_norm: float) -> Float64s:
    """How far C_i may move the score T_i = (|q|^2 - D_i)/2: g D_i / 2 with D_i <= (|q| + |v|)^2.

    Norms are taken from one common origin; `vector_norm` is the vocabulary's largest. The result
    is doubled, which pays for the rounding of the norms and of this product.
    """
    return canonical_rounding(dimension) * (query_norm + vector_norm) ** 2


def distances(vectors: Float32s, queries: Float64s, ids: Ids, rows: Ids) -> Float64s:
    """C for pairs: vector ids[k] against query rows[k], both int64 (M,)."""
    dimension = vectors.shape[1]
    chunk = max(1, _PAIR_VALUES // dimension)
    out = np.empty(len(ids), dtype=np.float64)
    for start in range(0, len(ids), chunk):
        part = slice(start, start + chunk)
        difference = vectors[ids[part]].astype(np.float64)
        difference -= queries[rows[part]]
        # A square may overflow for absurd queries: infinity is then the value, in every backend.
        with np.errstate(over="ignore", under="ignore"):
            np.square(difference, out=difference)
            difference.sum(axis=1, out=out[part])  # rows are contiguous: NumPy's pairwise sum
    return out


def decide(vectors: Float32s, queries: Float64s, candidates: Ids, offsets: Ids) -> Ids:
    """The nearest of each query's own candidates: smallest C, lowest id on equality.

    vectors     float32 (V, n), contiguous
    queries     float64 (B, n), contiguous and finite
    candidates  int64 (M,), the queries' candidate ids one list after the other, in any order
    offsets     int64 (B + 1,): candidates[offsets[b]:offsets[b + 1]] are query b's, at least one
    """
    if len(queries) == 0:
        return np.empty(0, dtype=np.int64)
    counts = np.diff(offsets)
    if len(offsets) != len(queries) + 1 or counts.min() < 1:
        raise ValueError("every query needs at least one candidate")
    rows = np.repeat(np.arange(len(queries), dtype=np.int64), counts)
    values = distances(vectors, queries, candidates, rows)
    smallest = np.minimum.reduceat(values, offsets[:-1])
    tied = np.where(values == smallest[rows], candidates, np.iinfo(np.int64).max)
    return np.minimum.reduceat(tied, offsets[:-1])


def exhaustive(vectors: Float32s, queries: Float64s) -> Ids:
    """`decide` among all words, in bounded memory: the definition itself, slow and plain."""
    out = np.empty(len(queries), dtype=np.int64)
    chunk = max(1, _PAIR_VALUES // vectors.shape[1])
    for row, query in enumerate(queries):
        best, best_id = np.inf, 0
        for start in range(0, len(vectors), chunk):
            difference = vectors[start : start + chunk].astype(np.float64)
            difference -= query
            with np.errstate(over="ignore", under="ignore"):
                np.square(difference, out=difference)
                values = difference.sum(axis=1)
            first = int(np.argmin(values))  # the lowest id of this chunk on equality
            if values[first] < best:
                best, best_id = float(values[first]), start + first
        out[row] = best_id
    return out
