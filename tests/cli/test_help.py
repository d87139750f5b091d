"""Every command is documented, with an example."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from inkblur.cli.app import app
from inkblur.mechanisms import CATALOGUE


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


def shown_commands() -> list[str]:
    """Every command line of the help texts and of the documentation."""
    found = []
    for path in ALL:
        command = find_command(path)
        for text in (command.help or "", command.epilog or ""):
            joined = re.sub(r"(?<=\S)\n[ ]*(?=\S)", " ", text)  # lines of one paragraph
            found += re.findall(r"Example: (inkblur [^>\n]*)", joined)
    root = Path(__file__).parents[2]
    for page in (root / "README.md", *sorted((root / "docs").rglob("*.md"))):
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        for block in re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            found += re.findall(r"^(?:\$ )?(inkblur [^|>&\n]*)", block, re.MULTILINE)
    return sorted(set(found))


def find_command(path: Sequence[str]) -> Any:
    command: Any = typer.main.get_command(app)
    for name in path:
        command = command.commands[name]
    return command


@pytest.mark.parametrize("shown", shown_commands())
def test_commands_that_are_shown_are_understood(shown: str) -> None:
    """Options that exist, and a mechanism that has the parameters it is given."""
    words = shlex.split(shown)[1:]
    depth = 2 if hasattr(find_command(words[:1]), "commands") else 1
    command = find_command(words[:depth])
    given = command.make_context(" ".join(words[:depth]), words[depth:]).params
    usual = "exponential" if given.get("release") == "tf" else "staircase"
    named = (given.get("mechanism") or usual).split(",")
    known = {p.name for name in named for p in CATALOGUE[name].parameters}
    own = {p.name for entry in CATALOGUE.values() for p in entry.parameters}
    assert {name for name in own if given.get(name)} <= known


@pytest.mark.parametrize(
    "words",
    [
        ["keygen", "-"],
        ["preview", "in.csv", "--html", "-"],
        ["privatize", "in.csv", "-o", "out.csv", "--strength", "light", "--report", "-"],
        ["pool", "build", "in.csv", "-o", "-"],
        ["evaluate", "in.csv", "--label", "text", "-o", "-"],
        ["tune", "in.csv", "--target", "attack<=0.2", "-o", "-"],
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
