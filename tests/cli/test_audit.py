"""`inkblur audit`: the table, the JSON, the plots, and refusals before any measuring."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import typer
from typer.testing import CliRunner, Result

import inkblur
from inkblur.cli.audit import audit
from inkblur.evaluation.measures import statistics
from inkblur.mechanisms.laplace import LaplaceNoise
from inkblur.rng import Rows
from inkblur.types import Points

app = typer.Typer()
app.command()(audit)


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    path = tmp_path / "toy.txt"
    rows = np.random.default_rng(1).normal(size=(20, 3))
    lines = [f"w{chr(97 + i)} {' '.join(f'{x:.6f}' for x in row)}" for i, row in enumerate(rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def run(vectors: Path, *arguments: str) -> Result:
    fixed = ["--embedding", str(vectors), "--runs", "20", "--draws", "400", "--seed", "3"]
    return CliRunner().invoke(app, [*fixed, *arguments], env={"COLUMNS": "160"})


def test_the_table_shows_every_setting_and_its_sizes(vectors: Path) -> None:
    grid = ["-m", "mahalanobis", "--epsilon", "2,8", "--lambda", "0,1", "--words", "10"]
    result = run(vectors, *grid)
    assert result.exit_code == 0, result.output
    assert "10 of 20 words, 20 runs each" in result.stdout
    body = json.loads(run(vectors, *grid, "--json").stdout)
    assert len(body["statistics"]) == len(body["audits"]) == 4
    for row in body["statistics"]:
        mean = row["N_w"]["mean"]
        assert f"{mean:.2f} ±" in result.stdout
    assert body["seed"] == 3
    assert not any(found["flagged"] for found in body["audits"])


def test_bounds_in_the_table_are_rounded_up(vectors: Path) -> None:
    arguments = ["-m", "laplace", "--epsilon", "0.31,0.77,1.3,2.1", "--words", "5"]
    body = json.loads(run(vectors, *arguments, "--json").stdout)
    claims = run(vectors, *arguments).stdout.split("the claim, audited")[1]
    rows = [line.replace("│", " ").split() for line in claims.splitlines() if "laplace, " in line]
    assert len(rows) == len(body["audits"]) == 4
    for cells, found in zip(rows, body["audits"], strict=True):
        assert float(cells[-3]) <= found["loss"]
        assert float(cells[-2]) >= found["bound"]


def test_json_holds_the_numbers_of_the_python_call(vectors: Path) -> None:
    body = json.loads(run(vectors, "-m", "laplace", "-e", "3", "--words", "all", "--json").stdout)
    mechanism = inkblur.Laplace(inkblur.load_embedding(vectors), epsilon=3.0)
    plain = statistics.privacy_statistics(mechanism, rng=inkblur.seeded_rng(3), runs=20)
    assert body["statistics"] == [json.loads(json.dumps(plain.to_json()))]


def test_plots_and_report_are_written(vectors: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="plots need matplotlib")
    folder = tmp_path / "deep" / "out"
    first = run(vectors, "-m", "mahalanobis", "-e", "2,8", "-o", str(folder))
    assert first.exit_code == 0, first.output
    names = {path.name for path in folder.iterdir()}
    assert names == {"audit.json", "survival.svg", "survival.png", "variety.svg", "variety.png"}
    for name in ("survival.svg", "variety.svg"):
        text = (folder / name).read_text(encoding="utf-8")
        assert ElementTree.fromstring(text).tag.endswith("svg")
        assert text.count(">λ = ") == 3  # a legend entry each
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    run(vectors, "-m", "mahalanobis", "-e", "2,8", "-o", str(folder))
    assert before == {path.name: path.read_bytes() for path in folder.iterdir()}


def test_files_are_written_though_nobody_reads_what_is_printed(
    vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib", reason="plots need matplotlib")

    def closed(*_: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("inkblur.cli.audit.print_table", closed)
    run(vectors, "-m", "laplace", "-e", "2", "-o", str(tmp_path / "out"))
    assert (tmp_path / "out" / "audit.json").exists()


def test_files_come_into_being_whole(
    vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib", reason="plots need matplotlib")
    folder = tmp_path / "out"
    run(vectors, "-e", "2", "-o", str(folder))
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    failed = run(vectors, "-e", "8", "-o", str(folder))
    assert failed.exit_code == 1
    assert "no space left" in failed.stderr
    assert before == {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_pair_is_audited_and_named(vectors: Path) -> None:
    result = run(vectors, "-m", "laplace", "-e", "2", "--pair", "wa", "wb")
    assert result.exit_code == 0
    assert "'wa' and 'wb'" in result.stdout


def test_no_guarantee_is_shown_as_no_bound_once_accepted(vectors: Path) -> None:
    refused = run(vectors, "-m", "angular-laplace", "-e", "2")
    assert refused.exit_code == 1
    assert "--accept-no-guarantee" in refused.stderr
    result = run(vectors, "-m", "angular-laplace", "-e", "2", "--accept-no-guarantee")
    assert result.exit_code == 0, result.output
    assert "no bound" in result.stdout


def test_a_false_claim_ends_with_code_1(vectors: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    around = LaplaceNoise.around

    def halved(self: LaplaceNoise, centers: Points, rng: Rows) -> Points:
        return centers + (around(self, centers, rng) - centers) / 2

    monkeypatch.setattr(LaplaceNoise, "around", halved)
    result = run(vectors, "-m", "laplace", "-e", "2", "--draws", "20000")
    assert result.exit_code == 1
    assert "THE CLAIM IS FALSE" in result.stdout
    assert "the claim is false" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--runs", "0"], "runs must be"),
        (["--words", "21"], "21 words cannot be sampled from the 20"),
        (["--words", "many"], "--words takes"),
        (["--epsilon", "5;10"], "--epsilon takes numbers"),
        (["--epsilon", "0"], "epsilon must be"),
        (["-m", "mahalanobis", "--lambda", "2"], "lambda must lie"),
        (["--pair", "wa", "zebra"], "'zebra' is not among"),
        (["--draws", "5"], "at least 40 draws"),
        (["--confidence", "1"], "confidence must lie"),
        (["-m", "laplace", "--lambda", "1"], "--lambda is not an option of laplace"),
        (["-m", "magic"], "unknown mechanism 'magic'"),
        (["--pair", "wa", "wa"], "not a pair"),
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


def test_without_matplotlib_the_extra_is_named_before_measuring(
    vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run(vectors, "-o", str(tmp_path / "out"))
    assert result.exit_code == 1
    assert "pip install '.[plots]'" in result.stderr
    assert not (tmp_path / "out").exists()


def test_an_output_that_is_a_file_is_refused(vectors: Path) -> None:
    pytest.importorskip("matplotlib", reason="plots need matplotlib")
    result = run(vectors, "-o", str(vectors))
    assert result.exit_code == 1
    assert "cannot make the directory" in result.stderr


def test_without_epsilon_the_three_strengths_are_compared(vectors: Path) -> None:
    result = run(vectors, "-m", "laplace", "--words", "all", "--runs", "200", "--json")
    rows = json.loads(result.stdout)["statistics"]
    shares = [row["N_w"]["mean"] / 200 for row in rows]
    assert shares == pytest.approx([0.2, 0.5, 0.75], abs=0.1)
