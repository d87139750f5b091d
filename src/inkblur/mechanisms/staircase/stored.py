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
from typing import Any, Protocol

from numpy.typing import NDArray

from inkblur.atomic_file import PRIVATE, AtomicFile
from inkblur.errors import OutputError

_VERSION = 3  # of the files below: raise it when what they hold changes


class StoredPart(Protocol):
    """Sets of all words that can be written to a file."""

    def arrays(self) -> list[NDArray[Any]]:
        """What the file holds."""
        ...


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


def write_sets(folder: Path, key: str, part: StoredPart) -> None:
    """Store the sets of all words; a folder that cannot be written costs only time."""
    arrays = part.arrays()
    digest = hashlib.blake2b()
    for array in arrays:
        digest.update(array.data)
    header = json.dumps({"key": key, "digest": digest.hexdigest()}) + "\n"
    _write(_path(folder, key), [header.encode(), *(array.data for array in arrays)])


def _path(folder: Path, key: str) -> Path:
    name = hashlib.sha256(f"staircase {_VERSION} {key}".encode()).hexdigest()[:32]
    return folder / f"{name}.sets"


def _write(path: Path, parts: list[Any]) -> None:
    with contextlib.suppress(OSError, OutputError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with AtomicFile(path, mode=PRIVATE) as file:
            for part in parts:
                file.write(part)
