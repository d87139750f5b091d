"""Texts drawn again with replacement: how much a measure would differ on other texts.

A measure of one run is a column: first its value on the real texts, then one on each redrawn
collection. The same texts are drawn for every run and setting, so differences are paired.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inkblur import Rng
from inkblur.evaluation import (
    Array,
    Ids,
    percentile_interval,
    rates_by_resample,
    resample_counts,
)
from reproduction.estimate import Estimate

COLLECTIONS = 1_000


def times_drawn(texts: int, rng: Rng) -> Array:
    """How often each text stands in each collection: (1 + COLLECTIONS, texts), all once at first.

    >>> from inkblur.rng import seeded_rng
    >>> times_drawn(7, seeded_rng(1)).sum(axis=1).tolist() == [7.0] * (1 + COLLECTIONS)
    True
    """
    return np.vstack([np.ones(texts), resample_counts(COLLECTIONS, texts, rng)])


def share(times: Array, right: Sequence[int]) -> Array:
    """The share of right answers (1, others 0) in each collection."""
    found: Array = times @ np.asarray(right, dtype=np.float64) / times.shape[1]
    return found


def mean_f1(times: Array, truth: Ids, answers: Ids) -> Array:
    """The mean F1 over the labels that occur in each collection, in the truth or the answers."""
    return rates_by_resample(times, truth, answers)["f1"]


def over_texts(runs: Sequence[Array]) -> Estimate:
    """The mean over runs; 95 % of the redrawn collections lie in the interval.

    A measure may weigh two collections, so the interval is not widened for the number of texts: of
    hundreds, by less than 1 %.

    >>> found = over_texts([np.array([0.5, 0.4, 0.6]), np.array([0.7, 0.6, 0.8])])
    >>> round(found.value, 3), 0.5 <= found.low < 0.6 < found.high <= 0.7
    (0.6, True)
    """
    means = np.mean(runs, axis=0)
    value = float(means[0])
    low, high = percentile_interval(means[1:])
    # The better of several attackers is a little better on redrawn texts: both ends enclose it.
    return Estimate(value, min(value, low), max(value, high))
