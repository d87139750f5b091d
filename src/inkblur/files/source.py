"""The door in: `open_source`; and which columns a file has, to choose its texts from."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import stat
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from inkblur.errors import InputError, ParameterError
from inkblur.files.compression import compression_of, decompressed
from inkblur.files.delimited import DelimitedReader
from inkblur.files.formats import Format, Layout, format_of, is_stream, layout_of
from inkblur.files.jsonlines import JsonlReader
from inkblur.files.lines import Lines
from inkblur.files.plain import TxtReader
from inkblur.files.records import Batch, RowReader
from inkblur.spec import ReleaseSpec
from inkblur.types import choose, whole

if TYPE_CHECKING:
    from inkblur.files.parquet import ParquetReader

_USUAL = Layout()
_HEAD = 1 << 22  # bytes of a JSON file that the first record must end in
_ROWS = 20  # by which the column of texts is guessed
_DELIMITERS = (",", ";", "\t", "|")
_READERS: dict[Format, Callable[[Lines, Format, Layout], RowReader[Any]]] = {
    Format.TXT: TxtReader,
    Format.CSV: DelimitedReader,
    Format.TSV: DelimitedReader,
    Format.JSONL: JsonlReader,
}


def open_described(path: str | Path, spec: ReleaseSpec) -> Source:
    """Open a file of records as a spec describes it: see :func:`open_source`."""
    format = None if spec.format is None else choose(Format, spec.format, "format")
    return open_source(path, layout_of(spec), format=format)


def open_source(
    path: str | Path, layout: Layout = _USUAL, *, format: Format | None = None
) -> Source:
    """Open a file of records, or standard input (`-`), to be read once from front to back.

    The suffix tells the format (.txt .csv .tsv .jsonl .parquet, all but the last also with
    .gz or .zst) unless `format` does. Missing files, columns and headers show here; what is wrong
    with a later line shows when that line is read. Everything wrong is an `InputError` of one line.

    A file without a single byte is an error. A header without records (csv, tsv, parquet) is a file
    of zero records. Empty texts are records like any other. Two rows with one id are refused: equal
    texts under one id would be given the same noise, and show that they are equal. Where no id
    column is named, a record's content names it (:meth:`Occurrences.ids`). Of the columns beside
    the texts, batches have those that `layout.keep` names.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> posts = Path(folder.name, "posts.csv")
    >>> _ = posts.write_text("id,text\\n7,hello\\n8,world\\n")
    >>> with open_source(posts, Layout(id_column="id")) as source:
    ...     for batch in source.batches(max_records=1000, max_chars=1_000_000):
    ...         print(batch.records)
    (Record(id='7', text='hello'), Record(id='8', text='world'))
    >>> folder.cleanup()
    """
    # Its name has no suffix, and that is not what is wrong with it. os.path: see `is_folder`.
    if not is_stream(path) and os.path.isdir(path):  # noqa: PTH112
        raise InputError(f"{path} is a folder; give a file in it")
    return Source(path, layout, format_of(path, format, InputError))


def texts_of_file(path: str | Path) -> list[str]:
    """All texts of a file that fits in memory, such as a public corpus."""
    with open_source(path) as source:
        return [text for batch in source.batches(4096, 1 << 20) for text in batch.texts]


class Source:
    """Records on their way in; a context manager. Made by `open_source`."""

    def __init__(self, path: str | Path, layout: Layout, kind: Format) -> None:
        _check_layout(layout, kind)
        self.name = "standard input" if is_stream(path) else str(path)  # in error messages
        self.layout = layout
        self._started = False
        with contextlib.ExitStack() as opened:
            # The one on disk, before decompression: it must not be the output.
            self._file = file = _opened(path, self.name, opened)
            # Tells it from any other, and from itself after a write; nothing was read before.
            self.version = _version(file)
            known = not is_stream(path) and regular_file(file) is not None
            # None where nobody can know (standard input, pipes)
            self.bytes_total = os.fstat(file.fileno()).st_size if known else None
            self._reader: RowReader[Any] | ParquetReader
            self._bytes_read: Callable[[], int]
            if kind is Format.PARQUET:
                from inkblur.files.parquet import ParquetReader

                whole_file = file if known else _spooled(file, self.name, opened)
                size = whole_file.seek(0, io.SEEK_END)
                self._reader = table = ParquetReader(whole_file, self.name, layout)
                self._bytes_read = lambda: int(table.fraction() * size)
            else:
                packed = compression_of(path)
                plain = file if packed is None else opened.enter_context(decompressed(file, packed))
                lines = Lines(plain, self.name, layout.encoding)
                self._bytes_read = file.tell if packed and known else lambda: lines.consumed
                self._reader = _READERS[kind](lines, kind, layout)
            self.schema = self._reader.schema  # what `open_sink` needs
            self.close = opened.pop_all().close  # lets go of the file; standard input stays open

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
        return self._reader.batches(most, chars)

    def bytes_read(self) -> int:
        """How far into the file reading has come, of `bytes_total`."""
        return self._bytes_read()

    def identity(self) -> tuple[int, int] | None:
        """Device and inode of the file read, where it is a regular file."""
        return regular_file(self._file)

    def written_to(self) -> bool:
        """Whether somebody has written to the file since it was opened."""
        return _version(self._file) != self.version

    def shows(self, *, hides_length: bool) -> list[str]:
        """What a release of it shows besides columns."""
        shown, kind = [], self.schema.format
        if kind is Format.JSONL:
            shown.append(
                "how each object is written around its texts: spaces and the order of keys"
            )
        if kind in (Format.JSONL, Format.PARQUET) and not hides_length:
            shown.append("which texts are missing (null)")
        return shown

    @property
    def copied(self) -> tuple[str, ...]:
        """Columns that are written as they are, as far as the file was read."""
        return self._reader.copied()

    @property
    def not_copied(self) -> tuple[str, ...]:
        """Columns that nobody named, so that they are not written, as far as the file was read."""
        return self._reader.not_copied()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


def regular_file(file: io.IOBase) -> tuple[int, int] | None:
    """Device and inode of an open regular file; None for pipes, terminals and files in memory."""
    try:
        facts = os.fstat(file.fileno())
    except (OSError, ValueError):
        return None
    return (facts.st_dev, facts.st_ino) if stat.S_ISREG(facts.st_mode) else None


def _version(file: io.BufferedIOBase) -> tuple[int, ...]:
    if regular_file(file) is None:
        return ()
    facts = os.fstat(file.fileno())
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns


def _opened(path: str | Path, name: str, opened: contextlib.ExitStack) -> io.BufferedIOBase:
    if is_stream(path):
        return cast(io.BufferedIOBase, sys.stdin.buffer)
    try:
        return opened.enter_context(Path(path).open("rb"))
    except FileNotFoundError:
        raise InputError(f"no such file: {name}; check the path") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"cannot open {name}: {str(reason).lower()}") from None


def _check_layout(layout: Layout, kind: Format) -> None:
    """Refuse what the format has no use for: it would be ignored in silence."""
    if kind is Format.TXT:
        for option, given in (
            ("`id_column=`", layout.id_column),
            ("`person_column=`", layout.person_column),
            ("`keep_columns=`", layout.keep),
        ):
            if given:
                raise InputError(f"a txt file has no columns; leave out {option}")
        if len(layout.columns) > 1:
            raise InputError(f"a txt file has one text per line; give {layout.option} once")
    spelled = not layout.header or layout.delimiter
    if spelled and kind not in (Format.CSV, Format.TSV):
        raise InputError(
            "`no_header=True` and `delimiter=` are for csv and tsv; "
            f"leave them out for {kind.value}"
        )


def _spooled(file: io.BufferedIOBase, name: str, opened: contextlib.ExitStack) -> io.BufferedIOBase:
    """A pipe's bytes in a file without a name: parquet is read from its end; a pipe has none."""
    try:
        spool = opened.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        shutil.copyfileobj(file, spool, 1 << 20)
    except OSError as error:
        raise InputError(f"cannot keep {name} for reading: {str(error.strerror).lower()}") from None
    return cast(io.BufferedIOBase, spool)


