"""jsonl: an object per line.

The texts' values are replaced, members that nobody named are left out with the separator before
them, and every other character of an object stays as it is, so that keys keep their order and
numbers their digits. Blank lines are dropped. A null text stays null; a missing one, or one of
another type, is an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from inkblur.errors import InputError, OutputError
from inkblur.files.formats import Format, Layout, listed
from inkblur.files.lines import Lines
from inkblur.files.records import Batch, Columns, Encoder, Row, RowReader, Schema


class JsonNumber(str):
    """A JSON number as it is spelled in the file: reading it as a float could lose digits."""

    __slots__ = ()


class Member(NamedTuple):
    """One `key: value` of an object, and where in the line it lies."""

    key: str
    value: object
    begin: int  # of the key
    start: int  # of the value
    end: int


_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder(parse_int=JsonNumber, parse_float=JsonNumber, parse_constant=JsonNumber)


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
            begin = at
            key, at = _DECODER.raw_decode(line, at)
            start = _expect(line, _skip(line, at), ":")
            value, end = _DECODER.raw_decode(line, start)
            yield Member(str(key), value, begin, start, end)
            at = _skip(line, end)
            if line[at : at + 1] == "}":
                at += 1
                break
            at = _expect(line, at, ",")
    at = _skip(line, at)
    if at != len(line):
        raise json.JSONDecodeError("something after the object's end", line, at)


@dataclass(frozen=True, slots=True)
class Frame:
    """An object without its texts: what stands around them, and which text goes where."""

    pieces: tuple[str, ...]  # one more than texts
    order: tuple[int, ...]  # of the text columns, as they follow in this object

    def filled(self, texts: Sequence[str | None]) -> str:
        """The object with these texts, one a text column."""
        parts = [self.pieces[0]]
        for column, piece in zip(self.order, self.pieces[1:], strict=True):
            parts += (json.dumps(texts[column], ensure_ascii=False), piece)
        return "".join(parts)


@dataclass(frozen=True, slots=True)
class Frames:
    """The objects of a batch."""

    frames: list[Frame]
    columns: tuple[str, ...]  # of the texts

    @property
    def width(self) -> int:
        """Texts in each object."""
        return len(self.columns)

    def filled(self, texts: Sequence[str | None]) -> Iterator[str]:
        """Each object with its texts, as it is spelled in the file."""
        for i, frame in enumerate(self.frames):
            yield frame.filled(texts[i * self.width : (i + 1) * self.width])

    def rows(self, texts: Sequence[str | None]) -> Iterator[dict[str, object]]:
        """Each object by key."""
        for line in self.filled(texts):
            found = list(members(line))
            row = {member.key: member.value for member in found}
            if len(row) != len(found):
                raise OutputError(
                    "an object has one key twice; only jsonl can hold that, write .jsonl"
                )
            yield row

    def others(self) -> Iterator[list[tuple[str, object]]]:
        """The members beside the texts; a key may occur twice."""
        for line in self.filled([None] * self.width * len(self.frames)):
            yield [(m.key, m.value) for m in members(line) if m.key not in self.columns]

    def take(self, rows: Sequence[int]) -> Frames:
        """Some of the objects."""
        return Frames([self.frames[row] for row in rows], self.columns)


class JsonlReader(RowReader[Frame]):
    """Reads an object, finds its texts and its id, and keeps the rest as it is spelled."""

    def __init__(self, lines: Lines, format: Format, layout: Layout) -> None:
        self.schema = Schema(format, layout.columns, None)
        self._lines = lines
        self._layout = layout
        self._keys: dict[str, None] = {}  # all that were seen, in order
        self._named = None if layout.keep is None else {*layout.keep, *layout.columns}

    def rows(self) -> Iterator[Row[Frame]]:
        """Every object."""
        some = False
        for number, line in enumerate(self._lines, 1):
            if not line.isspace():
                some = True
                yield self._row(line.rstrip("\r\n"), f"line {number}")
        if not some:
            raise InputError(f"{self._lines.name} has no records; give at least one")
        for name in self._layout.keep or ():
            if name not in self._keys:  # most likely misspelled
                raise InputError(
                    f"no record of {self._lines.name} has the key {name!r}; correct `keep_columns=`"
                )

    def columns(self, kept: list[Frame]) -> Columns:
        """The rest of the objects."""
        return Frames(kept, self.schema.columns)

    def copied(self) -> tuple[str, ...]:
        """Keys that were met so far and are written with their values."""
        written = filter(self._writes, self._keys)
        return tuple(key for key in written if key not in self.schema.columns)

    def not_copied(self) -> tuple[str, ...]:
        """Keys that were met so far and are not written."""
        return tuple(key for key in self._keys if not self._writes(key))

    def _writes(self, key: str) -> bool:
        return self._named is None or key in self._named

    def _row(self, line: str, place: str) -> Row[Frame]:
        where = f"{place} of {self._lines.name}"
        try:
            found = list(members(line))
        except json.JSONDecodeError as error:
            raise _bad(line, where, error) from None
        except RecursionError:
            raise InputError(f"{where} is nested too deeply; flatten it") from None
        self._keys.update(dict.fromkeys(member.key for member in found))
        texts = [_only(found, c, where, self._layout.option) for c in self.schema.columns]
        for text in texts:
            if not (text.value is None or _is_text(text.value)):
                raise InputError(
                    f"{where}: {text.key!r} is {_kind(text.value)}, expected a string or null; "
                    f"give the text a key of its own, or choose another with {self._layout.option}"
                )
        name = self._name_in(found, self._layout.id_column, where, "`id_column=`") or ""
        person = self._name_in(found, self._layout.person_column, where, "`person_column=`")
        values = tuple(None if text.value is None else str(text.value) for text in texts)
        return Row(name, values, self._frame(line, found), len(line), place, person)

    def _name_in(
        self, found: list[Member], column: str | None, where: str, option: str
    ) -> str | None:
        """The string or whole number of a column, where one is asked for."""
        if column is None:
            return None
        value = _only(found, column, where, option).value
        if not (_is_text(value) or (isinstance(value, JsonNumber) and value.lstrip("-").isdigit())):
            raise InputError(
                f"{where}: {column!r} is {_kind(value)}, expected a string or a whole number"
            )
        return str(value)

    def _frame(self, line: str, found: list[Member]) -> Frame:
        column = {name: i for i, name in enumerate(self.schema.columns)}
        written = [i for i, member in enumerate(found) if self._writes(member.key)]
        pieces, order = [line[: found[0].begin]], []
        for i in written:
            member = found[i]
            separator = line[found[i - 1].end : member.begin] if i != written[0] else ""
            pieces[-1] += separator + line[member.begin : member.start]
            if member.key in column:
                order.append(column[member.key])
                pieces.append("")
            else:
                pieces[-1] += line[member.start : member.end]
        pieces[-1] += line[found[-1].end :]
        return Frame(tuple(pieces), tuple(order))


class JsonlEncoder(Encoder):
    """Writes objects, a line each; from other formats with one member a column."""

    def encode(self, batch: Batch, texts: Sequence[str | None]) -> str:
        """The batch as objects."""
        return "".join(f"{line}\n" for line in self._objects(batch, texts))

    def _objects(self, batch: Batch, texts: Sequence[str | None]) -> Iterator[str]:
        if isinstance(batch.columns, Frames):
            yield from batch.columns.filled(texts)
            return
        for i, row in enumerate(batch.columns.rows(texts)):
            try:
                yield json.dumps(row, ensure_ascii=False, allow_nan=False)
            except ValueError:
                raise OutputError(
                    f"{batch.place(i)} holds NaN or infinity, which JSON cannot; "
                    "write the input's own format"
                ) from None


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
    if not isinstance(value, str) or isinstance(value, JsonNumber):
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
        case JsonNumber():
            return "a number"
        case str() if not _is_text(value):
            return "a string with a lone surrogate, which is not valid Unicode"
        case str():
            return "a string"
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
