"""csv and tsv: a header, then a record a row; cells may be quoted and then hold line breaks.

Values pass unchanged; quoting is written afresh. Rows end at `\\n` or `\\r\\n`, and are written
with `\\n`; line breaks inside cells are kept exactly. Blank lines are skipped, except in a file of
one column, where a blank line is an empty text. Without a header columns are named 1, 2, 3...
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence

from inkblur.errors import InputError, OutputError
from inkblur.files.formats import MAX_LINE, Format, InputFile, Layout, listed
from inkblur.files.records import Batch, LineEncoder, LineSource, Row, Source
from inkblur.types import counted

DELIMITER = {Format.CSV: ",", Format.TSV: "\t"}


class DelimitedSource(LineSource):
    """Reads strictly: a stray quote or a row of another width is an error, not a guess."""

    def __init__(self, file: InputFile, layout: Layout, format: Format) -> None:
        """The first line is read here, so that a missing column shows at once."""
        super().__init__(file, layout, format)
        self.delimiter = layout.delimiter or DELIMITER[format]
        # One limit for the whole process, in place of which the size of a row is counted.
        csv.field_size_limit(max(2 * MAX_LINE, csv.field_size_limit()))
        self._row_size = 0
        self._reader = csv.reader(
            self._counted(file.lines(layout.encoding)), delimiter=self.delimiter, strict=True
        )
        self.first = self._next() or []  # the header, if there is one
        if not self.first:
            raise InputError(
                f"{self.name} begins with a blank line; its first line must name the columns"
            )
        width = range(1, len(self.first) + 1)
        self.columns = tuple(self.first) if layout.header else tuple(map(str, width))
        for i, name in enumerate(self.columns):
            if name in self.columns[:i]:
                raise InputError(
                    f"columns {self.columns.index(name) + 1} and {i + 1} of {self.name} have the "
                    "same name; rename one, or add `no_header=True` if the first line is a record"
                )
        self._texts = [self.find(self.columns, name, layout.option) for name in layout.columns]
        self._id, self._person = (
            None if name is None else self.find(self.columns, name, option)
            for name, option in (
                (layout.id_column, "`id_column=`"),
                (layout.person_column, "`person_column=`"),
            )
        )
        for name in layout.keep or ():
            self.find(self.columns, name, "`keep_columns=`")
        self.names = tuple(filter(layout.writes, self.columns))
        self.not_copied = tuple(name for name in self.columns if not layout.writes(name))

    def rows(self) -> Iterator[Row]:
        """Every row below the header."""
        empty: dict[str, object] = dict.fromkeys(self.names or ())
        copied = [(name, self.columns.index(name)) for name in self.copied]
        cells: list[str] | None = self.first
        number = 1
        if self.layout.header:
            number, cells = self._reader.line_num + 1, self._next()
        while cells is not None:
            if not cells and len(self.columns) == 1:
                cells = [""]
            if cells:
                if len(cells) != len(self.columns):
                    raise InputError(
                        f"line {number} of {self.name} has {counted(len(cells), 'field')}, "
                        f"expected {len(self.columns)}; put quotes around cells that contain "
                        f"{self.delimiter!r}"
                    )
                yield Row(
                    tuple(cells[place] for place in self._texts),
                    empty | {name: cells[place] for name, place in copied},
                    len(cells) + sum(map(len, cells)),
                    f"line {number}",
                    "" if self._id is None else cells[self._id],
                    None if self._person is None else cells[self._person] or None,
                )
            number, cells = self._reader.line_num + 1, self._next()

    def _counted(self, lines: Iterator[str]) -> Iterator[str]:
        """The lines, as long as those of one row are not too many."""
        for line in lines:
            self._row_size += len(line)
            if self._row_size > MAX_LINE:
                raise csv.Error("too long")
            yield line

    def _next(self) -> list[str] | None:
        number, self._row_size = self._reader.line_num + 1, 0
        try:
            return next(self._reader, None)
        except csv.Error as error:
            if "too long" in str(error):
                reason = f"more than {MAX_LINE:,} characters (a quote that is never closed?)"
            elif "unexpected end" in str(error):
                reason = "a quoted cell that is never closed"
            elif "new-line" in str(error):
                reason = "a carriage return outside quotes; end lines with \\n or \\r\\n"
            else:
                reason = f"a quote out of place ({error}); double the quotes inside quoted cells"
            raise InputError(f"the row at line {number} of {self.name} has {reason}") from None

    def find(self, names: Sequence[str], wanted: str, option: str) -> int:
        """The place of a column."""
        if wanted in names:
            return names.index(wanted)
        if not self.layout.header:
            raise InputError(
                f"{self.name} has no column {wanted!r}: without a header its columns are named "
                f"1 to {len(names)}; choose with {option}"
            )
        # A command with its own name for the text column has no option for other kinds of csv.
        own = self.layout.option != Layout().option
        header = "" if own else ", or add `no_header=True` if that line is a record"
        other = re.search("[;\t,|]", names[0]) if len(names) == 1 else None
        if other:
            sign = "tab" if other[0] == "\t" else repr(other[0])
            answer = (
                f"separate its cells by {self.delimiter!r}"
                if own
                else f"say so with `delimiter=` {sign}"
            )
            raise InputError(
                f"the first line of {self.name} is one cell, without the column {wanted!r}, and "
                f"looks separated by {sign}: {answer}{header}"
            )
        raise InputError(
            f"the first line of {self.name} has no column {wanted!r} among {listed(names)}; "
            f"choose with {option}{header}"
        )


class DelimitedEncoder(LineEncoder):
    """Writes rows as csv or tsv.

    From other formats: numbers and true/false are spelled as in JSON; null, lists and objects have
    no spelling here and are refused, and so is a record whose columns differ from the first one's.
    """

    def __init__(self, source: Source, format: Format) -> None:
        self._format, self._names = format, source.names
        own = source.delimiter if isinstance(source, DelimitedSource) else None
        self._delimiter = own if own and format is source.format else DELIMITER[format]
        self._special = re.compile(f'["\r\n{re.escape(self._delimiter)}]')
        # Where records have columns of their own it is known with the first.
        titled = self._names and source.layout.header
        self._header = self._line(self._names or (), "the header") if titled else ""

    def lines(self, batch: Batch, texts: Sequence[str | None]) -> Iterator[str]:
        """The batch, a string a row."""
        for i, row in enumerate(batch.columns.rows(texts)):
            place = batch.place(i)
            if self._names is None:
                self._names = tuple(row)
                self._header = self._line(self._names, place)
            yield self._line(self._cells(row, self._names, place), place)

    def content(self, rows: list[bytes]) -> bytes:
        """The rows, the first below the header."""
        header, self._header = self._header, ""
        return header.encode("utf-8") + b"".join(rows)

    def end(self) -> bytes:
        """The header, where no row came."""
        return self.content([])

    def _cells(self, row: Mapping[str, object], names: tuple[str, ...], place: str) -> list[str]:
        if row.keys() != set(names):
            raise OutputError(
                f"{place} has the columns {listed(tuple(row))}, the first record "
                f"{listed(names)}: {self._format.value} needs the same in all; write .jsonl"
            )
        cells = []
        for name in names:
            value = row[name]
            if isinstance(value, bool):
                value = "true" if value else "false"
            if not isinstance(value, str | int | float):
                what = "null" if value is None else "a list or an object"
                raise OutputError(
                    f"{place} has {what} in column {name!r}, "
                    f"which {self._format.value} cannot hold; write .jsonl or the input's format"
                )
            cells.append(str(value))
        return cells

    def _line(self, cells: Sequence[str], place: str) -> str:
        # csv.writer of Python 3.11 leaves a lone \r unquoted and then cannot read it back.
        quoted = (
            '"' + cell.replace('"', '""') + '"' if self._special.search(cell) else cell
            for cell in cells
        )
        line = self._delimiter.join(quoted)
        if "\0" in line:
            raise OutputError(
                f"{place} has a NUL character, which {self._format.value} cannot hold"
            )
        return (line or '""') + "\n"  # an empty cell is no blank line
