"""Which file formats there are, which one a path means, and how a file of records is to be read."""

from __future__ import annotations

import codecs
import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from glob import has_magic
from pathlib import Path

from inkblur.errors import InkblurError, ParameterError
from inkblur.spec import ReleaseSpec

PACKED = (".gz", ".zst")
_LISTED = 12  # column names that an error shows, of so many letters each: they may be a record
_LETTERS = 40
_SHEETS = (".xlsx", ".xls", ".ods")


class Format(Enum):
    """How records lie in a file."""

    TXT = "txt"  # a document a line
    CSV = "csv"
    TSV = "tsv"
    JSONL = "jsonl"  # an object per line
    PARQUET = "parquet"


_SUFFIXES = {f".{format.value}": format for format in Format} | {".ndjson": Format.JSONL}


def is_stream(path: str | Path) -> bool:
    """Whether the path is `-`, which stands for standard input or standard output."""
    return str(path) == "-"


def is_folder(source: str | Path) -> bool:
    """Whether a source is a folder, or a pattern such as `data/*.parquet`."""
    # os.path: before Python 3.12 Path.is_dir raises where a name is too long.
    if os.path.isdir(source):  # noqa: PTH112
        return True
    return has_magic(str(source)) and not os.path.exists(source)  # noqa: PTH110


def packed_as(path: str | Path) -> str | None:
    """The last suffix, where it names a compression: .gz or .zst."""
    suffix = Path(path).suffix.lower()
    return suffix if suffix in PACKED else None


def format_of(path: str | Path, given: Format | None, error: type[InkblurError]) -> Format:
    """The format asked for, or the one the suffix names; `error` is raised when neither says.

    >>> format_of("posts.csv.gz", None, InkblurError)
    <Format.CSV: 'csv'>
    """
    packed = packed_as(path)
    suffix = _unpacked(path).suffix
    format = given or _SUFFIXES.get(suffix.lower())
    if format is Format.PARQUET and packed is not None:
        raise error(f"{path}: parquet compresses itself; drop the {packed}")
    if format is not None:
        return format
    choices = "|".join(choice.value for choice in Format)
    if is_stream(path):
        raise error(f"standard input has no suffix to tell its format by; add `format=`: {choices}")
    if suffix.lower() in _SHEETS:
        raise error(f"{path} is a spreadsheet by its suffix {suffix!r}; save it as .csv")
    if suffix.lower() == ".json":
        raise error(f"{path} is one whole JSON value by its suffix; write it as .jsonl")
    what = f"the suffix {suffix!r}" if suffix else "a name without a suffix"
    raise error(
        f"cannot tell the format of {path} from {what}; name it .txt, .csv, .tsv, .jsonl "
        f"or .parquet (for an input, `format=` says it too: {choices})"
    )


def bare_name(path: str | Path) -> str:
    """The name of a file without the suffixes that say how it is written.

    >>> bare_name("data/posts.csv.gz"), bare_name("posts.2026")
    ('posts', 'posts.2026')
    """
    name = _unpacked(path)
    return name.stem if name.suffix.lower() in _SUFFIXES else name.name


def _unpacked(path: str | Path) -> Path:
    return Path(path) if packed_as(path) is None else Path(path).with_suffix("")


def listed(names: Sequence[str]) -> str:
    """Column names for an error message, cut short when they are very many or long."""
    cut = [name if len(name) <= _LETTERS else f"{name[:_LETTERS]}..." for name in names[:_LISTED]]
    shown = ", ".join(map(repr, cut))
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


def text_encoding(encoding: str) -> str:
    """The canonical name of a text encoding, or a clear error."""
    try:
        name = codecs.lookup(encoding).name
        with contextlib.suppress(UnicodeError):  # half a character of UTF-16, perhaps
            b"x".decode(encoding)  # codecs.lookup alone would accept "hex" and "zip"
    except (LookupError, ValueError):
        raise ParameterError(
            f"unknown encoding {encoding!r}; try utf-8, utf-16, cp1252 or latin-1"
        ) from None
    return "utf-8" if name == "utf-8-sig" else name  # the mark is taken off here
