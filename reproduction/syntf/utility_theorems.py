"""The chance of a well-rated word, and the epsilon it takes (SynTF, Theorem 3.6, Corollary 3.7).

Notation: kappa = epsilon / (2 Delta), with Delta the sensitivity of the rating.
"""

from __future__ import annotations

import math

import numpy as np

from inkblur import ParameterError
from inkblur.evaluation import Array


def chance_bounds(
    ratings: Array, epsilon: float, threshold: float, *, sensitivity: float = 1.0
) -> tuple[float, float]:
    """Theorem 3.6: the chance of a word rated at least `threshold` lies between these two.

    With T the words rated at least tau, the rest below it, c = tau - (best rating of the rest) and
    the spread of all ratings d:

        |T| / (|T| + |rest| e^(-kappa c))  <=  P(T)  <=  |T| / (|T| + |rest| e^(-kappa d))

    `ratings` is one input's row, over everything that can come out.
    """
    good, rest, gap, spread = _split(ratings, threshold)
    kappa = epsilon / (2 * sensitivity)
    return (
        good / (good + rest * math.exp(-kappa * gap)),
        good / (good + rest * math.exp(-kappa * spread)),
    )


def chance(ratings: Array, epsilon: float, threshold: float, *, sensitivity: float = 1.0) -> float:
    """The exact chance of a word rated at least `threshold`: what Theorem 3.6 bounds."""
    kappa = epsilon / (2 * sensitivity)
    weights = np.exp(kappa * (ratings - ratings.max()))
    return float(weights[ratings >= threshold].sum() / weights.sum())


def epsilon_bounds(
    ratings: Array, wanted: float, threshold: float, *, sensitivity: float = 1.0
) -> tuple[float, float]:
    """Corollary 3.7: (necessary, sufficient) epsilon for P(rated at least `threshold`) >= `wanted`.

    (2 Delta / d) ln(p / (1 - p) x |rest| / |T|), and the same with c for d. Below the first the
    chance is smaller than wanted, from the second on it is at least wanted. 0: any epsilon will
    do; infinity: no epsilon is known to be enough.
    """
    if not 0.0 <= wanted < 1.0:
        raise ParameterError(f"the wanted chance must lie in [0, 1), got {wanted}")
    good, rest, gap, spread = _split(ratings, threshold)
    if rest == 0 or wanted == 0.0:
        return 0.0, 0.0
    odds = math.log(wanted / (1 - wanted) * rest / good)
    if odds <= 0:  # even a draw without any preference is good often enough
        return 0.0, 0.0
    return 2 * sensitivity / spread * odds, (2 * sensitivity / gap * odds if gap > 0 else math.inf)


def _split(ratings: Array, threshold: float) -> tuple[int, int, float, float]:
    """|T|, |rest|, the gap c below the threshold, and the spread of all ratings."""
    lowest, highest = float(ratings.min()), float(ratings.max())
    if not lowest <= threshold <= highest:
        raise ParameterError(
            f"the threshold must lie among the ratings, {lowest:.4g} to {highest:.4g}, "
            f"got {threshold}"
        )
    rest = ratings[ratings < threshold]
    gap = threshold - float(rest.max()) if len(rest) else math.inf
    return len(ratings) - len(rest), len(rest), gap, highest - lowest
