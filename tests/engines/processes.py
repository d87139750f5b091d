"""Finding and ending processes that a test's engine started, and no others."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path


def started_with(mark: str, command: str) -> list[int]:
    """Processes whose command line has `command` and whose environment has `mark`, which only the
    processes of one test have.
    """
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if command.encode() not in (process / "cmdline").read_bytes():
                continue
            if mark.encode() in (process / "environ").read_bytes():
                found.append(int(process.name))
        except OSError:  # it ended meanwhile
            continue
    return found


def kill(process: int) -> None:
    os.kill(process, signal.SIGKILL)


def wait_until(true: Callable[[], bool], seconds: float = 600.0) -> None:
    """Wait for something that must happen; the limit is for a test that hangs."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.02)
