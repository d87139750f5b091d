"""Which file formats there are, and which one a path means."""

from __future__ import annotations

from enum import Enum
from pathlib import Path

from inkblur.errors import InkblurError
from inkblur.files.compression import compression_of

_LISTED = 12  # column names that an error shows
STREAM = "-"  # the path that stands for standard input or standard output


class Format(Enum):
    """How records lie in a file."""

    TXT = "txt"  # a document a line
    CSV = "csv"
    TSV = "tsv"
    JSONL = "jsonl"  # an object a line
    JSON = "json"  # an array of objects
    PARQUET = "parquet"

    @property
    def delimiter(self) -> str:
        """What separates cells; the empty string where the format has no cells."""
        return {Format.CSV: ",", Format.TSV: "\t"}.get(self, "")


_SUFFIXES = {f".{format.value}": format for format in Format} | {".ndjson": Format.JSONL}


def is_stream(path: str | Path) -> bool:
    """Whether the path is `-`."""
    return str(path) == STREAM


def format_of(path: str | Path, given: Format | None, error: type[InkblurError]) -> Format:
    """The format asked for, or the one the suffix names; `error` is raised when neither says.

    >>> format_of("posts.csv.gz", None, InkblurError)
    <Format.CSV: 'csv'>
    """
    packed = compression_of(path)
    name = Path(path) if packed is None else Path(path).with_suffix("")
    format = given or _SUFFIXES.get(name.suffix.lower())
    choices = "|".join(choice.value for choice in Format)
    if format is None and is_stream(path):
        raise error(f"standard input has no suffix to tell its format by; add `format=`: {choices}")
    if format is None:
        what = f"the suffix {name.suffix!r}" if name.suffix else "a name without a suffix"
        raise error(
            f"cannot tell the format of {path} from {what}; name it .txt, .csv, .tsv, .jsonl, "
            f".json or .parquet (for an input, `format=` says it too: {choices})"
        )
    if format is Format.PARQUET and packed is not None:
        raise error(f"{path}: parquet compresses itself; drop the {packed.value}")
    return format


def listed(names: list[str] | tuple[str, ...]) -> str:
    """Column names for an error message, cut short when there are very many."""
    shown = ", ".join(repr(name) for name in names[:_LISTED])
    return shown if len(names) <= _LISTED else f"{shown} and {len(names) - _LISTED} more"
