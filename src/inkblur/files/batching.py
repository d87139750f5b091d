"""Rows into batches, cut by number and by size."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from inkblur.files.records import Batch, Columns, Schema
from inkblur.types import Record

K = TypeVar("K")
Texts = tuple[str | None, ...]  # of one row; None: null in the file


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
