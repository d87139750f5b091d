"""How far scores would differ on other texts: answers drawn again with replacement.

For the texts before any release there is one run and no draw of a mechanism, so there are no
repetitions to take an interval from. Here the test texts are drawn again (Efron's percentile
bootstrap), with the classifier as it was trained.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from inkblur.evaluation.measures.utility import FIELDS, rates
from inkblur.evaluation.results import Interval
from inkblur.rng import seeded_rng
from inkblur.types import Ids

RESAMPLES = 1_000


def over_texts(
    truth: Sequence[Any] | Ids, answers: Sequence[Any] | Ids, *, confidence: float, seed: int
) -> dict[str, Interval]:
    """Intervals of accuracy, precision, recall and f1 over test texts like these.

    >>> found = over_texts(["a", "b"] * 50, ["a", "a"] * 50, confidence=0.95, seed=1)["accuracy"]
    >>> found.mean, found.over
    (0.5, 'texts')
    >>> 0.38 < found.low < 0.44, 0.56 < found.high < 0.62
    (True, True)
    """
    measured = rates(truth, answers)
    _, codes = np.unique(np.array([*truth, *answers]), return_inverse=True)  # faster than names
    true, said = codes[: len(truth)], codes[len(truth) :]
    rng = seeded_rng(seed).child("bootstrap")
    drawn = []
    for _ in range(RESAMPLES):
        places = (rng.rows(1, len(true))[0] * len(true)).astype(np.int64)
        again = rates(true[places], said[places])
        drawn.append([getattr(again, name) for name in FIELDS])
    edges = [(1 - confidence) / 2, (1 + confidence) / 2]
    low, high = np.quantile(np.array(drawn), edges, axis=0)
    return {
        name: Interval(
            getattr(measured, name),
            float(low[column]),
            float(high[column]),
            (getattr(measured, name),),
            "texts",
        )
        for column, name in enumerate(FIELDS)
    }


def statistic_over_texts(
    statistic: Callable[[Ids], float], texts: int, *, confidence: float, seed: int
) -> Interval:
    """A statistic of the rows it is given, with an interval from rows drawn again.

    >>> values = np.arange(100.0)
    >>> found = statistic_over_texts(lambda r: values[r].mean(), 100, confidence=0.95, seed=1)
    >>> found.mean, 42 < found.low < 46, 53 < found.high < 57
    (49.5, True, True)
    """
    measured = float(statistic(np.arange(texts)))
    rng = seeded_rng(seed).child("bootstrap")
    drawn = [
        statistic((rng.rows(1, texts)[0] * texts).astype(np.int64)) for _ in range(RESAMPLES // 5)
    ]
    edges = [(1 - confidence) / 2, (1 + confidence) / 2]
    low, high = np.quantile(np.array(drawn), edges)
    return Interval(measured, float(low), float(high), (measured,), "texts")


def share_over_texts(hits: Ids, totals: Ids, *, confidence: float, seed: int) -> Interval | None:
    """A share of what the texts hold (words, say), with an interval over texts; None of nothing.

    >>> found = share_over_texts(np.array([1, 0]), np.array([2, 2]), confidence=0.95, seed=1)
    >>> found.mean, found.low, found.high
    (0.25, 0.0, 0.5)
    """
    if not totals.sum():
        return None

    def share(rows: Ids) -> float:
        return float(hits[rows].sum() / max(1, totals[rows].sum()))

    return statistic_over_texts(share, len(totals), confidence=confidence, seed=seed)
