"""parquet: the only file here that knows pyarrow; it is imported when a parquet file is opened.

Rows are read in stretches of bounded size, whatever the row groups. Other columns, types, metadata
and the text column's compression pass unchanged; row groups are cut afresh. A null text stays
null. NUL characters are fine here.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any, Literal, cast

import pyarrow as pa
import pyarrow.parquet as pq

from inkblur.errors import InputError
from inkblur.files.compression import Drain
from inkblur.files.formats import Format, listed
from inkblur.files.records import Batch, Columns, Schema
from inkblur.types import Record

Codec = Literal["gzip", "brotli", "lz4", "zstd", "snappy", "none"]

_STRETCH = 8 << 20  # bytes of rows decoded at a time
_GROUP_BYTES = 64 << 20  # a row group is written when it holds this much,
_GROUP_ROWS = 1 << 17  # or this many rows


@dataclass(frozen=True, slots=True)
class Native:
    """What only a parquet sink can use of a parquet source."""

    schema: pa.Schema
    compression: Codec


@dataclass(frozen=True, slots=True)
class ArrowColumns:
    """The rows as Arrow read them, without the text column."""

    schema: pa.Schema
    place: int  # of the text
    others: list[pa.Array[Any]]

    def with_texts(self, texts: Sequence[str | None]) -> pa.RecordBatch:
        """Whole rows again, in the types of the source."""
        arrays = list(self.others)
        arrays.insert(self.place, pa.array(texts, self.schema.field(self.place).type))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def rows(self, texts: Sequence[str | None]) -> Iterator[dict[str, object]]:
        """Each row by column name, as Python values."""
        yield from self.with_texts(texts).to_pylist()


class ParquetReader:
    """Reads a seekable binary file."""

    def __init__(
        self,
        file: io.BufferedIOBase,
        name: str,
        column: str,
        id_column: str | None,
        option: str = "--column",
    ) -> None:
        """Schema and column types are checked here, before any row is read."""
        self._name = name
        if not file.seek(0, io.SEEK_END):
            raise InputError(f"{name} is empty; give a file with at least one record")
        file.seek(0)
        with _damage_named(name):
            self._file = pq.ParquetFile(cast(IO[Any], file), pre_buffer=False, buffer_size=1 << 20)
            # Without metadata: notes in the file (its author, its tool) are nothing that was asked
            # for, and nobody would look for them in the output.
            self._arrow = pa.schema([f.remove_metadata() for f in self._file.schema_arrow])
        names = tuple(self._arrow.names)
        repeats = [one for i, one in enumerate(names) if one in names[:i]]
        if repeats:
            raise InputError(
                f"{name} has the column {listed(repeats)} more than once; rename one of the two"
            )
        self._place = self._find(column, option)
        kind = self._arrow.field(self._place).type
        if not _is_string(kind):
            raise InputError(
                f"column {column!r} of {name} has type {kind}, expected string or large_string; "
                f"cast it, or choose another with {option}"
            )
        self._id_place = None if id_column is None else self._find(id_column, "--id-column")
        if self._id_place is not None:
            kind = self._arrow.field(self._id_place).type
            if not (_is_string(kind) or pa.types.is_integer(kind)):
                raise InputError(
                    f"column {id_column!r} of {name} has type {kind}, expected string or integer; "
                    "choose another with `id_column=`"
                )
        self._done = 0
        self.schema = Schema(
            Format.PARQUET,
            column,
            names,
            unplain=tuple(field.name for field in self._arrow if not _is_plain(field.type)),
            native=Native(self._arrow, self._compression()),
        )

    def fraction(self) -> float:
        """How much of the file was read, in [0, 1]."""
        return self._done / max(1, self._file.metadata.num_rows)

    def batches(self, max_records: int, max_chars: int) -> Iterator[Batch]:
        """Batches of at most `max_records` rows and `max_chars` characters of text."""
        with _damage_named(self._name):
            for stretch in self._file.iter_batches(batch_size=self._stretch(max_records)):
                texts = self._values(stretch, self._place)
                for start, stop in _cuts(texts, max_chars):
                    yield self._batch(stretch.slice(start, stop - start), texts[start:stop])
                    self._done += stop - start

    def _batch(self, stretch: pa.RecordBatch, texts: list[str | None]) -> Batch:
        if self._id_place is None:
            ids: list[str | None] = [str(self._done + i) for i in range(len(texts))]
        else:
            ids = self._values(stretch, self._id_place)
        records: list[Record] = []
        for i, (name, text) in enumerate(zip(ids, texts, strict=True)):
            if name is None:
                raise InputError(
                    f"row {self._done + i + 1} of {self._name} has a null id; fill it in"
                )
            records.append(Record(str(name), text or ""))
        others = [array for i, array in enumerate(stretch.columns) if i != self._place]
        return Batch(
            tuple(records),
            ArrowColumns(self._arrow, self._place, others),
            frozenset(i for i, text in enumerate(texts) if text is None),
        )

    def _values(self, stretch: pa.RecordBatch, place: int) -> list[str | None]:
        try:
            return stretch.column(place).to_pylist()
        except UnicodeDecodeError:
            raise InputError(
                f"column {self._arrow.field(place).name!r} of {self._name} is not utf-8 in rows "
                f"{self._done + 1} to {self._done + stretch.num_rows}; write the file again"
            ) from None

    def _stretch(self, max_records: int) -> int:
        """How many rows to decode at once: no more than a batch, and not what fills memory."""
        groups = [
            self._file.metadata.row_group(i) for i in range(self._file.metadata.num_row_groups)
        ]
        per_row = max((g.total_byte_size / max(1, g.num_rows) for g in groups), default=1.0)
        return max(1, min(max_records, int(_STRETCH / max(1.0, per_row))))

    def _compression(self) -> Codec:
        if not self._file.metadata.num_row_groups:
            return "snappy"
        group = self._file.metadata.row_group(0)
        leaves = [group.column(i) for i in range(group.num_columns)]
        name = self._arrow.field(self._place).name
        codec = next((leaf.compression for leaf in leaves if leaf.path_in_schema == name), "SNAPPY")
        return cast(Codec, "none" if codec == "UNCOMPRESSED" else codec.lower())

    def _find(self, wanted: str, option: str) -> int:
        names = self._arrow.names
        if wanted not in names:
            raise InputError(
                f"{self._name} has no column {wanted!r}; it has {listed(names) or 'none'}; "
                f"choose with {option}"
            )
        return names.index(wanted)


class ParquetEncoder:
    """Rows, gathered into row groups of a sensible size."""

    def __init__(self, schema: Schema) -> None:
        """A source in another format becomes columns of strings."""
        native = schema.native
        if not isinstance(native, Native):
            names = schema.names or (schema.column,)
            native = Native(pa.schema([(name, pa.string()) for name in names]), "snappy")
        self._schema = native.schema
        self._drain = Drain()
        self._writer = pq.ParquetWriter(
            cast(IO[Any], self._drain), native.schema, compression=native.compression
        )
        self._waiting: list[pa.RecordBatch] = []
        self._bytes = self._rows = 0  # of what is waiting

    def begin(self) -> bytes:
        """The format's mark."""
        return self._drain.take()

    def encode(self, columns: Columns, texts: Sequence[str | None]) -> bytes:
        """Row groups that are full now; the batch is written with its row group."""
        if isinstance(columns, ArrowColumns):
            rows = columns.with_texts(texts)
        else:
            rows = pa.RecordBatch.from_pylist(
                [dict(row) for row in columns.rows(texts)], schema=self._schema
            )
        self._waiting.append(rows)
        self._bytes += rows.nbytes
        self._rows += rows.num_rows
        if self._bytes >= _GROUP_BYTES or self._rows >= _GROUP_ROWS:
            self._write_group()
        return self._drain.take()

    def end(self) -> bytes:
        """The last row group, and the footer."""
        self._write_group()
        self._writer.close()
        return self._drain.take()

    def _write_group(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting, self._schema))
            self._waiting.clear()
            self._bytes = self._rows = 0


