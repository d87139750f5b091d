"""Paired differences, the positive label, and a quick look."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from inkblur.evaluation.corpora import VARIABLE
from inkblur.experiments.mahalanobis import utility
from inkblur.experiments.mahalanobis.published import BASELINES
from inkblur.experiments.result import Record, Verdict
from inkblur.experiments.run import reproduce


def _runs(*accuracies: float) -> list[dict[str, float]]:
    return [{"accuracy": accuracy} for accuracy in accuracies]


def test_differences_are_taken_run_by_run() -> None:
    found = utility._difference(_runs(0.91, 0.81, 0.71), _runs(0.9, 0.8, 0.7, 0.1, 0.2))
    assert found.value == pytest.approx(0.01)
    assert found.high - found.low < 1e-9  # the spread of the runs themselves is gone


@pytest.mark.parametrize(
    ("lost", "verdict"), [(0.0, Verdict.HOLDS), (0.019, Verdict.HOLDS), (0.03, Verdict.FAILS)]
)
def test_a_loss_beyond_the_margin_fails_the_claim(lost: float, verdict: Verdict) -> None:
    found = {
        (lam, epsilon): _runs(*(base - lam * lost for base in (0.9, 0.8, 0.7)))
        for lam in (0.0, 1.0)
        for epsilon in (5.0, 10.0, 20.0)
    }
    claims = utility._no_loss(utility.TASKS[0], found)
    assert [claim.verdict for claim in claims] == [verdict] * 3


@pytest.mark.parametrize(("task", "share"), [("SMS", 747 / 5_574), ("tweets", 3_271 / 7_613)])
def test_the_printed_baselines_are_those_of_the_positive_label(task: str, share: float) -> None:
    accuracy, precision, recall = BASELINES[task]
    wrong = share * (1 - recall) + share * recall * (1 - precision) / precision
    assert 1 - wrong == pytest.approx(accuracy, abs=0.006)


@pytest.mark.skipif(VARIABLE not in os.environ, reason=f"{VARIABLE} is not set")
def test_a_quick_look_has_every_part(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    pytest.importorskip("fasttext")
    (record,) = reproduce(["mahalanobis/utility"], tmp_path, quick=True)
    assert Record.from_json(record.to_json()) == record
    assert len(record.outcome.claims) == 8
    assert len(record.outcome.drawings) == 6
    for reading in record.outcome.readings:
        assert 0 <= reading.found.value <= 1
