"""txt: a document a line.

A line ends at `\\n` or `\\r\\n`, or with the file; every line is written with `\\n`.
Other line separators of Unicode, and a lone `\\r`, are characters like any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from inkblur.errors import InputError, OutputError
from inkblur.files.formats import Format, InputFile, Layout, listed
from inkblur.files.records import Batch, LineEncoder, LineSource, Row, Source


class TxtSource(LineSource):
    """Each line is a record; the layout's column names its text in formats that have columns."""

    def __init__(self, file: InputFile, layout: Layout, format: Format) -> None:
        for option, given in (
            ("`id_column=`", layout.id_column),
            ("`person_column=`", layout.person_column),
            ("`keep_columns=`", layout.keep),
        ):
            if given:
                raise InputError(f"a txt file has no columns; leave out {option}")
        if len(layout.columns) > 1:
            raise InputError(f"a txt file has one text per line; give {layout.option} once")
        super().__init__(file, layout, format)
        self._lines = file.lines(layout.encoding)

    def rows(self) -> Iterator[Row]:
        """Lines without their endings."""
        for number, line in enumerate(self._lines, 1):
            text = line.removesuffix("\n")
            if text != line:
                text = text.removesuffix("\r")
            yield Row((text,), {self.layout.columns[0]: None}, len(text), f"line {number}")


class TxtEncoder(LineEncoder):
    """Writes texts as lines, and refuses what would not come back as the same lines."""

    def __init__(self, source: Source) -> None:
        """A source with more columns than the text is refused: they would be lost."""
        self._column = source.layout.columns[0]
        self._check(source.names or ())

    def lines(self, batch: Batch, texts: Sequence[str | None]) -> Iterator[str]:
        """The batch as lines."""
        for row in batch.columns.rows(texts):
            self._check(tuple(row))  # each record may hold other columns than the last
        for record, text in zip(batch.records, texts, strict=True):
            if text is None or "\n" in text or "\0" in text or text[-1:] == "\r":
                what = "no text (null)" if text is None else "a line break or NUL in its text"
                raise OutputError(f"{record.place} has {what}, which txt cannot hold; write .jsonl")
            yield text + "\n"

    def _check(self, names: Sequence[str]) -> None:
        others = [name for name in names if name != self._column]
        if others:
            raise OutputError(
                f"a txt file holds only texts and would lose the columns {listed(others)}; "
                "give the output the suffix of the input"
            )
