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
from inkblur.rng import seeded_rng


def _told(right: str, said: str = "") -> list[dict[str, str]]:
    return [{"right": right, "said": said or "0" * len(right)}]


def test_differences_are_taken_text_by_text() -> None:
    found = utility._difference(_told("1101" * 50), _told("1001" * 50))
    assert found.value == 0.25
    assert 0.15 < found.low < found.high < 0.35


@pytest.mark.parametrize(
    ("lost", "verdict"), [(0, Verdict.HOLDS), (5, Verdict.HOLDS), (80, Verdict.FAILS)]
)
def test_a_loss_beyond_the_margin_fails_the_claim(lost: int, verdict: Verdict) -> None:
    found = {
        (lam, epsilon): _told("0" * lost * int(lam) + "1" * (1_000 - lost * int(lam)))
        for lam in (0.0, 1.0)
        for epsilon in (5.0, 10.0, 20.0)
    }
    claims = utility._no_loss(utility.TASKS[0], found)
    assert [claim.verdict for claim in claims] == [verdict] * 3


def test_scores_are_those_of_the_positive_label() -> None:
    runs = [{"right": "1110", "said": "1100"}, {"right": "0011", "said": "1000"}]
    found = utility.scores(runs)  # of 4 spam texts 2 were told
    assert found["accuracy"].value == 5 / 8
    assert found["precision"].value == 2 / 3
    assert found["recall"].value == 2 / 4
    assert "precision" not in utility.scores([{"right": "10", "said": "00"}])


def test_no_text_is_tested_twice() -> None:
    parts = [utility.split(1_001, seeded_rng(1), number) for number in range(utility.REPETITIONS)]
    assert [len(part) for part in parts] == [300] * 3
    assert len({row for part in parts for row in part}) == 900


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
