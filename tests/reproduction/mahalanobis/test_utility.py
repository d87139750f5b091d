"""Paired differences, the positive label, and a quick look."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from inkblur.rng import seeded_rng
from reproduction.corpora import VARIABLE
from reproduction.estimate import Estimate
from reproduction.mahalanobis import utility
from reproduction.mahalanobis.published import BASELINES, JUDGED
from reproduction.result import ExperimentRecord, Verdict
from reproduction.runner import reproduce


def _told(truth: str, said: str) -> list[dict[str, str]]:
    right = "".join(str(int(a == b)) for a, b in zip(truth, said, strict=True))
    return [{"right": right, "said": said}]


def _spam(found: int, wrongly: int) -> list[dict[str, str]]:
    """Of 200 spam among 1,000 so many are found, and so many others are called spam."""
    said = "1" * found + "0" * (200 - found) + "1" * wrongly + "0" * (800 - wrongly)
    return _told("1" * 200 + "0" * 800, said)


def test_differences_are_taken_text_by_text() -> None:
    truth = "1010" * 50
    found = utility.differences(_told(truth, truth), _told(truth, "1011" * 50))
    assert found["accuracy"].value == 0.25
    assert 0.15 < found["accuracy"].low < found["accuracy"].high < 0.35
    assert found["precision"].value == pytest.approx(1 / 3)
    assert found["recall"] == Estimate(0.0, 0.0, 0.0)  # both classified each text alike


def test_intervals_are_those_of_drawing_texts_again() -> None:
    first, second = _spam(150, 20), _spam(170, 30)
    found = utility.differences(first, second)
    digits = [np.array([c == "1" for c in run[0]["said"]]) for run in (first, second)]
    truth = np.arange(1_000) < 200
    rng = np.random.default_rng(1)
    drawn = []
    for _ in range(1_000):
        rows = rng.integers(0, 1_000, 1_000)
        drawn.append([truth[rows][said[rows]].mean() for said in digits])
    low, high = np.percentile(np.subtract(*np.transpose(drawn)), [2.5, 97.5])
    assert found["precision"].low == pytest.approx(low, abs=0.004)
    assert found["precision"].high == pytest.approx(high, abs=0.004)


@pytest.mark.parametrize(
    ("blurred", "verdict", "decides"),
    [
        (_spam(190, 0), Verdict.HOLDS, "accuracy"),
        (_spam(187, 0), Verdict.OPEN, "recall"),  # 0.015 of 200
        (_spam(180, 0), Verdict.FAILS, "recall"),  # accuracy falls by 0.01 only
        (_spam(190, 19), Verdict.FAILS, "precision"),
        (_spam(0, 0), Verdict.FAILS, "recall"),  # no precision
    ],
)
def test_a_loss_beyond_the_margin_fails_the_claim(
    blurred: list[dict[str, str]], verdict: Verdict, decides: str
) -> None:
    found = {(0.0, epsilon): _spam(190, 0) for epsilon in JUDGED}
    found |= {(1.0, epsilon): blurred for epsilon in JUDGED}
    claims = utility._no_loss(utility.TASKS[1], found)
    assert [claim.verdict for claim in claims] == [verdict] * 3
    assert claims[0].statistic.startswith(decides)
    assert "ours" in claims[0].statistic


def test_where_nothing_is_found_there_is_nothing_to_lose() -> None:
    found = {(lam, epsilon): _spam(1, 5) for lam in (0.0, 1.0) for epsilon in JUDGED}
    claim, *_ = utility._no_loss(utility.TASKS[1], found)
    assert claim.verdict is Verdict.OPEN
    assert "finds 0.5% of what it looks for" in claim.undecided


@pytest.mark.parametrize(
    ("steps", "verdict"),
    [
        ((0, 50, 100, 150), Verdict.HOLDS),
        ((0, 50, 50, 150), Verdict.OPEN),
        ((0, 150, 100, 190), Verdict.FAILS),  # though the last is far above the first
    ],
)
def test_growth_is_judged_at_every_step(steps: tuple[int, ...], verdict: Verdict) -> None:
    found = {(0.0, float(place)): _spam(right, 0) for place, right in enumerate(steps)}
    assert utility._growth(utility.TASKS[1], found).verdict is verdict


def test_scores_are_those_of_the_positive_label() -> None:
    runs = [{"right": "1110", "said": "1100"}, {"right": "0011", "said": "1000"}]
    found = utility.scores(runs)  # of 4 spam texts 2 were found
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
@pytest.mark.long
def test_a_quick_look_has_every_part(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    pytest.importorskip("fasttext")
    (record,) = reproduce(["mahalanobis/utility"], tmp_path, quick=True)
    assert ExperimentRecord.from_json(record.to_json()) == record
    assert len(record.outcome.claims) == 8
    assert len(record.outcome.drawings) == 6
    for reading in record.outcome.readings:
        assert 0 <= reading.found.value <= 1
