from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from inkblur.embeddings.adaptation import adapt_embedding
from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError, Unreachable
from inkblur.mechanisms import make_mechanism
from inkblur.mechanisms.catalogue import find
from inkblur.mechanisms.strengths import (
    calibrate,
    epsilon_from_level,
    survival_rate,
    usual_epsilons,
)
from inkblur.rng import seeded_rng
from tests.laws.catalogue import ALL, label


@pytest.mark.parametrize("setting", ALL, ids=label)
@pytest.mark.parametrize("wanted", [0.75, 0.2])
def test_words_survive_as_often_as_asked(
    setting: tuple[str, dict[str, Any]], wanted: float, toy: Embedding
) -> None:
    name, options = setting
    if name == "angular-laplace" and wanted < 0.5:
        pytest.skip("an angle cut off at 90 degrees keeps more of so few words at any epsilon")
    if options.get("tau") and wanted > 0.5:
        # Near sets of 0.05 hold three of sixty words: none survives more than one time in three.
        with pytest.raises(Unreachable, match=r"no epsilon up to 1e\+09 lets 75% of the words"):
            calibrate(name, toy, survival=wanted, **options)
        return
    epsilon = calibrate(name, toy, survival=wanted, **options)
    mechanism = make_mechanism(name, toy, epsilon=epsilon, **options)
    fresh = np.arange(len(toy), dtype=np.int64).repeat(400)
    measured = (mechanism.replace(fresh, seeded_rng(77)) == fresh).mean()
    assert measured == pytest.approx(wanted, abs=0.15)  # sixty words were sampled once each


@pytest.mark.parametrize("setting", ALL, ids=label)
@pytest.mark.parametrize("wanted", [0.3, 0.6])
def test_the_largest_epsilon_is_found_to_half_a_percent(
    setting: tuple[str, dict[str, Any]], wanted: float, toy: Embedding
) -> None:
    """Measured on the words that calibration itself samples, so exactly: no more words survive than
    asked, and with a little more epsilon no fewer would.
    """
    name, options = setting
    if options.get("tau") and wanted > 0.5:
        pytest.skip("near sets of three words")

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


@pytest.fixture(scope="module")
def adapted(toy: Embedding) -> Embedding:
    """Twelve of sixty words are in the corpus, and lie far from the others."""
    texts = [f"{toy.words[k]} {toy.words[k + 4]}" for k in range(8)]
    topics = {"topic": ["one", "two"] * 4}
    return adapt_embedding(toy, texts, topics, alpha=0.1, beta=3.0, smoothing=0.1)


def test_words_of_texts_survive_more_than_an_adapted_vocabulary(adapted: Embedding) -> None:
    """Why; and calibrate itself still serves who knows that."""
    epsilon = calibrate("laplace", adapted, survival=0.2)
    mechanism = make_mechanism("laplace", adapted, epsilon=epsilon)
    vocabulary, texts = (
        survival_rate(mechanism, np.tile(np.arange(count), 200)) for count in (60, 12)
    )
    assert vocabulary == pytest.approx(0.2, abs=0.1)
    assert texts > 1.5 * vocabulary


def test_level_and_radius() -> None:
    assert epsilon_from_level(3.0, 2.0) == 1.5
    for level, radius in ((0, 1), (1, 0), (-1, 1), (1, float("inf"))):
        with pytest.raises(ParameterError):
            epsilon_from_level(level, radius)


@pytest.mark.parametrize("survival", [0.0, 1.0, -0.1, float("nan")])
def test_survival_lies_strictly_between_0_and_1(survival: float, toy: Embedding) -> None:
    with pytest.raises(ParameterError, match="survival"):
        calibrate("laplace", toy, survival=survival)


def test_what_no_epsilon_can_reach_is_a_clear_error() -> None:
    twins = Embedding(["a", "b"], [[1.0, 0.0], [1.0, 0.0]], name="twins")
    with pytest.raises(ParameterError, match="no epsilon"):
        calibrate("laplace", twins, survival=0.9)


def test_keys_of_stored_strengths() -> None:
    assert find("mahalanobis").key({"lam": 0.5}) == "mahalanobis lam=0.5"
    assert find("mahalanobis").key({}) == "mahalanobis lam=0.5"
    assert find("exponential").key({"bigram": 0.0}) == "exponential"
    assert find("exponential").key({"bigram": 0.3}) == "exponential bigram=0.3"
    assert find("angular-laplace").key({"accept_no_guarantee": True}) == "angular-laplace"
