"""The door out: `open_sink`."""

from __future__ import annotations

import contextlib
import gzip
import io
import zlib
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Protocol, Self, cast

from inkblur.errors import OutputError, ParameterError
from inkblur.files.delimited import DelimitedEncoder
from inkblur.files.formats import Format, format_of, is_gzip, is_stream, listed
from inkblur.files.jsonlines import JsonlEncoder
from inkblur.files.plain import TxtEncoder
from inkblur.files.records import Batch, Columns, Schema
from inkblur.files.source import Source, regular_file
from inkblur.files.target import Target, standard_output, write_all


def open_sink(path: str | Path, source: Source, *, format: Format | None = None) -> Sink:
    """Where the released texts of `source` go: a file, or standard output (`-`).

    The format is `format`, or what the suffix says, or for standard output the source's. The same
    format passes all other columns unchanged. Another one is written where nothing is lost:

    - csv, tsv and txt become anything;
    - jsonl becomes csv or tsv while every record has the same plain columns;
    - parquet becomes csv, tsv or jsonl while its types are strings, numbers and true/false (and,
      for jsonl, lists or objects of them);
    - txt is written from a source that has texts and nothing else.

    Otherwise: `OutputError`. Text is always written as UTF-8.

    The file is written beside its place as `NAME.partial` and renamed when the `with` block ends
    well; on any error, Ctrl-C included, it is removed, and a file that was there before is
    untouched.

    >>> import tempfile
    >>> from inkblur.files.source import open_source
    >>> folder = tempfile.TemporaryDirectory()
    >>> posts, out = Path(folder.name, "posts.csv"), Path(folder.name, "out.csv")
    >>> _ = posts.write_text("id,text\\n7,hello\\n8,world\\n")
    >>> with open_source(posts) as source, open_sink(out, source) as sink:
    ...     for batch in source.batches(max_records=1000, max_chars=1_000_000):
    ...         sink.write(batch, [text.upper() for text in batch.texts])
    >>> out.read_text()
    'id,text\\n7,HELLO\\n8,WORLD\\n'
    >>> folder.cleanup()
    """
    if is_stream(path):
        kind = format or source.schema.format
        target = Target(None)
        same = regular_file(standard_output())
        if kind is Format.PARQUET and standard_output().isatty():
            raise OutputError(
                "parquet is not for a terminal; add -o FILE.parquet or --format jsonl"
            )
    else:
        kind = format_of(path, format, OutputError)
        target = Target(Path(path))
        same = target.identity()
    if same is not None and same == source.identity():
        raise OutputError(f"the output is the input itself ({source.name}); choose another output")
    _check(source.schema, kind)
    return Sink(target, source.schema, kind, zipped=not is_stream(path) and is_gzip(path))


class Writer(Protocol):
    """Puts batches into an open file, in one format."""

    def write(self, columns: Columns, texts: Sequence[str | None]) -> None:
        """One batch."""
        ...

    def finish(self) -> None:
        """The end of the file."""
        ...

    def abandon(self) -> None:
        """Nobody wants the file any more."""
        ...


class Encoder(Protocol):
    """Turns batches into characters, in one format."""

    def begin(self) -> str:
        """What stands before the first batch."""
        ...

    def encode(self, columns: Columns, texts: Sequence[str | None]) -> str:
        """One batch."""
        ...


class Sink:
    """Records on their way out; a context manager. Made by `open_sink`."""

    def __init__(self, target: Target, schema: Schema, format: Format, *, zipped: bool) -> None:
        """Nothing is created before the `with` block begins."""
        self._target = target
        self._schema = schema
        self._format = format
        self._zipped = zipped
        self._writer: Writer | None = None
        self._gzip: gzip.GzipFile | None = None
        self._outlet: _Outlet | None = None

    def write(self, batch: Batch, texts: Sequence[str]) -> None:
        """Write the batch with `texts`, one a record, in place of its own."""
        if self._writer is None:
            raise ParameterError("a sink is written to inside its with block")
        released = batch.released(texts)
        with self._target.named_errors():
            self._writer.write(batch.columns, released)

    def __enter__(self) -> Self:
        """Create the file beside, and write its header."""
        try:
            with self._target.named_errors():
                file = self._target.open()
                if self._zipped:
                    # No name and no time inside, so that one key gives one file, byte for byte.
                    self._outlet = _Outlet(file)
                    outlet = cast(IO[bytes], self._outlet)
                    self._gzip = gzip.GzipFile("", "wb", 6, outlet, mtime=0)
                    file = self._gzip
                self._writer = _writer(file, self._schema, self._format)
        except BaseException:
            self._abandon()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Rename the file into place; after an error remove it."""
        if error is not None:
            self._abandon()
            return
        try:
            with self._target.named_errors():
                if self._writer is not None:
                    self._writer.finish()
                if self._gzip is not None:
                    self._gzip.close()
                self._target.commit()
        except BaseException:
            self._abandon()
            raise

    def _abandon(self) -> None:
        if self._writer is not None:
            self._writer.abandon()
        if self._outlet is not None:
            self._outlet.shut()
        if self._gzip is not None:
            # A close that failed has taken it away.
            self._gzip.fileobj = cast(IO[bytes], self._outlet)
            with contextlib.suppress(OSError, ValueError, zlib.error):
                self._gzip.close()
        self._target.discard()


class _Outlet:
    """Between gzip and the file: once shut, what gzip still writes goes nowhere.

    Python 3.12 and later write again when a gzip object whose file failed is freed, and print a
    traceback when that fails too.
    """

    def __init__(self, file: io.BufferedIOBase) -> None:
        """Open."""
        self._file: io.BufferedIOBase | None = file

    def shut(self) -> None:
        """Let nothing more through."""
        self._file = None

    def write(self, piece: bytes) -> int:
        """To the file, while open."""
        return len(piece) if self._file is None else self._file.write(piece)

    def flush(self) -> None:
        """The file's own, while open."""
        if self._file is not None:
            self._file.flush()


class TextWriter:
    """Any format made of characters."""

    def __init__(self, file: io.BufferedIOBase, encoder: Encoder) -> None:
        """Writes the header."""
        self._file = file
        self._encoder = encoder
        self._put(encoder.begin())

    def write(self, columns: Columns, texts: Sequence[str | None]) -> None:
        """One batch, as UTF-8."""
        self._put(self._encoder.encode(columns, texts))

    def finish(self) -> None:
        """Nothing stands after the last batch."""

    def abandon(self) -> None:
        """Nothing to let go of."""

    def _put(self, characters: str) -> None:
        write_all(self._file, characters.encode("utf-8"))


def _writer(file: io.BufferedIOBase, schema: Schema, format: Format) -> Writer:
    match format:
        case Format.PARQUET:
            from inkblur.files.parquet import ParquetWriter

            return ParquetWriter(file, schema)
        case Format.TXT:
            return TextWriter(file, TxtEncoder(schema))
        case Format.JSONL:
            return TextWriter(file, JsonlEncoder())
        case Format.CSV | Format.TSV:
            return TextWriter(file, DelimitedEncoder(schema, format))


def _check(schema: Schema, format: Format) -> None:
    """Refuse, before anything runs, a format that cannot hold what the source has."""
    if format is schema.format:
        return
    if format is Format.PARQUET and schema.format is Format.JSONL:
        raise OutputError(
            "jsonl has no fixed columns and types to make a parquet file of; write .jsonl"
        )
    if schema.unplain:
        raise OutputError(
            f"{format.value} cannot hold the types of the columns {listed(schema.unplain)}; "
            "write .parquet"
        )
