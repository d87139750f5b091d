"""csv and tsv: a header, then a record a row; cells may be quoted and then hold line breaks.

Values pass unchanged; quoting is written afresh. Rows end at `\\n` or `\\r\\n`, and are written
with `\\n`; line breaks inside cells are kept exactly. Blank lines are skipped, except in a file of
one column, where a blank line is an empty text. Without a header columns are named 1, 2, 3...
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from inkblur.errors import InputError, OutputError
from inkblur.files.formats import Format, Layout, listed
from inkblur.files.lines import MAX_LINE, Lines
from inkblur.files.records import Batch, Columns, Encoder, Row, RowReader, Schema
from inkblur.types import counted


@dataclass(frozen=True, slots=True)
class FieldCells:
    """Rows as they are written; the cells of the texts are empty."""

    names: tuple[str, ...]
    places: tuple[int, ...]  # of the texts
    cells: list[list[str]]

    def rows(self, texts: Sequence[str | None]) -> Iterator[dict[str, object]]:
        """Each row by column name."""
        width = len(self.places)
        for i, row in enumerate(self.cells):
            named: dict[str, object] = dict(zip(self.names, row, strict=True))
            for place, text in zip(self.places, texts[i * width : (i + 1) * width], strict=True):
                named[self.names[place]] = text
            yield named

    def others(self) -> Iterator[list[tuple[str, object]]]:
        """The cells beside the texts."""
        for row in self.cells:
            pairs = enumerate(zip(self.names, row, strict=True))
            yield [pair for place, pair in pairs if place not in self.places]

    def take(self, rows: Sequence[int]) -> FieldCells:
        """Some of the rows."""
        return FieldCells(self.names, self.places, [self.cells[row] for row in rows])


class DelimitedReader(RowReader[list[str]]):
    """Reads strictly: a stray quote or a row of another width is an error, not a guess."""

    def __init__(self, lines: Lines, format: Format, layout: Layout) -> None:
        """The first line is read here, so that a missing column shows at once."""
        # The limit is one for the whole process; raising it takes nothing from anybody else.
        csv.field_size_limit(max(MAX_LINE, csv.field_size_limit()))
        self._name = lines.name
        self._layout = layout
        self._delimiter = layout.delimiter or format.delimiter
        self._reader = csv.reader(lines, delimiter=self._delimiter, strict=True)
        first = self._next() or []
        if not first:
            raise InputError(
                f"{self._name} begins with a blank line; its first line must name the columns"
            )
        self._width = len(first)
        self._first = None if layout.header else first
        names = tuple(first) if layout.header else tuple(map(str, range(1, len(first) + 1)))
        self._check_names(names)
        places = [self._find(names, column, layout.option) for column in layout.columns]
        id_column = layout.id_column
        self._id_place = None if id_column is None else self._find(names, id_column, "`id_column=`")
        person = layout.person_column
        self._person = None if person is None else self._find(names, person, "`person_column=`")
        for column in layout.keep or ():
            self._find(names, column, "`keep_columns=`")
        self._texts = tuple(places)
        self._written = [i for i, name in enumerate(names) if layout.writes(name)]
        self._not_copied = tuple(name for name in names if not layout.writes(name))
        self._places = tuple(self._written.index(place) for place in places)
        self.schema = Schema(
            format,
            layout.columns,
            tuple(names[i] for i in self._written),
            header=layout.header,
            delimiter=layout.delimiter,
        )

    def rows(self) -> Iterator[Row[list[str]]]:
        """Every row below the header."""
        number = 1
        if self._first is not None:
            yield self._row(self._first, number)
            self._first = None
        while True:
            number = self._reader.line_num + 1
            cells = self._next()
            if cells is None:
                return
            if not cells:
                if self._width > 1:
                    continue
                cells = [""]
            if len(cells) != self._width:
                raise InputError(
                    f"line {number} of {self._name} has {counted(len(cells), 'field')}, expected "
                    f"{self._width}; put quotes around cells that contain {self._delimiter!r}"
                )
            yield self._row(cells, number)

    def not_copied(self) -> tuple[str, ...]:
        """What the header names besides."""
        return self._not_copied

    def columns(self, kept: list[list[str]]) -> Columns:
        """The rows themselves."""
        return FieldCells(self.schema.names or (), self._places, kept)

    def _row(self, cells: list[str], number: int) -> Row[list[str]]:
        size = sum(map(len, cells))
        name = "" if self._id_place is None else cells[self._id_place]
        person = None if self._person is None else cells[self._person] or None
        texts = tuple(cells[place] for place in self._texts)
        for place in self._texts:
            cells[place] = ""  # only the release goes back here
        if len(self._written) < self._width:
            cells = [cells[place] for place in self._written]
        return Row(name, texts, cells, size, f"line {number}", person)

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

    def _check_names(self, names: tuple[str, ...]) -> None:
        for i, name in enumerate(names):
            if name in names[:i]:
                raise InputError(
                    f"columns {names.index(name) + 1} and {i + 1} of {self._name} have the same "
                    "name; rename one, or add `no_header=True` if the first line is a record"
                )

    def _find(self, names: tuple[str, ...], wanted: str, option: str) -> int:
        """The place of a column. A file may lack its header, so its first line is never shown."""
        if wanted in names:
            return names.index(wanted)
        if not self._layout.header:
            raise InputError(
                f"{self._name} has no column {wanted!r}: without a header its columns are named "
                f"1 to {len(names)}; choose with {option}"
            )
        # A command with its own name for the text column has no option for other kinds of csv.
        own = self._layout.option != Layout().option
        header = "" if own else ", or add `no_header=True` if that line is a record"
        other = re.search("[;\t,|]", names[0]) if len(names) == 1 else None
        if other:
            sign = "tab" if other[0] == "\t" else repr(other[0])
            answer = (
                f"separate its cells by {self._delimiter!r}"
                if own
                else f"say so with `delimiter=` {sign}"
            )
            raise InputError(
                f"the first line of {self._name} is one cell, without the column {wanted!r}, and "
                f"looks separated by {sign}: {answer}{header}"
            )
        raise InputError(
            f"the first line of {self._name} has no column {wanted!r} among its {len(names)}; "
            f"choose with {option}{header}"
        )


class DelimitedEncoder(Encoder):
    """Writes rows as csv or tsv.

    From other formats: numbers and true/false are spelled as in JSON; null, lists and objects have
    no spelling here and are refused, and so is a record whose columns differ from the first one's.
    """

    def __init__(self, schema: Schema, format: Format) -> None:
        """`format` is the one to write, `schema` that of the source."""
        self._format = format
        self._names = schema.names
        self._schema = schema
        own = schema.delimiter if format is schema.format else None
        self._delimiter = own or format.delimiter
        self._special = re.compile(f'["\r\n{re.escape(self._delimiter)}]')

    def begin(self) -> str:
        """The header, where there is one and it is known before the first record."""
        titled = self._names and self._schema.header
        return self._line(self._names or (), "the header") if titled else ""

    def encode(self, batch: Batch, texts: Sequence[str | None]) -> str:
        """The batch as rows."""
        if isinstance(batch.columns, FieldCells):
            return "".join(self._cells_of(batch, batch.columns, texts))
        return "".join(self._rows_of(batch, texts))

    def _cells_of(
        self, batch: Batch, columns: FieldCells, texts: Sequence[str | None]
    ) -> Iterator[str]:
        waiting = iter(texts)
        for i, row in enumerate(columns.cells):
            cells = list(row)
            for place in columns.places:
                name = columns.names[place]
                cells[place] = self._spelled(next(waiting), name, batch.place(i))
            yield self._line(cells, batch.place(i))

    def _rows_of(self, batch: Batch, texts: Sequence[str | None]) -> Iterator[str]:
        for i, row in enumerate(batch.columns.rows(texts)):
            if self._names is None:
                self._names = tuple(row)
                yield self._line(self._names, batch.place(i))
            yield self._line(self._aligned(row, self._names, batch.place(i)), batch.place(i))

    def _aligned(self, row: Mapping[str, object], names: tuple[str, ...], place: str) -> list[str]:
        if row.keys() != set(names):
            raise OutputError(
                f"{place} has the columns {listed(tuple(row))}, the first record "
                f"{listed(names)}: {self._format.value} needs the same in all; write .jsonl"
            )
        return [self._spelled(row[name], name, place) for name in names]

    def _line(self, cells: Sequence[str], place: str) -> str:
        # csv.writer of Python 3.11 leaves a lone \r unquoted and then cannot read it back.
        line = self._delimiter.join(self._quoted(cell) for cell in cells)
        if "\0" in line:
            raise OutputError(
                f"{place} has a NUL character, which {self._format.value} cannot hold"
            )
        return (line or '""') + "\n"  # an empty cell is no blank line

    def _quoted(self, cell: str) -> str:
        if self._special.search(cell) is None:
            return cell
        return '"' + cell.replace('"', '""') + '"'

    def _spelled(self, value: object, name: str, place: str) -> str:
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
                    f"{place} has {what} in column {name!r}, "
                    f"which {self._format.value} cannot hold; write .jsonl or the input's format"
                )
