"""Which columns a file has, to choose its texts from before it is read as anything."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import cast

from inkblur.errors import InputError
from inkblur.files.compression import compression_of, decompressed
from inkblur.files.formats import Format, format_of
from inkblur.files.layout import Layout
from inkblur.files.source import open_source

_HEAD = 1 << 22  # bytes of a JSON file that the first record must end in
_DELIMITERS = (",", ";", "\t", "|")


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
        return _header(path, delimiter, encoding)
    if kind is Format.PARQUET:
        import pyarrow as pa
        from pyarrow import parquet

        try:
            return tuple(parquet.read_schema(path).names)
        except (pa.ArrowException, OSError):
            raise InputError(f"{path} is not a parquet file; check it") from None
    return _keys(path)


def likely_delimiter(path: Path, *, encoding: str = "utf-8") -> str | None:
    """What most likely separates the cells of a csv file; None where a comma does."""
    widths = dict.fromkeys(_DELIMITERS, 0)
    for delimiter in _DELIMITERS:
        with contextlib.suppress(InputError):  # the next row has another number of cells
            widths[delimiter] = len(_header(path, delimiter, encoding))
    best = max(_DELIMITERS, key=lambda each: widths[each])
    return None if best == "," else best


def _header(path: Path, delimiter: str | None, encoding: str) -> tuple[str, ...]:
    """The first line, read as if it were a record."""
    layout = Layout(("1",), header=False, delimiter=delimiter, encoding=encoding)
    with open_source(path, layout) as source:
        first = next(source.batches(1, 1))
        row = next(iter(first.columns.rows([record.text for record in first.records])))
    return tuple(str(name) for name in row.values())


def _keys(path: Path) -> tuple[str, ...]:
    with path.open("rb") as file:
        packed = compression_of(path)
        try:
            head = (file if packed is None else decompressed(file, packed)).read(_HEAD)
            text = head.decode("utf-8-sig", "ignore").lstrip("[ \t\r\n")
            record = json.JSONDecoder().raw_decode(text)[0]
        except (OSError, EOFError, ValueError, RecursionError):
            raise InputError(f"{path} does not begin with a JSON object; check it") from None
    if not isinstance(record, dict):
        raise InputError(f"{path} does not begin with a JSON object; check it")
    return tuple(cast(dict[str, object], record))
