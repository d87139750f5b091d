"""Intervals cover the truth as often as they say."""

from __future__ import annotations

import numpy as np
import pytest

from inkblur.errors import ParameterError
from reproduction.estimate import Estimate, weakest


def covered(intervals: list[Estimate], truth: float) -> float:
    return float(np.mean([found.low <= truth <= found.high for found in intervals]))


def test_runs_are_covered_in_95_of_100() -> None:
    draws = np.random.default_rng(1).normal(3.0, 2.0, (2_000, 5))
    assert 0.935 < covered([Estimate.of_runs(row.tolist()) for row in draws], 3.0) < 0.965


def test_units_are_covered_in_about_95_of_100() -> None:
    draws = np.random.default_rng(2).exponential(1.0, (300, 200))
    assert 0.90 < covered([Estimate.of_units(row) for row in draws], 1.0) < 0.98


def test_few_units_are_covered_as_well() -> None:
    """As ten authors are: plain percentiles would cover 90 of 100."""
    draws = np.random.default_rng(2).normal(1.0, 1.0, (600, 10))
    assert 0.93 < covered([Estimate.of_units(row) for row in draws], 1.0) < 0.97


def test_shares_are_covered_in_at_least_95_of_100() -> None:
    hits = np.random.default_rng(3).binomial(30, 0.2, 2_000)
    assert covered([Estimate.of_share(int(h), 30) for h in hits], 0.2) >= 0.95


def test_correlations_are_covered_in_about_95_of_100() -> None:
    rng = np.random.default_rng(4)
    found = []
    for _ in range(1_000):
        left = rng.normal(size=60)
        right = 0.6 * left + 0.8 * rng.normal(size=60)
        found.append(Estimate.of_correlation(float(np.corrcoef(left, right)[0, 1]), 60))
    assert 0.93 < covered(found, 0.6) < 0.97


def test_one_run_has_no_interval() -> None:
    with pytest.raises(ParameterError, match="repeat"):
        Estimate.of_runs([1.0])


def test_nothing_has_no_mean() -> None:
    with pytest.raises(ParameterError, match="nothing was measured"):
        Estimate.of_units([])


def test_what_lies_below_decides_before_what_is_open() -> None:
    above, wide, below = Estimate(2, 1.5, 2.5), Estimate(3, 0.5, 5.5), Estimate(0.5, 0.2, 0.9)
    assert weakest([above, Estimate(5, 4, 6)], 1.0) is above
    assert weakest([above, wide], 1.0) is wide  # though its mean is larger
    assert weakest([above, Estimate(3, 0.1, 5.5), below], 1.0) is below


def test_turning_the_sign_turns_the_interval() -> None:
    assert Estimate(1.0, 0.5, 2.0).negated() == Estimate(-1.0, -2.0, -0.5)
