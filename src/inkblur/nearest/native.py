"""The C++ engine's Python face (being written: until then it is not available)."""

from __future__ import annotations


def available() -> bool:
    """Whether the extension was built."""
    return False


def paths() -> tuple[str, ...]:
    """The instruction-set paths that run on this machine, fastest first."""
    return ()
