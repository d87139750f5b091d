"""The commands of the how-tos run as they are shown, in order, in a folder beside `examples/`."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
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
    with socket.socket() as free:  # the usual port may be another server's
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    text = page.read_text(encoding="utf-8").replace("127.0.0.1:8642", f"127.0.0.1:{port}")
    commands = shown(text.replace("$ inkblur serve ", f"$ inkblur serve --port {port} "))
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
    try:
        for command, output in commands:
            done = subprocess.run(
                ["bash", "-c", command],
                capture_output=True,
                text=True,
                cwd=tmp_path,
                env=environment,
            )
            assert done.returncode == 0, f"{command}\n{done.stderr}"
            assert all(line in done.stdout for line in output), f"{command}\n{done.stdout}"
    except AssertionError:
        started = tmp_path / "serve.pid"
        if started.exists():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(started.read_text()), signal.SIGTERM)
        raise
