"""A file that comes into being whole or not at all."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from inkblur.errors import InkblurError, OutputError


class Target:
    """One file to come into being whole or not at all; `None` is standard output."""

    def __init__(self, path: Path | None) -> None:
        """A link is followed, so that the rename replaces the file and not the link."""
        self.name = "standard output" if path is None else str(path)
        self._path: Path | None = None
        self._beside: Path | None = None  # stays None where there is nothing to rename
        self._created = False
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
            if self._path.is_file() or not self._path.exists():
                self._beside = self._path.with_name(self._path.name + ".partial")

    def identity(self) -> tuple[int, int] | None:
        """Device and inode of the file that is there already."""
        if self._path is None or self._beside is None or not self._path.exists():
            return None
        facts = self._path.stat()
        return facts.st_dev, facts.st_ino

    def open(self) -> io.BufferedIOBase:
        """The file to write to."""
        if self._path is None:
            self._file = standard_output()
        elif self._beside is None:
            self._file = self._path.open("wb")  # /dev/null, a named pipe
        else:
            try:
                # "x": a file of that name may be somebody's input, or another run's output.
                self._file = self._beside.open("xb")
            except FileExistsError:
                raise OutputError(
                    f"{self._beside.name} is there already beside {self.name}: another run is "
                    "writing it, or one was killed; remove it and run again"
                ) from None
            self._created = True
        return self._file

    def commit(self) -> None:
        """Make it real."""
        if self._file is None:
            return
        self._file.flush()
        if self._path is None:
            return
        if self._beside is not None:
            os.fsync(self._file.fileno())
            self._file.close()
            if self._path.exists():
                shutil.copymode(self._path, self._beside)
            self._beside.replace(self._path)
            self._created = False
        else:
            self._file.close()

    def discard(self) -> None:
        """Leave nothing behind."""
        if self._file is not None and self._path is not None:
            with contextlib.suppress(OSError):
                self._file.close()  # it may fail to flush what nobody wants
        if self._created and self._beside is not None:
            with contextlib.suppress(OSError):
                self._beside.unlink(missing_ok=True)

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
        except UnicodeEncodeError:
            raise OutputError(
                f"cannot write {self.name}: a value has a lone surrogate, which is no Unicode text"
            ) from None

    def _silence(self) -> None:
        """Send what is still buffered nowhere, or Python complains about it when it exits."""
        if self._path is None:
            with contextlib.suppress(OSError, ValueError):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, standard_output().fileno())
                os.close(nowhere)


def write_all(file: io.BufferedIOBase, data: bytes | memoryview) -> int:
    """Write every byte; an unbuffered standard output (python -u) may take fewer at a time."""
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]
    return len(data)


def standard_output() -> io.BufferedIOBase:
    """Its bytes, below the text layer."""
    return cast(io.BufferedIOBase, sys.stdout.buffer)
