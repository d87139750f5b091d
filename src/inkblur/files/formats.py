"""Which file formats there are, which one a path means, and how a file of records is to be read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from inkblur.errors import InkblurError, ParameterError
from inkblur.files.compression import compression_of
from inkblur.files.lines import text_encoding
from inkblur.spec import ReleaseSpec

_LISTED = 12  # column names that an error shows


class Format(Enum):
    """How records lie in a file."""

    TXT = "txt"  # a document a line
    CSV = "csv"
    TSV = "tsv"
    JSONL = "jsonl"  # an object per line
    PARQUET = "parquet"

    @property
    def delimiter(self) -> str:
        """What separates cells; the empty string where the format has no cells."""
        return {Format.CSV: ",", Format.TSV: "\t"}.get(self, "")


_SUFFIXES = {f".{format.value}": format for format in Format} | {".ndjson": Format.JSONL}
_SHEETS = (".xlsx", ".xls", ".ods")


def is_stream(path: str | Path) -> bool:
    """Whether the path is `-`, which stands for standard input or standard output."""
    return str(path) == "-"


def format_of(path: str | Path, given: Format | None, error: type[InkblurError]) -> Format:
    """The format asked for, or the one the suffix names; `error` is raised when neither says.

    >>> format_of("posts.csv.gz", None, InkblurError)
    <Format.CSV: 'csv'>
    """
    packed, name = compression_of(path), _unpacked(path)
    format = given or _SUFFIXES.get(name.suffix.lower())
    choices = "|".join(choice.value for choice in Format)
    if format is None and is_stream(path):
        raise error(f"standard input has no suffix to tell its format by; add `format=`: {choices}")
    if format is None:
        what = f"the suffix {name.suffix!r}" if name.suffix else "a name without a suffix"
        if name.suffix.lower() in _SHEETS:
            raise error(f"{path} is a spreadsheet by its suffix {name.suffix!r}; save it as .csv")
        if name.suffix.lower() == ".json":
            raise error(f"{path} is one whole JSON value by its suffix; write it as .jsonl")
        raise error(
            f"cannot tell the format of {path} from {what}; name it .txt, .csv, .tsv, .jsonl "
            f"or .parquet (for an input, `format=` says it too: {choices})"
        )
    if format is Format.PARQUET and packed is not None:
        raise error(f"{path}: parquet compresses itself; drop the {packed.value}")
    return format


def bare_name(path: str | Path) -> str:
    """The name of a file without the suffixes that say how it is written.

    >>> bare_name("data/posts.csv.gz"), bare_name("posts.2026")
    ('posts', 'posts.2026')
    """
    name = _unpacked(path)
    return name.stem if name.suffix.lower() in _SUFFIXES else name.name


def _unpacked(path: str | Path) -> Path:
    return Path(path) if compression_of(path) is None else Path(path).with_suffix("")


def listed(names: list[str] | tuple[str, ...]) -> str:
    """Column names for an error message, cut short when there are very many."""
    shown = ", ".join(repr(name) for name in names[:_LISTED])
    return shown if len(names) <= _LISTED else f"{shown} and {len(names) - _LISTED} more"


@dataclass(frozen=True, slots=True)
class Layout:
    """How a file is to be read; parts that contradict each other are refused."""

    columns: tuple[str, ...] = ("text",)  # that hold texts
    id_column: str | None = None
    person_column: str | None = None  # whom a record belongs to
    # Columns that are copied beside the texts, and no others; None: all, where nothing is written.
    keep: tuple[str, ...] | None = ()
    encoding: str = "utf-8"
    header: bool = True  # csv, tsv: the first line names the columns
    delimiter: str | None = None  # csv, tsv: one character; None: the format's own
    option: str = "`columns=`"  # what the command at hand calls the option that names texts

    def __post_init__(self) -> None:
        text_encoding(self.encoding)
        if not self.columns:
            raise ParameterError("no text column given; give at least one")
        for i, name in enumerate(self.columns):
            if name in self.columns[:i]:
                raise ParameterError(f"the text column {name!r} is named twice")
        if self.id_column in self.columns:
            raise ParameterError(
                f"the id column and the text column are both {self.id_column!r}; choose two"
            )
        for name in self.keep or ():
            if name in self.columns:
                raise ParameterError(f"the column {name!r} is both blurred and kept; choose one")
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n\0'):
            raise ParameterError(
                f"a delimiter is one character, and no quote or line break; got {self.delimiter!r}"
            )

    def writes(self, name: str) -> bool:
        """Whether this column stands in the output."""
        return self.keep is None or name in self.keep or name in self.columns


def layout_of(spec: ReleaseSpec) -> Layout:
    """What a spec says about columns and csv."""
    return Layout(
        spec.columns,
        spec.id_column,
        spec.person_column,
        tuple(dict.fromkeys(spec.keep_columns)),
        spec.encoding,
        not spec.no_header,
        "\t" if spec.delimiter in ("tab", "\\t") else spec.delimiter,
    )
