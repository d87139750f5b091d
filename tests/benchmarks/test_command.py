"""`python -m benchmarks`: the table, the JSON, the plot, and refusals."""

from __future__ import annotations

import json
import math
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import typer
from typer.testing import CliRunner, Result

from benchmarks import peers, speed
from benchmarks.__main__ import bench

app = typer.Typer()
app.command()(bench)


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    path = tmp_path / "toy.txt"
    rows = np.random.default_rng(1).normal(size=(20, 3))
    lines = [f"w{chr(97 + i)} {' '.join(f'{x:.6f}' for x in row)}" for i, row in enumerate(rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def run(vectors: Path, *arguments: str) -> Result:
    small = [
        "--batch",
        "16",
        "--tokens",
        "60",
        "--repeat",
        "1",
        "--check",
        "50",
        "--only",
        "inkblur",
    ]
    fixed = ["--embedding", str(vectors), "--device", "cpu", *small, "--only", "NumPy"]
    return CliRunner().invoke(app, [*fixed, *arguments], env={"COLUMNS": "160"})


def test_the_table_has_every_row_and_the_ratios(vectors: Path) -> None:
    result = run(vectors)
    assert result.exit_code == 0, result.output
    for name in (speed.BASELINE, speed.TILED, speed.REFERENCE, speed.ENGINE, speed.PRIVATIZE):
        assert name in result.stdout
    assert "20 words, epsilon 10, batches of 16" in result.stdout
    assert "100.000% of 50" in result.stdout
    assert f"{speed.ENGINE} / {speed.BASELINE}: " in result.stdout


def test_json_for_several_sizes(vectors: Path) -> None:
    sizes = ["--words", "10", "--words", "40", "--epsilon", "2", "--epsilon", "20"]
    result = run(vectors, *sizes, "--clock", "cpu", "--threads", "1", "--json")
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)
    assert {(row["words"], row["epsilon"]) for row in rows} == {
        (10, 2),
        (10, 20),
        (40, 2),
        (40, 20),
    }
    for row in rows:
        assert all(
            math.isfinite(row[key]) for key in ("rate", "ratio", "least_ratio", "most_ratio")
        )
        if row["name"].startswith("inkblur") and row["name"] != speed.PRIVATIZE:
            assert row["agreement"] == 1.0


def test_the_plot(vectors: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    figure = tmp_path / "speed.svg"
    result = run(vectors, "--words", "10", "--words", "30", "--plot", str(figure))
    assert result.exit_code == 0, result.output
    drawn = ElementTree.parse(figure)
    assert drawn.getroot().tag.endswith("svg")
    assert speed.ENGINE in figure.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--repeat", "0"), 2, "repeat"),
        (("--epsilon", "0"), 2, "epsilon"),
        (("--clock", "sun"), 2, "wall or cpu"),
        (("--device", "abacus"), 2, "device"),
        (("--plot", "speed.pdf"), 1, ".svg or .png"),
        (("--plot", "no/such/folder/speed.svg"), 1, "no such folder"),
    ],
)
def test_the_command_refuses(
    vectors: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    if "--plot" in arguments:
        pytest.importorskip("matplotlib")
    result = run(vectors, *arguments)
    assert result.exit_code == code
    assert message in result.output


@pytest.mark.parametrize(("kernel", "told"), [("Prescott", True), ("SkylakeX", False)])
def test_a_peer_on_old_kernels_is_named(
    vectors: Path, monkeypatch: pytest.MonkeyPatch, kernel: str, told: bool
) -> None:
    monkeypatch.setattr(peers, "blas_kernels", lambda: [f"openblas 0.3.15 ({kernel})"])
    result = run(vectors)
    assert result.exit_code == 0, result.output
    assert ("OPENBLAS_CORETYPE=SKYLAKEX" in " ".join(result.stderr.split())) is told
