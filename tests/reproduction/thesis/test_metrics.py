"""Pairs use no text twice; Word Mover's distance is the one of the library."""

from __future__ import annotations

import numpy as np
import pytest

from inkblur.embeddings.table import Embedding
from inkblur.evaluation.measures.meaning import meaning_kept
from inkblur.rng import seeded_rng
from reproduction.thesis.angular import nearness
from reproduction.thesis.metrics import pairs, straightness, word_movers


@pytest.mark.parametrize("same", [True, False])
def test_pairs_are_disjoint_and_of_the_kind_asked(same: bool) -> None:
    rng = np.random.default_rng(2)
    authors = np.repeat(np.arange(10), 20).tolist()
    found = pairs(authors, rng.permutation(200).tolist(), 80, same=same)
    assert len(found) == 80
    assert len({row for pair in found for row in pair}) == 160
    assert all((authors[a] == authors[b]) == same for a, b in found)


def test_word_movers_agrees_with_the_distance_of_meaning() -> None:
    rows = np.random.default_rng(1).normal(size=(4, 5))
    table = Embedding(["red", "cat", "dog", "sky"], rows, name="toy")
    left, right = "Red cat, red unheard-of sky!", "dog sky cat"
    stated = meaning_kept([left], [right], table).earth_movers
    assert word_movers(left, right, table) == pytest.approx(stated)
    assert word_movers("unheard", right, table) is None


def test_nearness_looks_at_replaced_words_only() -> None:
    table = Embedding(["a", "b", "c"], [[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]], name="toy")
    ids, out = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 2, 1, 1, 1])
    assert nearness(table, ids, out, 3) == [0.5, None]


@pytest.mark.parametrize(("bend", "straight"), [(0.0, True), (2.0, False)])
def test_a_curve_gains_where_the_relation_bends(bend: float, straight: bool) -> None:
    draws = np.random.default_rng(4)
    x = draws.uniform(0, 1, 300)
    y = x + bend * (x - 0.5) ** 2 + draws.normal(0, 0.1, 300)
    found = straightness(x, y, seeded_rng(1))
    for degree, name in ((1, "R squared, line"), (2, "R squared, curve")):
        left = y - np.polyval(np.polyfit(x, y, degree), x)
        assert found[name].value == pytest.approx(1 - (left @ left) / (len(y) * y.var()))
    gain = found["gain of the curve"]
    assert gain.value == pytest.approx(
        found["R squared, curve"].value - found["R squared, line"].value
    )
    assert 0 <= gain.low <= gain.high
    assert (gain.high < 0.05) if straight else (gain.low > 0.05)
