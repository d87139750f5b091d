"""The base of a position: its units, and the order in which words count as near."""

from __future__ import annotations

import numpy as np
import pytest

from inkblur import Embedding
from inkblur.errors import ParameterError
from inkblur.mechanisms.staircase.conditional import Bases, lifts_of
from inkblur.mechanisms.staircase.expectation import SCALE, Small
from inkblur.mechanisms.staircase.nearness import LONGEST, Grid, Nearness, near_words
from inkblur.mechanisms.staircase.units import Steps

WORDS = ["cat", "dog", "lion", "sky"]
VECTORS = [[1.0, 0.0], [1.0, 0.2], [1.0, 0.3], [-1.0, 0.0]]
TABLE = Embedding(WORDS, VECTORS, name="toy", counts=np.array([40, 30, 20, 10]))
STEPS = Steps.fit(epsilon=2.0, tau=0.9, words=len(WORDS))
LION = (np.array([2], dtype=np.int32), np.array([SCALE], dtype=np.int32))


def nearest(bases: Bases, word: int, words: Small, parts: Small) -> list[str]:
    """Words in the order in which they count as near, as far as the near set goes."""
    keys = Grid(TABLE, Nearness.COSINE).keys(np.array([word]))[0]
    inside, _ = near_words(
        bases.order(keys, word, words, parts), word, bases.units(words, parts), STEPS.near
    )
    return [WORDS[i] for i in inside]


def made(delta: float = 0.5, fit: float = 0.0) -> Bases:
    return Bases(STEPS, TABLE.counts, len(WORDS), delta=delta, fit=fit)


@pytest.mark.parametrize(
    ("fit", "order"),
    [
        (0.0, ["cat", "dog", "lion"]),
        (0.0025, ["cat", "lion", "dog"]),  # it fits better than the dog, which is nearer
        (0.5, ["lion", "cat", "dog"]),
    ],
)
def test_a_word_that_fits_passes_nearer_ones(fit: float, order: list[str]) -> None:
    assert nearest(made(fit=fit), 0, *LION)[:3] == order


def test_a_word_is_nearest_to_itself_before_its_twins() -> None:
    twins = Embedding(["a", "b", "c"], [[1.0], [1.0], [1.0]], name="twins")
    bases = Bases(Steps.fit(epsilon=1.0, tau=0.2, words=3), None, 3, delta=0.5, fit=0.1)
    parts = np.array([5, 5, 5], dtype=np.int32)
    keys = Grid(twins, Nearness.COSINE).keys(np.arange(3))
    for word in range(3):
        words = np.arange(3, dtype=np.int32)
        order = bases.order(keys[word], word, words, parts)
        inside, _ = near_words(order, word, bases.units(words, parts), bases.steps.near)
        assert inside[0] == word


def test_the_model_and_frequency_share_all_units() -> None:
    bases = made(delta=0.25)
    units = bases.units(*LION)
    assert units.sum() == STEPS.units
    assert units[2] / STEPS.units == pytest.approx(0.75 + 0.25 * 0.2, abs=1e-4)
    assert units[3] / STEPS.units == pytest.approx(0.25 * 0.1, abs=1e-4)


def test_lifts_grow_by_the_fit_with_every_doubling() -> None:
    lifts = lifts_of(0.25)
    assert lifts[0] == 0
    assert lifts[1] == 0.25 * 2 * LONGEST**2
    assert lifts[3] == 2 * lifts[1]
    assert (np.diff(lifts) > 0).all()


@pytest.mark.parametrize(("delta", "fit"), [(0.0, 0.1), (1.0, 0.1), (0.5, -0.1), (0.5, 1.5)])
def test_shares_outside_their_range_are_refused(delta: float, fit: float) -> None:
    with pytest.raises(ParameterError, match="must lie between 0 and 1"):
        made(delta, fit)


@pytest.mark.parametrize(
    ("epsilon", "tau", "delta"),
    [(1e-6, 0.3, 0.1), (1.0, 1e-7, 0.1), (1.0, 0.3, 1 - 1e-15)],
    ids=["epsilon too small", "tau too small", "delta too large"],
)
def test_what_leaves_too_few_units_is_named(epsilon: float, tau: float, delta: float) -> None:
    steps = Steps.fit(epsilon=epsilon, tau=tau, words=4)
    with pytest.raises(ParameterError, match="larger epsilon, or a tau and a delta farther"):
        Bases(steps, TABLE.counts, len(WORDS), delta=delta, fit=0.0)


@pytest.mark.parametrize("parts", [0, -1])
def test_a_model_that_expects_nothing_is_an_error(parts: int) -> None:
    with pytest.raises(ValueError, match="whole parts"):
        made().units(np.array([1], dtype=np.int32), np.array([parts], dtype=np.int32))


@pytest.mark.parametrize("parts", [[5, -1], [0, 0], [-1, -1]])
def test_parts_below_nothing_are_refused(parts: list[int]) -> None:
    """They would take units from a word until it is out of reach, or owns fewer than none."""
    with pytest.raises(ValueError, match="whole parts"):
        made().units(np.array([1, 2], dtype=np.int32), np.array(parts, dtype=np.int32))


def test_numbers_of_numpy_are_the_numbers_that_they_are() -> None:
    bases, plain = made(np.float32(0.25), np.float32(0.5)), made(0.25, 0.5)  # type: ignore[arg-type]
    assert (bases.delta, bases.fit, bases.followed) == (plain.delta, plain.fit, plain.followed)
    assert (bases.lifts == plain.lifts).all()
