"""Forked jobs of the staircase's room: kept as they end, until the time is up."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from inkblur.evaluation import Checkpoint
from reproduction.staircase.forked import ForkedJobs


def _value(number: int) -> dict[str, Any]:
    if number < 0:
        raise ValueError("below zero")
    return {"row": "made", "value": number}


def _long() -> dict[str, Any]:
    time.sleep(60)
    return {}


def test_a_failing_job_is_told_and_the_others_are_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work = Checkpoint(tmp_path / "work.jsonl", {"what": "test"})
    jobs = ForkedJobs(work, 2, time.monotonic() + 600)
    assert jobs.run({"one": lambda: _value(1), "bad": lambda: _value(-1), "two": lambda: _value(2)})
    again = Checkpoint(tmp_path / "work.jsonl", {"what": "test"})
    assert {row["key"]: row["value"] for row in again.rows} == {"one": 1, "two": 2}
    assert "ValueError: below zero" in capsys.readouterr().err


def test_jobs_beyond_the_time_are_left_for_the_next_run(tmp_path: Path) -> None:
    work = Checkpoint(tmp_path / "work.jsonl", {"what": "test"})
    assert not ForkedJobs(work, 1, time.monotonic()).run({"long": _long})
    assert work.rows == []
