"""The folder that uploads lie in: this server's alone, and cleared of nothing but its own."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import stat
from pathlib import Path

from inkblur.atomic_file import PRIVATE
from inkblur.errors import OutputError

_OURS = "upload-"  # how the folder of one upload begins: whatever else lies here is left alone


class UploadFolder:
    """A locked folder, readable by its owner alone."""

    def __init__(self, path: Path) -> None:
        """Remove what a server that was killed left here; refuse a folder that is not ours."""
        self._path = path
        self._lock = _locked(path)
        for left in path.iterdir():
            if left.name.startswith(_OURS):
                shutil.rmtree(left, ignore_errors=True)

    def new(self) -> Path:
        """A folder for one upload, under a name that nobody can guess. Not made yet."""
        return self._path / f"{_OURS}{secrets.token_urlsafe(16)}"

    def close(self) -> None:
        """Let another server have it."""
        os.close(self._lock)


def _locked(path: Path) -> int:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        facts = path.stat()
        if facts.st_uid != os.geteuid() or stat.S_IMODE(facts.st_mode) & 0o077:
            raise OutputError(
                f"others may look into {path}, where uploads would lie: give a new folder as "
                "`uploads=`, or chmod 700 one of your own"
            )
        handle = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, PRIVATE)
    except OSError as error:
        raise OutputError(f"cannot use the folder {path}: {error.strerror}") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise OutputError(
            f"another server keeps its uploads in {path}; name another `uploads=` folder"
        ) from None
    return handle
