"""Results that can be computed again, kept between runs by what they were computed from."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO

from platformdirs import user_cache_path

from inkblur.atomic_file import PRIVATE, write_atomically
from inkblur.errors import OutputError


def cache_folder() -> Path:
    """The user's cache folder for Inkblur: on Linux `$XDG_CACHE_HOME/inkblur`."""
    return user_cache_path("inkblur", appauthor=False)


def is_ours(file: BinaryIO) -> bool:
    """Whether nobody but this user can have written to a file, or can yet."""
    found = os.fstat(file.fileno())
    others = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not others)


def kept_value(folder: Path, key: str) -> Any:
    """The JSON value that was kept under this key, or None.

    A file that is damaged, belongs to another key, or may have been written by another user is
    ignored.
    """
    try:
        with _path(folder, key).open("rb") as stream:
            if not is_ours(stream):
                return None
            body = json.loads(stream.read())
        sound = body["key"] == key and body["check"] == _check(key, body["value"])
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return body["value"] if sound else None


def keep_value(folder: Path, key: str, value: Any) -> None:
    """Keep a JSON value for the next time; a folder that cannot be written costs only time."""
    body = {"key": key, "value": value, "check": _check(key, value)}
    with contextlib.suppress(OutputError):
        write_atomically(_path(folder, key), json.dumps(body), mode=PRIVATE)


def _check(key: str, value: Any) -> str:
    return hashlib.sha256(f"{key}\n{json.dumps(value)}".encode()).hexdigest()


def _path(folder: Path, key: str) -> Path:
    return folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"
