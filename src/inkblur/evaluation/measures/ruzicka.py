"""Ruzicka distance, a metric between authors:

    Ruzicka(x, y) = 1 - sum_i min(x_i, y_i) / sum_i max(x_i, y_i)

for non-negative vectors x and y (thesis, Definition 7); 0 between two zero vectors, which are
equal. It needs only the sums of minima, because min(x, y) + max(x, y) = x + y.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from inkblur.errors import ParameterError
from inkblur.evaluation.measures.ngrams import Counts, count_matrix, space_free_ngrams
from inkblur.types import Array


def ruzicka_distances(left: ArrayLike | Counts, right: ArrayLike | Counts) -> Array:
    """All distances between the rows of two tables, dense or sparse: (A, F), (B, F) give (A, B)."""
    x, y = _table(left), _table(right)
    if x.shape[1] != y.shape[1]:
        raise ParameterError(
            f"both tables need the same features, got {x.shape[1]} and {y.shape[1]} columns"
        )
    minima = sums_of_minima(x, y)
    maxima = x.sum(axis=1)[:, None] + y.sum(axis=1)[None, :] - minima
    similarity = np.divide(minima, maxima, out=np.ones_like(minima), where=maxima > 0)
    return np.clip(1.0 - similarity, 0.0, 1.0)  # rounding may leave it a hair outside


def sums_of_minima(left: Counts, right: Counts) -> Array:
    """sum_f min(left[a, f], right[b, f]) for all rows: (A, F), (B, F) give (A, B).

    Only features that both have can add anything, so a row costs as much as its non-zeros.
    """
    by_feature = right.tocsc()
    sums = np.zeros((left.shape[0], right.shape[0]))
    for a in range(left.shape[0]):
        span = slice(left.indptr[a], left.indptr[a + 1])
        shared = by_feature[:, left.indices[span]].tocoo()
        smaller = np.minimum(shared.data, left.data[span][shared.col])
        sums[a] = np.bincount(shared.row, weights=smaller, minlength=right.shape[0])
    return sums


def text_distances(
    left: Sequence[str], right: Sequence[str], *, n: int = 4, relative: bool = False
) -> Array:
    """Ruzicka over space-free character n-grams: A and B texts give (A, B).

    Counts, as in the thesis; `relative` divides by their sum first, so that a long and a short text
    of one author are near each other.

    >>> text_distances(["to be"], ["to be or not", "be to"]).tolist()
    [[0.5, 0.0]]
    """
    counts = [space_free_ngrams(text, n) for text in (*left, *right)]
    columns = {gram: i for i, gram in enumerate(dict.fromkeys(g for c in counts for g in c))}
    table = count_matrix(counts, columns)
    if relative:
        table = shares(table)
    return ruzicka_distances(table[: len(left)], table[len(left) :])


def shares(table: Counts) -> Counts:
    """Every row divided by its sum; rows of zeros stay."""
    sums = np.asarray(table.sum(axis=1), np.float64)
    out = table.copy()
    out.data /= np.repeat(np.where(sums > 0, sums, 1.0), np.diff(out.indptr))
    return out


def _table(rows: ArrayLike | Counts) -> Counts:
    if isinstance(rows, csr_array):
        table = rows
    else:
        dense = np.asarray(rows, np.float64)
        if dense.ndim != 2:
            raise ParameterError(f"expected a table (rows, features), got shape {dense.shape}")
        table = csr_array(dense)
    if table.nnz and not (np.isfinite(table.data).all() and table.data.min() >= 0):
        raise ParameterError("Ruzicka is defined for finite numbers that are not negative")
    return table
