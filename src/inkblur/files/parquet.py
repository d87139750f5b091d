"""parquet: the only file here that knows pyarrow; it is imported when a parquet file is opened.

Rows are read in stretches of bounded size, whatever the row groups. Other columns and the first
text column's compression pass unchanged, and types but for what could carry more than values:
metadata at any depth is left behind, a categorical column keeps only the categories that occur, and
below the top level categories become plain values. A null text stays null. NUL characters are fine.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any, Literal, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from inkblur.errors import InputError
from inkblur.files.compression import Drain
from inkblur.files.formats import Format, listed
from inkblur.files.layout import Layout
from inkblur.files.records import Batch, Schema
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
    """The rows as Arrow read them, without the text columns."""

    schema: pa.Schema
    places: tuple[int, ...]  # of the texts
    beside: list[pa.Array[Any]]

    def with_texts(self, texts: Sequence[str | None]) -> pa.RecordBatch:
        """Complete rows again."""
        width, waiting = len(self.places), iter(self.beside)
        arrays = [
            pa.array(texts[self.places.index(i) :: width], self.schema.field(i).type)
            if i in self.places
            else next(waiting)
            for i in range(len(self.schema))
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def rows(self, texts: Sequence[str | None]) -> Iterator[dict[str, object]]:
        """Each row by column name, as Python values."""
        yield from self.with_texts(texts).to_pylist()

    def others(self) -> Iterator[list[tuple[str, object]]]:
        """The columns beside the texts."""
        names = [f.name for i, f in enumerate(self.schema) if i not in self.places]
        columns = [array.to_pylist() for array in self.beside]
        for row in range(len(columns[0]) if columns else 0):
            yield [(name, column[row]) for name, column in zip(names, columns, strict=True)]

    def take(self, rows: Sequence[int]) -> ArrowColumns:
        """Some of the rows."""
        chosen = pa.array(rows, pa.int64())
        taken = [_used(array.take(chosen)) for array in self.beside]
        return ArrowColumns(self.schema, self.places, taken)


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
            self._arrow = self._file.schema_arrow
        names = tuple(self._arrow.names)
        repeats = [one for i, one in enumerate(names) if one in names[:i]]
        if repeats:
            raise InputError(
                f"{name} has the column {listed(repeats)} more than once; rename one of the two"
            )
        self._texts = [self._find(column, layout.option) for column in layout.columns]
        for place in self._texts:
            field = self._arrow.field(place)
            if not _is_text(field.type):
                raise InputError(
                    f"column {field.name!r} of {name} has type {field.type}, expected a string; "
                    f"cast it, or choose another with {layout.option}"
                )
        self._id_place = self._find_name(layout.id_column, "`id_column=`")
        self._person = self._find_name(layout.person_column, "`person_column=`")
        for column in layout.keep:
            self._find(column, "`keep_columns=`")
        dropped = {self._find(column, "`drop_columns=`") for column in layout.drop}
        self._written = [i for i in range(len(names)) if i not in dropped]
        # Notes in the file (its author, its tool) are nothing that anybody would look for in the
        # output, so none are written.
        self._schema = pa.schema(
            [
                pa.field(
                    names[i],
                    _text_type(self._arrow.field(i).type)
                    if i in self._texts
                    else _clean_type(self._arrow.field(i).type, top=True),
                    self._arrow.field(i).nullable,
                )
                for i in self._written
            ]
        )
        self._places = tuple(self._written.index(place) for place in self._texts)
        self._done = 0
        self.schema = Schema(
            Format.PARQUET,
            layout.columns,
            tuple(self._schema.names),
            unplain=tuple(field.name for field in self._schema if not _is_plain(field.type)),
            native=Native(self._schema, self._compression()),
        )

    def _find_name(self, column: str | None, option: str) -> int | None:
        """The place of a column that names something, where one is asked for."""
        if column is None:
            return None
        place = self._find(column, option)
        kind = self._arrow.field(place).type
        if not (_is_text(kind) or pa.types.is_integer(kind)):
            raise InputError(
                f"column {column!r} of {self._name} has type {kind}, expected string or integer; "
                f"choose another with {option}"
            )
        return place

    def copied(self) -> tuple[str, ...]:
        """Columns that are written as they are."""
        return tuple(name for name in self._schema.names if name not in self.schema.columns)

    def fraction(self) -> float:
        """How much of the file was read, in [0, 1]."""
        return self._done / max(1, self._file.metadata.num_rows)

    def batches(self, max_records: int, max_chars: int) -> Iterator[Batch]:
        """Batches of at most `max_records` rows and `max_chars` characters of text."""
        with _damage_named(self._name):
            for stretch in self._file.iter_batches(batch_size=self._stretch(max_records)):
                columns = [self._values(stretch, place) for place in self._texts]
                rows = list(zip(*columns, strict=True))
                for start, stop in _cuts(rows, max_chars):
                    yield self._batch(stretch.slice(start, stop - start), rows[start:stop])
                    self._done += stop - start

    def _batch(self, stretch: pa.RecordBatch, rows: list[tuple[str | None, ...]]) -> Batch:
        ids: list[Any] = [""] * len(rows)
        if self._id_place is not None:
            ids = self._values(stretch, self._id_place)
        people: list[Any] = [None] * len(rows)
        if self._person is not None:
            people = self._values(stretch, self._person)
        records: list[Record] = []
        for i, (name, person, row) in enumerate(zip(ids, people, rows, strict=True)):
            place = f"row {self._done + i + 1}"
            if name is None:
                raise InputError(f"{place} of {self._name} has a null id; fill it in")
            whose = None if person is None else str(person)
            records += (Record(str(name), text or "", place, whose) for text in row)
        others = [self._clean(stretch, i) for i in self._written if i not in self._texts]
        texts = [text for row in rows for text in row]
        return Batch(
            tuple(records),
            ArrowColumns(self._schema, self._places, others),
            frozenset(i for i, text in enumerate(texts) if text is None),
            len(self._texts),
        )

    def _clean(self, stretch: pa.RecordBatch, place: int) -> pa.Array[Any]:
        """A copied column without what nobody asked to copy."""
        array, name = stretch.column(place), self._arrow.field(place).name
        kind = self._schema.field(name).type
        try:
            if isinstance(array, pa.ExtensionArray):
                array = array.storage
            if pa.types.is_dictionary(array.type):
                return _used(array)
            same = array.type.equals(kind, check_metadata=True)
            return array if same else array.cast(kind)
        except pa.ArrowNotImplementedError:
            raise InputError(
                f"column {name!r} of {self._name} has type {array.type}, which cannot be copied "
                "without its notes; leave it out with `drop_columns=`"
            ) from None

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
        name = self._arrow.field(self._texts[0]).name
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
            rows = batch.columns.with_texts(texts)
        else:
            rows = pa.RecordBatch.from_pylist(
                [dict(row) for row in batch.columns.rows(texts)], schema=self._schema
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


def _cuts(rows: list[tuple[str | None, ...]], max_chars: int) -> Iterator[tuple[int, int]]:
    """Where to cut: `start, stop` of each batch; a row above `max_chars` stands alone."""
    start = size = 0
    for i, texts in enumerate(rows):
        length = sum(len(text or "") for text in texts)
        if i > start and size + length > max_chars:
            yield start, i
            start, size = i, 0
        size += length
    if start < len(rows):
        yield start, len(rows)


def _used(array: pa.Array[Any]) -> pa.Array[Any]:
    """A categorical array with the categories that occur in it, in their order."""
    if not isinstance(array, pa.DictionaryArray):
        return array
    used: set[Any] = set(array.indices.drop_null().to_pylist())
    kept = pa.array(sorted(used), array.indices.type)
    indices = pc.index_in(array.indices, value_set=kept).cast(array.type.index_type)
    return pa.DictionaryArray.from_arrays(
        indices, array.dictionary.take(kept), ordered=array.type.ordered
    )


def _is_text(kind: pa.DataType) -> bool:
    return _is_string(kind.value_type if pa.types.is_dictionary(kind) else kind)


def _text_type(kind: pa.DataType) -> pa.DataType:
    """How released texts are written: as they are, since few of them repeat."""
    return pa.large_string() if pa.types.is_large_string(kind) else pa.string()


def _is_string(kind: pa.DataType) -> bool:
    view = getattr(pa.types, "is_string_view", lambda kind: False)  # pyarrow 16 and later
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or bool(view(kind))


def _clean_type(kind: Any, *, top: bool = False) -> Any:
    """The type without notes; categories are left to the top level, where they are cut down."""
    t = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return _clean_type(kind.storage_type, top=top)
    if t.is_dictionary(kind):
        return kind if top else _clean_type(kind.value_type)
    if t.is_struct(kind):
        return pa.struct([_clean_field(kind.field(i)) for i in range(kind.num_fields)])
    if t.is_list(kind):
        return pa.list_(_clean_field(kind.value_field))
    if t.is_large_list(kind):
        return pa.large_list(_clean_field(kind.value_field))
    if t.is_fixed_size_list(kind):
        return pa.list_(_clean_field(kind.value_field), kind.list_size)
    if t.is_map(kind):
        return pa.map_(_clean_type(kind.key_type), _clean_type(kind.item_type), kind.keys_sorted)
    return pa.string() if _is_string(kind) and not t.is_large_string(kind) else kind


def _clean_field(field: pa.Field[Any]) -> pa.Field[Any]:
    return pa.field(field.name, _clean_type(field.type), field.nullable)


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
