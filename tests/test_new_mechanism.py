"""One catalogue entry is all it takes: the worked example gets its options, laws and experiments.

Each test runs in a process of its own, which imports `examples/new_mechanism.py` and changes
nothing else.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def python(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    paths = [str(ROOT / "src"), str(ROOT), str(ROOT / "examples")]
    given = {"PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, **given},
    )


def inkblur(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    code = "import new_mechanism; from inkblur.cli import main; main()"
    return python("-c", code, *arguments, folder=folder)


def test_its_parameter_is_listed_with_its_help() -> None:
    shown = " ".join(inkblur("mechanisms").stdout.split())
    assert "randomized-response --set redraw=...: Share of the words" in shown


def test_it_runs_is_reported_and_is_refused_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("the doctor was angry\n" * 20)
    common = ["privatize", "in.txt", "-o", "out.txt", "-e", "9", "--report", "report.json"]

    def run(redraw: str, mechanism: str) -> subprocess.CompletedProcess[str]:
        return inkblur(*common, "--set", f"redraw={redraw}", "-m", mechanism, folder=tmp_path)

    done = run("0.25", "randomized-response")
    assert done.returncode == 0, done.stderr
    spec = json.loads((tmp_path / "report.json").read_text())["spec"]
    assert (spec["mechanism"], spec["parameters"]) == ("randomized-response", {"redraw": 0.25})
    for redraw, mechanism, why in (
        ("0.25", "laplace", "redraw"),
        ("2", "randomized-response", "redraw must lie between 0 and 1"),
    ):
        refused = run(redraw, mechanism)
        assert refused.returncode in (1, 2)
        assert why in " ".join(refused.stderr.split())


def test_the_laws_run_over_it() -> None:
    """Both values that the parameter is tried with."""
    laws = ["tests/laws/test_words.py", "tests/laws/test_replay.py"]
    found = python("-m", "pytest", "-vv", "-p", "new_mechanism", "-k", "randomized-response", *laws)
    assert found.returncode == 0, found.stdout
    for value in ("0.0", "0.3"):
        assert re.search(rf"randomized-response redraw={value}\S* PASSED", found.stdout)


def test_it_takes_part_in_grids() -> None:
    code = (
        "import new_mechanism\n"
        "from inkblur.spec import grid\n"
        "axes = {'epsilon': [1, 2], 'redraw': [0, 0.5]}\n"
        "print([s.family for s in grid('randomized-response', axes)][-1])\n"
    )
    found = python("-c", code)
    assert found.stdout.strip() == "randomized-response, redraw 0.5", found.stderr
