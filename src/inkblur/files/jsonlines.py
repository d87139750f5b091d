"""jsonl: an object a line.

Only the text's value is replaced; every other character of the line stays as it is, so that keys
keep their order and numbers their digits. Blank lines are dropped. A null text stays null; a
missing one, or one of another type, is an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from inkblur.errors import InputError, OutputError
from inkblur.files.batching import Row, RowReader
from inkblur.files.formats import Format, listed
from inkblur.files.lines import Lines
from inkblur.files.records import Columns, Schema


class Number(str):
    """A JSON number as it is spelled in the file: reading it as a float could lose digits."""

    __slots__ = ()


class Member(NamedTuple):
    """One `key: value` of an object, and where in the line the value lies."""

    key: str
    value: object
    start: int
    end: int


_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder(parse_int=Number, parse_float=Number, parse_constant=Number)


def members(line: str) -> Iterator[Member]:
    """The members of the object that `line` holds; JSONDecodeError where it is malformed.

    >>> [(m.key, m.value) for m in members('{"n": 1e400, "text": "hi"}')]
    [('n', '1e400'), ('text', 'hi')]
    """
    at = _expect(line, _skip(line, 0), "{")
    if line[at : at + 1] == "}":
        at += 1
    else:
        while True:
            if line[at : at + 1] != '"':
                raise json.JSONDecodeError("expected a key in double quotes", line, at)
            key, at = _DECODER.raw_decode(line, at)
            start = _expect(line, _skip(line, at), ":")
            value, end = _DECODER.raw_decode(line, start)
            yield Member(str(key), value, start, end)
            at = _skip(line, end)
            if line[at : at + 1] == "}":
                at += 1
                break
            at = _expect(line, at, ",")
    at = _skip(line, at)
    if at != len(line):
        raise json.JSONDecodeError("something after the object's end", line, at)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What stands before and after the text's value in each line of a batch."""

    around: list[tuple[str, str]]

    def rows(self, texts: Sequence[str | None]) -> Iterator[dict[str, object]]:
        """Each object by key."""
        for (before, after), text in zip(self.around, texts, strict=True):
            found = list(members(before + _written(text) + after))
            row = {member.key: member.value for member in found}
            if len(row) != len(found):
                raise OutputError(
                    "an object has one key twice; only jsonl can hold that, write .jsonl"
                )
            yield row


class JsonlReader(RowReader[tuple[str, str]]):
    """Reads a line, finds its text and its id, and keeps the rest as it is spelled."""

    def __init__(
        self, lines: Lines, column: str, id_column: str | None, option: str = "--column"
    ) -> None:
        """Nothing is read yet: every line has its own keys."""
        self.schema = Schema(Format.JSONL, column, None)
        self._lines = lines
        self._id_column = id_column
        self._option = option

    def rows(self) -> Iterator[Row[tuple[str, str]]]:
        """Every line that is not blank."""
        some = False
        for number, line in enumerate(self._lines, 1):
            if not line.isspace():
                some = True
                yield self._row(line, f"line {number} of {self._lines.name}")
        if not some:
            raise InputError(f"{self._lines.name} has only blank lines; give at least one record")

    def columns(self, kept: list[tuple[str, str]]) -> Columns:
        """The rest of the lines."""
        return Surroundings(kept)

    def _row(self, line: str, where: str) -> Row[tuple[str, str]]:
        try:
            found = list(members(line))
        except json.JSONDecodeError as error:
            raise _bad(line, where, error) from None
        except RecursionError:
            raise InputError(f"{where} is nested too deeply; flatten it") from None
        text = _only(found, self.schema.column, where, self._option)
        if not (text.value is None or _is_text(text.value)):
            raise InputError(
                f"{where}: {self.schema.column!r} is {_kind(text.value)}, expected a string or null"
            )
        name = None
        if self._id_column is not None:
            value = _only(found, self._id_column, where, "--id-column").value
            if not (_is_text(value) or (isinstance(value, Number) and value.lstrip("-").isdigit())):
                raise InputError(
                    f"{where}: {self._id_column!r} is {_kind(value)}, "
                    "expected a string or a whole number"
                )
            name = str(value)
        around = (line[: text.start], line[text.end :])
        return Row(name, None if text.value is None else str(text.value), around, len(line))


class JsonlEncoder:
    """Writes objects; from other formats, one member a column."""

    def __init__(self) -> None:
        """Nothing written yet."""
        self._done = 0

    def begin(self) -> str:
        """There is no header."""
        return ""

    def encode(self, columns: Columns, texts: Sequence[str | None]) -> str:
        """The batch as lines."""
        if isinstance(columns, Surroundings):
            pairs = zip(columns.around, texts, strict=True)
            return "".join(before + _written(text) + after for (before, after), text in pairs)
        lines: list[str] = []
        for row in columns.rows(texts):
            self._done += 1
            try:
                lines.append(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")
            except ValueError:
                raise OutputError(
                    f"record {self._done} holds NaN or infinity, which JSON cannot; "
                    "write the input's own format"
                ) from None
        return "".join(lines)

    def end(self) -> str:
        """Nothing stands after the last record."""
        return ""


def _written(text: str | None) -> str:
    return json.dumps(text, ensure_ascii=False)


def _only(found: list[Member], key: str, where: str, option: str) -> Member:
    """The member of that key; two of them are refused, for one would pass with its true text."""
    same = [member for member in found if member.key == key]
    if len(same) > 1:
        raise InputError(f"{where} has the key {key!r} {len(same)} times; keep one")
    if not same:
        keys = listed([member.key for member in found]) or "no keys"
        raise InputError(f"{where} has no key {key!r}; it has {keys}; choose with {option}")
    return same[0]


def _is_text(value: object) -> bool:
    if not isinstance(value, str) or isinstance(value, Number):
        return False
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case Number():
            return "a number"
        case str():
            return "a string with a lone surrogate, which is no Unicode text"
        case list():
            return "a list"
        case _:
            return "an object"


def _bad(line: str, where: str, error: json.JSONDecodeError) -> InputError:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        place = (
            f"bad JSON on {where}, column {error.pos + 1}: {error.msg[:1].lower()}{error.msg[1:]}"
        )
        return InputError(f"{place}; each line must be one whole object")
    return InputError(
        f'{where} is not a JSON object; write each record as one, as in {{"text": ...}}'
    )


def _skip(line: str, at: int) -> int:
    match = _SPACE.match(line, at)
    return at if match is None else match.end()


def _expect(line: str, at: int, sign: str) -> int:
    """Past the sign and the space after it."""
    if line[at : at + 1] != sign:
        raise json.JSONDecodeError(f"expected {sign!r}", line, at)
    return _skip(line, at + 1)
