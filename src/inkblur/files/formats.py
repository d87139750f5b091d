"""A file's format and layout, and its bytes: unpacked and decoded line by line, in bounded memory.

gzip and Zstandard are named by a last suffix: `posts.csv.gz`, `posts.jsonl.zst`.
"""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import os
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from glob import has_magic
from itertools import chain
from pathlib import Path
from typing import Any, Protocol, cast

from inkblur.errors import InkblurError, InputError, ParameterError
from inkblur.spec import ReleaseSpec

PACKED = (".gz", ".zst")
_LISTED = 12  # column names that an error shows, of so many letters each: they may be a record
_LETTERS = 40
_SHEETS = (".xlsx", ".xls", ".ods")

MAX_LINE = 1 << 24  # characters in one line or csv row: a text has at most ten million
_CHUNK = 1 << 20  # bytes read at a time
_BOM = "\ufeff"
# What files that hold no plain text begin with, and what to do about each.
_OTHERS = {
    b"\x1f\x8b": "is compressed by gzip; unpack it, or name it .gz at the end",
    b"\x28\xb5\x2f\xfd": "is compressed by Zstandard; unpack it, or name it .zst at the end",
    b"PK\x03\x04": "is a zip file or an office document; unpack it, or save it as csv in UTF-8",
    b"%PDF-": "is a PDF document; save its texts as a file of text",
}


class Format(Enum):
    """How records lie in a file."""

    TXT = "txt"  # a document a line
    CSV = "csv"
    TSV = "tsv"
    JSONL = "jsonl"  # an object per line
    PARQUET = "parquet"


_SUFFIXES = {f".{format.value}": format for format in Format} | {".ndjson": Format.JSONL}


def is_stream(path: str | Path) -> bool:
    """Whether the path is `-`, which stands for standard input or standard output."""
    return str(path) == "-"


def is_folder(source: str | Path) -> bool:
    """Whether a source is a folder, or a pattern such as `data/*.parquet`."""
    # os.path: before Python 3.12 Path.is_dir raises where a name is too long.
    if os.path.isdir(source):  # noqa: PTH112
        return True
    return has_magic(str(source)) and not os.path.exists(source)  # noqa: PTH110


def packed_as(path: str | Path) -> str | None:
    """The last suffix, where it names a compression: .gz or .zst."""
    suffix = Path(path).suffix.lower()
    return suffix if suffix in PACKED else None


def format_of(path: str | Path, given: Format | None, error: type[InkblurError]) -> Format:
    """The format asked for, or the one the suffix names; `error` is raised when neither says.

    >>> format_of("posts.csv.gz", None, InkblurError)
    <Format.CSV: 'csv'>
    """
    packed = packed_as(path)
    suffix = _unpacked(path).suffix
    format = given or _SUFFIXES.get(suffix.lower())
    if format is Format.PARQUET and packed is not None:
        raise error(f"{path}: parquet compresses itself; drop the {packed}")
    if format is not None:
        return format
    choices = "|".join(choice.value for choice in Format)
    if is_stream(path):
        raise error(f"standard input has no suffix to tell its format by; add `format=`: {choices}")
    if suffix.lower() in _SHEETS:
        raise error(f"{path} is a spreadsheet by its suffix {suffix!r}; save it as .csv")
    if suffix.lower() == ".json":
        raise error(f"{path} is one whole JSON value by its suffix; write it as .jsonl")
    what = f"the suffix {suffix!r}" if suffix else "a name without a suffix"
    raise error(
        f"cannot tell the format of {path} from {what}; name it .txt, .csv, .tsv, .jsonl "
        f"or .parquet (for an input, `format=` says it too: {choices})"
    )


def bare_name(path: str | Path) -> str:
    """The name of a file without the suffixes that say how it is written.

    >>> bare_name("data/posts.csv.gz"), bare_name("posts.2026")
    ('posts', 'posts.2026')
    """
    name = _unpacked(path)
    return name.stem if name.suffix.lower() in _SUFFIXES else name.name


def _unpacked(path: str | Path) -> Path:
    return Path(path) if packed_as(path) is None else Path(path).with_suffix("")


def listed(names: Sequence[str]) -> str:
    """Column names for an error message, cut short when they are very many or long."""
    cut = [name if len(name) <= _LETTERS else f"{name[:_LETTERS]}..." for name in names[:_LISTED]]
    shown = ", ".join(map(repr, cut))
    return shown if len(names) <= _LISTED else f"{shown} and {len(names) - _LISTED} more"


