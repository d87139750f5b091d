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

import re
import time
from pathlib import Path

from inkblur.cache import cache_folder, keep_value, kept_value

_VERSION = 2  # of the fingerprint's rule; raise it when Embedding.sha256 changes
_SETTLED = 2.0  # seconds: coarse clocks could give a later write the same ctime
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")


def identity(path: Path) -> tuple[int, ...]:
    """What tells this file from any other, and from itself before or after a write."""
    found = path.stat()
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def recall(which: tuple[int, ...]) -> str | None:
    """The fingerprint found earlier for exactly this file, if any."""
    found = kept_value(cache_folder() / "tables", _key(which))
    return found if isinstance(found, str) and _DIGEST.match(found) else None


def remember(which: tuple[int, ...], sha256: str) -> None:
    """Keep a fingerprint for the next time."""
    changed = which[-1] / 1e9
    if time.time() - changed >= _SETTLED:  # else a second write could leave the same times
        keep_value(cache_folder() / "tables", _key(which), sha256)


def _key(which: tuple[int, ...]) -> str:
    return f"table {_VERSION} {which}"
