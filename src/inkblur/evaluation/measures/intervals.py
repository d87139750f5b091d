"""Exact confidence bounds for a probability that was measured by counting."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import betaincinv

from inkblur.errors import ParameterError
from inkblur.types import Array


def clopper_pearson_lower(hits: Any, trials: int, alpha: float) -> Array:
    """A bound that lies above the true probability p in at most a share alpha of experiments.

    With X ~ Binomial(trials, p), the alpha-quantile of Beta(X, trials - X + 1) falls above p with
    probability at most alpha, whatever p is (Clopper and Pearson, 1934). 0 hits give 0. The mean
    of several counts, which need not be whole, gets the same quantile.

    >>> round(float(clopper_pearson_lower(10, 10, 0.05)), 4)
    0.7411
    """
    count = np.asarray(hits, dtype=np.float64)
    some = np.where(count > 0, count, 1.0)
    return np.where(count > 0, betaincinv(some, trials - count + 1.0, alpha), 0.0)


def clopper_pearson_upper(hits: Any, trials: int, alpha: float) -> Array:
    """The mirror image of :func:`clopper_pearson_lower`: below p with probability at most alpha.

    >>> round(float(clopper_pearson_upper(0, 10, 0.05)), 4)
    0.2589
    """
    return 1.0 - clopper_pearson_lower(trials - np.asarray(hits, dtype=np.float64), trials, alpha)


def clopper_pearson(hits: float, trials: int, confidence: float) -> tuple[float, float]:
    """The interval between both bounds, each wrong with half of the allowed probability.

    >>> low, high = clopper_pearson(10, 10, 0.9)
    >>> round(low, 4), high
    (0.7411, 1.0)
    """
    tail = (1 - confidence) / 2
    bounds = clopper_pearson_lower, clopper_pearson_upper
    low, high = (float(bound(hits, trials, tail)) for bound in bounds)
    return low, high


def log_ratio_lower(
    hits: Any, against: Any, trials: int, against_trials: int, alpha: float
) -> Array:
    """A lower bound on log(p / q), wrong with probability at most `alpha` (half for each side)."""
    low = clopper_pearson_lower(hits, trials, alpha / 2)
    high = clopper_pearson_upper(against, against_trials, alpha / 2)
    with np.errstate(divide="ignore"):
        return np.log(low) - np.log(high)


def checked_confidence(confidence: float) -> float:
    """A confidence level strictly between 0.5 and 1, or a clear error."""
    level = float(confidence)
    if not 0.5 < level < 1.0:  # NaN fails here too
        raise ParameterError(f"confidence must lie between 0.5 and 1, exclusive, got {confidence}")
    return level