def column_names(
    path: Path, *, delimiter: str | None = None, encoding: str = "utf-8"
) -> tuple[str, ...]:
    """The names in a header, or the keys of the first record; none of a txt file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "posts.csv").write_text("id,text\\n7,hello\\n")
    ...     column_names(Path(folder, "posts.csv"))
    ('id', 'text')
    """
    kind = format_of(path, None, InputError)
    if kind is Format.TXT:
        return ()
    if kind in (Format.CSV, Format.TSV):
        return _first_line(path, delimiter, encoding)
    if kind is Format.PARQUET:
        import pyarrow as pa
        from pyarrow import parquet

        try:
            return tuple(parquet.read_schema(path).names)
        except (pa.ArrowException, OSError):
            raise InputError(f"{path} is not a parquet file; check it") from None
    return tuple(_first_object(path, encoding))


def likely_texts(
    path: Path, *, delimiter: str | None = None, encoding: str = "utf-8"
) -> str | None:
    """The column whose values have the most words in the first rows; of equals, the most letters.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "posts.csv").write_text("what was said,stars\\nThe soup was hot,5\\n")
    ...     likely_texts(Path(folder, "posts.csv"))
    'what was said'
    """
    sizes: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    with contextlib.suppress(InputError):  # what is wrong shows when the file is read
        for row in _first_rows(path, delimiter, encoding):
            for name, value in row.items():
                if isinstance(value, str):
                    sizes[name][0] += len(value.split())
                    sizes[name][1] += len(value)
    return max(sizes, key=lambda name: sizes[name], default=None)


