"""The three bounds of SynTF, section 3.4, against brute force."""

from __future__ import annotations

import json
import math
from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkblur.mechanisms import loss as loss_module
from inkblur.mechanisms.loss import (
    improved_bound,
    remembered_loss,
    standard_bound,
    tight_loss,
)
from inkblur.mechanisms.rating import Rating
from inkblur.types import Array, Ids


class TableRating:
    """Ratings given as a table: row i for input i, the null word's row last."""

    def __init__(self, table: Array) -> None:
        self._table = table
        self.size = table.shape[1]
        self.symmetric = bool(np.array_equal(table[:-1], table[:-1].T))
        self.spec = f"table {table.tobytes().hex()}"

    def block(self, rows: Ids, columns: slice) -> Array:
        return self._table[rows][:, columns].copy()


def brute_loss(rating: Rating, epsilon: float) -> float:
    """Eq. 1 straight from the definition, with 60 digits."""
    rows = rating.block(np.arange(-1, rating.size), slice(0, rating.size))
    with localcontext() as context:
        context.prec = 60
        table = []
        for row in rows.tolist():
            weights = [(Decimal(epsilon) / 2 * Decimal(r)).exp() for r in row]
            total = sum(weights)
            table.append([w / total for w in weights])
        ratios = [max(column) / min(column) for column in zip(*table, strict=True)]
        return float(max(ratios).ln())


def random_rating(seed: int, size: int, *, symmetric: bool) -> TableRating:
    table = np.random.default_rng(seed).uniform(0, 1, (size + 1, size))
    if symmetric:
        table[:-1] = np.maximum(table[:-1], table[:-1].T)
    return TableRating(table)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("block", [3, 4096])
@pytest.mark.parametrize("epsilon", [0.1, 10.0, 100.0, 600.0])
def test_tight_loss_is_brute_force(
    monkeypatch: pytest.MonkeyPatch, symmetric: bool, block: int, epsilon: float
) -> None:
    monkeypatch.setattr(loss_module, "_BLOCK", block)
    for seed in range(5):
        rating = random_rating(seed, 11, symmetric=symmetric)
        assert tight_loss(rating, epsilon) == pytest.approx(brute_loss(rating, epsilon), rel=1e-12)


def test_the_null_word_counts() -> None:
    """Two words that behave alike, and a null word that does not."""
    alike = TableRating(np.array([[0.5, 0.5], [0.5, 0.5], [1.0, 0.0]]))
    assert tight_loss(alike, 4.0) == pytest.approx(brute_loss(alike, 4.0))
    assert tight_loss(alike, 4.0) > 0.5


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 9), st.floats(0.01, 200), st.booleans())
def test_tight_never_above_improved_never_above_standard(
    seed: int, size: int, epsilon: float, extreme: bool
) -> None:
    rating = random_rating(seed, size, symmetric=True)
    if extreme:  # ratings of 0 and 1 alone come closest to the improved bound
        rating = TableRating(rating.block(np.arange(-1, size), slice(0, size)).round())
    tight, improved = tight_loss(rating, epsilon), improved_bound(epsilon, size)
    assert tight <= improved * (1 + 1e-12)
    assert improved < standard_bound(epsilon)


def test_improved_is_attained_by_two_opposite_words() -> None:
    """Where one word loves what the other hates Theorem 3.4 has nothing to spare."""
    opposite = TableRating(np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]))
    assert tight_loss(opposite, 9.0) == pytest.approx(improved_bound(9.0, 2), rel=1e-12)


@pytest.mark.parametrize("size", [2, 100, 30_000])
def test_improved_is_the_formula_of_theorem_3_4(size: int) -> None:
    for epsilon in (0.5, 5.0, 47.5):
        e = Decimal(epsilon)
        eta = ((-e / 2).exp() + size - 1) / ((e / 2).exp() + size - 1)
        assert improved_bound(epsilon, size) == pytest.approx(float(e + eta.ln()), rel=1e-12)
    assert improved_bound(5000.0, size) == pytest.approx(2500 + math.log(size - 1), rel=1e-9)


class CountingRating(TableRating):
    calls = 0

    def block(self, rows: Ids, columns: slice) -> Array:
        self.calls += 1
        return super().block(rows, columns)


@pytest.mark.parametrize("symmetric", [True, False])
def test_a_long_computation_says_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, symmetric: bool
) -> None:
    rating = random_rating(1, 9, symmetric=symmetric)
    monkeypatch.setattr(loss_module, "_BLOCK", 3)
    tight_loss(rating, 3.0)
    assert not caplog.messages
    for seconds in ("_QUIET", "_EVERY"):
        monkeypatch.setattr(loss_module, seconds, 0.0)
    tight_loss(rating, 3.0)
    assert len(caplog.messages) == (12 if symmetric else 18)  # both passes
    assert "all pairs of 9 words: 100 % done, about 0 min left" in caplog.messages[-1]


def test_the_loss_is_remembered_and_a_damaged_file_ignored(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(loss_module, "_SMALL", 0)
    rating = CountingRating(np.random.default_rng(1).uniform(0, 1, (6, 5)))
    wanted = tight_loss(rating, 3.0)
    folder = tmp_path / "cache"
    assert remembered_loss(rating, 3.0, "sha", folder) == wanted
    (path,) = folder.iterdir()
    rating.calls = 0
    assert remembered_loss(rating, 3.0, "sha", folder) == wanted
    assert rating.calls == 0
    good = path.read_text()
    other = json.dumps({**json.loads(good), "value": wanted / 2})
    for damaged in ("", "{", "[]", good[:-9], other, good.replace("sha", "sho")):
        path.write_text(damaged)
        rating.calls = 0
        assert remembered_loss(rating, 3.0, "sha", folder) == wanted
        assert rating.calls > 0
        assert path.read_text() == good
    for parts in ((4.0, "sha"), (3.0, "another")):  # nothing is shared between keys
        rating.calls = 0
        remembered_loss(rating, *parts, folder)
        assert rating.calls > 0
    assert len(list(folder.iterdir())) == 3
