"""`tools/bundled/strengths.py`: everything measured is shown, strengths are chosen from whole rows."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import inkblur

sys.path.append(str(Path(__file__).parents[1] / "tools" / "bundled"))

import strengths
from risk import Attempt

EVERY = ("c50", "novels", "pan18")
Measured = tuple[str, float, Sequence[str], int]


def line(mechanism: str, epsilon: float, collection: str, right: int) -> str:
    """So many of ten texts by ten authors are named, in each half."""
    correct = np.arange(10) < right
    tried = [
        Attempt(half, "svm", "static", words, 10, np.arange(10), correct).to_json()
        for half in (0, 1)
        for words in (None, *strengths.LENGTHS)
    ]
    table = inkblur.load_embedding().sha256
    job = [mechanism, epsilon, collection, 0]
    body = {"job": job, "table": table, "parameters": {"epsilon": epsilon}, "attempts": tried}
    return json.dumps(body)


def results(folder: Path, measured: Sequence[Measured]) -> Namespace:
    path = folder / "results.jsonl"
    lines = [line(name, e, each, right) for name, e, on, right in measured for each in on]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return Namespace(results=str(path))


def test_what_was_measured_on_one_collection_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    only = results(tmp_path, [("exponential", 18.0, ["c50"], 6)])
    strengths.show(only)
    shown = capsys.readouterr().out
    assert shown.startswith("| exponential | 18 |  | c50 0.556")
    assert len(shown.splitlines()) == 1  # no strength, so no curve over text length
    strengths.show_attacks(only)
    assert "| exponential 18 c50 half 0 | svm static 0.600" in capsys.readouterr().out


def test_no_strength_is_chosen_or_taken_away_by_part_of_the_collections(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    destination = tmp_path / "strengths.json"
    kept = {"staircase": {"light": {"epsilon": 9.0}}}
    table = inkblur.load_embedding().sha256
    destination.write_text(json.dumps({"sha256": table, "strengths": kept}), encoding="utf-8")
    monkeypatch.setattr(strengths, "DESTINATION", destination)

    def stored(measured: list[Measured]) -> dict[str, float]:
        strengths.store(results(tmp_path, [("untouched", 0.0, EVERY, 9), *measured]))
        found = json.loads(destination.read_text(encoding="utf-8"))["strengths"]
        assert list(found) == ["staircase"]  # other mechanisms have none
        return {name: each["epsilon"] for name, each in found["staircase"].items()}

    part: Measured = ("staircase", 3.0, ["c50"], 2)
    assert stored([part, ("laplace", 9.0, EVERY, 2)]) == {"light": 9.0}  # as before
    assert stored([part, ("staircase", 2.0, EVERY, 2)]) == {"medium": 2.0}
    assert stored([("staircase", 9.0, EVERY, 9)]) == {}  # too weak for any
