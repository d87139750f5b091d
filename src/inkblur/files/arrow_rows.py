"""Arrow rows as records: what parquet files, data frames and engines have in common.

Columns that were named pass unchanged, and types but for what could carry more than values:
metadata at any depth is left behind, a categorical column keeps only the categories that occur, and
below the top level categories become plain values. Rows that are given on as Arrow rows share no
memory with what was read (`own_values`). A null text stays null.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from inkblur.errors import InputError
from inkblur.files.formats import Layout, listed
from inkblur.files.own_values import own_values
from inkblur.files.records import Batch, Texts
from inkblur.types import Record


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
        self._texts = [self._find(column, layout.option) for column in layout.columns]
        for place in self._texts:
            field = schema.field(place)
            if not _is_text(field.type):
                raise InputError(
                    f"column {field.name!r} of {name} has type {field.type}, expected a string; "
                    f"cast it, or choose another with {layout.option}"
                )
        self._id_place = self._find_name(layout.id_column, "`id_column=`")
        self._person = self._find_name(layout.person_column, "`person_column=`")
        for column in layout.keep or ():
            self._find(column, "`keep_columns=`")
        self._written = [i for i, one in enumerate(names) if layout.writes(one)]
        self.not_copied = tuple(one for one in names if not layout.writes(one))
        # Notes in the file (its author, its tool) are nothing that anybody would look for in the
        # output, so none are written.
        self.written = pa.schema(
            [
                pa.field(
                    names[i],
                    _text_type(schema.field(i).type)
                    if i in self._texts
                    else self._copied_type(schema.field(i)),
                    schema.field(i).nullable,
                )
                for i in self._written
            ]
        )
        self._places = tuple(self._written.index(place) for place in self._texts)
        self.copied = tuple(n for n in self.written.names if n not in layout.columns)

    def texts(self, rows: pa.RecordBatch, first: int = 1) -> list[Texts]:
        """The texts of each row; `first` is the number of the first row, from 1, for messages."""
        columns = [self._values(rows, place, first) for place in self._texts]
        return list(zip(*columns, strict=True))

    def batch(
        self, rows: pa.RecordBatch, texts: Sequence[Texts] | None = None, first: int = 1
    ) -> Batch:
        """The rows as records; `texts` where those were read already."""
        texts = self.texts(rows, first) if texts is None else texts
        ids: list[Any] = [""] * len(texts)
        if self._id_place is not None:
            ids = self._values(rows, self._id_place, first)
        people: list[Any] = [None] * len(texts)
        if self._person is not None:
            people = self._values(rows, self._person, first)
        records: list[Record] = []
        for number, (name, person, row) in enumerate(zip(ids, people, texts, strict=True), first):
            place = f"row {number}"
            if name is None:
                raise InputError(f"{place} of {self._name} has a null id; fill it in")
            whose = None if person is None else str(person)
            records += (Record(str(name), text or "", place, whose) for text in row)
        others = [self._clean(rows, i) for i in self._written if i not in self._texts]
        flat = [text for row in texts for text in row]
        return Batch(
            tuple(records),
            ArrowColumns(self.written, self._places, others),
            frozenset(i for i, text in enumerate(flat) if text is None),
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

    def _clean(self, rows: pa.RecordBatch, place: int) -> pa.Array[Any]:
        """A copied column without what nobody asked to copy."""
        array, name = rows.column(place), self._arrow.field(place).name
        kind = self.written.field(name).type
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

    def _values(self, rows: pa.RecordBatch, place: int, first: int) -> list[str | None]:
        try:
            return rows.column(place).to_pylist()
        except UnicodeDecodeError:
            raise InputError(
                f"column {self._arrow.field(place).name!r} of {self._name} is not utf-8 in rows "
                f"{first} to {first + rows.num_rows - 1}; write the file again"
            ) from None

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

    def _find(self, wanted: str, option: str) -> int:
        names = self._arrow.names
        if wanted not in names:
            raise InputError(
                f"{self._name} has no column {wanted!r}; it has {listed(names) or 'none'}; "
                f"choose with {option}"
            )
        return names.index(wanted)


def _readable(array: pa.Array[Any]) -> list[Any]:
    """The values, for a look at them; as text where Python has none such: nanoseconds, for one."""
    try:
        return array.to_pylist()
    except ValueError:
        nested = pa.types.is_nested(array.type)
        return [None] * len(array) if nested else array.cast(pa.string()).to_pylist()


def used(array: pa.Array[Any]) -> pa.Array[Any]:
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
