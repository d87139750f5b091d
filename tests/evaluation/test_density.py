"""Table 5: nearest-word distances against plain loops, and shares counted by hand."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import inkblur
from inkblur.errors import ParameterError
from inkblur.evaluation.measures.density import density, nearest_distances


@pytest.mark.parametrize("words", [2, 7, 1500])
def test_nearest_distances_are_those_of_plain_loops(words: int) -> None:
    points = np.random.default_rng(words).normal(size=(words, 4)).astype(np.float32) + 100
    table = inkblur.Embedding([f"w{i}" for i in range(words)], points, name="far out")
    exact, found = points.astype(np.float64), nearest_distances(table)
    for row in range(0, words, max(1, words // 50)):
        gaps = np.linalg.norm(exact - exact[row], axis=1)
        gaps[row] = np.inf
        assert found[row] == pytest.approx(gaps.min(), rel=1e-9)


def test_the_ratios_are_those_of_the_extreme_words() -> None:
    # Nearest-word distances: a and b 1, c 3, d 7, e 7 (to d).
    table = inkblur.Embedding(list("abcde"), [[0.0], [1.0], [4.0], [11.0], [18.0]], name="line")
    found = density(table, extremes=2)
    assert (found.largest, found.smallest) == (7.0, 1.0)
    assert found.extreme_ratio == 7.0
    assert found.mean_ratio == 7.0
    assert set(found.sparsest) == {"d", "e"}
    assert set(found.densest) == {"a", "b"}
    assert found.mean_share is None


def test_shares_of_records_that_hold_a_sparse_word() -> None:
    table = inkblur.Embedding(list("abcde"), [[0.0], [1.0], [4.0], [11.0], [18.0]], name="line")
    found = density(table, ["D d a", "a b", "d, e!", "nothing"], extremes=2)
    assert found.records == 4
    assert found.mean_share == pytest.approx((2 / 4 + 1 / 4) / 2)
    assert found.any_share == pytest.approx(2 / 4)


def test_words_that_share_a_vector_make_the_ratio_infinite_and_are_counted() -> None:
    table = inkblur.Embedding(list("abcd"), [[0.0], [0.0], [4.0], [9.0]], name="twins")
    found = density(table, extremes=1)
    assert found.same_vector == 2
    assert found.extreme_ratio == math.inf
    assert json.loads(json.dumps(found.to_json(), allow_nan=False))["extreme_ratio"] is None


def test_bad_requests_are_refused() -> None:
    table = inkblur.Embedding(list("abc"), [[0.0], [1.0], [4.0]], name="line")
    with pytest.raises(ParameterError, match="need a vocabulary of 4"):
        density(table, extremes=2)
    with pytest.raises(ParameterError, match="extremes must be"):
        density(table, extremes=0)
    with pytest.raises(ParameterError, match="no texts"):
        density(table, [], extremes=1)
