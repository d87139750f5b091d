"""Intervals over texts: as wide as the binomial's, seeded, and no proof of what was not seen."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from inkblur.evaluation.attacks.base import judged
from inkblur.evaluation.author_attacks import Attacked, joined_attacks
from inkblur.evaluation.measures.intervals import (
    over_repeated_texts,
    rates_by_resample,
    share_over_texts,
    statistic_over_texts,
)
from inkblur.types import Array, Ids


@pytest.mark.parametrize(("texts", "right"), [(100, 70), (1000, 900), (400, 200)])
def test_the_interval_of_the_accuracy_is_that_of_a_share(texts: int, right: int) -> None:
    truth = ["a", "b"] * (texts // 2)
    answers = [t if i < right else "c" for i, t in enumerate(truth)]
    found = over_repeated_texts(truth, [answers], confidence=0.95, seed=1)["accuracy"]
    share = right / texts
    half = 1.96 * math.sqrt(share * (1 - share) / texts)
    assert found.mean == share
    assert found.low == pytest.approx(share - half, abs=0.2 * half)
    assert found.high == pytest.approx(share + half, abs=0.2 * half)


@pytest.mark.parametrize("repeats", [1, 3])
def test_none_or_all_of_a_few_texts_are_no_proof_about_others(repeats: int) -> None:
    """Resamples of 40 texts of which none was named hold none either; "0 % to 0 %" said too much:
    were one text in twelve named, there would be none among 40 once in forty times.
    """
    truth = np.arange(40)
    none, every = (
        over_repeated_texts(truth, [said] * repeats, confidence=0.95, seed=1)["accuracy"]
        for said in (truth + 1, truth)
    )
    assert (none.mean, none.low) == (0.0, 0.0)
    assert (every.mean, every.high) == (1.0, 1.0)
    assert none.high == pytest.approx(1 - 0.025 ** (1 / 40))
    assert every.low == pytest.approx(0.025 ** (1 / 40))
    traced = share_over_texts(truth * 0, truth * 0 + 5, confidence=0.95, seed=1)
    assert traced is not None
    assert (traced.mean, traced.low, traced.high) == (none.mean, none.low, none.high)


def test_every_score_lies_within_its_interval_and_more_confidence_is_wider() -> None:
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 5, 300)
    answers = np.where(rng.random(300) < 0.6, truth, rng.integers(0, 5, 300))
    narrow = over_repeated_texts(truth, [answers], confidence=0.8, seed=3)
    wide = over_repeated_texts(truth, [answers], confidence=0.99, seed=3)
    assert wide == over_repeated_texts(truth, [answers], confidence=0.99, seed=3)
    assert wide != over_repeated_texts(truth, [answers], confidence=0.99, seed=4)
    for name in narrow:
        ends = [wide[name].low, narrow[name].low, narrow[name].mean, narrow[name].high]
        ends.append(wide[name].high)
        assert None not in ends
        assert all(left < right for left, right in pairwise(e for e in ends if e is not None))


def test_scores_are_scikit_learns() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(7)
    for _ in range(5):
        truth, answers = rng.integers(0, 4, 30), rng.integers(0, 6, 30)  # some never occur
        found = over_repeated_texts(truth, [answers], confidence=0.95, seed=1)
        macro = metrics.f1_score(truth, answers, average="macro", zero_division=0)
        assert found["f1"].mean == pytest.approx(macro)
        assert found["accuracy"].mean == pytest.approx(metrics.accuracy_score(truth, answers))


def test_an_interval_over_ten_texts_covers_what_it_says() -> None:
    """Plain percentiles of ten values hold their mean 9 times in 10."""
    rng = np.random.default_rng(7)
    collections, held = 500, 0
    for seed in range(collections):
        values = rng.normal(size=10)

        def mean(rows: Ids, values: Array = values) -> float:
            return float(values[rows].mean())

        found = statistic_over_texts(mean, 10, confidence=0.95, seed=seed)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 0 <= found.high
    assert held / collections == pytest.approx(0.95, abs=0.025)  # standard error .010


@pytest.mark.parametrize("texts", [1, 2, 4, 8])
def test_names_in_few_of_many_texts_have_an_interval_of_few_texts(texts: int) -> None:
    """The others have no name to recover. "33 % to 33 %" was said of one text with three names, and
    of two texts the interval held the truth in 59 % of cases instead of 95.
    """
    rng, held, collections = np.random.default_rng(6), 0, 200
    for seed in range(collections):
        names, hits = np.zeros(40, np.int64), np.zeros(40, np.int64)
        names[:texts] = rng.integers(3, 9, texts)
        hits[:texts] = rng.binomial(names[:texts], rng.beta(2, 2, texts))  # 1/2 in the mean
        found = share_over_texts(hits, names, confidence=0.95, seed=seed)
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 0.5 <= found.high
    assert held / collections > 0.9  # standard error .015


def test_no_answer_is_no_author() -> None:
    """An attack that says "don't know" once is wrong once, and has no further author to miss."""
    truth, answers = np.array([0, 0, 1, 1]), np.array([0, -1, 1, 1])
    scored = over_repeated_texts(truth, [answers], confidence=0.95, seed=1, no_answer=-1)
    assert scored["f1"].mean == pytest.approx((2 / 3 + 1) / 2)
    assert scored["accuracy"].mean == 0.75
    (joined,) = joined_attacks(
        [[Attacked("svm", "all", "static", judged(answers, truth, truth))]], 0.95, 1
    )
    assert joined.f1 == scored["f1"]
    resampled = rates_by_resample(np.ones((1, 4)), truth, answers, no_answer=-1)
    assert {name: float(each[0]) for name, each in resampled.items()} == pytest.approx(
        {name: each.mean for name, each in scored.items()}
    )


def test_a_texts_answers_of_all_repetitions_go_with_it() -> None:
    """The same answers twice are one answer: repeating a release does not narrow the interval."""
    truth = ["a", "b"] * 30
    answers = ["a", "a"] * 30
    once = over_repeated_texts(truth, [answers], confidence=0.95, seed=1)["accuracy"]
    again = over_repeated_texts(truth, [answers] * 4, confidence=0.95, seed=1)["accuracy"]
    assert once.low is not None
    assert again.low is not None
    assert again.mean == once.mean == 0.5
    assert again.values == (0.5,) * 4
    assert again.low == pytest.approx(once.low, abs=0.04)
    half = over_repeated_texts(truth, [answers, truth], confidence=0.95, seed=1)["accuracy"]
    assert half.mean == 0.75
