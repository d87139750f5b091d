"""Choosing epsilon: strengths that were measured, survival, level and radius, typical losses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inkblur
from inkblur import make_mechanism
from inkblur.embeddings.adaptation import adapt_embedding
from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError, Unreachable
from inkblur.mechanisms.catalogue import find
from inkblur.mechanisms.laplace import Laplace
from inkblur.mechanisms.strengths import (
    calibrate,
    epsilon_for,
    epsilon_from_level,
    measured_strengths,
    strength_of,
    survival_rate,
    typical_loss,
    usual_epsilons,
)
from inkblur.types import Metric, Strength
from tests.laws.catalogue import ALL, PRIVATE, label, make

Setting = tuple[str, dict[str, Any]]
STORED = json.loads(
    (Path(inkblur.__file__).parent / "embeddings/data/strengths.json").read_text(encoding="utf-8")
)
MOST_RISK = {Strength.LIGHT: 0.5, Strength.MEDIUM: 0.25, Strength.STRONG: 0.1}  # above chance


@pytest.fixture(scope="module")
def adapted(toy: Embedding) -> Embedding:
    """Twelve of sixty words are in the corpus; the rest, without a profile, crowd far from them."""
    texts = [f"{toy.words[k]} {toy.words[k + 4]}" for k in range(8)]
    topics = {"topic": ["one", "two", "three", "one"] * 2}
    return adapt_embedding(toy, texts, topics, alpha=0.1, beta=3.0, smoothing=0.1)


def test_a_strength_was_chosen_by_the_risk_it_names() -> None:
    """On the half of the authors that chose; the figures of the other half are what is shown."""
    (stored,) = STORED["strengths"].values()
    assert STORED["sha256"] == inkblur.load_embedding().sha256
    assert [find("staircase").key({})] == list(STORED["strengths"])
    epsilons = [stored[strength.value]["epsilon"] for strength in Strength]
    assert epsilons == sorted(epsilons, reverse=True)
    for strength in Strength:
        measured = stored[strength.value]
        every = measured["collections"].values()
        assert len(every) == 3
        for figures in every:
            assert figures["choosing_half"] <= MOST_RISK[strength]
            assert figures["low"] <= figures["risk"] <= figures["high"]
            above = max(0.0, (figures["accuracy"] - figures["chance"]) / (1 - figures["chance"]))
            assert figures["risk"] == pytest.approx(above, abs=1e-3)
        worst = max(every, key=lambda figures: figures["risk"])
        assert measured["named"] == worst["accuracy"]
        assert measured["untouched"] == worst["untouched"]["accuracy"]
        assert measured["guessing"] == worst["chance"]


def test_a_release_at_a_strength_is_recognized_however_it_was_described() -> None:
    table = inkblur.load_embedding()
    for strength, measured in measured_strengths("staircase", table).items():
        found = strength_of(make_mechanism("staircase", table, epsilon=measured.epsilon))
        assert found is not None
        assert found[0] is strength or found[1].epsilon == measured.epsilon
        assert epsilon_for(strength, "staircase", table) == measured.epsilon
    assert strength_of(make_mechanism("staircase", table, epsilon=0.77)) is None


def test_another_table_and_another_mechanism_have_no_strengths(toy: Embedding) -> None:
    """One error, which names the other ways to say how strong."""
    bundled = inkblur.load_embedding()
    for name, table, own in (
        ("staircase", toy, {}),
        ("laplace", bundled, {}),
        ("staircase", bundled, {"tau": 0.2}),
    ):
        with pytest.raises(ParameterError, match=r"give `epsilon=`, or `level=` with `radius=`"):
            epsilon_for(Strength.MEDIUM, name, table, **own)
        assert measured_strengths(name, table, **own) == {}
    assert strength_of(make_mechanism("laplace", toy, epsilon=1.0)) is None
    few, half, most = usual_epsilons("laplace", toy)
    assert few < half < most


@pytest.mark.parametrize("setting", ALL, ids=label)
@pytest.mark.parametrize("wanted", [0.3, 0.6])
def test_the_largest_epsilon_is_found_to_half_a_percent(
    setting: Setting, wanted: float, toy: Embedding
) -> None:
    """Measured on the words that calibration itself samples, so exactly: no more words survive than
    asked, and with a little more epsilon no fewer would.
    """
    name, options = setting
    if options.get("tau") and wanted > 0.5:
        # Near sets of 0.05 hold three of sixty words: none survives more than one time in three.
        with pytest.raises(Unreachable, match=r"no epsilon up to 1e\+09 lets 60% of the words"):
            calibrate(name, toy, survival=wanted, **options)
        return

    def rate(epsilon: float) -> float:
        return survival_rate(make_mechanism(name, toy, epsilon=epsilon, **options))

    epsilon = calibrate(name, toy, survival=wanted, **options)
    assert rate(epsilon) <= wanted <= rate(1.005 * epsilon)


def test_no_epsilon_is_tried_that_a_mechanism_does_not_take() -> None:
    """Each word has a double, so at most half of them survive, at any epsilon."""
    points = np.random.default_rng(1).normal(size=(20, 3))
    table = Embedding([f"w{i}" for i in range(40)], np.vstack([points, points]), name="doubles")
    with pytest.raises(Unreachable, match="no epsilon up to 600 lets 75% of the words"):
        calibrate("exponential", table, survival=0.75)
    with pytest.raises(Unreachable, match=r"lets 99\.9999% of the words"):  # not "100%"
        calibrate("exponential", table, survival=0.999999)
    assert usual_epsilons("exponential", table) == [calibrate("exponential", table, survival=0.2)]


def test_words_of_texts_survive_more_than_an_adapted_vocabulary(adapted: Embedding) -> None:
    epsilon = calibrate("laplace", adapted, survival=0.2)
    mechanism = make_mechanism("laplace", adapted, epsilon=epsilon)
    vocabulary, texts = (
        survival_rate(mechanism, np.tile(np.arange(count), 200)) for count in (60, 12)
    )
    assert vocabulary == pytest.approx(0.2, abs=0.1)
    assert texts > 1.5 * vocabulary


def test_level_radius_and_survival_have_their_ranges(toy: Embedding) -> None:
    assert epsilon_from_level(3.0, 2.0) == 1.5
    for level, radius in ((0, 1), (1, 0), (-1, 1), (1, float("inf"))):
        with pytest.raises(ParameterError):
            epsilon_from_level(level, radius)
    for survival in (0.0, 1.0, -0.1, float("nan")):
        with pytest.raises(ParameterError, match="survival"):
            calibrate("laplace", toy, survival=survival)


def test_keys_of_stored_strengths() -> None:
    assert find("mahalanobis").key({}) == find("mahalanobis").key({"lam": 0.5})
    assert find("exponential").key({"bigram": 0.0}) == "exponential"
    assert find("exponential").key({"bigram": 0.3}) == "exponential bigram=0.3"
    assert find("angular-laplace").key({"accept_no_guarantee": True}) == "angular-laplace"


@pytest.mark.parametrize("setting", PRIVATE, ids=label)
@pytest.mark.parametrize("count", [60, 12])  # of a plain table; the words that a corpus has
def test_typical_distances_are_between_words_that_texts_can_have(
    setting: Setting, count: int, toy: Embedding, adapted: Embedding
) -> None:
    mechanism = make(setting, toy if count == 60 else adapted, 0.5)
    found = typical_loss(mechanism)
    ids = np.arange(count)
    distances = mechanism.pairwise(ids, ids)
    pairs = distances[np.triu_indices(count, 1)]
    np.fill_diagonal(distances, np.inf)
    assert found.pair_distance == pytest.approx(np.median(pairs))
    assert found.nearest_distance == pytest.approx(np.median(distances.min(axis=1)))
    assert (found.sample, found.adapted) == (count, count == 12)
    if count == 12 and mechanism.guarantee.metric is not Metric.DISCRETE:
        everything = mechanism.pairwise(np.arange(60), np.arange(60))[np.triu_indices(60, 1)]
        assert found.pair_distance > 1.2 * np.median(everything)
        assert "words in the corpus" in found.sentences()[0]


def test_words_of_any_corpus_count_and_a_table_without_them_is_measured_whole(
    adapted: Embedding,
) -> None:
    later = [" ".join(adapted.words[k : k + 2]) for k in (20, 22, 24)]
    twice = adapt_embedding(adapted, later, {"tone": ["x", "y", "x"]}, smoothing=0.1)
    assert typical_loss(Laplace(twice, epsilon=1.0)).sample == 12 + 6
    unseen = adapted.restricted(adapted.words[12:], origin="a list")
    found = typical_loss(Laplace(unseen, epsilon=1.0))
    assert (found.sample, found.adapted) == (48, False)
