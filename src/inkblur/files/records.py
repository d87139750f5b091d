"""What flows: records one by one, batches of them, and what their file looked like."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from inkblur.errors import ParameterError
from inkblur.files.formats import Format
from inkblur.types import Record


class Columns(Protocol):
    """Everything of a batch but its texts, kept in whatever form its format reads it."""

    def rows(self, texts: Sequence[str | None]) -> Iterator[Mapping[str, object]]:
        """Whole rows with the given texts in place: what another format is written from."""
        ...


@dataclass(frozen=True, slots=True)
class Batch:
    """Some consecutive records, with the other columns alongside.

    `nulls` holds the positions in `records` whose text is null in the file (jsonl, parquet). Their
    record has an empty text, and a sink writes null back whatever text it is given for them.
    """

    records: tuple[Record, ...]
    columns: Columns
    nulls: frozenset[int] = frozenset()

    def __len__(self) -> int:
        """How many records there are."""
        return len(self.records)

    @property
    def texts(self) -> list[str]:
        """The records' texts, in order."""
        return [record.text for record in self.records]

    def released(self, texts: Sequence[str]) -> list[str | None]:
        """The texts to write: those given, one a record, with nulls back in their places."""
        if len(texts) != len(self.records):
            # Falling short would leave a true text standing; never go on.
            raise ParameterError(
                f"a batch of {len(self.records)} records needs as many texts, got {len(texts)}"
            )
        return [None if i in self.nulls else text for i, text in enumerate(texts)]


@dataclass(frozen=True, slots=True)
class Schema:
    """What a sink must know about its source."""

    format: Format
    column: str  # the text column
    names: (
        tuple[str, ...] | None
    )  # all columns in order; None where each record has its own (jsonl)
    newline: str = "\n"  # how rows end (csv, tsv)
    bom: bool = False  # the file began with a byte order mark
    unplain: tuple[
        str, ...
    ] = ()  # columns of types that only parquet can hold (dates, bytes, maps...)
    native: object = field(default=None, repr=False)  # parquet: its Arrow schema and compression
