"""The door in: `open_source`."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self, cast

from inkblur.errors import InputError, ParameterError
from inkblur.files.compression import compression_of, decompressed
from inkblur.files.delimited import DelimitedReader
from inkblur.files.formats import Format, format_of, is_stream
from inkblur.files.jsonlines import JsonlReader
from inkblur.files.lines import Lines, text_encoding
from inkblur.files.plain import TxtReader
from inkblur.files.records import Batch, Schema
from inkblur.files.seen_ids import UniqueIds
from inkblur.types import whole


def open_source(
    path: str | Path,
    *,
    column: str = "text",
    id_column: str | None = None,
    encoding: str = "utf-8",
    format: Format | None = None,
    column_option: str = "--column",
) -> Source:
    """Open a file of records, or standard input (`-`), to be read once from front to back.

    The suffix tells the format (.txt .csv .tsv .jsonl .parquet, the first four also with
    .gz or .zst) unless `format` does. Missing files, columns and headers show here; what is wrong
    with a later line shows when that line is read. Everything wrong is an `InputError` of one line.
    `column_option` is what the command at hand calls the option that names `column`.

    A file without a single byte is an error. A header without records (csv, tsv, parquet) is a file
    of zero records. Empty texts are records like any other. Two records with one id are refused:
    equal texts under one id would be given the same noise, and show that they are equal.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> posts = Path(folder.name, "posts.csv")
    >>> _ = posts.write_text("id,text\\n7,hello\\n8,world\\n")
    >>> with open_source(posts, id_column="id") as source:
    ...     for batch in source.batches(max_records=1000, max_chars=1_000_000):
    ...         print(batch.records)
    (Record(id='7', text='hello'), Record(id='8', text='world'))
    >>> folder.cleanup()
    """
    text_encoding(encoding)  # before the file: a wrong argument is nothing about the file
    if id_column is not None and id_column == column:
        raise ParameterError(f"the id column and the text column are both {column!r}; choose two")
    kind = format_of(path, format, InputError)
    if kind is Format.TXT and id_column is not None:
        raise InputError(
            f"a txt file has no columns, so no id column {id_column!r}; drop `id_column=`"
        )
    name = "standard input" if is_stream(path) else str(path)
    with contextlib.ExitStack() as opened:
        file = _opened(path, name, opened)
        return _source(file, path, name, kind, column, id_column, encoding, opened, column_option)


class RecordReader(Protocol):
    """What each format brings."""

    schema: Schema

    def batches(self, max_records: int, max_chars: int) -> Iterator[Batch]:
        """All records, once."""
        ...


class Source:
    """Records on their way in; a context manager. Made by `open_source`."""

    schema: Schema  # what `open_sink` needs
    name: str  # what error messages call it
    bytes_total: int | None  # None where nobody can know (standard input, pipes)

    def __init__(
        self,
        reader: RecordReader,
        name: str,
        *,
        file: io.BufferedIOBase,
        bytes_read: Callable[[], int],
        bytes_total: int | None,
        id_column: str | None,
        close: Callable[[], None],
    ) -> None:
        """`file` is the one on disk, before decompression: it must not be the output."""
        self.schema = reader.schema
        self.name = name
        self.bytes_total = bytes_total
        self._file = file
        self._reader = reader
        self._bytes_read = bytes_read
        self._id_column = id_column
        self._close = close
        self._started = False

    def batches(self, max_records: int, max_chars: int) -> Iterator[Batch]:
        """All records, in order, once.

        A batch has at most `max_records` records and `max_chars` characters (those of the other
        columns count too, except in parquet); a longer record comes alone. Where batches are cut
        changes no id.
        """
        most, chars = whole(max_records, "max_records"), whole(max_chars, "max_chars")
        if self._started:
            raise ParameterError(f"{self.name} can be read only once; open it again")
        self._started = True
        return self._checked(self._reader.batches(most, chars))

    def bytes_read(self) -> int:
        """How far into the file reading has come, of `bytes_total`."""
        return self._bytes_read()

    def identity(self) -> tuple[int, int] | None:
        """Device and inode of the file read, where it is a regular file."""
        return regular_file(self._file)

    def close(self) -> None:
        """Let go of the file; standard input stays open."""
        self._close()

    def _checked(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        if self._id_column is None:
            yield from batches
            return
        seen, done = UniqueIds(), 0
        for batch in batches:
            repeat = seen.add([record.id for record in batch.records])
            if repeat is not None:
                raise InputError(
                    f"record {done + repeat + 1} of {self.name} repeats the id "
                    f"{batch.records[repeat].id!r} of column {self._id_column!r}; ids must differ, "
                    "or drop `id_column=` to number the records"
                )
            done += len(batch)
            yield batch

    def __enter__(self) -> Self:
        """The source is open already."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()


def regular_file(file: io.IOBase) -> tuple[int, int] | None:
    """Device and inode of an open regular file; None for pipes, terminals and files in memory."""
    try:
        facts = os.fstat(file.fileno())
    except (OSError, ValueError):
        return None
    return (facts.st_dev, facts.st_ino) if stat.S_ISREG(facts.st_mode) else None


def _opened(path: str | Path, name: str, opened: contextlib.ExitStack) -> io.BufferedIOBase:
    if is_stream(path):
        return cast(io.BufferedIOBase, sys.stdin.buffer)
    try:
        return opened.enter_context(Path(path).open("rb"))
    except FileNotFoundError:
        raise InputError(f"no such file: {name}; check the path") from None
    except IsADirectoryError:
        raise InputError(f"{name} is a folder; give a file in it") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"cannot open {name}: {str(reason).lower()}") from None


def _source(
    file: io.BufferedIOBase,
    path: str | Path,
    name: str,
    kind: Format,
    column: str,
    id_column: str | None,
    encoding: str,
    opened: contextlib.ExitStack,
    option: str,
) -> Source:
    known = not is_stream(path) and regular_file(file) is not None
    total = os.fstat(file.fileno()).st_size if known else None
    if kind is Format.PARQUET:
        from inkblur.files.parquet import ParquetReader

        whole_file = file if known else _spooled(file, name, opened)
        table = ParquetReader(whole_file, name, column, id_column, option)
        size = total if total is not None else whole_file.seek(0, io.SEEK_END)
        return Source(
            table,
            name,
            file=file,
            bytes_read=lambda: int(table.fraction() * size),
            bytes_total=total,
            id_column=id_column,
            close=opened.pop_all().close,
        )
    packed = compression_of(path)
    plain = file if packed is None else opened.enter_context(decompressed(file, packed))
    lines = Lines(plain, name, encoding)
    reader: RecordReader
    if kind is Format.TXT:
        reader = TxtReader(lines, column)
    elif kind is Format.JSONL:
        reader = JsonlReader(lines, column, id_column, option)
    else:
        reader = DelimitedReader(lines, kind, column, id_column, option)
    return Source(
        reader,
        name,
        file=file,
        bytes_read=file.tell if packed and known else lambda: lines.consumed,
        bytes_total=total,
        id_column=id_column,
        close=opened.pop_all().close,
    )


def _spooled(file: io.BufferedIOBase, name: str, opened: contextlib.ExitStack) -> io.BufferedIOBase:
    """A pipe's bytes in a file without a name: parquet is read from its end; a pipe has none."""
    try:
        spool = opened.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        shutil.copyfileobj(file, spool, 1 << 20)
    except OSError as error:
        raise InputError(f"cannot keep {name} for reading: {str(error.strerror).lower()}") from None
    return cast(io.BufferedIOBase, spool)
