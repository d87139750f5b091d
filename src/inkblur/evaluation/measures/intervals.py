"""Intervals: how far a measure would differ on other texts, words or pairs like these.

Units are drawn again with replacement, the measure is computed on each resample, and the interval
holds the middle of the values (Efron's percentile interval), at a level that makes up for few units
(Hesterberg's expanded percentiles). Draws come from a seeded stream, so a figure can be made again.
Classifiers are not trained again.

Resamples never leave the range of what was measured. So where a share is 0 or 1, or that of fewer
than six units, its interval is Clopper and Pearson's, a unit being a trial.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import betaincinv, ndtr, stdtrit

from inkblur.errors import ParameterError
from inkblur.evaluation.results import Interval
from inkblur.rng import Rng, seeded_rng
from inkblur.types import Array, Ids

RESAMPLES = 1_000
FEWEST = 6  # units to resample: the range of five holds the median of their law in 94 % of cases


def resample_rows(resamples: int, units: int, rng: Rng) -> Ids:
    """Which unit stands in each place of each resample: (resamples, units)."""
    return (rng.rows(resamples, units) * units).astype(np.int64)


def resample_counts(resamples: int, units: int, rng: Rng) -> Ids:
    """How often each unit was drawn into each resample: (resamples, units)."""
    places = resample_rows(resamples, units, rng) + units * np.arange(resamples)[:, None]
    return np.bincount(places.ravel(), minlength=resamples * units).reshape(resamples, units)


def percentile_interval(
    values: Array, confidence: float = 0.95, *, units: int | None = None
) -> tuple[float, float]:
    """The middle of a measure's resampled values; those that are not a number are left out.

    `units` is how many were drawn again: the fewer, the wider (:func:`expanded_confidence`). None
    is for a measure of several collections, which has no single number of units.

    >>> percentile_interval(np.arange(1.0, 100.0), 0.5)
    (25.0, 75.0)
    """
    level = confidence if units is None else expanded_confidence(confidence, units)
    tail = (1 - level) / 2
    # Of B values the k-th is the k / (B + 1) quantile: NumPy's own rule, k / B about, would make
    # intervals of 200 resamples cover 93 % instead of 95.
    low, high = np.nanquantile(values, [tail, 1 - tail], method="weibull")
    return float(low), float(high)


def expanded_confidence(confidence: float, units: int) -> float:
    """The level at which a percentile interval of the mean of so few units covers `confidence`.

    Resamples of n units spread less than their mean does, by sqrt((n - 1) / n), and a normal
    quantile ignores that the spread itself was estimated: with 10 units, 95 % intervals cover 90 %.
    The level takes Student's quantile and the missing factor instead,

        1 - 2 Phi(-sqrt(n / (n - 1)) t),   t the (1 + confidence) / 2 quantile, n - 1 degrees

    (Hesterberg, What Teachers Should Know About the Bootstrap, 2015). It falls to `confidence` as
    units grow. A single unit gives 1: every resample is it.

    >>> [round(expanded_confidence(0.95, units), 4) for units in (10, 25, 1000)]
    [0.9829, 0.9648, 0.9504]
    """
    if units < 2:
        return 1.0
    t = stdtrit(units - 1, (1 + confidence) / 2)
    return float(1 - 2 * ndtr(-math.sqrt(units / (units - 1)) * t))


def rates_by_resample(
    times: Array | Ids, truth: Ids, answers: Ids, *, no_answer: int | None = None
) -> dict[str, Array]:
    """Accuracy and mean F1 of each row of :func:`resample_counts`.

    The mean is over the classes that occur in a resample, in the truth or in the answers, but for
    `no_answer`; a class never answered, or that never occurs, has an F1 of 0.
    """
    weights = np.asarray(times, dtype=np.float64)
    classes = np.setdiff1d(np.union1d(truth, answers), [] if no_answer is None else [no_answer])
    true, said = truth[:, None] == classes, answers[:, None] == classes
    right, occurs, answered = weights @ (true & said), weights @ true, weights @ said
    count = (occurs + answered > 0).sum(axis=1)
    return {
        "accuracy": right.sum(axis=1) / weights.sum(axis=1),
        "f1": (2 * right / np.maximum(occurs + answered, 1.0)).sum(axis=1) / count,
    }


def over_repeated_texts(
    truth: Sequence[Any] | Ids,
    answers: Sequence[Sequence[Any] | Ids],
    *,
    confidence: float,
    seed: int,
    no_answer: Any = None,
) -> dict[str, Interval]:
    """Accuracy and F1 of the answers to each text: means over repetitions, intervals over texts.

    A text's answers of all repetitions are drawn together. `no_answer` names no class.
    """
    everything = np.array([*truth, *(said for each in answers for said in each)])
    classes, codes = np.unique(everything, return_inverse=True)
    silent = next((code for code, each in enumerate(classes.tolist()) if each == no_answer), None)
    true, *said = codes.reshape(len(answers) + 1, len(truth))
    drawn = resample_counts(RESAMPLES, len(truth), seeded_rng(seed).child("bootstrap"))
    times = np.vstack([np.ones(len(truth), np.int64), drawn])  # first the texts as they are
    rates = [rates_by_resample(times, true, each, no_answer=silent) for each in said]
    spread = {}
    for name in rates[0]:
        values = tuple(float(each[name][0]) for each in rates)
        again = np.mean([each[name][1:] for each in rates], axis=0)
        ends = percentile_interval(again, confidence, units=len(truth))
        spread[name] = Interval(sum(values) / len(values), *ends, values, "texts")
    spread["accuracy"] = _with_spread(spread["accuracy"], len(truth), confidence)
    return spread


def statistic_over_texts(
    statistic: Callable[[Ids], float], texts: int, *, confidence: float, seed: int
) -> Interval:
    """A statistic of the rows it is given, with an interval from rows drawn again."""
    measured = float(statistic(np.arange(texts)))
    resamples = resample_rows(RESAMPLES // 5, texts, seeded_rng(seed).child("bootstrap"))
    again = np.array([statistic(rows) for rows in resamples])
    ends = percentile_interval(again, confidence, units=texts)
    return Interval(measured, *ends, (measured,), "texts")


def share_over_texts(hits: Ids, totals: Ids, *, confidence: float, seed: int) -> Interval | None:
    """A share of what the texts hold (words, say), with an interval over texts; None of nothing."""
    some = np.flatnonzero(totals)  # the others say nothing of a share
    if not len(some):
        return None
    hits, totals = hits[some], totals[some]

    def share(rows: Ids) -> float:
        return float(hits[rows].sum() / totals[rows].sum())

    spread = statistic_over_texts(share, len(some), confidence=confidence, seed=seed)
    return _with_spread(spread, len(some), confidence)


def _with_spread(share: Interval, texts: int, confidence: float) -> Interval:
    """A share found in so many texts, with an exact interval where resamples cannot give one."""
    if texts >= FEWEST and 0 < share.mean < 1:
        return share
    low, high = clopper_pearson(share.mean * texts, texts, confidence)
    return replace(share, low=low, high=high)


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
    """The mirror image of :func:`clopper_pearson_lower`: below p with probability at most alpha."""
    return 1.0 - clopper_pearson_lower(trials - np.asarray(hits, dtype=np.float64), trials, alpha)


def clopper_pearson(hits: float, trials: int, confidence: float) -> tuple[float, float]:
    """The interval between both bounds, each wrong with half of the allowed probability."""
    tail = (1 - confidence) / 2
    low = float(clopper_pearson_lower(hits, trials, tail))
    return low, float(clopper_pearson_upper(hits, trials, tail))


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
