"""The README's promises: its Python runs, its commands are the ones CI runs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_python_shown_is_the_example_file() -> None:
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    example = (ROOT / "examples" / "six_lines.py").read_text(encoding="utf-8")
    assert blocks[0].strip() in example
    assert "PLACEHOLDER" not in README


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(p, marks=pytest.mark.long) if p.stem in ("engine_ray", "engine_spark") else p
        for p in sorted((ROOT / "examples").glob("*.py"))
    ],
    ids=lambda p: p.name,
)
def test_every_example_runs(path: Path, tmp_path: Path) -> None:
    if path.stem.startswith("engine_"):
        pytest.importorskip({"spark": "pyspark"}.get(path.stem[7:], path.stem[7:]))
    if path.stem == "engine_spark" and shutil.which("java") is None:
        pytest.skip("java is not installed (Debian: openjdk-17-jre-headless)")
    done = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, cwd=tmp_path, env=os.environ
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_files_that_the_readme_names_exist() -> None:
    for name in re.findall(r"\]\(((?!http)[^)#]+)\)", README):
        assert (ROOT / name).exists(), name


def test_the_session_shown_says_what_the_command_says(tmp_path: Path) -> None:
    """Words and counts are random; what the guarantee promises is not."""
    command = re.search(r"^\$ pip install \. && inkblur (privatize .*)$", README, re.MULTILINE)
    assert command is not None
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    done = subprocess.run(
        [sys.executable, "-m", "inkblur", *command[1].split()],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "XDG_DATA_HOME": str(tmp_path / "data")},
        check=True,
    )
    said = " ".join(done.stderr.split())
    shown = re.search(r"^guarantee: .*?\.$", README, re.MULTILINE | re.DOTALL)
    assert shown is not None
    assert " ".join(shown[0].split()) in said
    for line in (
        "columns copied unchanged: stars",
        "not copied: id (--keep-column id",
        "the original found among 100 candidates",
    ):
        assert line in README
        assert line in said
