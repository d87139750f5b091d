"""What flows: batches of rows, read from a source of one format, and how often a text occurred."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from inkblur.errors import ParameterError
from inkblur.files.formats import Format, InputFile, Layout
from inkblur.types import Record, counted, whole

P = TypeVar("P")

Run = tuple[NDArray[np.uint64], NDArray[np.int64]]  # sorted hashes, and how often each occurred


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
class Rows:
    """Each row by column name, with None in the places of the texts."""

    values: Sequence[dict[str, object]] = ()
    texts: tuple[str, ...] = ()  # names of the text columns

    def rows(self, texts: Sequence[str | None]) -> Iterator[dict[str, object]]:
        """Each row with its texts."""
        width = len(self.texts)
        for i, row in enumerate(self.values):
            own = texts[i * width : (i + 1) * width]
            yield {**row, **dict(zip(self.texts, own, strict=True))}

    def others(self) -> Iterator[list[tuple[str, object]]]:
        """The values beside the texts."""
        for row in self.values:
            yield [(name, value) for name, value in row.items() if name not in self.texts]

    def take(self, rows: Sequence[int]) -> Rows:
        """Some of the rows; of texts that stand alone, none."""
        return Rows([self.values[row] for row in rows], self.texts) if self.values else self


@dataclass(frozen=True, slots=True)
class Batch:
    """Some consecutive rows: a record for each text, and the other columns alongside.

    A row has `width` texts, so `records` has the first row's texts, then the second row's and so
    on. `nulls` holds the positions in `records` whose text is null in the file (json, parquet):
    their record has an empty text, and a sink writes null whatever text it is given for them.
    """

    records: tuple[Record, ...]
    columns: Columns = Rows()
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

    def released(self, texts: Sequence[Any]) -> list[Any]:
        """The texts to write: those given, one a record, with nulls back in their places."""
        if len(texts) != len(self.records):
            # Falling short would leave a true text standing; never go on.
            raise ParameterError(
                f"a batch of {counted(len(self.records), 'record')} needs as many texts, got "
                f"{len(texts)}"
            )
        return [None if i in self.nulls else text for i, text in enumerate(texts)]


class Row(NamedTuple):
    """One row as a format of lines reads it."""

    texts: tuple[str | None, ...]
    values: dict[str, object]  # what is written, in order, with None in the places of the texts
    size: int  # characters in the whole row
    place: str  # "line 7"
    id: str = ""  # where no id column is named
    person: str | None = None


class Source(ABC):
    """Records on their way in; a context manager. Made by `open_source`."""

    unplain: tuple[str, ...] = ()  # columns that only parquet can hold (dates, bytes, maps...)

    def __init__(self, file: InputFile, layout: Layout, format: Format) -> None:
        self.file, self.layout, self.format = file, layout, format
        self.name, self.bytes_total = file.name, file.bytes_total
        # The columns that are written, in order; None: each record has its own.
        self.names: tuple[str, ...] | None = layout.columns
        self.not_copied: tuple[str, ...] = ()  # those that nobody named, as far as it was read
        self._started = False

    @property
    def copied(self) -> tuple[str, ...]:
        """Columns that are written as they are, as far as the file was read."""
        return tuple(name for name in self.names or () if name not in self.layout.columns)

    def batches(self, max_records: int, max_chars: int) -> Iterator[Batch]:
        """All records, in order, once.

        A batch has at most `max_records` rows and `max_chars` characters (those of the other
        columns count too); a longer row comes alone. Where batches are cut changes no id.
        """
        most, chars = whole(max_records, "max_records"), whole(max_chars, "max_chars")
        if self._started:
            raise ParameterError(f"{self.name} can be read only once; open it again")
        self._started = True
        return self._batches(most, chars)

    @abstractmethod
    def _batches(self, max_records: int, max_chars: int) -> Iterator[Batch]:
        """What :meth:`batches` gives."""

    def bytes_read(self) -> int:
        """How far into the file reading has come, of `bytes_total`."""
        return self.file.bytes_read()

    def shows(self, *, hides_length: bool) -> list[str]:
        """What a release of it shows besides columns."""
        shown = ["the order of the keys in each object"] if self.names is None else []
        if self.format in (Format.JSONL, Format.PARQUET) and not hides_length:
            shown.append("which texts are missing (null)")
        return shown

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.file.close()


class LineSource(Source):
    """A format of lines: it reads rows, which are put into batches here."""

    @abstractmethod
    def rows(self) -> Iterator[Row]:
        """Every row in order."""

    def _batches(self, max_records: int, max_chars: int) -> Iterator[Batch]:
        rows: list[Row] = []
        size = 0
        for row in self.rows():
            if rows and (len(rows) >= max_records or size + row.size > max_chars):
                yield self._batch(rows)
                rows, size = [], 0
            rows.append(row)
            size += row.size
        if rows:
            yield self._batch(rows)

    def _batch(self, rows: list[Row]) -> Batch:
        texts = [text for row in rows for text in row.texts]
        return Batch(
            tuple(Record(r.id, text or "", r.place, r.person) for r in rows for text in r.texts),
            Rows([row.values for row in rows], self.layout.columns),
            frozenset(i for i, text in enumerate(texts) if text is None),
            len(self.layout.columns),
        )


class Encoder(Protocol[P]):
    """Turns batches into a file's content, in one format."""

    def encode(self, batch: Batch, texts: Sequence[str | None]) -> P:
        """A batch's rows."""
        ...

    def content(self, rows: P) -> bytes:
        """Rows, or as much of what was given so far as can be written already."""
        ...

    def end(self) -> bytes:
        """What stands after the last row."""
        ...


