"""Rows into batches, cut by number and by size: how the formats made of lines are read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from inkblur.files.records import Batch, Columns, Schema
from inkblur.types import Record

K = TypeVar("K")


@dataclass(slots=True)
class Row(Generic[K]):
    """One record as its format reads it."""

    id: str | None  # None: no id column was asked for
    text: str | None  # None: null in the file
    kept: K  # whatever else the row holds
    size: int  # characters in the whole row


class RowReader(ABC, Generic[K]):
    """What a line-made format brings: its rows, and a way to keep their other columns."""

    schema: Schema

    @abstractmethod
    def rows(self) -> Iterator[Row[K]]:
        """Every record in order."""

    @abstractmethod
    def columns(self, kept: list[K]) -> Columns:
        """Some rows' other columns."""

    def batches(self, max_records: int, max_chars: int) -> Iterator[Batch]:
        """Batches of at most `max_records` rows and `max_chars` characters.

        One row above `max_chars` stands alone.
        """
        rows: list[Row[K]] = []
        size = 0
        position = 0
        for row in self.rows():
            if rows and (len(rows) >= max_records or size + row.size > max_chars):
                yield self._batch(rows, position)
                position += len(rows)
                rows, size = [], 0
            rows.append(row)
            size += row.size
        if rows:
            yield self._batch(rows, position)

    def _batch(self, rows: list[Row[K]], position: int) -> Batch:
        return Batch(
            records=tuple(
                Record(str(position + i) if row.id is None else row.id, row.text or "")
                for i, row in enumerate(rows)
            ),
            columns=self.columns([row.kept for row in rows]),
            nulls=frozenset(i for i, row in enumerate(rows) if row.text is None),
        )
