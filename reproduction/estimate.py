"""A measured number with its 95 % interval, and the four ways an experiment comes by one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from inkblur import ParameterError, seeded_rng
from inkblur.evaluation import Interval, clopper_pearson, percentile_interval, resample_rows
from reproduction.arrays import Array

CONFIDENCE = 0.95
_RESAMPLES = 2_000


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number and the interval that covers the truth in 95 of 100 such experiments.

    Exact numbers, such as a proved bound, have the interval's ends on the number.
    """

    value: float
    low: float
    high: float

    @classmethod
    def exact(cls, value: float) -> Estimate:
        """A number that was computed, not sampled."""
        return cls(float(value), float(value), float(value))

    @classmethod
    def of_runs(cls, values: Sequence[float]) -> Estimate:
        """Student's interval for the mean of independent runs on the same texts, at least two."""
        found = Interval.of(values, CONFIDENCE)
        if found.low is None or found.high is None:
            raise ParameterError("one run has no interval; repeat it, or give the texts instead")
        return cls(found.mean, found.low, found.high)

    @classmethod
    def of_units(cls, values: Sequence[float] | Array) -> Estimate:
        """The mean over words, texts or pairs, by the bootstrap: other units would differ so much.

        >>> found = Estimate.of_units([1.0] * 50 + [3.0] * 50)
        >>> found.value, 1.7 < found.low < 2.0 < found.high < 2.3
        (2.0, True)
        """
        array = np.asarray(values, dtype=np.float64)
        if not len(array):
            raise ParameterError("nothing was measured, so there is no mean")
        means = _resampled_means(array)
        return cls(float(array.mean()), *percentile_interval(means, units=len(array)))

    @classmethod
    def of_share(cls, hits: int, trials: int) -> Estimate:
        """A share that was counted: Clopper and Pearson's exact interval.

        >>> round(Estimate.of_share(0, 10).high, 3)
        0.308
        """
        return cls(hits / trials, *clopper_pearson(hits, trials, CONFIDENCE))

    @classmethod
    def of_correlation(cls, correlation: float, pairs: int) -> Estimate:
        """Pearson's or Spearman's correlation of independent pairs, by Fisher's transformation.

        >>> round(Estimate.of_correlation(0.5, 100).low, 3)
        0.337
        """
        middle, half = math.atanh(correlation), 1.959964 / math.sqrt(pairs - 3)
        return cls(correlation, math.tanh(middle - half), math.tanh(middle + half))

    def share(self) -> Estimate:
        """The same for a number that lies between 0 and 1: so does its interval."""
        return Estimate(self.value, max(0.0, self.low), min(1.0, self.high))

    def negated(self) -> Estimate:
        """The same number with its sign turned: a claim says "above" after turning."""
        return Estimate(-self.value, -self.high, -self.low)


def weakest(estimates: Iterable[Estimate], threshold: float) -> Estimate:
    """The estimate that decides whether every one lies above a threshold.

    One that lies below refutes it, so it goes first; else all lie above only when the smallest
    lower end does. The one with the smallest mean would not do: another's interval may be wider.

    >>> weakest([Estimate(0.1, 0.05, 0.15), Estimate(0.2, -0.1, 0.5)], 0.0)
    Estimate(value=0.2, low=-0.1, high=0.5)
    >>> weakest([Estimate(-0.1, -0.2, -0.05), Estimate(0.2, -0.3, 0.7)], 0.0).value
    -0.1
    """
    return min(estimates, key=lambda found: (found.high >= threshold, found.low))


def _resampled_means(values: Array) -> Array:
    """Means of resamples with replacement; the draws are fixed, so a record can be made again."""
    rng = seeded_rng(20_260_001).child("bootstrap")
    means = np.empty(_RESAMPLES)
    step = max(1, 4_000_000 // len(values))
    for start in range(0, _RESAMPLES, step):
        rows = min(step, _RESAMPLES - start)
        places = resample_rows(rows, len(values), rng)
        means[start : start + rows] = values[places].mean(axis=1)
    return means
