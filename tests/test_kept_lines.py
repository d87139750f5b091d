"""The file of finished jobs behind `tools/bundled`: nothing is done twice, no failure stops it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[1] / "tools" / "bundled"))

import kept_lines


def squared(job: tuple[str, int]) -> dict[str, Any]:
    """A job; it has to be found by the processes, so it stands here."""
    name, number = job
    if name == "bad":
        raise ValueError("cannot be measured")
    return {"square": number * number}


def test_jobs_that_are_there_are_not_done_again_and_one_that_fails_stops_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "lines.jsonl"
    kept_lines.measure(path, [("a", 2), ("bad", 1), ("a", 3)], 1, squared)
    found = {tuple(line["job"]): line["square"] for line in kept_lines.lines(path)}
    assert found == {("a", 2): 4, ("a", 3): 9}
    assert "bad 1 failed: ValueError" in capsys.readouterr().out
    before = path.read_text("utf-8")
    kept_lines.measure(path, [("a", 2), ("a", 3), ("a", 4)], 1, squared)
    assert path.read_text("utf-8").startswith(before)
    assert [line["job"] for line in kept_lines.lines(path)][2:] == [["a", 4]]
    assert capsys.readouterr().out.startswith("1 jobs")


def test_a_file_that_is_not_there_yet_holds_nothing(tmp_path: Path) -> None:
    assert kept_lines.lines(tmp_path / "none.jsonl") == []
