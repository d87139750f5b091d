"""Numbers over words that are no plain means, with their 95 % intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from reproduction.estimate import Estimate

_NORMAL = 1.959964  # 95 % of a normal distribution lie within so many standard deviations


def percentile(values: Sequence[float], percent: float) -> Estimate:
    """A percentile; its interval reaches between order statistics, whatever the distribution.

    >>> percentile(list(range(101)), 50)
    Estimate(value=50.0, low=40.0, high=60.0)
    """
    from scipy.stats import binom

    ordered = np.sort(np.asarray(values, dtype=np.float64))
    count = len(ordered)
    low, high = (int(binom.ppf(tail, count, percent / 100)) for tail in (0.025, 0.975))
    return Estimate(
        float(np.percentile(ordered, percent)),
        float(ordered[max(0, low - 1)]),
        float(ordered[min(count - 1, high)]),
    )


def spread(values: Sequence[float]) -> Estimate:
    """The standard deviation over words, its interval from the fourth moment (delta method).

    >>> round(spread([0.0, 1.0] * 50 + [0.5]).value, 3)
    0.498
    """
    array = np.asarray(values, dtype=np.float64)
    centered = array - array.mean()
    variance = float((centered**2).mean())
    if variance == 0:
        return Estimate.exact(0.0)
    deviation = math.sqrt(variance)
    error = math.sqrt(max(0.0, float((centered**4).mean()) - variance**2) / len(array))
    half = _NORMAL * error / (2 * deviation)
    return Estimate(deviation, max(0.0, deviation - half), deviation + half)


def mixed(first: Estimate, second: Estimate, share: float) -> Estimate:
    """The mean over two groups measured apart; `share` of all belong to the first.

    >>> mixed(Estimate(10.0, 8.0, 12.0), Estimate.exact(0.0), 0.5)
    Estimate(value=5.0, low=4.0, high=6.0)
    """
    rest = 1 - share
    value = share * first.value + rest * second.value
    below = math.hypot(share * (first.value - first.low), rest * (second.value - second.low))
    above = math.hypot(share * (first.high - first.value), rest * (second.high - second.value))
    return Estimate(value, value - below, value + above)
