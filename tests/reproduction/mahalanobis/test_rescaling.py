"""Factors on epsilon: a curve that is the paper's but for its unit is found to be so."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from reproduction.corpora import VARIABLE
from reproduction.mahalanobis import rescaling
from reproduction.mahalanobis.published import EPSILONS, printed
from reproduction.runner import reproduce


@pytest.mark.parametrize("lam", [0.0, 1.0])
def test_the_papers_own_curve_in_another_unit_fits(lam: float) -> None:
    curve = {f"{3 * epsilon:g}": printed("Table 3")[lam, epsilon][0] for epsilon in EPSILONS}
    factor, error = rescaling.best_factor(curve, lam)
    assert factor == pytest.approx(3, rel=0.02)
    assert error < 0.5
    assert rescaling.largest_error(curve, lam, 3.0) == pytest.approx(0, abs=1e-9)


def test_a_sharper_curve_fits_nowhere() -> None:
    epsilons = np.geomspace(0.1, 100, 200)
    curve = {f"{e:.5g}": 100 / (1 + (10 / e) ** 6) for e in epsilons}
    assert rescaling.best_factor(curve, 0.0)[1] > 5


@pytest.mark.skipif(VARIABLE not in os.environ, reason=f"{VARIABLE} is not set")
def test_a_quick_look_has_every_part(tmp_path: Path) -> None:
    (record,) = reproduce(["mahalanobis/rescaling"], tmp_path, quick=True)
    tables = {reading.table for reading in record.outcome.readings}
    assert tables == {rescaling.FITS, rescaling.CURVES, rescaling.DECODED}
