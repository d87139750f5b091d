"""parquet: read in stretches of bounded size, whatever the row groups.

The first text column's compression is that of the output. NUL characters are fine.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any, Literal, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from inkblur.errors import InputError
from inkblur.files.arrow_rows import ArrowColumns, ArrowRows, is_plain, used
from inkblur.files.compression import Drain
from inkblur.files.formats import Format, Layout
from inkblur.files.records import Batch, Encoder, Schema, cuts

Codec = Literal["gzip", "brotli", "lz4", "zstd", "snappy", "none"]

_STRETCH = 8 << 20  # bytes of rows decoded at a time
_GROUP_BYTES = 64 << 20  # a row group ends with the row that fills it with so many letters,
_GROUP_ROWS = 1 << 17  # or with this many rows
_NUMBER = 8  # bytes that a value of a list counts


@dataclass(frozen=True, slots=True)
class Native:
    """What only a parquet sink can use of a parquet source."""

    schema: pa.Schema
    compression: Codec


class ParquetReader:
    """Reads a seekable binary file."""

    def __init__(self, file: io.BufferedIOBase, name: str, layout: Layout) -> None:
        """Schema and column types are checked here, before any row is read."""
        self._name = name
        if not file.seek(0, io.SEEK_END):
            raise InputError(f"{name} is empty; give a file with at least one record")
        file.seek(0)
        with _damage_named(name):
            self._file = pq.ParquetFile(cast(IO[Any], file), pre_buffer=False, buffer_size=1 << 20)
        self._rows = ArrowRows(_wide(self._file.schema_arrow), layout, name)
        self._first_text = layout.columns[0]
        self._done = 0
        written = self._rows.written
        self.schema = Schema(
            Format.PARQUET,
            layout.columns,
            tuple(written.names),
            unplain=tuple(field.name for field in written if not is_plain(field.type)),
            native=Native(written, self._compression()),
        )

    def copied(self) -> tuple[str, ...]:
        """Columns that are written as they are."""
        return self._rows.copied

    def not_copied(self) -> tuple[str, ...]:
        """Columns that nobody named."""
        return self._rows.not_copied

    def fraction(self) -> float:
        """How much of the file was read, in [0, 1]."""
        return self._done / max(1, self._file.metadata.num_rows)

    def batches(self, max_records: int, max_chars: int) -> Iterator[Batch]:
        """Batches of at most `max_records` rows and `max_chars` characters of text."""
        with _damage_named(self._name):
            for stretch in self._file.iter_batches(batch_size=self._stretch(max_records)):
                texts = self._rows.texts(stretch, self._done + 1)
                sizes = [sum(len(text or "") for text in row) for row in texts]
                for start, stop in cuts(sizes, max_chars):
                    part = stretch.slice(start, stop - start)
                    yield self._rows.batch(part, texts[start:stop], self._done + 1)
                    self._done += stop - start

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
        named = (leaf.compression for leaf in leaves if leaf.path_in_schema == self._first_text)
        codec = next(named, "SNAPPY")
        return cast(Codec, "none" if codec == "UNCOMPRESSED" else codec.lower())


class ParquetEncoder(Encoder):
    """Rows, gathered into row groups of a sensible size.

    A group ends at a row that what is written decides, not at the end of a batch: how many letters
    the true texts have decides where those end.
    """

    def __init__(self, schema: Schema) -> None:
        """A source in another format becomes columns of strings."""
        native = schema.native
        if not isinstance(native, Native):
            names = schema.names or schema.columns
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

    def encode(self, batch: Batch, texts: Sequence[str | None]) -> bytes:
        """Row groups that are full now; the batch is written with its row group."""
        if isinstance(batch.columns, ArrowColumns):
            rows = batch.columns.with_all_categories(texts)
        else:
            rows = pa.RecordBatch.from_pylist(
                [dict(row) for row in batch.columns.rows(texts)], schema=self._schema
            )
        start = 0
        for row, size in enumerate(_sizes(rows), 1):
            self._bytes += size
            self._rows += 1
            if self._bytes >= _GROUP_BYTES or self._rows >= _GROUP_ROWS:
                self._waiting.append(rows.slice(start, row - start))
                self._write_group()
                start = row
        self._waiting.append(rows.slice(start))
        return self._drain.take()

    def end(self) -> bytes:
        """The last row group, and the footer."""
        self._write_group()
        self._writer.close()
        return self._drain.take()

    def _write_group(self) -> None:
        if self._rows:
            # Neither pages nor the order of categories may show where batches ended.
            table = pa.Table.from_batches(self._waiting, self._schema)
            for place, field in enumerate(self._schema):
                joined = used(table.column(place).combine_chunks())
                table = table.set_column(place, field, joined)
            self._writer.write_table(table)
        self._waiting.clear()
        self._bytes = self._rows = 0


def _wide(schema: pa.Schema) -> pa.Schema:
    """Row groups may have other categories each: their numbers need more room when joined."""
    for place, field in enumerate(schema):
        kind: Any = field.type
        if pa.types.is_dictionary(kind):
            wide = pa.dictionary(pa.int32(), kind.value_type, kind.ordered)
            schema = schema.set(place, field.with_type(wide))
    return schema


def _sizes(rows: pa.RecordBatch) -> list[int]:
    """About how many bytes each row takes: the columns that vary in length count."""
    sizes = np.zeros(rows.num_rows, dtype=np.int64)
    columns: list[Any] = rows.columns
    for column in columns:
        kind = column.type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            lengths = pc.binary_length(column)
        elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
            lengths = pc.multiply(pc.list_value_length(column), _NUMBER)
        else:
            continue
        sizes += pc.fill_null(lengths, 0).to_numpy(zero_copy_only=False)
    found: list[int] = sizes.tolist()
    return found


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
