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

import pytest

ROOT = Path(__file__).parents[1]
COMMANDS = ("privatize", "evaluate", "tune", "audit", "mechanisms")


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


@pytest.mark.parametrize("command", COMMANDS)
def test_its_parameter_is_an_option_with_help(command: str) -> None:
    shown = " ".join(inkblur(command, "--help").stdout.split())
    assert "--redraw" in shown
    assert "For randomized-response: share of the words" in shown


def test_it_runs_is_reported_and_is_refused_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("the doctor was angry\n" * 20)
    common = ["privatize", "in.txt", "-e", "9", "--redraw", "0.25"]
    output = ["-o", "out.txt", "--report", "report.json"]
    done = inkblur(*common, "-m", "randomized-response", *output, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    spec = json.loads((tmp_path / "report.json").read_text())["spec"]
    assert (spec["mechanism"], spec["parameters"]) == ("randomized-response", {"redraw": 0.25})
    refused = inkblur(*common, "-m", "laplace", folder=tmp_path)
    assert refused.returncode == 1
    assert "--redraw is not an option of laplace" in refused.stderr
    wrong = inkblur(*common[:-1], "2", "-m", "randomized-response", folder=tmp_path)
    assert "redraw must lie between 0 and 1" in wrong.stderr


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
