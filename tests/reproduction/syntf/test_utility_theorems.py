"""The utility theorems of SynTF, section 3.4, against brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkblur import ParameterError
from inkblur.types import Array
from reproduction.syntf.utility_theorems import chance, chance_bounds, epsilon_bounds

rows = st.lists(st.floats(0, 1), min_size=2, max_size=12).map(np.array)


@given(rows, st.floats(0.01, 100), st.data())
def test_theorem_3_6_holds(ratings: Array, epsilon: float, data: st.DataObject) -> None:
    threshold = data.draw(st.sampled_from(ratings.tolist()))
    low, high = chance_bounds(ratings, epsilon, threshold)
    exact = chance(ratings, epsilon, threshold)
    assert low * (1 - 1e-9) <= exact <= high * (1 + 1e-9)


@given(rows, st.floats(0.01, 0.99), st.data())
def test_corollary_3_7_holds(ratings: Array, wanted: float, data: st.DataObject) -> None:
    threshold = data.draw(st.sampled_from(ratings.tolist()))
    necessary, sufficient = epsilon_bounds(ratings, wanted, threshold)
    assert 0 <= necessary <= sufficient
    if 1e-3 < sufficient < 1e4:
        assert chance(ratings, sufficient * (1 + 1e-9), threshold) >= wanted * (1 - 1e-9)
    if 1e-3 < necessary < 1e4:
        assert chance(ratings, necessary * (1 - 1e-6), threshold) <= wanted


def test_theorem_3_6_is_exact_for_two_values() -> None:
    """All good words rated 1 and all others 0: both bounds meet the chance."""
    ratings = np.array([1.0, 1.0, 0.0, 0.0, 0.0])
    low, high = chance_bounds(ratings, 4.0, 1.0)
    assert low == pytest.approx(high)
    assert low == pytest.approx(2 / (2 + 3 * math.exp(-2)))
    necessary, sufficient = epsilon_bounds(ratings, low, 1.0)
    assert necessary == pytest.approx(sufficient)
    assert necessary == pytest.approx(4.0)


def test_utility_edges() -> None:
    ratings = np.array([0.2, 0.4])
    assert chance_bounds(ratings, 1.0, 0.2) == (1.0, 1.0)  # every word is good enough
    assert epsilon_bounds(ratings, 0.9, 0.2) == (0.0, 0.0)
    assert epsilon_bounds(ratings, 0.3, 0.4) == (0.0, 0.0)  # blind choice is good enough
    with pytest.raises(ParameterError, match="among the ratings"):
        chance_bounds(ratings, 1.0, 0.5)
    with pytest.raises(ParameterError, match="wanted chance"):
        epsilon_bounds(ratings, 1.0, 0.4)
