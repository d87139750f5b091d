"""What flows: records, batches of them, and what their file looked like."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, Self, TypeVar

from inkblur.errors import ParameterError
from inkblur.files.formats import Format
from inkblur.types import Record, counted

K = TypeVar("K")
Texts = tuple[str | None, ...]  # of one row; None: null in the file


class Columns(Protocol):
    """Everything of a batch but its texts, kept in whatever form its format reads it.

    Texts are given row after row, and within a row in the order of the text columns.
    """

    def rows(self, texts: Sequence[str | None]) -> Iterator[Mapping[str, object]]:
        """Complete rows with the given texts in place: what another format is written from."""
        ...

    def others(self) -> Iterator[Iterable[tuple[str, object]]]:
        """The names and values of each row that are written as they are."""
        ...

    def take(self, rows: Sequence[int]) -> Self:
        """Some of the rows."""
        ...


@dataclass(frozen=True, slots=True)
class Batch:
    """Some consecutive rows of a file: a record for each text, and the other columns alongside.

    A row has `width` texts, so `records` has the first row's texts, then the second row's and so
    on. `nulls` holds the positions in `records` whose text is null in the file (json, parquet):
    their record has an empty text, and a sink writes null whatever text it is given for them.
    """

    records: tuple[Record, ...]
    columns: Columns
    nulls: frozenset[int] = frozenset()
    width: int = 1

    def __len__(self) -> int:
        return len(self.records) // self.width

    @property
    def texts(self) -> list[str]:
        """The records' texts, in order."""
        return [record.text for record in self.records]

    def place(self, row: int) -> str:
        """Where a row stands in its file: "line 7"."""
        return self.records[row * self.width].place

    def with_ids(self, ids: Sequence[str]) -> Batch:
        """The same batch with other ids, one a record."""
        pairs = zip(self.records, ids, strict=True)
        # `replace` would take four times as long, and this is done for every text of a file.
        records = tuple(Record(name, r.text, r.place, r.person) for r, name in pairs)
        return replace(self, records=records)

    def with_ids_by_column(self, columns: Sequence[str]) -> Batch:
        """Several texts of a row get an id each, of the row's id and their column's name."""
        if len(columns) == 1:
            return self
        named = zip(self.records, list(columns) * len(self), strict=True)
        return self.with_ids([f"{len(column)}:{column}:{record.id}" for record, column in named])

    def take(self, rows: Sequence[int]) -> Batch:
        """Only these rows."""
        places = [row * self.width + i for row in rows for i in range(self.width)]
        return replace(
            self,
            records=tuple(self.records[place] for place in places),
            columns=self.columns.take(rows),
            nulls=frozenset(i for i, place in enumerate(places) if place in self.nulls),
        )

    def entering(self, hides_length: bool) -> Batch:
        """As it enters a release: where lengths are hidden, a text that is missing must not show
        either, so it is filled up like an empty one.
        """
        return replace(self, nulls=frozenset()) if hides_length else self

    def released(self, texts: Sequence[Any]) -> list[Any]:
        """The texts to write: those given, one a record, with nulls back in their places."""
        if len(texts) != len(self.records):
            # Falling short would leave a true text standing; never go on.
            raise ParameterError(
                f"a batch of {counted(len(self.records), 'record')} needs as many texts, got "
                f"{len(texts)}"
            )
        return [None if i in self.nulls else text for i, text in enumerate(texts)]


@dataclass(frozen=True, slots=True)
class Schema:
    """What a sink must know about its source."""

    format: Format
    columns: tuple[str, ...]  # that hold texts
    names: tuple[str, ...] | None  # that are written, in order; None: each record has its own
    header: bool = True  # csv, tsv: the first line names the columns
    delimiter: str | None = None  # csv, tsv: where it is not the format's own
    unplain: tuple[str, ...] = ()  # columns that only parquet can hold (dates, bytes, maps...)
    native: object = field(default=None, repr=False)  # parquet: its Arrow schema and compression


@dataclass(slots=True)
class Row(Generic[K]):
    """One row as its format reads it."""

    id: str  # empty where no id column is named
    texts: Texts
    kept: K  # whatever else the row holds
    size: int  # characters in the whole row
    place: str  # "line 7"
    person: str | None = None


class RowReader(ABC, Generic[K]):
    """What a line-made format brings: its rows, and a way to keep their other columns."""

    schema: Schema

    @abstractmethod
    def rows(self) -> Iterator[Row[K]]:
        """Every row in order."""

    @abstractmethod
    def columns(self, kept: list[K]) -> Columns:
        """Some rows' other columns."""

    def copied(self) -> tuple[str, ...]:
        """Columns that are written as they are, as far as the file was read."""
        return tuple(name for name in self.schema.names or () if name not in self.schema.columns)

    def not_copied(self) -> tuple[str, ...]:
        """Columns that nobody named, as far as the file was read."""
        return ()

    def batches(self, max_records: int, max_chars: int) -> Iterator[Batch]:
        """Batches of at most `max_records` rows and `max_chars` characters.

        One row above `max_chars` stands alone.
        """
        rows: list[Row[K]] = []
        size = 0
        for row in self.rows():
            if rows and (len(rows) >= max_records or size + row.size > max_chars):
                yield self._batch(rows)
                rows, size = [], 0
            rows.append(row)
            size += row.size
        if rows:
            yield self._batch(rows)

    def _batch(self, rows: list[Row[K]]) -> Batch:
        texts = [text for row in rows for text in row.texts]
        return Batch(
            records=tuple(
                Record(row.id, text or "", row.place, row.person)
                for row in rows
                for text in row.texts
            ),
            columns=self.columns([row.kept for row in rows]),
            nulls=frozenset(i for i, text in enumerate(texts) if text is None),
            width=len(self.schema.columns),
        )


class Encoder(ABC):
    """Turns batches into a file's content, in one format; characters are written as UTF-8."""

    def begin(self) -> str | bytes:
        """What stands before the first batch."""
        return ""

    @abstractmethod
    def encode(self, batch: Batch, texts: Sequence[str | None]) -> str | bytes:
        """One batch, or as much of what was given so far as can be written already."""

    def end(self) -> str | bytes:
        """What stands after the last batch."""
        return ""


def cuts(sizes: Sequence[int], most: int) -> Iterator[tuple[int, int]]:
    """Where to cut rows of these sizes: `start, stop` of each batch; one above `most` stands
    alone.
    """
    start = size = 0
    for i, each in enumerate(sizes):
        if i > start and size + each > most:
            yield start, i
            start, size = i, 0
        size += each
    if start < len(sizes):
        yield start, len(sizes)
