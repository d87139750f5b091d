"""Fingerprints of table files that were read through once: the file's identity to its content.

Hashing a table of 400,000 x 300 takes longer than opening it, so what was found is kept in the
user's cache folder under the file's device, inode, size, mtime and ctime, in nanoseconds. Whoever
sends a table can choose its bytes and its mtime, but not the ctime that this machine's kernel
sets, and cannot write into the cache folder. Anyone who can write there, or can set the clock and
write the table in place, already runs as the user or as root.

A table that is memory-mapped and *then* written in place changes under the run that uses it: no
fingerprint sees that. Inkblur replaces tables as a whole (a new inode); do the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
import time
from pathlib import Path

from inkblur.atomic_file import PRIVATE, write_atomically
from inkblur.cache import cache_folder
from inkblur.errors import OutputError

_VERSION = 2  # of the fingerprint's rule; raise it when Embedding.sha256 changes
_SETTLED = 2.0  # seconds: coarse clocks could give a later write the same ctime
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")


def identity(path: Path) -> tuple[int, ...]:
    """What tells this file from any other, and from itself before or after a write."""
    found = path.stat()
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def recall(which: tuple[int, ...]) -> str | None:
    """The fingerprint found earlier for exactly this file, if any."""
    path = _file(which)
    try:
        with path.open("rb") as stream:
            owner = os.fstat(stream.fileno())
            if hasattr(os, "getuid") and (
                owner.st_uid != os.getuid() or owner.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
            ):
                return None  # another user may have written it
            body = json.loads(stream.read(4096))
    except (OSError, ValueError):
        return None
    if not isinstance(body, dict) or body.get("file") != list(which):
        return None
    found = body.get("sha256")
    return found if isinstance(found, str) and _DIGEST.match(found) else None


def remember(which: tuple[int, ...], sha256: str) -> None:
    """Keep a fingerprint for the next time; a folder that cannot be written costs only time."""
    changed = which[-1] / 1e9
    if not time.time() - changed - _SETTLED >= 0:
        return  # written a moment ago: a second write could leave the same times
    with contextlib.suppress(OutputError, OSError):
        path = _file(which)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(path, json.dumps({"file": which, "sha256": sha256}), mode=PRIVATE)


def _file(which: tuple[int, ...]) -> Path:
    key = hashlib.sha256(f"table {_VERSION} {which}".encode()).hexdigest()[:32]
    return cache_folder() / "tables" / f"{key}.json"
