"""Near sets, kept in the user's cache folder by what they were computed from.

They are stored for the whole vocabulary or not at all: which words a text has is nobody's
business. A file that is damaged, stale or belongs to something else is ignored and written anew.
What the guarantee rests on is not taken on trust: `NearSets.add` checks it in whatever is read.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from inkblur.atomic_file import PRIVATE, AtomicFile
from inkblur.errors import OutputError

_VERSION = 3  # of the files below: raise it when what they hold changes


def read_sets(folder: Path, key: str) -> bytes | None:
    """The sets of all words that were stored under this key, if the file is sound."""
    try:
        with _path(folder, key).open("rb") as file:
            header = json.loads(file.readline())
            if header["key"] != key:
                return None
            body = file.read()
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return body if header.get("digest") == hashlib.blake2b(body).hexdigest() else None


def write_sets(folder: Path, key: str, arrays: list[NDArray[Any]]) -> None:
    """Store the sets of all words; a folder that cannot be written costs only time."""
    digest = hashlib.blake2b()
    for array in arrays:
        digest.update(array.data)
    header = json.dumps({"key": key, "digest": digest.hexdigest()}) + "\n"
    with contextlib.suppress(OSError, OutputError):
        folder.mkdir(parents=True, exist_ok=True)
        with AtomicFile(_path(folder, key), mode=PRIVATE) as file:
            file.write(header.encode())
            for array in arrays:
                file.write(array.data)


def _path(folder: Path, key: str) -> Path:
    name = hashlib.sha256(f"staircase {_VERSION} {key}".encode()).hexdigest()[:32]
    return folder / f"{name}.sets"
