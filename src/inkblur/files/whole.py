"""A small file, written whole or not at all."""

from __future__ import annotations

import contextlib
from pathlib import Path

from inkblur.errors import OutputError


def write_whole(path: Path, data: str | bytes) -> None:
    """Write a file at once, whole, or leave what was there; missing folders are made.

    Unlike :class:`inkblur.files.target.Target` it takes no notice of what a killed run left beside:
    results that took hours are not refused for that.
    """
    beside = path.with_name(path.name + ".partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(data.encode("utf-8") if isinstance(data, str) else data)
        beside.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        raise OutputError(f"cannot write {path}: {error.strerror}") from None
