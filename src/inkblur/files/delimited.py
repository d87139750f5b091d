"""csv and tsv: a header, then a record a row; cells may be quoted and then hold line breaks.

Values pass unchanged; quoting is written afresh, only where a cell needs it. Rows end as the header
does (`\\n` or `\\r\\n`); line breaks inside cells are kept exactly. Blank lines are skipped, except
in a file of one column, where a blank line is an empty text.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from inkblur.errors import InputError, OutputError
from inkblur.files.batching import Row, RowReader
from inkblur.files.formats import Format, listed
from inkblur.files.lines import MAX_LINE, Lines
from inkblur.files.records import Columns, Schema


@dataclass(frozen=True, slots=True)
class FieldCells:
    """Whole rows; the cell of the text is empty."""

    names: tuple[str, ...]
    place: int  # of the text
    cells: list[list[str]]

    def rows(self, texts: Sequence[str | None]) -> Iterator[dict[str, object]]:
        """Each row by column name."""
        for row, text in zip(self.cells, texts, strict=True):
            named: dict[str, object] = dict(zip(self.names, row, strict=True))
            named[self.names[self.place]] = text
            yield named


class DelimitedReader(RowReader[list[str]]):
    """Reads strictly: a stray quote or a row of another width is an error, not a guess."""

    def __init__(
        self,
        lines: Lines,
        format: Format,
        column: str,
        id_column: str | None,
        option: str = "--column",
    ) -> None:
        """The header is read here, so that a missing column shows at once."""
        # The limit is one for the whole process; raising it takes nothing from anybody else.
        csv.field_size_limit(max(MAX_LINE, csv.field_size_limit()))
        self._name = lines.name
        self._delimiter = format.delimiter
        self._last = ""  # the line read last: how it ends is how the header ends
        self._lines = self._watched(lines)
        self._reader = csv.reader(self._lines, delimiter=self._delimiter, strict=True)
        header = self._next() or []
        if not header:
            raise InputError(
                f"{self._name} begins with a blank line; its first line must name the columns"
            )
        names = tuple(header)
        repeats = [name for i, name in enumerate(names) if name in names[:i]]
        if repeats:
            raise InputError(
                f"the header of {self._name} names {listed(repeats)} more than once; "
                "rename one of the two"
            )
        self._place = self._find(names, column, option)
        self._id_place = None if id_column is None else self._find(names, id_column, "--id-column")
        newline = "\r\n" if self._last.endswith("\r\n") else "\n"
        self.schema = Schema(format, column, names, newline=newline, bom=lines.bom)

    def rows(self) -> Iterator[Row[list[str]]]:
        """Every row below the header."""
        width = len(self.schema.names or ())
        while True:
            number = self._reader.line_num + 1
            cells = self._next()
            if cells is None:
                return
            if not cells:
                if width > 1:
                    continue
                cells = [""]
            if len(cells) != width:
                raise InputError(
                    f"line {number} of {self._name} has {len(cells)} fields, expected {width}; "
                    f"put quotes around cells that contain {self._delimiter!r}"
                )
            size = sum(map(len, cells))
            text = cells[self._place]
            cells[self._place] = ""  # only the release goes back here
            yield Row(None if self._id_place is None else cells[self._id_place], text, cells, size)

    def columns(self, kept: list[list[str]]) -> Columns:
        """The rows themselves."""
        return FieldCells(self.schema.names or (), self._place, kept)

    def _watched(self, lines: Lines) -> Iterator[str]:
        for self._last in lines:
            yield self._last

    def _next(self) -> list[str] | None:
        number = self._reader.line_num + 1
        try:
            return next(self._reader, None)
        except csv.Error as error:
            if "field limit" in str(error):
                reason = (
                    f"a cell longer than {MAX_LINE:,} characters (a quote that is never closed?)"
                )
            elif "unexpected end" in str(error):
                reason = "a quoted cell that is never closed"
            elif "new-line" in str(error):
                reason = "a carriage return outside quotes; end lines with \\n or \\r\\n"
            else:
                reason = f"a quote out of place ({error}); double the quotes inside quoted cells"
            raise InputError(f"the row at line {number} of {self._name} has {reason}") from None

    def _find(self, names: tuple[str, ...], wanted: str, option: str) -> int:
        if wanted in names:
            return names.index(wanted)
        hint = ""
        if len(names) == 1 and re.search("[;\t,|]", names[0]):
            hint = f", which looks separated by something else than {self._delimiter!r}"
        raise InputError(
            f"{self._name} has no column {wanted!r}; it has {listed(names)}{hint}; "
            f"choose with {option}"
        )


class DelimitedEncoder:
    """Writes rows as csv or tsv.

    From other formats: numbers and true/false are spelled as in JSON; null, lists and objects have
    no spelling here and are refused, and so is a record whose columns differ from the first one's.
    """

    def __init__(self, schema: Schema, format: Format) -> None:
        """`format` is the one to write, `schema` that of the source."""
        self._format = format
        self._names = schema.names
        self._newline = schema.newline
        self._bom = schema.bom
        self._special = re.compile(f'["\r\n{format.delimiter}]')
        self._done = 0

    def begin(self) -> str:
        """The header, where it is known before the first record."""
        mark = "\ufeff" if self._bom else ""
        return mark + (self._line(self._names) if self._names else "")

    def encode(self, columns: Columns, texts: Sequence[str | None]) -> str:
        """The batch as rows."""
        if isinstance(columns, FieldCells):
            return "".join(self._cells_of(columns, texts))
        return "".join(self._rows_of(columns, texts))

    def end(self) -> str:
        """Nothing stands after the last record."""
        return ""

    def _cells_of(self, columns: FieldCells, texts: Sequence[str | None]) -> Iterator[str]:
        place = columns.place
        for row, text in zip(columns.cells, texts, strict=True):
            self._done += 1
            yield self._line(
                [*row[:place], self._spelled(text, columns.names[place]), *row[place + 1 :]]
            )

    def _rows_of(self, columns: Columns, texts: Sequence[str | None]) -> Iterator[str]:
        for row in columns.rows(texts):
            self._done += 1
            if self._names is None:
                self._names = tuple(row)
                yield self._line(self._names)
            yield self._line(self._aligned(row, self._names))

    def _aligned(self, row: Mapping[str, object], names: tuple[str, ...]) -> list[str]:
        if row.keys() != set(names):
            raise OutputError(
                f"record {self._done} has the columns {listed(tuple(row))}, the first one "
                f"{listed(names)}: {self._format.value} needs the same in all; write .jsonl"
            )
        return [self._spelled(row[name], name) for name in names]

    def _line(self, cells: Sequence[str]) -> str:
        # csv.writer of Python 3.11 leaves a lone \r unquoted and then cannot read it back.
        line = self._format.delimiter.join(map(self._quoted, cells))
        if "\0" in line:
            raise OutputError(
                f"record {self._done} has a NUL character, which {self._format.value} cannot hold"
            )
        return (line or '""') + self._newline  # one empty cell must not look like a blank line

    def _quoted(self, cell: str) -> str:
        if self._special.search(cell) is None:
            return cell
        return '"' + cell.replace('"', '""') + '"'

    def _spelled(self, value: object, name: str) -> str:
        match value:
            case str():
                return value
            case bool():
                return "true" if value else "false"
            case int() | float():
                return repr(value)
            case _:
                what = "null" if value is None else "a list or an object"
                raise OutputError(
                    f"record {self._done} has {what} in column {name!r}, "
                    f"which {self._format.value} cannot hold; write .jsonl or the input's format"
                )
