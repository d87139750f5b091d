"""How a file of records is to be read: which columns mean what, and how csv is spelled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from inkblur.errors import ParameterError
from inkblur.spec import ReleaseSpec
from inkblur.types import choose


class Quoting(Enum):
    """Quotes around csv and tsv cells."""

    MINIMAL = "minimal"  # where a cell needs them
    ALL = "all"  # around every cell that is written
    NONE = "none"  # a quote is a character like any other


@dataclass(frozen=True, slots=True)
class Layout:
    """What the caller says about a file; made by :func:`make_layout`, which checks it."""

    columns: tuple[str, ...] = ("text",)  # that hold texts
    id_column: str | None = None
    person_column: str | None = None  # whom a record belongs to
    drop: tuple[str, ...] = ()  # columns that are not written
    keep: tuple[str, ...] = ()  # columns that are copied although they look like identifiers
    encoding: str = "utf-8"
    header: bool = True  # csv, tsv: the first line names the columns
    delimiter: str | None = None  # csv, tsv: one character; None: the format's own
    quoting: Quoting = Quoting.MINIMAL
    option: str = "`columns=`"  # what the command at hand calls the option that names texts


def make_layout(
    column: str | Sequence[str],
    id_column: str | None,
    person_column: str | None,
    drop: Sequence[str],
    keep: Sequence[str],
    encoding: str,
    header: bool,
    delimiter: str | None,
    quoting: str | Quoting,
    option: str,
) -> Layout:
    """A layout whose parts do not contradict each other."""
    columns = (column,) if isinstance(column, str) else tuple(column)
    if not columns:
        raise ParameterError("no text column is named; name at least one")
    for i, name in enumerate(columns):
        if name in columns[:i]:
            raise ParameterError(f"the text column {name!r} is named twice")
    if id_column is not None and id_column in columns:
        raise ParameterError(
            f"the id column and the text column are both {id_column!r}; choose two"
        )
    for name in drop:
        if name in columns or name in keep:
            use = "a text column" if name in columns else "kept"
            raise ParameterError(f"the column {name!r} is both dropped and {use}; choose one")
    for name in keep:
        if name in columns:
            raise ParameterError(f"the column {name!r} is both blurred and kept; choose one")
    if delimiter in ("tab", "\\t"):
        delimiter = "\t"
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n\0'):
        raise ParameterError(
            f"a delimiter is one character, and no quote or line break; got {delimiter!r}"
        )
    return Layout(
        columns,
        id_column,
        person_column,
        tuple(dict.fromkeys(drop)),
        tuple(dict.fromkeys(keep)),
        encoding,
        header,
        delimiter,
        choose(Quoting, quoting, "quoting"),
        option,
    )


def layout_of(spec: ReleaseSpec) -> Layout:
    """What a spec says about columns, for rows that are no file."""
    return make_layout(
        spec.columns,
        spec.id_column,
        spec.person_column,
        spec.drop_columns,
        spec.keep_columns,
        spec.encoding,
        not spec.no_header,
        spec.delimiter,
        spec.quoting,
        "`columns=`",
    )
