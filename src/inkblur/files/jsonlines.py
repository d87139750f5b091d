"""jsonl: an object per line.

The texts' values are replaced, members that nobody named are left out, and the others are written
again in their order, numbers with the digits they have in the file. Blank lines are dropped. A null
text stays null; a missing one, or one of another type, is an error.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from inkblur.errors import InputError, OutputError
from inkblur.files.formats import Format, InputFile, Layout, listed
from inkblur.files.records import Batch, LineEncoder, LineSource, Row

_MOST_VALUES = 1_000_000  # in one object: they take fifty times the memory of a letter


class JsonNumber(str):
    """A JSON number as it is spelled in the file: reading it as a float could lose digits."""

    __slots__ = ()


class _Twice(Exception):
    """An object has a key twice; it holds the key."""


def _each_key_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Of a key that is there twice, one value would pass with its true text."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _Twice(next(key for key in keys if keys.count(key) > 1))
    return found


_DECODER = json.JSONDecoder(
    parse_int=JsonNumber,
    parse_float=JsonNumber,
    parse_constant=JsonNumber,
    object_pairs_hook=_each_key_once,
)


def read_object(line: str, where: str) -> dict[str, object]:
    """The object that a line holds.

    >>> read_object('{"n": 1e400, "text": "hi"}', "line 1")
    {'n': '1e400', 'text': 'hi'}
    """
    if sum(map(line.count, ",[{")) > _MOST_VALUES:
        raise InputError(f"{where} holds more than {_MOST_VALUES:,} values; split it")
    try:
        found = _DECODER.decode(line)
    except json.JSONDecodeError as error:
        raise InputError(
            f"bad JSON on {where}, column {error.pos + 1}: {error.msg[:1].lower()}{error.msg[1:]}; "
            "each line must be one whole object"
        ) from None
    except _Twice as error:
        raise InputError(f"{where} has the key {error.args[0]!r} twice; keep one") from None
    except RecursionError:
        raise InputError(f"{where} is nested too deeply; flatten it") from None
    if not isinstance(found, dict):
        raise InputError(
            f'{where} is not a JSON object; write each record as one, as in {{"text": ...}}'
        )
    return found


class JsonlSource(LineSource):
    """Each line is a record, and may have keys of its own."""

    def __init__(self, file: InputFile, layout: Layout, format: Format) -> None:
        super().__init__(file, layout, format)
        self.names = None
        self._lines = file.lines(layout.encoding)
        self._keys: dict[str, None] = {}  # all that were seen, in order

    @property
    def copied(self) -> tuple[str, ...]:
        """Keys that were met so far and are written with their values."""
        written = filter(self.layout.writes, self._keys)
        return tuple(key for key in written if key not in self.layout.columns)

    def rows(self) -> Iterator[Row]:
        """Every object."""
        some = False
        for number, line in enumerate(self._lines, 1):
            if not line.isspace():
                some = True
                yield self._row(line, f"line {number}")
        if not some:
            raise InputError(f"{self.name} has no records; give at least one")
        for name in self.layout.keep or ():
            if name not in self._keys:  # most likely misspelled
                raise InputError(
                    f"no record of {self.name} has the key {name!r}; they have "
                    f"{listed(list(self._keys))}; correct `keep_columns=`"
                )

    def _row(self, line: str, place: str) -> Row:
        layout, where = self.layout, f"{place} of {self.name}"
        found = read_object(line, where)
        if not found.keys() <= self._keys.keys():
            self._keys |= dict.fromkeys(found)
            self.not_copied = tuple(key for key in self._keys if not layout.writes(key))
        texts = []
        for column in layout.columns:
            value = _value(found, column, where, layout.option)
            if value is not None and not _is_text(value):
                raise InputError(
                    f"{where}: {column!r} is {_kind(value)}, expected a string or null; "
                    f"give the text a key of its own, or choose another with {layout.option}"
                )
            texts.append(None if value is None else str(value))
        name = self._name(found, layout.id_column, where, "`id_column=`")
        person = self._name(found, layout.person_column, where, "`person_column=`")
        values = {
            key: None if key in layout.columns else value
            for key, value in found.items()
            if layout.writes(key)
        }
        return Row(tuple(texts), values, len(line), place, name or "", person)

    def _name(
        self, found: dict[str, object], column: str | None, where: str, option: str
    ) -> str | None:
        """The string or whole number of a column, where one is asked for."""
        if column is None:
            return None
        value = _value(found, column, where, option)
        if not (_is_text(value) or (isinstance(value, JsonNumber) and value.lstrip("-").isdigit())):
            raise InputError(
                f"{where}: {column!r} is {_kind(value)}, expected a string or a whole number"
            )
        return str(value)


class JsonlEncoder(LineEncoder):
    """Writes objects, a line each; from other formats with one member a column."""

    def lines(self, batch: Batch, texts: Sequence[str | None]) -> Iterator[str]:
        """The batch, a string an object."""
        for i, row in enumerate(batch.columns.rows(texts)):
            try:
                line = _spelled(row)
            except (ValueError, RecursionError):
                raise OutputError(
                    f"{batch.place(i)} holds NaN or infinity, or is nested too deeply for JSON; "
                    "write the input's own format"
                ) from None
            yield line + "\n"


def _spelled(value: object) -> str:
    """A value in JSON; a number that was read as it is spelled keeps its digits."""
    if isinstance(value, JsonNumber):
        return str(value)
    if isinstance(value, dict):
        members = (f"{_spelled(key)}: {_spelled(inner)}" for key, inner in value.items())
        return "{" + ", ".join(members) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_spelled, value)) + "]"
    if isinstance(value, str) and not _is_text(value):
        return json.dumps(value)  # half of a broken emoji: an escape can hold it
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _value(found: dict[str, object], key: str, where: str, option: str) -> object:
    if key not in found:
        keys = listed(list(found)) or "no keys"
        raise InputError(f"{where} has no key {key!r}; it has {keys}; choose with {option}")
    return found[key]


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
    return "an object"
