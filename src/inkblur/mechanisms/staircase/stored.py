"""Near sets, kept in the user's cache folder by what they were computed from.

They are stored for the whole vocabulary or not at all: which words a text has is nobody's
business. A file that is damaged, stale or belongs to something else is ignored and written anew.
What the guarantee rests on is not taken on trust: `NearSets.add` checks it in whatever is read.

Sets of all words take up to 402 MB for the bundled words, and up to two minutes on two busy
processors to make again. So they are kept, and mapped, not copied: the system may drop their pages
and read them again. A file is replaced as a whole and never written to, so what was mapped stays as
it was checked. Those that were not used for the longest time make room for new ones, and a line
says what was kept where: nobody asked for files of this size.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import mmap
import os
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from inkblur.atomic_file import PRIVATE, AtomicFile
from inkblur.cache import is_ours
from inkblur.errors import OutputError

_VERSION = 4  # of the files below: raise it when what they hold changes
_MOST = 1_250_000_000  # bytes of sets in a folder: three strengths of the bundled words
_TOLD = 10_000_000  # bytes: a larger file is told
_ALIGNED = 64  # bytes: where the sets begin, so that numbers of any size may be read in place

_log = logging.getLogger("inkblur")


def read_sets(folder: Path, key: str) -> memoryview | None:
    """The sets of all words that were stored under this key, if the file is sound."""
    path = _path(folder, key)
    try:
        with path.open("rb") as file:
            header = json.loads(file.readline())
            start = file.tell()
            if is_ours(file):
                body = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))[start:]
            else:  # others could change it after it was checked
                body = memoryview(file.read())
    except (OSError, ValueError):
        return None
    if header != {"key": key, "digest": hashlib.blake2b(body).hexdigest()}:
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # used now
    return body


def write_sets(folder: Path, key: str, arrays: list[NDArray[Any]]) -> None:
    """Store the sets of all words; a folder that cannot be written costs only time."""
    digest = hashlib.blake2b()
    for array in arrays:
        digest.update(array.data)
    header = json.dumps({"key": key, "digest": digest.hexdigest()})
    header += " " * (-(len(header) + 1) % _ALIGNED) + "\n"
    newest = _path(folder, key)
    with contextlib.suppress(OSError, OutputError):
        folder.mkdir(parents=True, exist_ok=True)
        with AtomicFile(newest, mode=PRIVATE) as file:
            file.write(header.encode())
            for array in arrays:
                file.write(array.data)
        size = newest.stat().st_size
        if size > _TOLD:
            _log.warning("near sets of all words: %d MB kept in %s", round(size / 1e6), folder)
        others = [path for path in folder.glob("*.sets") if path != newest]
        for path in sorted(others, key=lambda path: path.stat().st_mtime_ns, reverse=True):
            size += path.stat().st_size
            if size > _MOST:  # not used for the longest time
                path.unlink()


def _path(folder: Path, key: str) -> Path:
    name = hashlib.sha256(f"staircase {_VERSION} {key}".encode()).hexdigest()[:32]
    return folder / f"{name}.sets"
