"""How much memory a piece of work takes at its peak, told by Linux; elsewhere nobody can tell."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
_PROCESS = Path("/proc/self")


def peak_of(work: Callable[[], T]) -> tuple[T, int | None]:
    """The work's result, and how many bytes the process's memory rose above where it stood.

    What the process had freed but not given back is used again first, so this can be a little low.
    """
    before = _status("VmRSS")
    try:
        (_PROCESS / "clear_refs").write_text("5", encoding="ascii")  # forget the peak so far
    except OSError:
        return work(), None
    result = work()
    peak = _status("VmHWM")
    return result, None if before is None or peak is None else max(0, peak - before)


def _status(field: str) -> int | None:
    """A line of the system's account of this process, in bytes."""
    try:
        lines = (_PROCESS / "status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    values = [line.split()[1] for line in lines if line.startswith(f"{field}:")]
    return int(values[0]) * 1024 if values else None
