"""How a file of records is to be read: which columns mean what, and how csv is spelled."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from inkblur.errors import ParameterError
from inkblur.files.lines import text_encoding
from inkblur.spec import ReleaseSpec
from inkblur.types import choose


class Quoting(Enum):
    """Quotes around csv and tsv cells."""

    MINIMAL = "minimal"  # where a cell needs them
    ALL = "all"  # around every cell that is written
    NONE = "none"  # a quote is a character like any other


@dataclass(frozen=True, slots=True)
class Layout:
    """How a file is to be read; parts that contradict each other are refused."""

    columns: tuple[str, ...] = ("text",)  # that hold texts
    id_column: str | None = None
    person_column: str | None = None  # whom a record belongs to
    drop: tuple[str, ...] = ()  # columns that are not written
    keep: tuple[str, ...] = ()  # columns that are copied although they look like identifiers
    encoding: str = "utf-8"
    header: bool = True  # csv, tsv: the first line names the columns
    delimiter: str | None = None  # csv, tsv: one character; None: the format's own
    quoting: Quoting = Quoting.MINIMAL  # csv, tsv
    option: str = "`columns=`"  # what the command at hand calls the option that names texts

    def __post_init__(self) -> None:
        text_encoding(self.encoding)
        if not self.columns:
            raise ParameterError("no text column is named; name at least one")
        for i, name in enumerate(self.columns):
            if name in self.columns[:i]:
                raise ParameterError(f"the text column {name!r} is named twice")
        if self.id_column in self.columns:
            raise ParameterError(
                f"the id column and the text column are both {self.id_column!r}; choose two"
            )
        for name in self.drop:
            if name in self.columns or name in self.keep:
                use = "a text column" if name in self.columns else "kept"
                raise ParameterError(f"the column {name!r} is both dropped and {use}; choose one")
        for name in self.keep:
            if name in self.columns:
                raise ParameterError(f"the column {name!r} is both blurred and kept; choose one")
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n\0'):
            raise ParameterError(
                f"a delimiter is one character, and no quote or line break; got {self.delimiter!r}"
            )


def layout_of(spec: ReleaseSpec) -> Layout:
    """What a spec says about columns and csv."""
    return Layout(
        spec.columns,
        spec.id_column,
        spec.person_column,
        tuple(dict.fromkeys(spec.drop_columns)),
        tuple(dict.fromkeys(spec.keep_columns)),
        spec.encoding,
        not spec.no_header,
        "\t" if spec.delimiter in ("tab", "\\t") else spec.delimiter,
        choose(Quoting, spec.quoting, "quoting"),
    )
