"""Arrow rows as records: what parquet files, data frames and engines have in common.

Columns that were named pass unchanged, and types but for what could carry more than values:
metadata at any depth is left behind, a categorical column keeps only the categories that occur, and
below the top level categories become plain values. Rows that are given on as Arrow rows share no
memory with what was read (`own_values`): a slice shares the memory of the whole array, and a null
may cover a value that was there before. Nobody sees either in the rows; but whoever is sent the
array in Arrow's own format, or a pickle of it, is sent that memory. A null text stays null.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from inkblur.errors import InputError
from inkblur.files.formats import Layout, listed
from inkblur.files.records import Batch
from inkblur.types import Record

_NUMBER = 8  # bytes that a value counts whose length does not vary


@dataclass(frozen=True, slots=True)
class ArrowColumns:
    """The rows as Arrow read them, without the text columns."""

    schema: pa.Schema
    places: tuple[int, ...]  # of the texts
    beside: list[pa.Array[Any]]

    def with_texts(self, texts: Sequence[str | None]) -> pa.RecordBatch:
        """Complete rows again, with the categories that occur in them, in memory of their own."""
        rows = self.with_all_categories(texts)
        arrays = [own_values(used(column)) for column in rows.columns]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def with_all_categories(self, texts: Sequence[str | None]) -> pa.RecordBatch:
        """Complete rows whose categories may be those of other rows: not to be written as is."""
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
        columns = [_readable(array) for array in self.beside]
        for row in range(len(columns[0]) if columns else 0):
            yield [(name, column[row]) for name, column in zip(names, columns, strict=True)]

    def take(self, rows: Sequence[int]) -> ArrowColumns:
        """Some of the rows."""
        chosen = pa.array(rows, pa.int64())
        taken = [array.take(chosen) for array in self.beside]
        return ArrowColumns(self.schema, self.places, taken)


class ArrowRows:
    """Reads rows of one Arrow schema; what is wrong with the schema shows when this is made."""

    def __init__(self, schema: pa.Schema, layout: Layout, name: str = "the table") -> None:
        """`name` is what messages call it."""
        self._arrow, self._name = schema, name
        names = tuple(schema.names)
        repeats = [one for i, one in enumerate(names) if one in names[:i]]
        if repeats:
            raise InputError(
                f"{name} has the column {listed(repeats)} more than once; rename one of the two"
            )
        self._texts = layout.columns
        for column in self._texts:
            kind = self._find(column, layout.option)
            if not _is_text(kind):
                raise InputError(
                    f"column {column!r} of {name} has type {kind}, expected a string; "
                    f"cast it, or choose another with {layout.option}"
                )
        self._id, self._person = layout.id_column, layout.person_column
        for namer, option in ((self._id, "`id_column=`"), (self._person, "`person_column=`")):
            if namer is not None and not _names(kind := self._find(namer, option)):
                raise InputError(
                    f"column {namer!r} of {name} has type {kind}, expected string or integer; "
                    f"choose another with {option}"
                )
        for column in layout.keep or ():
            self._find(column, "`keep_columns=`")
        self.not_copied = tuple(one for one in names if not layout.writes(one))
        # Notes in the file (its author, its tool) are nothing that anybody would look for in the
        # output, so none are written.
        self.written = pa.schema(
            [
                pa.field(
                    field.name,
                    _text_type(field.type)
                    if field.name in self._texts
                    else self._copied_type(field),
                    field.nullable,
                )
                for field in schema
                if layout.writes(field.name)
            ]
        )
        self._places = tuple(self.written.names.index(name) for name in self._texts)
        self.copied = tuple(n for n in self.written.names if n not in layout.columns)
        read = (*self._texts, self._id, self._person, *self.copied)
        self.read = tuple(dict.fromkeys(name for name in read if name is not None))

    def batch(self, rows: pa.RecordBatch, first: int = 1) -> Batch:
        """The rows as records; `first` is the number of the first row, from 1, for messages."""
        columns = [self._values(rows, name, first) for name in self._texts]
        ids: list[Any] = [""] * rows.num_rows
        if self._id is not None:
            ids = self._values(rows, self._id, first)
        people: list[Any] = [None] * rows.num_rows
        if self._person is not None:
            people = self._values(rows, self._person, first)
        records: list[Record] = []
        texts: list[str | None] = []
        for number, (name, person, row) in enumerate(
            zip(ids, people, zip(*columns, strict=True), strict=True), first
        ):
            place = f"row {number}"
            if name is None:
                raise InputError(f"{place} of {self._name} has a null id; fill it in")
            whose = None if person is None else str(person)
            records += (Record(str(name), text or "", place, whose) for text in row)
            texts += row
        others = [self._clean(rows, name) for name in self.copied]
        return Batch(
            tuple(records),
            ArrowColumns(self.written, self._places, others),
            frozenset(i for i, text in enumerate(texts) if text is None),
            len(self._texts),
        )

    def _copied_type(self, field: pa.Field[Any]) -> Any:
        try:
            return _clean_type(field.type, top=True)
        except _HidesValues:
            raise InputError(
                f"column {field.name!r} of {self._name} has type {field.type}, whose arrays may "
                "hold values of rows that are not there; cast it, or do not name it in "
                "`keep_columns=`"
            ) from None

    def _clean(self, rows: pa.RecordBatch, name: str) -> pa.Array[Any]:
        """A copied column without what nobody asked to copy."""
        array, kind = rows.column(name), self.written.field(name).type
        try:
            if isinstance(array, pa.ExtensionArray):
                array = array.storage
            same = array.type.equals(kind, check_metadata=True)
            return array if same else array.cast(kind)
        except pa.ArrowNotImplementedError:
            raise InputError(
                f"column {name!r} of {self._name} has type {array.type}, which cannot be copied "
                "without its notes; do not name it in `keep_columns=`"
            ) from None

    def _values(self, rows: pa.RecordBatch, name: str, first: int) -> list[Any]:
        try:
            return rows.column(name).to_pylist()
        except UnicodeDecodeError:
            raise InputError(
                f"column {name!r} of {self._name} is not utf-8 in rows "
                f"{first} to {first + rows.num_rows - 1}; write the file again"
            ) from None

    def _find(self, wanted: str, option: str) -> pa.DataType:
        """The type of a column."""
        names = self._arrow.names
        if wanted not in names:
            raise InputError(
                f"{self._name} has no column {wanted!r}; it has {listed(names) or 'none'}; "
                f"choose with {option}"
            )
        return cast(pa.DataType, self._arrow.field(wanted).type)


def own_values(array: pa.Array[Any]) -> pa.Array[Any]:
    """The same values in memory of their own, with nothing below a null.

    >>> shared = pa.array(["shown", "left out"]).slice(0, 1)
    >>> b"left out" in shared.buffers()[2].to_pybytes()
    True
    >>> b"left out" in own_values(shared).buffers()[2].to_pybytes()
    False
    """
    missing = array.is_null()
    # A null in place of a row's number leaves the room for its value empty.
    covered = missing.to_numpy(zero_copy_only=False)
    rows: Any = pa.array(np.arange(len(array)), mask=covered)
    own: Any = array.take(rows)
    kind: Any = own.type
    nested = kind.num_fields and len(own)
    if not nested or (pa.types.is_fixed_size_list(kind) and not kind.list_size):
        return cast("pa.Array[Any]", own)
    made: Any = type(own)
    if pa.types.is_struct(kind):
        fields = [kind.field(place) for place in range(kind.num_fields)]
        parts = list(map(own_values, own.flatten()))
        return cast("pa.Array[Any]", made.from_arrays(parts, fields=fields, mask=missing))
    if pa.types.is_fixed_size_list(kind):
        # Below a null list the values are null now, and as many as in any other.
        return cast(
            "pa.Array[Any]", made.from_arrays(own_values(own.values), type=kind, mask=missing)
        )
    # A null offset makes its list null.
    starts = pa.array(own.offsets.to_numpy(), own.offsets.type, mask=np.append(covered, False))
    below = (own.keys, own.items) if pa.types.is_map(kind) else (own.values,)
    return cast("pa.Array[Any]", made.from_arrays(starts, *map(own_values, below), type=kind))


def value_sizes(array: pa.Array[Any]) -> NDArray[np.int64]:
    """About how many bytes each row takes when it is decoded: what a dictionary holds once counts
    wherever it occurs.
    """
    kind: Any = array.type
    if isinstance(array, pa.ExtensionArray):
        return value_sizes(array.storage)
    if isinstance(array, pa.DictionaryArray):
        each = np.append(value_sizes(array.dictionary), 0)  # the last: of a null
        rows = array.indices.cast(pa.int64()).fill_null(len(array.dictionary))
        return cast("NDArray[np.int64]", each[rows.to_numpy(zero_copy_only=False)])
    if _is_string(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        lengths: Any = pc.binary_length(cast(Any, array)).fill_null(0)
        return cast("NDArray[np.int64]", lengths.to_numpy(zero_copy_only=False).astype(np.int64))
    if pa.types.is_struct(kind):
        sizes = np.zeros(len(array), dtype=np.int64)
        for part in cast(Any, array).flatten():
            sizes += value_sizes(part)
        return sizes
    if not kind.num_fields:
        return np.full(len(array), _NUMBER, dtype=np.int64)
    lists: Any = array
    if pa.types.is_map(kind):
        pair = [pa.field("key", kind.key_type, False), pa.field("value", kind.item_type)]
        lists = lists.cast(pa.list_(pa.struct(pair)))
    counts: Any = pc.list_value_length(lists).fill_null(0)
    ends = np.cumsum(counts.to_numpy(zero_copy_only=False).astype(np.int64))
    below = np.cumsum(np.insert(value_sizes(lists.flatten()), 0, 0))
    return cast("NDArray[np.int64]", np.diff(below[np.insert(ends, 0, 0)]))


def _readable(array: pa.Array[Any]) -> list[Any]:
    """The values, for a look at them; as text where Python has none such: nanoseconds, for one."""
    try:
        return array.to_pylist()
    except ValueError:
        nested = pa.types.is_nested(array.type)
        return [None] * len(array) if nested else array.cast(pa.string()).to_pylist()


def used(array: pa.Array[Any]) -> pa.Array[Any]:
    """A categorical array with the categories that occur in it: in their order where they have
    one, else as they occur, because an encoder numbers them as they stand in the true file.
    """
    if not isinstance(array, pa.DictionaryArray):
        return array
    kept = array.indices.drop_null().unique()
    if array.type.ordered:
        kept = pa.array(sorted(kept.to_pylist()), array.indices.type)
    indices = pc.index_in(array.indices, value_set=kept).cast(array.type.index_type)
    return pa.DictionaryArray.from_arrays(
        indices, array.dictionary.take(kept), ordered=array.type.ordered
    )


def _is_text(kind: pa.DataType) -> bool:
    return _is_string(kind.value_type if pa.types.is_dictionary(kind) else kind)


def _names(kind: pa.DataType) -> bool:
    """Whether a column of this type can name rows or people."""
    return _is_text(kind) or pa.types.is_integer(kind)


def _text_type(kind: pa.DataType) -> pa.DataType:
    """How released texts are written: as they are, since few of them repeat."""
    return pa.large_string() if pa.types.is_large_string(kind) else pa.string()


def _is_string(kind: pa.DataType) -> bool:
    view = getattr(pa.types, "is_string_view", lambda kind: False)  # pyarrow 16 and later
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or bool(view(kind))


class _HidesValues(Exception):
    """A type whose children are not cut with the rows: a run, a union or a list by views."""


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
    if t.is_nested(kind) or t.is_run_end_encoded(kind):
        raise _HidesValues
    return pa.string() if _is_string(kind) and not t.is_large_string(kind) else kind


def _clean_field(field: pa.Field[Any]) -> pa.Field[Any]:
    return pa.field(field.name, _clean_type(field.type), field.nullable)


def is_plain(kind: pa.DataType) -> bool:
    """Whether csv or JSON could hold the type's values without loss."""
    t = pa.types
    if t.is_dictionary(kind):
        return is_plain(kind.value_type)
    if t.is_struct(kind):
        return all(is_plain(field.type) for field in kind)
    if t.is_list(kind) or t.is_large_list(kind) or t.is_fixed_size_list(kind):
        return is_plain(kind.value_type)
    return (
        _is_string(kind)
        or t.is_integer(kind)
        or t.is_floating(kind)
        or t.is_boolean(kind)
        or t.is_null(kind)
    )
