"""Earth Mover's distance between documents (Word Mover's distance, when points are word vectors).

For bags X of size |X| and Y of size |Y| over a ground metric d,

    E_d(X, Y) = min_F  sum_ij F_ij d(x_i, y_j)
    subject to  F >= 0,  sum_j F_ij = a_i / |X|,  sum_i F_ij = b_j / |Y|,

where a_i and b_j count how often x_i and y_j occur (Earth Mover's paper, Definition 3). Between
bags of one size the minimum is reached by a one-to-one assignment (its Lemma A1), so the answer is
a mean of N costs and no linear program is needed; other sizes are solved exactly by POT.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from inkblur.errors import InkblurError, ParameterError, needs
from inkblur.types import Array

_STEPS = 10_000_000  # of the network simplex; POT's own limit is too low for long documents


def euclidean_costs(left: Array, right: Array) -> Array:
    """||x_i - y_j|| for all rows: (N, n) and (M, n) give (N, M)."""
    return cdist(np.asarray(left, np.float64), np.asarray(right, np.float64))


def earth_movers(
    costs: ArrayLike, *, left: ArrayLike | None = None, right: ArrayLike | None = None
) -> float:
    """min <F, costs> over flows F, for costs (N, M) between the words of two documents.

    `left` (N,) and `right` (M,) say how often each row and column occurs; without them, once each.
    Only their shares matter. A metric between bags of one size; between others, a distance.

    >>> earth_movers([[1.0, 9.0], [9.0, 3.0]])
    2.0
    """
    table, from_left, from_right = _checked(costs, left, right)
    once = np.ptp(from_left) == 0 and np.ptp(from_right) == 0
    if once and len(from_left) == len(from_right):  # one size, every word once
        rows, columns = linear_sum_assignment(table)
        return float(table[rows, columns].mean())
    return float((solve(table, from_left, from_right) * table).sum())


def solve(costs: Array, left: Array, right: Array) -> Array:
    """The cheapest flow, (N, M), that carries the weights `left` (N,) to `right` (M,).

    Exact (network simplex), not the entropic approximation. Both weights are positive, sum to 1.
    """
    with needs("Earth Mover's distance between texts of different sizes needs POT", "evaluation"):
        import ot  # type: ignore[import-untyped, import-not-found, unused-ignore]
    flow, log = ot.emd(left, right, costs, numItermax=_STEPS, log=True, check_marginals=False)
    if log["warning"] is not None:
        raise InkblurError(f"the optimal flow was not found: {log['warning']}")
    found: Array = flow
    return found


def _checked(
    costs: ArrayLike, left: ArrayLike | None, right: ArrayLike | None
) -> tuple[Array, Array, Array]:
    table = np.ascontiguousarray(costs, dtype=np.float64)
    if table.ndim != 2 or table.size == 0:
        raise ParameterError(
            f"costs must be a table (words, words), got shape {table.shape}; an empty document "
            "has no Earth Mover's distance to any other"
        )
    if not (np.isfinite(table).all() and table.min() >= 0):
        raise ParameterError("costs must be finite and not negative")
    return table, _shares(left, table.shape[0], "left"), _shares(right, table.shape[1], "right")


def _shares(weights: ArrayLike | None, size: int, name: str) -> Array:
    if weights is None:
        return np.full(size, 1.0 / size)
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (size,):
        raise ParameterError(f"{name} has shape {array.shape}, the costs need ({size},)")
    if not (np.isfinite(array).all() and array.min() > 0):
        raise ParameterError(f"{name} must hold finite numbers above 0: counts of words that occur")
    shares: Array = array / array.sum()
    return shares
