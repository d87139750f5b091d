"""The commands of the how-tos run as they are shown, in order, in a folder beside `examples/`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "how-to").glob("*.md"))


def shown(page: str) -> list[tuple[str, list[str]]]:
    """Every command of a page's console blocks, with the lines of output that are shown for it."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", page, re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_run_and_print_what_is_shown(page: Path, tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    commands = shown(page.read_text(encoding="utf-8"))
    assert commands
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    tools = tmp_path / "bin"
    tools.mkdir()
    inkblur = tools / "inkblur"  # this Python's, whether or not it was installed
    inkblur.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m inkblur "$@"\n')
    inkblur.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(map(os.path.abspath, filter(None, sys.path))),
        "XDG_DATA_HOME": str(tmp_path / "data"),  # the ledger
    }
    for command, output in commands:
        done = subprocess.run(
            ["bash", "-c", command], capture_output=True, text=True, cwd=tmp_path, env=environment
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        assert all(line in done.stdout for line in output), f"{command}\n{done.stdout}"
