"""The door in: `open_source`; and which columns a file has, to choose its texts from."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from inkblur.errors import InputError
from inkblur.files.delimited import DelimitedSource
from inkblur.files.formats import Format, Layout, format_of, is_stream, layout_of
from inkblur.files.jsonlines import JsonlSource, read_object
from inkblur.files.lines import InputFile
from inkblur.files.plain import TxtSource
from inkblur.files.records import Source
from inkblur.spec import ReleaseSpec
from inkblur.types import choose

_USUAL = Layout()
_DELIMITERS = (",", ";", "\t", "|")


def open_described(path: str | Path, spec: ReleaseSpec, most_bytes: int | None = None) -> Source:
    """Open a file of records as a spec describes it: see :func:`open_source`."""
    format = None if spec.format is None else choose(Format, spec.format, "format")
    return open_source(path, layout_of(spec), format=format, most_bytes=most_bytes)


def open_source(
    path: str | Path,
    layout: Layout = _USUAL,
    *,
    format: Format | None = None,
    most_bytes: int | None = None,
) -> Source:
    """Open a file of records, or standard input (`-`), to be read once from front to back.

    The suffix tells the format (.txt .csv .tsv .jsonl .parquet, all but the last also with
    .gz or .zst) unless `format` does. Missing files, columns and headers show here; what is wrong
    with a later line shows when that line is read. Everything wrong is an `InputError` of one line.

    A file without a single byte is an error. A header without records (csv, tsv, parquet) is a file
    of zero records. Empty texts are records like any other. A file that becomes more than
    `most_bytes` when it is unpacked is refused as soon as so many were read. Of the columns beside
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
    kind = format_of(path, format, InputError)
    if (not layout.header or layout.delimiter) and kind not in (Format.CSV, Format.TSV):
        raise InputError(
            "`no_header=True` and `delimiter=` are for csv and tsv; "
            f"leave them out for {kind.value}"
        )
    file = InputFile(path, most_bytes)
    with contextlib.ExitStack() as opened:
        opened.callback(file.close)
        source: Source
        match kind:
            case Format.TXT:
                source = TxtSource(file, layout, kind)
            case Format.JSONL:
                source = JsonlSource(file, layout, kind)
            case Format.PARQUET:
                from inkblur.files.parquet import ParquetSource

                source = ParquetSource(file, layout, kind)
            case _:
                source = DelimitedSource(file, layout, kind)
        opened.pop_all()  # it stays open
    return source


def texts_of_file(path: str | Path) -> list[str]:
    """All texts of a file that fits in memory, such as a public corpus."""
    with open_source(path) as source:
        return [text for batch in source.batches(4096, 1 << 20) for text in batch.texts]


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
    match format_of(path, None, InputError):
        case Format.TXT:
            return ()
        case Format.PARQUET:
            import pyarrow as pa
            from pyarrow import parquet

            try:
                return tuple(parquet.read_schema(path).names)
            except (pa.ArrowException, OSError):
                raise InputError(f"{path} is not a parquet file; check it") from None
        case Format.JSONL:
            with contextlib.closing(InputFile(path)) as file:
                lines = filter(None, map(str.strip, file.lines(encoding)))
                return tuple(read_object(next(lines, ""), f"the first line of {path}"))
    layout = Layout(("1",), header=False, delimiter=delimiter, encoding=encoding)
    with open_source(path, layout) as source:
        next(source.batches(1, 1))  # what is wrong with the next row tells that it is another file
        assert isinstance(source, DelimitedSource)
        return tuple(source.first)


def likely_delimiter(path: Path, *, encoding: str = "utf-8") -> str | None:
    """What most likely separates the cells of a csv file; None where a comma does."""
    widths = dict.fromkeys(_DELIMITERS, 0)
    for delimiter in _DELIMITERS:
        with contextlib.suppress(InputError):  # the next row has another number of cells
            widths[delimiter] = len(column_names(path, delimiter=delimiter, encoding=encoding))
    best = max(_DELIMITERS, key=lambda each: widths[each])
    return best if best != "," and widths[best] > 1 else None
