"""The command line: thin doors over the functions that Python users call."""

from __future__ import annotations

from inkblur.cli.app import main

__all__ = ["main"]
