"""`inkblur audit`: what it prints agrees with its JSON, and what cannot work is refused first."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from inkblur.cli.app import app
from inkblur.evaluation.measures import statistics
from inkblur.mechanisms.laplace import LaplaceNoise
from inkblur.rng import Rows
from inkblur.types import Points


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    path = tmp_path / "toy.txt"
    rows = np.random.default_rng(1).normal(size=(20, 3))
    lines = [f"w{chr(97 + i)} {' '.join(f'{x:.6f}' for x in row)}" for i, row in enumerate(rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def run(vectors: Path, *arguments: str) -> Result:
    fixed = ["audit", "--set", f"embedding={vectors}"]
    return CliRunner().invoke(app, [*fixed, *arguments], env={"COLUMNS": "160"})


def test_the_table_shows_every_setting_and_its_sizes(vectors: Path) -> None:
    grid = ["-m", "mahalanobis", "--epsilon", "2,8", "--set", "lam=0,1", "--words", "10"]
    result = run(vectors, *grid)
    assert result.exit_code == 0, result.output
    assert "10 of 20 words, 100 runs each" in result.stdout
    body = json.loads(run(vectors, *grid, "--json").stdout)
    assert len(body["statistics"]) == len(body["audits"]) == 4
    for row in body["statistics"]:
        assert f"{row['N_w']['mean']:.2f} ±" in result.stdout
    assert not any(found["flagged"] for found in body["audits"])


def test_a_pair_is_audited_and_named(vectors: Path) -> None:
    result = run(vectors, "-m", "laplace", "-e", "2", "--words", "5", "--pair", "wa", "wb")
    assert result.exit_code == 0
    assert "'wa' and 'wb'" in result.stdout


def test_no_guarantee_is_shown_as_no_bound_once_accepted(vectors: Path) -> None:
    angular = ["-m", "angular-laplace", "-e", "2", "--words", "5"]
    refused = run(vectors, *angular)
    assert refused.exit_code == 1
    assert "--set accept_no_guarantee=true" in refused.stderr
    result = run(vectors, *angular, "--set", "accept_no_guarantee=true")
    assert result.exit_code == 0, result.output
    assert "no bound" in result.stdout


def test_a_false_claim_ends_with_code_1(vectors: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    around = LaplaceNoise.around

    def less(self: LaplaceNoise, centers: Points, rng: Rows) -> Points:
        return centers + (around(self, centers, rng) - centers) / 4

    monkeypatch.setattr(LaplaceNoise, "around", less)
    result = run(vectors, "-m", "laplace", "-e", "2", "--words", "5")
    assert result.exit_code == 1
    assert "THE CLAIM IS FALSE" in result.stdout
    assert "the claim is false" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--epsilon", "5;10"], "--epsilon takes numbers"),
        (["--epsilon", "0"], "epsilon must be"),
        (["-m", "mahalanobis", "--set", "lam=2"], "lambda must lie"),
        (["-m", "laplace", "--set", "lam=1"], "laplace has no parameter lam"),
        (["-m", "magic"], "unknown mechanism 'magic'"),
        (["-e", "2", "--pair", "wa", "zebra"], "'zebra' is not among"),
        (["-e", "2", "--pair", "wa", "wa"], "not a pair"),
    ],
)
def test_bad_requests_are_refused_before_measuring(
    vectors: Path, arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("measured before refusing")

    monkeypatch.setattr(statistics, "privacy_statistics", never)
    result = run(vectors, *arguments)
    assert result.exit_code == 1, result.output
    assert message in result.stderr
    assert "Traceback" not in result.output


def test_without_epsilon_three_strengths_are_compared(vectors: Path) -> None:
    rows = json.loads(run(vectors, "-m", "laplace", "--json").stdout)["statistics"]
    shares = [row["N_w"]["mean"] / 100 for row in rows]
    assert shares == pytest.approx([0.2, 0.5, 0.75], abs=0.1)


def test_files_come_into_being_whole(
    vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib", reason="plots need matplotlib")
    folder = tmp_path / "out"
    run(vectors, "-e", "2", "--words", "5", "-o", str(folder))
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert json.loads(before["audit.json"])["statistics"]

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    failed = run(vectors, "-e", "8", "--words", "5", "-o", str(folder))
    assert failed.exit_code == 1
    assert "no space left" in failed.stderr
    assert before == {path.name: path.read_bytes() for path in folder.iterdir()}
    assert "cannot make the directory" in run(vectors, "-o", str(vectors)).stderr


def test_without_matplotlib_the_extra_is_named_before_measuring(
    vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run(vectors, "-e", "2", "-o", str(tmp_path / "out"))
    assert result.exit_code == 1
    assert "pip install '.[plots]'" in result.stderr
    assert not (tmp_path / "out").exists()
