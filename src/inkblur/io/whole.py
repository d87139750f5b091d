"""A small text file, written whole or not at all."""

from __future__ import annotations

from pathlib import Path

from inkblur.errors import OutputError


def write_whole(path: Path, text: str) -> None:
    """Write a file whole, or leave what was there; missing folders are made."""
    partial = path.with_name(path.name + ".partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise OutputError(f"cannot write {path}: {error.strerror}") from None
