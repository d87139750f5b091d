"""txt: a document a line.

A line ends at `\\n` or `\\r\\n`, or with the file; every line is written with `\\n`.
Other line separators of Unicode, and a lone `\\r`, are characters like any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from inkblur.errors import OutputError
from inkblur.files.formats import Format, Layout, listed
from inkblur.files.lines import Lines
from inkblur.files.records import Batch, Columns, Encoder, Row, RowReader, Schema


@dataclass(frozen=True, slots=True)
class TextsAlone:
    """No columns beside the texts."""

    column: str
    count: int  # of texts

    def rows(self, texts: Sequence[str | None]) -> Iterator[dict[str, object]]:
        """One column, under the name that was given."""
        for text in texts:
            yield {self.column: text}

    def others(self) -> Iterator[tuple[()]]:
        """Nothing but texts."""
        for _ in range(self.count):
            yield ()

    def take(self, rows: Sequence[int]) -> TextsAlone:
        """As many as there are rows."""
        return TextsAlone(self.column, len(rows))


class TxtReader(RowReader[None]):
    """Each line is a record."""

    def __init__(self, lines: Lines, format: Format, layout: Layout) -> None:
        """The layout's column names the text where it is written to a format with columns."""
        self.schema = Schema(format, layout.columns, layout.columns)
        self._lines = lines

    def rows(self) -> Iterator[Row[None]]:
        """Lines without their endings."""
        for number, line in enumerate(self._lines, 1):
            text = line.removesuffix("\n")
            if text != line:
                text = text.removesuffix("\r")
            yield Row("", (text,), None, len(text), f"line {number}")

    def columns(self, kept: list[None]) -> Columns:
        """None."""
        return TextsAlone(self.schema.columns[0], len(kept))


class TxtEncoder(Encoder):
    """Writes texts as lines, and refuses what would not come back as the same lines."""

    def __init__(self, schema: Schema) -> None:
        """A source with more columns than the text is refused: they would be lost."""
        self._column = schema.columns[0]
        self._schema = schema
        if schema.names is not None:
            _only_text(schema.names, self._column)

    def encode(self, batch: Batch, texts: Sequence[str | None]) -> str:
        """The batch as lines."""
        if self._schema.names is None:  # then each record may hold other columns than the last
            for row in batch.columns.rows(texts):
                _only_text(tuple(row), self._column)
        parts: list[str] = []
        for record, text in zip(batch.records, texts, strict=True):
            if text is None or "\n" in text or "\0" in text or text[-1:] == "\r":
                what = "no text (null)" if text is None else "a line break or NUL in its text"
                raise OutputError(f"{record.place} has {what}, which txt cannot hold; write .jsonl")
            parts += (text, "\n")
        return "".join(parts)


def _only_text(names: tuple[str, ...], column: str) -> None:
    others = [name for name in names if name != column]
    if others:
        raise OutputError(
            f"a txt file holds only texts and would lose the columns {listed(others)}; "
            "give the output the suffix of the input"
        )
