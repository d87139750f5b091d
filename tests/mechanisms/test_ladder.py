"""The weighted choice loses no word, and its drawn probabilities keep the promised distance."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from inkblur.mechanisms.ladder import Ladder, digits, positions, rounding
from inkblur.rng import seeded_rng
from inkblur.types import Array


def exact_probabilities(ratings: Array, kappa: float) -> list[Decimal]:
    with localcontext() as context:
        context.prec = 60
        weights = [(Decimal(kappa) * (Decimal(r) - 1)).exp() for r in ratings.tolist()]
        total = sum(weights)
        return [w / total for w in weights]


def drawn_probabilities(ladder: Ladder, size: int) -> list[Fraction]:
    """Lengths of the intervals that `climb` answers from, as exact fractions of the whole."""
    rungs = [Fraction(0), *map(Fraction, ladder.rungs.tolist())]
    out = [Fraction(0)] * size
    for i, word in enumerate(ladder.words.tolist()):
        out[word] += (rungs[i + 1] - rungs[i]) / rungs[-1]
    return out


def adverse_ratings(kind: str, size: int) -> Array:
    """Rows that a plain cumulative sum in id order gets wrong."""
    rng = np.random.default_rng(7)
    if kind == "one good word first":
        ratings = np.zeros(size)
        ratings[0] = 1.0
        return ratings
    if kind == "falling":
        return np.linspace(1, 0, size)
    return rng.uniform(0, 1, size)


@pytest.mark.parametrize("kind", ["one good word first", "falling", "random"])
@pytest.mark.parametrize("epsilon", [1.0, 47.5, 100.0, 600.0])
def test_every_words_interval_is_its_probability(kind: str, epsilon: float) -> None:
    size, kappa = 500, epsilon / 2
    ratings = adverse_ratings(kind, size)
    drawn = drawn_probabilities(Ladder.of(ratings, kappa), size)
    allowed = rounding(kappa, size) / 2
    for got, wanted in zip(drawn, exact_probabilities(ratings, kappa), strict=True):
        assert got > 0
        with localcontext() as context:
            context.prec = 60
            ratio = Decimal(got.numerator) / Decimal(got.denominator) / wanted
            assert abs(float(ratio - 1)) <= allowed


def test_a_plain_cumulative_sum_would_lose_words() -> None:
    """The danger is real: in id order 499 of these 500 words could never be drawn."""
    ratings = adverse_ratings("one good word first", 500)
    plain = np.cumsum(np.exp(50.0 * (ratings - 1)))
    assert (np.diff(plain) == 0).sum() == 499


def test_the_promised_rounding_is_small() -> None:
    assert rounding(50.0, 40_000) < 3e-10
    assert rounding(300.0, 1_000_000) < 2e-8


def test_digits_cover_the_smallest_probability() -> None:
    for kappa in (0.5, 23.75, 50.0, 300.0):
        for words in (2, 40_000, 400_000):
            bits = 52 * digits(kappa, words)
            assert bits >= kappa / np.log(2) + np.log2(words) + 40


def test_positions_use_every_digit() -> None:
    half = 2.0**-53
    rows = np.array([[half, 0.25], [0.5, half], [half, half], [1 - half, 1 - half]])
    where = positions(rows)
    assert where[0] == pytest.approx(0.25 * 2.0**-52, rel=1e-12)
    assert where[1] == 0.5
    assert where[2] == 2.0**-105
    assert where[3] == 1.0  # rounds to 1: the ladder gives the last word


def test_positions_are_uniform_down_to_the_smallest() -> None:
    """Given that the first digit is 0, the second decides, and it is uniform as well."""
    rows = seeded_rng(3).rows(20_000, 2)
    rows[:, 0] = 2.0**-54
    where = positions(rows) * 2.0**52
    assert np.abs(np.quantile(where, [0.1, 0.5, 0.9]) - [0.1, 0.5, 0.9]).max() < 0.02


def test_the_head_answers_as_the_whole_does() -> None:
    rng = np.random.default_rng(5)
    whole = Ladder.of(rng.uniform(0, 1, 3000) ** 3, 30.0)
    head = whole.head()
    assert not head.whole
    assert head.bytes < whole.bytes / 2
    where = np.concatenate([rng.uniform(0, 1, 5000), rng.uniform(0, 1e-4, 5000)])
    below = head.below(where)
    assert 0 < below.sum() < len(where)
    assert np.array_equal(head.climb(where)[~below], whole.climb(where)[~below])


def test_a_flat_row_is_kept_whole() -> None:
    head = Ladder.of(np.full(100, 0.3), 5.0).head()
    assert head.whole
    assert not head.below(np.array([1e-30])).any()


def test_the_ends_of_the_unit_interval_are_words() -> None:
    ladder = Ladder.of(np.array([0.0, 1.0]), 50.0)
    assert ladder.climb(np.array([2.0**-158, 1.0])).tolist() == [0, 1]