class LineEncoder(ABC):
    """A format of lines: one or several a row."""

    @abstractmethod
    def lines(self, batch: Batch, texts: Sequence[str | None]) -> Iterator[str]:
        """Each row with its line end."""

    def encode(self, batch: Batch, texts: Sequence[str | None]) -> list[bytes]:
        """Each row as UTF-8."""
        return [line.encode("utf-8") for line in self.lines(batch, texts)]

    def content(self, rows: list[bytes]) -> bytes:
        """The rows."""
        return b"".join(rows)

    def end(self) -> bytes:
        """Nothing stands after the last row."""
        return b""


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


class Occurrences:
    """How many times a text or an id has occurred so far, at sixteen bytes a distinct one.

    Counts by 64-bit hashes, in sorted runs that are merged when they grow alike.

    Two texts that hash alike (3 in a million files of ten million texts) are counted together: the
    second then gets a higher number than it needs, which changes its noise and nothing else. Of two
    ids, the second is taken for a repeat, which stops the run.
    """

    def __init__(self) -> None:
        self.repeated = 0  # texts given to `ids` that had occurred before, blank ones aside
        self._runs: list[Run] = []

    def ids(self, texts: Sequence[str], columns: Sequence[str] = ()) -> list[str]:
        """What names records that have no id: the text's hash, and which occurrence of it this is.
        So equal texts draw apart, and a text that is added or removed changes no other's id.

        Where rows have texts of several `columns`, equal texts of two of them are told apart.
        """
        named: Sequence[str | None] = columns if len(columns) > 1 else (None,)
        marks = [digest(*pair) for pair in zip(texts, cycle(named), strict=False)]
        numbers = self.number(np.frombuffer(b"".join(mark[:8] for mark in marks), dtype="<u8"))
        # Blank texts are many, and say nothing.
        again = (text for text, n in zip(texts, numbers, strict=True) if n > 1)
        self.repeated += sum(bool(text.strip()) for text in again)
        return [f"{mark.hex()}.{n}" for mark, n in zip(marks, numbers, strict=True)]

    def repeat(self, ids: Sequence[str]) -> int | None:
        """The position of the first id that was given before, if any.

        >>> seen = Occurrences()
        >>> seen.repeat(["a", "b"]), seen.repeat(["c", "a"])
        (None, 1)
        """
        numbers = self.number(np.array([hash(name) for name in ids], dtype=np.int64).view("<u8"))
        return next((place for place, number in enumerate(numbers) if number > 1), None)

    def number(self, hashes: NDArray[np.uint64]) -> list[int]:
        """Which occurrence each of these is, from 1 on.

        >>> counted = Occurrences()
        >>> counted.number(np.uint64([5, 7, 5])), counted.number(np.uint64([5]))
        ([1, 1, 2], [3])
        """
        if not len(hashes):
            return []
        fresh, which, counts = np.unique(hashes, return_inverse=True, return_counts=True)
        before = np.zeros(len(fresh), dtype=np.int64)
        for known, times in self._runs:
            places = np.minimum(np.searchsorted(known, fresh), len(known) - 1)
            before += np.where(known[places] == fresh, times[places], 0)
        order = np.argsort(which, kind="stable")
        first = np.cumsum(counts) - counts  # where each hash begins in that order
        rank = np.empty(len(hashes), dtype=np.int64)
        rank[order] = np.arange(len(hashes)) - np.repeat(first, counts)
        numbers = before[which] + rank + 1
        self._runs.append((fresh, counts.astype(np.int64)))
        while len(self._runs) > 1 and 2 * len(self._runs[-1][0]) >= len(self._runs[-2][0]):
            self._runs[-2:] = [_merged(self._runs[-2], self._runs[-1])]
        found: list[int] = numbers.tolist()
        return found


def digest(text: str, column: str | None = None) -> bytes:
    """What the default id is made of; `column` tells equal texts of several columns apart."""
    named = "" if column is None else f"{len(column)}:{column}"
    return hashlib.blake2b((named + text).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _merged(left: Run, right: Run) -> Run:
    hashes, which = np.unique(np.concatenate((left[0], right[0])), return_inverse=True)
    times = np.zeros(len(hashes), dtype=np.int64)
    np.add.at(times, which, np.concatenate((left[1], right[1])))
    return hashes, times
