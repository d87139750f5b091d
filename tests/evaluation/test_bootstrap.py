"""Intervals over texts: as wide as the binomial's, seeded, and the baseline's own."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from inkblur.evaluation.attacks.base import judged
from inkblur.evaluation.evaluate import evaluate
from inkblur.evaluation.measures.bootstrap import (
    RESAMPLES,
    over_repeated_texts,
    over_texts,
    rates_by_resample,
    resample_counts,
    share_over_texts,
    statistic_over_texts,
)
from inkblur.evaluation.measures.utility import FIELDS, rates
from inkblur.evaluation.plan import Plan
from inkblur.evaluation.repetitions import Attacked, joined_attacks
from inkblur.rng import seeded_rng
from inkblur.types import Array, Ids

from .made import corpus, table


@pytest.mark.parametrize(("texts", "right"), [(100, 70), (1000, 900), (400, 200)])
def test_the_interval_of_the_accuracy_is_that_of_a_share(texts: int, right: int) -> None:
    truth = ["a", "b"] * (texts // 2)
    answers = [t if i < right else "c" for i, t in enumerate(truth)]
    found = over_texts(truth, answers, confidence=0.95, seed=1)["accuracy"]
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
    traced = share_over_texts(truth * 0, truth * 0 + 1, confidence=0.95, seed=1)
    assert traced is not None
    assert (traced.mean, traced.low, traced.high) == (none.mean, none.low, none.high)


def test_every_score_lies_within_its_interval_and_more_confidence_is_wider() -> None:
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 5, 300)
    answers = np.where(rng.random(300) < 0.6, truth, rng.integers(0, 5, 300))
    narrow = over_texts(truth, answers, confidence=0.8, seed=3)
    wide = over_texts(truth, answers, confidence=0.99, seed=3)
    assert wide == over_texts(truth, answers, confidence=0.99, seed=3)
    assert wide != over_texts(truth, answers, confidence=0.99, seed=4)
    for name in FIELDS:
        assert narrow[name].mean == getattr(rates(truth, answers), name)
        ends = [wide[name].low, narrow[name].low, narrow[name].mean, narrow[name].high]
        ends.append(wide[name].high)
        assert None not in ends
        assert all(left < right for left, right in pairwise(e for e in ends if e is not None))


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


def test_every_kind_of_interval_over_few_texts_is_the_wider() -> None:
    truth = np.arange(20) % 2
    said = np.where(np.arange(20) % 3 == 0, 1 - truth, truth)
    found = over_texts(truth, said, confidence=0.95, seed=1)
    times = resample_counts(RESAMPLES, 20, seeded_rng(1).child("bootstrap"))
    for name, drawn in rates_by_resample(times, truth, said).items():
        plain = np.quantile(drawn, [0.025, 0.975])
        low, high = found[name].low, found[name].high
        assert low is not None
        assert high is not None
        assert low <= plain[0] < plain[1] <= high
        assert high - low > plain[1] - plain[0]


def test_no_answer_is_no_author() -> None:
    """An attack that says "don't know" once is wrong once, and has no further author to miss."""
    truth, answers = np.array([0, 0, 1, 1]), np.array([0, -1, 1, 1])
    scored = over_repeated_texts(truth, [answers], confidence=0.95, seed=1, no_answer=-1)
    assert scored["f1"].mean == pytest.approx((2 / 3 + 1) / 2)
    assert scored["accuracy"].mean == 0.75
    attacked = Attacked("all", "static", judged("svm", answers, truth, truth))
    assert joined_attacks([[attacked]], 0.95, 1)[0].f1 == scored["f1"]
    times = np.ones((1, 4))
    resampled = rates_by_resample(times, truth, answers, no_answer=-1)
    assert {name: float(found[0]) for name, found in resampled.items()} == pytest.approx(
        {name: scored[name].mean for name in FIELDS}
    )


def test_texts_without_a_word_of_the_kind_have_no_say_in_its_share() -> None:
    """One text of five has names, and all are recovered: in another text like it they might not be,
    but the four without names say nothing of that.
    """
    counts = np.array([3, 0, 0, 0, 0])
    found = share_over_texts(counts, counts, confidence=0.95, seed=1)
    assert found is not None
    assert (found.mean, found.high) == (1.0, 1.0)
    assert found.low == pytest.approx(0.025)


def test_no_name_in_a_few_texts_is_no_proof_about_others() -> None:
    """Thirty texts of five names each, none of them recovered: "0 % to 0 %" said too much."""
    names, none = np.full(30, 5), np.zeros(30, np.int64)
    found = share_over_texts(none, names, confidence=0.95, seed=1)
    every = share_over_texts(names, names, confidence=0.95, seed=1)
    assert found is not None
    assert every is not None
    assert (found.low, every.high) == (0.0, 1.0)
    assert found.high == pytest.approx(1 - 0.025 ** (1 / 30))
    assert every.low == pytest.approx(0.025 ** (1 / 30))


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


def test_attacks_and_the_texts_before_any_release_have_intervals_over_texts() -> None:
    pytest.importorskip("sklearn")
    from inkblur.evaluation.dataset import make_dataset
    from inkblur.spec import ReleaseSpec

    texts, names, labels = corpus()
    data = make_dataset(texts, authors=names, labels=labels, seed=5)
    plan = Plan(seed=5, attacks=("koppel",), models=("naive-bayes",), repeats=2)
    report = evaluate(data, table(), [ReleaseSpec("laplace", 3.0)], plan)
    before, after = report.before, report.settings[0]
    assert {found.accuracy.over for found in (*before.attacks, *after.attacks)} == {"texts"}
    assert {found.f1 and found.f1.over for found in (*before.attacks, *after.attacks)} == {"texts"}
    assert {found.accuracy.over for found in (*before.of("labels"), *after.of("labels"))} == {
        "texts"
    }
    for found in (*before.attacks, *after.attacks):
        assert found.accuracy.low is not None
        assert found.accuracy.high is not None
        assert found.accuracy.low <= found.accuracy.mean <= found.accuracy.high


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