@dataclass(frozen=True, slots=True)
class Layout:
    """How a file is to be read; parts that contradict each other are refused."""

    columns: tuple[str, ...] = ("text",)  # that hold texts
    id_column: str | None = None
    person_column: str | None = None  # whom a record belongs to
    # Columns that are copied beside the texts, and no others; None: all, where nothing is written.
    keep: tuple[str, ...] | None = ()
    encoding: str = "utf-8"
    header: bool = True  # csv, tsv: the first line names the columns
    delimiter: str | None = None  # csv, tsv: one character; None: the format's own
    option: str = "`columns=`"  # what the command at hand calls the option that names texts

    def __post_init__(self) -> None:
        text_encoding(self.encoding)
        if not self.columns:
            raise ParameterError("no text column given; give at least one")
        for i, name in enumerate(self.columns):
            if name in self.columns[:i]:
                raise ParameterError(f"the text column {name!r} is named twice")
        if self.id_column in self.columns:
            raise ParameterError(
                f"the id column and the text column are both {self.id_column!r}; choose two"
            )
        for name in self.keep or ():
            if name in self.columns:
                raise ParameterError(f"the column {name!r} is both blurred and kept; choose one")
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n\0'):
            raise ParameterError(
                f"a delimiter is one character, and no quote or line break; got {self.delimiter!r}"
            )

    def writes(self, name: str) -> bool:
        """Whether this column stands in the output."""
        return self.keep is None or name in self.keep or name in self.columns


