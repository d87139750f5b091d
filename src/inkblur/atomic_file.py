"""A file that appears complete or not at all: the one place that writes results to disk.

The bytes go to a neighbor named `.NAME.inkblur-RANDOM.partial`, which is renamed over NAME at the
end. The neighbor is created with O_EXCL under a name nobody can foresee, so a link planted there is
never followed, and its writer holds a lock on it. Until it is complete only its owner may read it:
a run that fails gives back what it charged, because nobody saw a byte. A partial file that nobody
holds locked was left by a killed run: the next writer of NAME removes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import re
import secrets
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self, cast

from inkblur.errors import InkblurError, OutputError

PRIVATE = 0o600  # the mode of files that hold true texts or counts of them


class AtomicFile:
    """A context manager over a file to be written; `None` is standard output.

    Leaving the block normally puts the file in place; an exception (Ctrl-C included) removes what
    was written and leaves the old file as it was. Devices and pipes are written to directly.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with AtomicFile(Path(folder, "a.txt")) as file:
    ...         file.write(b"hello")
    ...     Path(folder, "a.txt").read_bytes()
    b'hello'
    """

    def __init__(
        self,
        path: Path | None,
        *,
        mode: int | None = None,
        on_show: Callable[[], None] = lambda: None,
    ) -> None:
        """`mode` are the permissions; without it a file keeps those it had, a new one gets the
        usual ones. A link at `path` is followed: its file is replaced, not the link. `on_show` is
        called before anybody can see a byte: when all are there, or of a stream, pipe or device at
        the beginning.
        """
        self.name = "standard output" if path is None else str(path)
        self._mode, self._on_show = mode, on_show
        self._path: Path | None = None
        self._replaces = False  # False: a stream or a device, which nothing can replace
        self._partial: Path | None = None
        self._file: io.BufferedIOBase | None = None
        if path is None:
            return
        with self.named_errors():
            self._path = path.resolve()
            if self._path.is_dir():
                raise OutputError(f"{path} is a folder; name a file in it")
            if not self._path.parent.is_dir():
                raise OutputError(
                    f"cannot write {path}: no such folder {path.parent}; create it first"
                )
            self._replaces = self._path.is_file() or not self._path.exists()

    def identity(self) -> tuple[int, int] | None:
        """Device and inode of the file that would be replaced."""
        if self._path is None or not self._replaces or not self._path.exists():
            return None
        facts = self._path.stat()
        return facts.st_dev, facts.st_ino

    def write(self, data: bytes | memoryview) -> None:
        """Write every byte; an unbuffered standard output (python -u) may take fewer at a time."""
        rest = memoryview(data)
        with self.named_errors():
            while rest:
                rest = rest[self.file.write(rest) :]

    @property
    def file(self) -> io.BufferedIOBase:
        """The open file, for libraries that write by themselves."""
        assert self._file is not None, "an AtomicFile is written to inside its with block"
        return self._file

    def __enter__(self) -> Self:
        with self.named_errors():
            if self._path is None:
                self._file = standard_output()
            elif not self._replaces:
                self._file = self._path.open("wb")
            else:
                _remove_abandoned(self._path)
                self._partial, self._file = _create_partial(self._path)
        if not self._replaces:
            self._on_show()
        return self

    def __exit__(self, *failure: object) -> None:
        if failure[1] is not None:
            self._discard()
            return
        try:
            with self.named_errors():
                self._commit()
        except BaseException:
            self._discard()
            raise

    def _commit(self) -> None:
        self.file.flush()
        if self._path is None:
            return
        if self._partial is not None:
            os.fsync(self.file.fileno())
            mode = self._mode
            if mode is None:
                there = self._path.exists()
                mode = stat.S_IMODE(self._path.stat().st_mode) if there else _usual(self._partial)
            self._on_show()
            if stat.S_IMODE(os.fstat(self.file.fileno()).st_mode) != mode:
                os.fchmod(self.file.fileno(), mode)  # which not every file system can
            self._partial.replace(self._path)
            self._partial = None
            # On the disk: a ledger that says that a file exists must not outlive it.
            with contextlib.suppress(OSError):  # some file systems cannot; the file is in place
                folder = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY)
                try:
                    os.fsync(folder)
                finally:
                    os.close(folder)
        self.file.close()  # after the rename: closing gives up the lock

    def _discard(self) -> None:
        if self._file is not None and self._path is not None:
            with contextlib.suppress(OSError):
                self._file.close()  # it may fail to flush what nobody wants
        if self._partial is not None:
            with contextlib.suppress(OSError):
                self._partial.unlink(missing_ok=True)

    @contextlib.contextmanager
    def named_errors(self) -> Iterator[None]:
        """What the system says, in one line that names the output."""
        try:
            yield
        except InkblurError:
            raise
        except BrokenPipeError:
            self._silence()
            raise OutputError(f"{self.name} was closed by the program that reads it") from None
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise OutputError(f"cannot write {self.name}: {reason}; nothing was kept") from None

    def _silence(self) -> None:
        """Send what is still buffered nowhere, or Python complains about it when it exits."""
        if self._path is None:
            with contextlib.suppress(OSError, ValueError):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, standard_output().fileno())
                os.close(nowhere)


def write_atomically(path: Path, data: str | bytes, *, mode: int | None = None) -> None:
    """Write a small file at once, or leave what was there; missing folders are created."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {str(error.strerror).lower()}") from None
    with AtomicFile(path, mode=mode) as file:
        file.write(data.encode("utf-8") if isinstance(data, str) else data)


def standard_output() -> io.BufferedIOBase:
    """Its bytes, below the text layer."""
    return cast(io.BufferedIOBase, sys.stdout.buffer)


def _usual(partial: Path) -> int:
    """The mode of a new file in the same folder, which the umask or the folder decides."""
    # Named like a partial file: what a killed run leaves of it is removed by the next.
    probe = partial.with_name(f"{partial.name[:-24]}{secrets.token_hex(8)}.partial")
    handle = os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
    try:
        lock_file(handle)
        return stat.S_IMODE(os.fstat(handle).st_mode)
    finally:
        probe.unlink(missing_ok=True)
        os.close(handle)


def _create_partial(path: Path) -> tuple[Path, io.BufferedIOBase]:
    while True:
        partial = path.with_name(f".{path.name}.inkblur-{secrets.token_hex(8)}.partial")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        handle = os.open(partial, flags, PRIVATE)
        try:
            lock_file(handle)
            mine = os.fstat(handle)
            with contextlib.suppress(FileNotFoundError):
                there = os.lstat(partial)
                if (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino):
                    return partial, os.fdopen(handle, "wb")
        except BaseException:
            os.close(handle)
            with contextlib.suppress(OSError):
                partial.unlink()
            raise
        os.close(handle)  # another run saw it before it was locked, and removed it: once more


def _remove_abandoned(path: Path) -> None:
    """Remove partial files of `path` whose writer is gone; unclear cases are left alone."""
    ours = re.compile(re.escape(f".{path.name}.inkblur-") + r"[0-9a-f]{16}\.partial")
    for name in os.listdir(path.parent):  # noqa: PTH208 (glob would read the name as a pattern)
        if ours.fullmatch(name) is None:
            continue
        left = path.with_name(name)
        with contextlib.suppress(OSError):
            handle = os.open(left, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                if stat.S_ISREG(os.fstat(handle).st_mode) and lock_file(handle):
                    left.unlink()
            finally:
                os.close(handle)


def lock_file(handle: int) -> bool:
    """Whether the lock was free; also False where the file system has no locks."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