def _cuts(texts: list[str | None], max_chars: int) -> Iterator[tuple[int, int]]:
    """Where to cut: `start, stop` of each batch; a text above `max_chars` stands alone."""
    start = size = 0
    for i, text in enumerate(texts):
        length = len(text or "")
        if i > start and size + length > max_chars:
            yield start, i
            start, size = i, 0
        size += length
    if start < len(texts):
        yield start, len(texts)


def _is_string(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _is_plain(kind: pa.DataType) -> bool:
    """Whether csv or JSON could hold the type's values without loss."""
    t = pa.types
    if t.is_dictionary(kind):
        return _is_plain(kind.value_type)
    if t.is_struct(kind):
        return all(_is_plain(field.type) for field in kind)
    if t.is_list(kind) or t.is_large_list(kind) or t.is_fixed_size_list(kind):
        return _is_plain(kind.value_type)
    return (
        _is_string(kind)
        or t.is_integer(kind)
        or t.is_floating(kind)
        or t.is_boolean(kind)
        or t.is_null(kind)
    )


@contextlib.contextmanager
def _damage_named(name: str) -> Iterator[None]:
    """What Arrow says about a file it cannot read, in one line that names the file."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        reason = str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else "unknown"
        raise InputError(
            f"{name} is not a parquet file or is damaged ({reason}); write it again"
        ) from None
