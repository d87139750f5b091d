"""The intervals cover, and the printed tables are whole."""

from __future__ import annotations

import numpy as np
import pytest

from reproduction.estimate import Estimate
from reproduction.mahalanobis.measures import mixed, percentile, spread
from reproduction.mahalanobis.published import EPSILONS, LAMBDAS, printed


def _covered(truth: float, estimates: list[Estimate]) -> float:
    return sum(e.low <= truth <= e.high for e in estimates) / len(estimates)


def test_percentiles_and_spreads_cover_the_truth() -> None:
    rng = np.random.default_rng(4)
    samples = [rng.exponential(size=400).tolist() for _ in range(300)]
    assert _covered(-np.log(0.05), [percentile(s, 95) for s in samples]) > 0.92
    assert _covered(-np.log(0.5), [percentile(s, 50) for s in samples]) > 0.92
    assert 0.85 < _covered(1.0, [spread(s) for s in samples]) < 0.99


def test_the_mean_over_two_groups_takes_both_uncertainties() -> None:
    found = mixed(Estimate(10.0, 7.0, 13.0), Estimate(20.0, 16.0, 24.0), 0.5)
    assert (found.value, found.low, found.high) == (15.0, 12.5, 17.5)


@pytest.mark.parametrize("table", ["Table 1", "Table 2", "Table 3", "Table 4"])
def test_a_printed_table_is_whole_and_ordered_as_the_paper_says(table: str) -> None:
    stated = printed(table)
    assert set(stated) == {(lam, epsilon) for lam in LAMBDAS for epsilon in EPSILONS}
    for lam in LAMBDAS:
        means = [stated[lam, epsilon][0] for epsilon in EPSILONS]
        assert means == sorted(means, reverse=table in ("Table 2", "Table 4"))
    survival = table in ("Table 1", "Table 3")
    for epsilon in (5.0, 10.0, 20.0):
        column = [stated[lam, epsilon][0] for lam in LAMBDAS]
        assert column == sorted(column, reverse=survival)
