"""txt: a document a line.

A line ends at `\\n` or `\\r\\n`, and its own ending is written back; the last line may lack one.
Other line separators of Unicode, and a lone `\\r`, are characters like any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from inkblur.errors import OutputError
from inkblur.files.batching import Row, RowReader
from inkblur.files.formats import Format, listed
from inkblur.files.lines import Lines
from inkblur.files.records import Columns, Schema


@dataclass(frozen=True, slots=True)
class LineEnds:
    """How each line of a batch ended: all that a txt file holds besides texts."""

    column: str
    ends: list[str]

    def rows(self, texts: Sequence[str | None]) -> Iterator[dict[str, object]]:
        """One column, named as was asked for."""
        for text in texts:
            yield {self.column: text}


class TxtReader(RowReader[str]):
    """Each line is a record."""

    def __init__(self, lines: Lines, column: str) -> None:
        """`column` names the text where it is written to a format with columns."""
        self.schema = Schema(Format.TXT, column, (column,), bom=lines.bom)
        self._lines = lines

    def rows(self) -> Iterator[Row[str]]:
        """Lines without their endings."""
        for line in self._lines:
            end = "\r\n" if line.endswith("\r\n") else "\n" if line.endswith("\n") else ""
            text = line[: len(line) - len(end)]
            yield Row(None, text, end, len(text))

    def columns(self, kept: list[str]) -> Columns:
        """The endings."""
        return LineEnds(self.schema.column, kept)


class TxtEncoder:
    """Writes texts as lines, and refuses what would not come back as the same lines."""

    def __init__(self, schema: Schema) -> None:
        """A source with more columns than the text is refused: they would be lost."""
        if schema.names is not None:
            _only_text(schema.names, schema.column)
        self._schema = schema
        self._done = 0

    def begin(self) -> str:
        """A byte order mark where the source had one."""
        return "\ufeff" if self._schema.bom else ""

    def encode(self, columns: Columns, texts: Sequence[str | None]) -> str:
        """The batch as lines."""
        if isinstance(columns, LineEnds):
            ends = columns.ends
        else:
            ends = ["\n"] * len(texts)
            if self._schema.names is None:  # then each record may hold other columns than the last
                for row in columns.rows(texts):
                    _only_text(tuple(row), self._schema.column)
        parts: list[str] = []
        for text, end in zip(texts, ends, strict=True):
            self._done += 1
            if text is None or "\n" in text or "\0" in text or (end == "\n" and text[-1:] == "\r"):
                what = "no text (null)" if text is None else "a line break or NUL in its text"
                raise OutputError(
                    f"record {self._done} has {what}, which txt cannot hold; write .jsonl"
                )
            parts += (text, end)
        return "".join(parts)

    def end(self) -> str:
        """Nothing stands after the last record."""
        return ""


def _only_text(names: tuple[str, ...], column: str) -> None:
    others = [name for name in names if name != column]
    if others:
        raise OutputError(
            f"a txt file holds only texts and would lose the columns {listed(others)}; "
            "give the output the suffix of the input"
        )
