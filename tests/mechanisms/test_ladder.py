"""The weighted choice loses no word, and its drawn probabilities keep the promised distance."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from inkblur.mechanisms.ladder import Ladder, choose_words, digits, positions, rounding
from inkblur.rng import seeded_rng
from inkblur.types import Array


def exact_probabilities(ratings: Array, kappa: float) -> list[Decimal]:
    with localcontext() as context:
        context.prec = 60
        weights = [(Decimal(kappa) * (Decimal(r) - 1)).exp() for r in ratings.tolist()]
        total = sum(weights)
        return [w / total for w in weights]


def drawn_probabilities(ratings: Array, kappa: float) -> list[Fraction]:
    """Lengths of the intervals that draws are answered from, as exact fractions of the whole."""
    out = [Fraction(0)] * len(ratings)
    ladder, tail = Ladder.of(ratings, kappa), Ladder.tail(ratings, kappa)
    whole, foot = Fraction(float(ladder.rungs[-1])), Fraction(float(ladder.rungs[0]))
    for part, share in ((ladder, Fraction(1) / whole), (tail, foot / whole / _last(tail))):
        rungs = list(map(Fraction, part.rungs.tolist()))
        for i, word in enumerate(part.words.tolist()[1:], 1):
            out[word] += (rungs[i] - rungs[i - 1]) * share
    return out


def _last(tail: Ladder) -> Fraction:
    return Fraction(float(tail.rungs[-1])) if len(tail.rungs) > 1 else Fraction(1)


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
    drawn = drawn_probabilities(ratings, kappa)
    assert sum(drawn) == 1
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
    assert rounding(50.0, 40_000) < 4e-10
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


def test_tail_and_head_answer_as_one_ladder_would() -> None:
    """Against a plain search over exact intervals, foot to top, in the ladder's own order."""
    rng = np.random.default_rng(5)
    ratings = rng.uniform(0, 1, 3000) ** 2
    where = np.concatenate([rng.uniform(0, 1, 3000), np.geomspace(1e-9, 1e-3, 3000)])
    words, ladder = choose_words(ratings, 40.0, where)
    tail = Ladder.tail(ratings, 40.0)
    assert len(tail.words) + len(ladder.words) == 3002
    assert len(tail.words) > 1000
    order = np.concatenate([tail.words[1:], ladder.words[1:]])
    climbing = np.cumsum(np.exp(40.0 * (ratings[order] - 1)).astype(np.longdouble))
    wanted = order[np.searchsorted(climbing / climbing[-1], where, side="right")]
    assert (words == wanted).mean() > 0.9999  # the two round differently at an interval's very end
    assert set(words) & set(tail.words.tolist())


def test_a_tail_holds_at_most_its_share() -> None:
    rng = np.random.default_rng(6)
    for kappa in (0.5, 20.0, 60.0, 300.0):
        ladder = Ladder.of(rng.uniform(0, 1, 2000), kappa)
        assert ladder.rungs[0] <= 2.0**-14 * ladder.rungs[-1]


def test_the_head_answers_as_the_whole_does() -> None:
    rng = np.random.default_rng(5)
    whole = Ladder.of(rng.uniform(0, 1, 3000) ** 3, 30.0)
    head = whole.head()
    assert head.bytes < whole.bytes
    where = np.concatenate([rng.uniform(0, 1, 5000), rng.uniform(0, 1e-4, 5000)])
    below = head.below(where)
    assert 0 < below.sum() < len(where)
    assert np.array_equal(head.climb(where)[~below], whole.climb(where)[~below])
    assert (head.climb(where)[~below] >= 0).all()


def test_a_flat_row_has_no_tail() -> None:
    ladder = Ladder.of(np.full(100, 0.3), 5.0)
    assert len(ladder.words) == 101
    assert len(ladder.head().words) == 101
    assert not ladder.head().below(np.array([1e-30])).any()


@pytest.mark.parametrize("kappa", [0.5, 50.0, 300.0])
def test_the_ends_of_the_unit_interval_are_words(kappa: float) -> None:
    words, _ = choose_words(np.array([0.0, 1.0]), kappa, np.array([2.0**-520, 1.0]))
    assert words.tolist() == [0, 1]