def layout_of(spec: ReleaseSpec) -> Layout:
    """What a spec says about columns and csv."""
    return Layout(
        spec.columns,
        spec.id_column,
        spec.person_column,
        tuple(dict.fromkeys(spec.keep_columns)),
        spec.encoding,
        not spec.no_header,
        "\t" if spec.delimiter in ("tab", "\\t") else spec.delimiter,
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
    return "utf-8" if name == "utf-8-sig" else name  # the mark is taken off here


class InputFile:
    """A file, or standard input, open to be read once from front to back."""

    def __init__(self, path: str | Path, most_bytes: int | None = None) -> None:
        """It is refused when more bytes than `most_bytes` were unpacked."""
        self._most_bytes = most_bytes
        self.name = "standard input" if is_stream(path) else str(path)  # in error messages
        self._packed = packed_as(path)
        self._unpacked = 0  # bytes read so far
        with contextlib.ExitStack() as opened:
            if is_stream(path):
                self.raw = cast(io.BufferedIOBase, sys.stdin.buffer)
            else:
                try:
                    self.raw = opened.enter_context(Path(path).open("rb"))
                except FileNotFoundError:
                    raise InputError(f"no such file: {self.name}; check the path") from None
                except (OSError, ValueError) as error:
                    reason = error.strerror if isinstance(error, OSError) else str(error)
                    raise InputError(f"cannot open {self.name}: {str(reason).lower()}") from None
            regular = not is_stream(path) and regular_file(self.raw) is not None
            # None where nobody can know (standard input, pipes)
            self.bytes_total = os.fstat(self.raw.fileno()).st_size if regular else None
            self._opened = opened.pop_all()

    def close(self) -> None:
        """Let go of the file; standard input stays open."""
        self._opened.close()

    def bytes_read(self) -> int:
        """How far into the file reading has come, of `bytes_total`."""
        compressed = self._packed is not None and self.bytes_total is not None
        return self.raw.tell() if compressed else self._unpacked

    def count(self, unpacked: int) -> None:
        """So many bytes more were read, after unpacking: few may become many."""
        self._unpacked += unpacked
        if self._most_bytes is not None and self._unpacked > self._most_bytes:
            raise InputError(
                f"{self.name} holds more than {self._most_bytes:,} bytes when it is unpacked; "
                "split it"
            )

    def seekable(self) -> io.BufferedIOBase:
        """Its bytes, or a pipe's in a file without a name: parquet is read from its end."""
        if self.bytes_total is not None:
            return self.raw
        try:
            spool = self._opened.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
            shutil.copyfileobj(self.raw, spool, _CHUNK)
        except OSError as error:
            reason = str(error.strerror).lower()
            raise InputError(f"cannot keep {self.name} for reading: {reason}") from None
        return cast(io.BufferedIOBase, spool)

    def lines(self, encoding: str) -> Iterator[str]:
        """Its lines, each with its terminator; only `\\n` ends a line.

        A byte order mark at the start is taken off. NUL characters are refused: they mean a binary
        file, or UTF-16 read as something else. That it is empty shows now, the rest when it is
        read.
        """
        chunks = self._decoded(text_encoding(encoding))
        first = next(chunks, "")
        if first.startswith(_BOM):
            first = first[1:] or next(chunks, "")
        if not first:
            raise InputError(f"{self.name} is empty; give a file with at least one record")
        return self._split(chain([first], chunks))

    def _split(self, chunks: Iterable[str]) -> Iterator[str]:
        number = 1  # of the line being gathered
        parts: list[str] = []
        gathered = 0
        for chunk in chunks:
            if "\0" in chunk:
                raise self._nul(number + chunk[: chunk.index("\0")].count("\n"))
            pieces = chunk.split("\n")
            for piece in pieces[:-1]:
                if parts:
                    piece = "".join((*parts, piece))
                    parts.clear()
                    gathered = 0
                yield piece + "\n"
                number += 1
            if pieces[-1]:
                parts.append(pieces[-1])
                gathered += len(pieces[-1])
            if gathered > MAX_LINE:
                raise InputError(
                    f"line {number} of {self.name} is longer than {MAX_LINE:,} characters; "
                    "split it into several records"
                )
        if parts:
            yield "".join(parts)

    def _decoded(self, encoding: str) -> Iterator[str]:
        """Stretches of text."""
        decoder = codecs.getincrementaldecoder(encoding)()
        file = self.raw
        if self._packed == ".gz":
            file = gzip.GzipFile(fileobj=self.raw)
        elif self._packed == ".zst":
            import pyarrow as pa

            packed = pa.PythonFile(self.raw, "r")
            file = cast(io.BufferedIOBase, pa.CompressedInputStream(packed, "zstd"))
        block = b" "
        while block:
            try:
                block = file.read1(_CHUNK)
            except (OSError, EOFError, zlib.error) as error:
                known = error.strerror if isinstance(error, OSError) else None
                damaged = f"damaged or cut short ({str(error).rstrip('.')})"
                reason = known.lower() if known else damaged
                raise InputError(f"cannot read {self.name}: {reason}") from None
            if not self._unpacked:
                for signature, answer in _OTHERS.items():
                    if block.startswith(signature):
                        raise InputError(f"{self.name} {answer}")
            waiting, _ = decoder.getstate()  # bytes of a character cut by the last block
            try:
                text = decoder.decode(block, final=not block)
                if encoding != "utf-8":
                    text.encode("utf-8")  # a few codecs let lone surrogates through
            except UnicodeError as error:
                where = str(error)
                if isinstance(error, UnicodeDecodeError):
                    at = self._unpacked - len(waiting) + error.start
                    where = f"byte {at}: {error.reason}"
                raise InputError(
                    f"{self.name} is not {encoding} ({where}); save it as UTF-8 or, if it is the "
                    'file to release, name its encoding, for example `encoding="cp1252"`, latin-1 '
                    "or utf-16"
                ) from None
            self.count(len(block))
            if text:
                yield text

    def _nul(self, number: int) -> InputError:
        return InputError(
            f"line {number} of {self.name} has a NUL character; "
            "if the file is UTF-16, save it as UTF-8 or, if it is the file to release, add "
            '`encoding="utf-16"`; otherwise remove it'
        )


def regular_file(file: io.IOBase) -> tuple[int, int] | None:
    """Device and inode of an open regular file; None for pipes, terminals and files in memory."""
    try:
        facts = os.fstat(file.fileno())
    except (OSError, ValueError):
        return None
    return (facts.st_dev, facts.st_ino) if stat.S_ISREG(facts.st_mode) else None


class Compressor(Protocol):
    """Bytes in, compressed bytes out."""

    def compress(self, data: bytes, /) -> bytes:
        """As much as can be written already."""
        ...

    def flush(self) -> bytes:
        """The rest."""
        ...


def compressor(path: str | Path) -> Compressor | None:
    """What compresses a file of this name."""
    match packed_as(path):
        case ".gz":
            # 31: with gzip's header, which then holds neither name nor time, so that one key gives
            # one file, byte for byte.
            return zlib.compressobj(6, zlib.DEFLATED, 31)
        case ".zst":
            return _Zstandard()
    return None


class Drain(io.BytesIO):
    """A file in memory that forgets what was taken from it, for libraries that must have a file."""

    def close(self) -> None:
        """Nothing: a library closes what it writes to before the last bytes are taken."""

    def take(self) -> bytes:
        """What was written since the last time."""
        taken = self.getvalue()
        self.seek(0)
        self.truncate()
        return taken


class _Zstandard:
    """Zstandard by Arrow, which has it already; Python has it from 3.14 on."""

    def __init__(self) -> None:
        import pyarrow as pa

        self._drain = Drain()
        sink = pa.PythonFile(cast(Any, self._drain), "w")
        self._stream: pa.CompressedOutputStream = pa.CompressedOutputStream(sink, "zstd")

    def compress(self, data: bytes, /) -> bytes:
        self._stream.write(data)
        return self._drain.take()

    def flush(self) -> bytes:
        self._stream.close()
        return self._drain.take()