def likely_delimiter(path: Path, *, encoding: str = "utf-8") -> str | None:
    """What most likely separates the cells of a csv file; None where a comma does."""
    widths = dict.fromkeys(_DELIMITERS, 0)
    for delimiter in _DELIMITERS:
        with contextlib.suppress(InputError):  # the next row has another number of cells
            widths[delimiter] = len(_first_line(path, delimiter, encoding))
    best = max(_DELIMITERS, key=lambda each: widths[each])
    return best if best != "," and widths[best] > 1 else None


def _first_line(path: Path, delimiter: str | None, encoding: str) -> tuple[str, ...]:
    return _first_lines(path, delimiter, encoding, (1, 1))[0]


def _first_lines(
    path: Path, delimiter: str | None, encoding: str, most: tuple[int, int]
) -> list[tuple[str, ...]]:
    """The first lines, at most so many and of so many letters, all read as if they were records."""
    layout = Layout(("1",), keep=None, header=False, delimiter=delimiter, encoding=encoding)
    with open_source(path, layout) as source:
        first = next(source.batches(*most))
        rows = first.columns.rows([record.text for record in first.records])
        return [tuple(map(str, row.values())) for row in rows]


def _first_rows(path: Path, delimiter: str | None, encoding: str) -> Sequence[Mapping[str, object]]:
    """Some rows of what may be texts; none of a txt file."""
    kind = format_of(path, None, InputError)
    if kind in (Format.CSV, Format.TSV):
        names, *rows = _first_lines(path, delimiter, encoding, (1 + _ROWS, 1 << 20))
        return [dict(zip(names, row, strict=True)) for row in rows]
    if kind is Format.PARQUET:
        return _first_strings(path)
    return [] if kind is Format.TXT else [_first_object(path, encoding)]


def _first_strings(path: Path) -> list[dict[str, object]]:
    import pyarrow as pa
    from pyarrow import parquet

    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_dictionary)
    try:
        with parquet.ParquetFile(path) as file:
            fields = [each for each in file.schema_arrow if any(is_a(each.type) for is_a in kinds)]
            batches = file.iter_batches(_ROWS, columns=[field.name for field in fields])
            return [row for batch in islice(batches, 1) for row in batch.to_pylist()]
    except (pa.ArrowException, OSError, UnicodeError):  # what is wrong shows when it is read
        return []


def _first_object(path: Path, encoding: str) -> dict[str, object]:
    with path.open("rb") as file:
        packed = compression_of(path)
        try:
            head = (file if packed is None else decompressed(file, packed)).read(_HEAD)
            text = head.decode(encoding, "ignore").lstrip("\ufeff \t\r\n")
            record = json.JSONDecoder().raw_decode(text)[0]
        except (OSError, EOFError, ValueError, RecursionError):
            record = None
    if not isinstance(record, dict):
        raise InputError(f"{path} does not begin with a JSON object; check it and its encoding")
    return cast(dict[str, object], record)
