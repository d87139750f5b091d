"""parquet: read in stretches of bounded size, whatever the row groups and whatever is behind them.

The first text column's compression is that of the output. NUL characters are fine.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Sequence
from typing import IO, Any, Literal, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from inkblur.errors import InputError, OutputError
from inkblur.files.arrow_rows import ArrowColumns, ArrowRows, is_plain, used, value_sizes
from inkblur.files.formats import Drain, Format, InputFile, Layout
from inkblur.files.records import Batch, Source, cuts

Codec = Literal["gzip", "brotli", "lz4", "zstd", "snappy", "none"]

_STRETCH = 8 << 20  # bytes of rows decoded at a time
_SMALL = 16 << 20  # bytes of a column, unpacked: in a larger one few values can repeat so often
_GROUP_BYTES = 64 << 20  # a row group ends with the row that fills it with so many letters,
_GROUP_ROWS = 1 << 17  # or with this many rows


class ParquetSource(Source):
    """Reads a seekable binary file; schema and types are checked before any row is read."""

    def __init__(self, file: InputFile, layout: Layout, format: Format) -> None:
        super().__init__(file, layout, format)
        raw = cast(Any, file.seekable())
        self._size = raw.seek(0, io.SEEK_END)
        if not self._size:
            raise InputError(f"{self.name} is empty; give a file with at least one record")
        with _damage_named(self.name):
            raw.seek(0)
            plain = pq.ParquetFile(raw, pre_buffer=False)
            self._rows = ArrowRows(_wide(plain.schema_arrow), layout, self.name)
            self._file = pq.ParquetFile(
                raw,
                metadata=plain.metadata,
                read_dictionary=_repeating(plain),
                pre_buffer=False,
                buffer_size=1 << 20,
            )
        self._done = 0
        self.schema = self._rows.written
        self.names, self.not_copied = tuple(self.schema.names), self._rows.not_copied
        self.unplain = tuple(field.name for field in self.schema if not is_plain(field.type))

    def bytes_read(self) -> int:
        """As many as the share of rows that were read."""
        return int(self._done / max(1, self._file.metadata.num_rows) * self._size)

    def _batches(self, max_records: int, max_chars: int) -> Iterator[Batch]:
        with _damage_named(self.name):
            stretches = self._file.iter_batches(
                self._stretch(max_records), columns=[*self._rows.read]
            )
            for stretch in stretches:
                sizes = np.zeros(stretch.num_rows, dtype=np.int64)
                for column in stretch.columns:
                    sizes += value_sizes(column)
                for start, stop in cuts(sizes.tolist(), max_chars):
                    self.file.count(int(sizes[start:stop].sum()))
                    yield self._rows.batch(stretch.slice(start, stop - start), self._done + 1)
                    self._done += stop - start

    def _stretch(self, max_records: int) -> int:
        """How many rows to decode at once: no more than a batch, and not what fills memory."""
        largest = 1.0
        for i in range(self._file.metadata.num_row_groups):
            group = self._file.metadata.row_group(i)
            for place in range(group.num_columns):
                leaf = group.column(place)
                # Nested values, and those that repeat the one before, may take a byte in the file.
                nested = "." in leaf.path_in_schema and leaf.physical_type == "BYTE_ARRAY"
                shared = nested or "DELTA_BYTE_ARRAY" in leaf.encodings
                rows = 1 if shared else max(1, group.num_rows)
                largest = max(largest, leaf.total_uncompressed_size / rows)
        return max(1, min(max_records, int(_STRETCH / largest)))

    def compression(self) -> Codec:
        """That of the first text column."""
        if not self._file.metadata.num_row_groups:
            return "snappy"
        group = self._file.metadata.row_group(0)
        leaves = [group.column(i) for i in range(group.num_columns)]
        first = self.layout.columns[0]
        codec = next((leaf.compression for leaf in leaves if leaf.path_in_schema == first), "")
        named = {"": "snappy", "UNCOMPRESSED": "none"}.get(codec, codec.lower())
        return cast(Codec, named)


class ParquetEncoder:
    """Rows, gathered into row groups of a sensible size.

    A group ends at a row that what is written decides, not at the end of a batch: how many letters
    the true texts have decides where those end.
    """

    def __init__(self, source: Source) -> None:
        """A source in another format becomes columns of strings."""
        codec: Codec = "snappy"
        if isinstance(source, ParquetSource):
            self._schema, codec = source.schema, source.compression()
        elif source.names is None:
            raise OutputError(
                "JSON has no fixed columns and types to make a parquet file of; write .jsonl"
            )
        else:
            self._schema = pa.schema([(name, pa.string()) for name in source.names])
        self._drain = Drain()
        self._writer = pq.ParquetWriter(cast(IO[Any], self._drain), self._schema, compression=codec)
        self._waiting: list[pa.RecordBatch] = []
        self._bytes = self._rows = 0  # of what is waiting

    def encode(self, batch: Batch, texts: Sequence[str | None]) -> pa.RecordBatch:
        """The batch's rows."""
        if isinstance(batch.columns, ArrowColumns):
            return batch.columns.with_all_categories(texts)
        rows = [dict(row) for row in batch.columns.rows(texts)]
        return pa.RecordBatch.from_pylist(rows, schema=self._schema)

    def content(self, rows: pa.RecordBatch) -> bytes:
        """Row groups that are full now."""
        sizes = np.zeros(rows.num_rows, dtype=np.int64)
        for column in rows.columns:
            sizes += value_sizes(column)
        start = 0
        for row, size in enumerate(sizes.tolist(), 1):
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


def _repeating(file: pq.ParquetFile) -> list[str]:
    """Columns of strings that stay in their dictionaries when they are read: a value of a megabyte
    may stand in every row of a small file.
    """
    groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
    return [
        leaf.path
        for place, leaf in enumerate(map(file.schema.column, range(len(file.schema))))
        if leaf.physical_type == "BYTE_ARRAY"
        and leaf.logical_type.type != "DECIMAL"
        and leaf.path in file.schema_arrow.names  # Arrow joins no pieces of nested dictionaries
        and all(group.column(place).total_uncompressed_size <= _SMALL for group in groups)
    ]


def _wide(schema: pa.Schema) -> pa.Schema:
    """Row groups may have other categories each: their numbers need more room when joined."""
    for place, field in enumerate(schema):
        kind: Any = field.type
        if pa.types.is_dictionary(kind):
            wide = pa.dictionary(pa.int32(), kind.value_type, kind.ordered)
            schema = schema.set(place, field.with_type(wide))
    return schema


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
