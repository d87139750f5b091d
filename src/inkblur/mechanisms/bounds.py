"""What the exponential mechanism costs and gives, as formulas (SynTF, section 3.4).

Notation: kappa = epsilon / (2 Delta); pi(v, w) = exp(kappa rho(v, w)) / sum_z exp(kappa rho(v,
z)); L = number of words that can come out. The tight bound (eq. 1) needs the whole table: see
`loss`.
"""

from __future__ import annotations

import math

import numpy as np

from inkblur.errors import ParameterError
from inkblur.mechanisms.rating import SENSITIVITY
from inkblur.types import Array, positive


def standard_bound(epsilon: float) -> float:
    """The privacy loss a draw that the exponential mechanism is built for: epsilon itself."""
    return positive(epsilon, "epsilon")


def log_eta(epsilon: float, size: int) -> float:
    """ln eta < 0 of Theorem 3.4, eta = (e^(-epsilon/2) + L - 1) / (e^(epsilon/2) + L - 1).

    Both parts are divided by e^(epsilon/2) or left as they are, so that nothing overflows.
    """
    half = positive(epsilon, "epsilon") / 2
    others = _at_least_two(size) - 1
    return math.log(math.exp(-half) + others) - half - math.log1p(others * math.exp(-half))


def improved_bound(
    epsilon: float, size: int, *, spread: float = SENSITIVITY, sensitivity: float = SENSITIVITY
) -> float:
    """Theorem 3.4: eps + ln eta(eps, L), with eps = epsilon x spread / sensitivity.

    `spread` is the largest difference between two ratings *for one input*; for a symmetric rating
    with all words adjacent it is the sensitivity itself (Corollary 3.5).

    >>> round(improved_bound(47.5, 30_000), 3)
    34.059
    """
    scaled = positive(epsilon, "epsilon") * positive(spread, "spread") / sensitivity
    return scaled + log_eta(scaled, size)


def vector_bound(loss: float, length: int) -> float:
    """Corollary 3.5 and eq. 1 for a whole vector: `length` draws of one bounded loss each."""
    return loss * length


def chance_bounds(
    ratings: Array, epsilon: float, threshold: float, *, sensitivity: float = SENSITIVITY
) -> tuple[float, float]:
    """Theorem 3.6: the chance of a word rated at least `threshold` lies between these two.

    With T the words rated at least tau, the rest below it, c = tau - (best rating of the rest) and
    the spread of all ratings d:

        |T| / (|T| + |rest| e^(-kappa c))  <=  P(T)  <=  |T| / (|T| + |rest| e^(-kappa d))

    `ratings` is one input's row, over everything that can come out.
    """
    good, rest, gap, spread = _split(ratings, threshold)
    kappa = positive(epsilon, "epsilon") / (2 * sensitivity)
    return (
        good / (good + rest * math.exp(-kappa * gap)),
        good / (good + rest * math.exp(-kappa * spread)),
    )


def chance(
    ratings: Array, epsilon: float, threshold: float, *, sensitivity: float = SENSITIVITY
) -> float:
    """The exact chance of a word rated at least `threshold`: what Theorem 3.6 bounds."""
    kappa = positive(epsilon, "epsilon") / (2 * sensitivity)
    weights = np.exp(kappa * (ratings - ratings.max()))
    return float(weights[ratings >= threshold].sum() / weights.sum())


def epsilon_bounds(
    ratings: Array, wanted: float, threshold: float, *, sensitivity: float = SENSITIVITY
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


def _at_least_two(size: int) -> int:
    if size < 2:
        raise ParameterError(f"a choice needs at least 2 words, got {size}")
    return size
