"""Bytes to lines of text, in bounded memory, knowing where in the file every mistake lies."""

from __future__ import annotations

import codecs
import contextlib
import io
import zlib
from collections.abc import Iterator

from inkblur.errors import InputError, ParameterError

CHUNK = 1 << 20  # bytes read at a time
MAX_LINE = 1 << 27  # characters in one line or one csv cell: above 100 MB, below what fills memory
_BOM = "\ufeff"
# What files that hold no plain text begin with, and what to do about each.
_OTHERS = {
    b"\x1f\x8b": "is compressed by gzip; unpack it, or name it .gz at the end",
    b"\x28\xb5\x2f\xfd": "is compressed by Zstandard; unpack it, or name it .zst at the end",
    b"PK\x03\x04": "is a zip file or an office document; unpack it, or save it as csv in UTF-8",
    b"%PDF-": "is a PDF document; save its texts as a file of text",
}


class Lines:
    """The lines of a binary file, each with its terminator; only `\\n` ends a line.

    A byte order mark at the start is taken off. NUL characters are refused: they
    mean a binary file, or UTF-16 read as something else.

    >>> list(Lines(io.BytesIO(b"one\\r\\ntwo"), "a.txt", "utf-8"))
    ['one\\r\\n', 'two']
    """

    def __init__(self, file: io.BufferedIOBase, name: str, encoding: str) -> None:
        """`name` is what error messages call the file."""
        self.name = name
        self.consumed = 0  # bytes read so far (after decompression)
        self._file = file
        self._encoding = text_encoding(encoding)
        self._decoder = codecs.getincrementaldecoder(self._encoding)()
        self._first = self._decoded()
        if self._first.startswith(_BOM):
            self._first = self._first[1:] or self._decoded()
        if not self._first:
            raise InputError(f"{name} is empty; give a file with at least one record")

    def __iter__(self) -> Iterator[str]:
        number = 1  # of the line being gathered
        parts: list[str] = []
        gathered = 0
        chunk, self._first = self._first, ""
        while chunk:
            nul = "\0" in chunk
            pieces = chunk.split("\n")
            for piece in pieces[:-1]:
                if nul and "\0" in piece:
                    raise self._nul(number)
                if parts:
                    line = "".join((*parts, piece, "\n"))
                    parts.clear()
                    gathered = 0
                    yield line
                else:
                    yield piece + "\n"
                number += 1
            if nul and "\0" in pieces[-1]:
                raise self._nul(number)
            if pieces[-1]:
                parts.append(pieces[-1])
                gathered += len(pieces[-1])
            if gathered > MAX_LINE:
                raise InputError(
                    f"line {number} of {self.name} is longer than {MAX_LINE:,} characters; "
                    "split it into several records"
                )
            chunk = self._decoded()
        if parts:
            yield "".join(parts)

    def _decoded(self) -> str:
        """The next stretch of text; empty only at the end of the file."""
        while True:
            try:
                block = self._file.read1(CHUNK)
            except (OSError, EOFError, zlib.error) as error:
                raise InputError(f"cannot read {self.name}: {_reason(error)}") from None
            if not self.consumed:
                self._refuse_others(block)
            waiting, _ = self._decoder.getstate()  # bytes of a character cut by the last block
            try:
                text = self._decoder.decode(block, final=not block)
                if self._encoding != "utf-8":
                    text.encode("utf-8")  # a few codecs let lone surrogates through
            except UnicodeDecodeError as error:
                offset = self.consumed - len(waiting) + error.start
                raise self._undecodable(f"(byte {offset}: {error.reason})") from None
            except UnicodeError as error:
                raise self._undecodable(f"({error})") from None
            self.consumed += len(block)
            if text or not block:
                return text

    def _refuse_others(self, start: bytes) -> None:
        """Raise where the first bytes of the file are those of one that holds no plain text."""
        for signature, answer in _OTHERS.items():
            if start.startswith(signature):
                raise InputError(f"{self.name} {answer}")

    def _undecodable(self, where: str) -> InputError:
        return InputError(
            f"{self.name} is not {self._encoding} {where}; "
            "save it as UTF-8 or, if it is the file to release, name its encoding, for example "
            '`encoding="cp1252"`, latin-1 or utf-16'
        )

    def _nul(self, number: int) -> InputError:
        return InputError(
            f"line {number} of {self.name} has a NUL character; "
            "if the file is UTF-16, save it as UTF-8 or, if it is the file to release, add "
            '`encoding="utf-16"`; otherwise remove it'
        )


def text_encoding(encoding: str) -> str:
    """The canonical name of a text encoding, or a clear error."""
    try:
        name = codecs.lookup(encoding).name
        with contextlib.suppress(UnicodeError):  # half a character of UTF-16, perhaps
            b"x".decode(encoding)  # codecs.lookup alone would accept "hex" and "zip"
    except (LookupError, ValueError):
        raise ParameterError(
            f"unknown encoding {encoding!r}; try utf-8, utf-16, cp1252 or latin-1"
        ) from None
    return "utf-8" if name == "utf-8-sig" else name  # we take the mark off ourselves


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return f"damaged or cut short ({str(error).rstrip('.')})"
