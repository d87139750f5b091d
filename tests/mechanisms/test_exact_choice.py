"""The weighted choice loses no word, and its drawn probabilities keep the promised distance."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from inkblur.mechanisms.exact_choice import (
    BLOCK,
    block_sums,
    blocks_in,
    digits,
    locate,
    positions,
    rounding,
    word_sums,
)
from inkblur.types import Array


def exact_probabilities(ratings: Array, kappa: float) -> list[Decimal]:
    with localcontext() as context:
        context.prec = 60
        weights = [(Decimal(kappa) * (Decimal(r) - 1)).exp() for r in ratings.tolist()]
        total = sum(weights)
        return [w / total for w in weights]


def in_blocks(ratings: Array) -> Array:
    rows = np.full((blocks_in(len(ratings)), BLOCK), -1.0)
    rows.reshape(-1)[: len(ratings)] = ratings
    return rows


def drawn_probabilities(ratings: Array, kappa: float) -> list[Fraction]:
    """Lengths of the intervals that draws are answered from, as exact fractions of the whole."""
    shares = _lengths(*block_sums(ratings, kappa))
    out = []
    for share, sums, order in zip(shares, *word_sums(in_blocks(ratings), kappa), strict=True):
        out += [share * inside for inside in _lengths(sums, order)]
    assert not any(out[len(ratings) :])  # nothing is found where words end
    return out[: len(ratings)]


def _lengths(sums: Array, order: NDArray[np.integer[Any]]) -> list[Fraction]:
    ends = [Fraction(0), *map(Fraction, sums.tolist())]
    out = [Fraction(0)] * len(order)
    for i, item in enumerate(order.tolist()):
        out[item] = (ends[i + 1] - ends[i]) / ends[-1]
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
    drawn = drawn_probabilities(ratings, kappa)
    assert sum(drawn) == 1
    allowed = rounding(kappa, size) / 2
    for got, wanted in zip(drawn, exact_probabilities(ratings, kappa), strict=True):
        assert got > 0
        with localcontext() as context:
            context.prec = 60
            ratio = Decimal(got.numerator) / Decimal(got.denominator) / wanted
            assert abs(float(ratio - 1)) <= allowed


def test_the_promised_rounding_is_small() -> None:
    assert rounding(50.0, 40_000) < 4e-10
    assert rounding(300.0, 1_000_000) < 2e-8


@pytest.mark.parametrize("kappa", [0.5, 23.75, 50.0, 300.0])
@pytest.mark.parametrize("words", [2, 40_000, 400_000])
def test_digits_cover_the_smallest_probability(kappa: float, words: int) -> None:
    assert 52 * digits(kappa, words) >= kappa / np.log(2) + np.log2(words) + 40


def test_positions_use_every_digit() -> None:
    half = 2.0**-53
    rows = np.array([[half, 0.25], [0.5, half], [half, half], [1 - half, 1 - half]])
    where = positions(rows)
    assert where[0] == pytest.approx(0.25 * 2.0**-52, rel=1e-12)
    assert where[1] == 0.5
    assert where[2] == 2.0**-105
    assert where[3] == 1.0  # rounds to 1: the last word has it


@pytest.mark.parametrize("steps", [1, 2, 63, 64, 65, 500])
def test_locating_is_a_search_in_each_row(steps: int) -> None:
    rng = np.random.default_rng(steps)
    sums = np.cumsum(rng.integers(0, 3, (9, steps)) + (np.arange(steps) == 0), axis=1) * 0.25
    order = rng.permuted(np.tile(np.arange(steps, dtype=np.int32), (9, 1)), axis=1)
    rows = rng.integers(0, 9, 4000)
    where = rng.integers(1, 1 << 10, 4000) / 1024  # many hit an end, to the last bit
    got = locate(sums, order, rows, where)
    for row, place, found in zip(rows, where, got, strict=True):
        step = np.searchsorted(sums[row], place * sums[row, -1], side="right")
        assert found == order[row, step]


def test_two_steps_answer_as_one_ladder_would() -> None:
    """How much of a fine grid of both positions leads to each word: its probability."""
    ratings = np.random.default_rng(5).uniform(0, 1, 150) ** 2
    grid = (np.arange(3000) + 0.5) / 3000
    sums, order = block_sums(ratings, 12.0)
    blocks = locate(sums[None], order[None], np.zeros(3000, dtype=np.int64), grid)
    shares = np.bincount(blocks, minlength=3) / 3000
    inside = word_sums(in_blocks(ratings), 12.0)
    for block in range(3):
        words = locate(*inside, np.full(3000, block), grid)
        got = shares[block] * np.bincount(words, minlength=BLOCK) / 3000
        wanted = np.exp(12.0 * (ratings - 1)) / np.exp(12.0 * (ratings - 1)).sum()
        wanted = wanted[block * BLOCK : (block + 1) * BLOCK]
        assert got[: len(wanted)] == pytest.approx(wanted, abs=2 / 3000)
        assert not got[len(wanted) :].any()


@pytest.mark.parametrize("ratings", [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0], [0.5]])
@pytest.mark.parametrize("kappa", [0.5, 50.0, 300.0])
def test_the_ends_of_the_unit_interval_are_words(kappa: float, ratings: list[float]) -> None:
    """The least word and the greatest, and never a place after a short block's end."""
    intervals = word_sums(in_blocks(np.array(ratings)), kappa)
    ends = locate(*intervals, np.zeros(2, dtype=np.int64), np.array([2.0**-520, 1.0]))
    assert ends.tolist() == [
        int(np.argmin(ratings)),
        len(ratings) - 1 - int(np.argmax(ratings[::-1])),
    ]
