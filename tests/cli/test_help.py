"""Every command is documented, with an example."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from inkblur.cli.app import app


def commands(group: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = []
    for name, command in group.commands.items():
        if command.hidden:  # says where it went
            continue
        if hasattr(command, "commands"):
            found += commands(command, (*path, name))
        found.append((*path, name))
    return found


ALL = commands(typer.main.get_command(app))


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_every_command_shows_an_example(path: tuple[str, ...]) -> None:
    result = CliRunner().invoke(app, [*path, "--help"])
    assert result.exit_code == 0
    assert "Example:" in result.output
    assert f"inkblur {' '.join(path)}" in " ".join(result.output.split())


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_every_command_is_in_the_manual(path: tuple[str, ...]) -> None:
    manual = Path(__file__).parents[2] / "docs" / "commands.md"
    assert f"inkblur {' '.join(path)}" in manual.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "words",
    [
        ["keygen", "-"],
        ["preview", "in.csv", "--html", "-"],
        ["privatize", "in.csv", "-o", "out.csv", "--strength", "light", "--report", "-"],
        ["pool", "build", "in.csv", "-o", "-"],
        ["evaluate", "in.csv", "--label-column", "text", "-o", "-"],
        ["tune", "in.csv", "--label-column", "text", "-o", "-"],
        ["audit", "-o", "-"],
    ],
    ids=lambda words: words[0],
)
def test_a_dash_is_no_file_of_that_name(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.csv").write_text("text\nthe soup was hot\n")
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2
    assert "give a name, not -" in " ".join(result.output.replace("│", " ").split())
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


def test_mechanisms_lists_the_whole_catalogue() -> None:
    from inkblur.mechanisms import CATALOGUE

    output = CliRunner().invoke(app, ["mechanisms"]).stdout
    for name in CATALOGUE:
        assert name in output


@pytest.mark.parametrize("built", [True, False])
def test_the_version_says_what_searches_and_what_draws(
    built: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inkblur.mechanisms.nearest.cpu.native.available", lambda: built)
    scan = SimpleNamespace(describe=lambda: "a native scan")
    monkeypatch.setattr("inkblur.mechanisms.nearest.cpu.native.NativeScan", lambda: scan)
    path = "sse9" if built else None
    monkeypatch.setattr("inkblur.mechanisms.noise.sphere.compiled_path", lambda dimension: path)
    output = " ".join(CliRunner().invoke(app, ["--version"]).stdout.split())
    search, noise = ("a native scan", "C++ (sse9)") if built else ("NumPy (tiled, exact)", "SciPy")
    assert f"nearest words by {search}; noise by {noise}" in output


@pytest.mark.parametrize("path", [[], ["privatize"], ["embeddings", "import"]])
def test_short_help_is_the_help_of_every_command(path: list[str]) -> None:
    short, long = (CliRunner().invoke(app, [*path, name]) for name in ("-h", "--help"))
    assert short.exit_code == long.exit_code == 0
    assert short.stdout == long.stdout


def test_python_m_inkblur_and_the_short_version() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "inkblur", "-V"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("inkblur ")


def test_the_shell_completes_commands() -> None:
    code = "import sys; sys.argv = ['inkblur']; from inkblur.cli import main; main()"
    asked = {"_INKBLUR_COMPLETE": "complete_bash", "COMP_WORDS": "inkblur priv", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | asked, capture_output=True, text=True
    )
    assert done.stdout.split() == ["privatize"]
