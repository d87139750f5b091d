"""What stops a release by its first rows: copied columns that seem to say who wrote a text, or what
it says, unless kept by name; and a pool that is made of the texts.

A column is judged by its header and by the values of the first rows, nested ones included. It is a
net for mistakes, not a detector: names of people in a column called `notes` get through.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from inkblur.documents.analysis import folded
from inkblur.documents.base import AnyTextPrivatizer
from inkblur.documents.stop_words import STOP_WORDS
from inkblur.documents.tokens import written_words
from inkblur.errors import PrivacyError
from inkblur.files.records import Batch
from inkblur.files.source import Source
from inkblur.types import counted

ColumnValues = defaultdict[str, list[str]]  # by the path of names that leads to them
ROWS = 1000  # that are looked at
_FEW_ROWS = 100  # by which a column is judged to tell something that it may hold by chance
_JUDGED_BY_FEW = (
    ". This was judged by {}: in a stream of small batches name every copied column in one or the "
    "other, so that none is refused by chance"
)
_FEWEST = 3  # content words of a text whose repetition is no accident
_LETTERS = 8  # of a text with fewer words: scripts without spaces have one in a sentence
_LETTERS_ELSEWHERE = 20  # of a text that stands beside another row's: an answer, for one

_HEADERS = {
    "a name": "name names firstname lastname surname forename fullname nickname nick",
    "a user": "user users username userid login account handle screenname member customer patient",
    "an author": "author authors authorid writer poster reviewer speaker sender recipient",
    "an e-mail address": "email emails mail mailto emailaddress",
    "a phone number": "phone phones telephone tel mobile cell fax phonenumber",
    "an address": "address addresses addr street postcode zip zipcode homepage",
    "an IP address": "ip ipaddress ipaddr ipv4 ipv6 host hostname",
}
_MEANING = {word: what for what, words in _HEADERS.items() for word in words.split()}

_LETTER = re.compile(r"[^\W\d_]")
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(\.[\w-]+)+")
_VERSION = re.compile(r"@[\w.-]*\.\d+$")  # posts@v1.2, reviews@2026.11.16
_IP = re.compile(r"((\d{1,3}\.){3}\d{1,3}|([0-9a-f]{1,4}:){4,7}[0-9a-f]{1,4})", re.IGNORECASE)
_PHONE = re.compile(
    r"(?!0\.\d+$|\d\d?([/.-])\d\d?\1(19|20)\d\d$)"  # a score, a date
    r"((\+|00|\(?0)[\d ()/.-]{6,20}|\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4})"
)
_STREET = re.compile(
    r"\d+\w? .*\b(street|st|road|rd|avenue|ave|lane|ln|drive|dr|boulevard|blvd|court|way)\b"
    r"|\w*(stra(ss|ß)e|weg|gasse|platz) \d+",
    re.IGNORECASE,
)


def by_header(name: str) -> str | None:
    """What a column of this name holds, if that tells a person.

    >>> by_header("reviewerName"), by_header("user_id"), by_header("stars"), by_header("shipping")
    ('an author', 'a user', None, None)
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    words = [word for word in re.split(r"[\W_]+", spaced.lower()) if word]
    for word in (*words, "".join(words)):
        if word in _MEANING:
            return _MEANING[word]
    return None


class TextAgain(str):
    """A value that holds, with others of its row, at least half of the words of the text there, or
    all its letters; or a text of another row.
    """

    __slots__ = ()


def by_values(values: Sequence[str]) -> str | None:
    """What these values look like, if that tells a person or a text.

    One e-mail or IP address is enough; the other forms occur by chance, so many must have them.

    >>> by_values(["5", "ann@example.org"]), by_values(["2026-11-15", "4.5"])
    ('e-mail addresses', None)
    """
    if 10 * sum(isinstance(value, TextAgain) for value in values) > len(values):
        return "the words of the texts"
    full = [value.strip() for value in values if value.strip()]
    if addresses := _addresses(full):
        return addresses

    def share(form: Callable[[str], object]) -> float:
        return sum(bool(form(value)) for value in full) / max(len(full), 1)

    if share(_PHONE.fullmatch) > 0.1:
        return "phone numbers"
    if share(_STREET.fullmatch) > 0.1:
        return "street addresses"
    # A few titles repeat ("Customer Service"); names of people mostly differ.
    if share(_like_a_name) > 0.8 and len(set(full)) > 0.5 * len(full):
        return "people's names"
    return None


def _addresses(values: Iterable[str]) -> str | None:
    for value in values:
        if _MAIL.search(value):
            return "e-mail addresses"
        if _IP.fullmatch(value):
            return "IP addresses"
    return None


def refuse_name(name: str) -> None:
    """Raise where the name of a file (without .csv and the like) or of a folder holds an address.

    E-mail and IP addresses only: other forms occur by chance (0000000012.csv is no phone number),
    and a file is renamed sooner than an option is found to keep its name.
    """
    found = None if _VERSION.search(name) else _addresses([name])
    if found:
        raise PrivacyError(
            f"the names of files and folders are copied unchanged, and {name!r} looks like it "
            f"holds {found}: rename it"
        )


def _like_a_name(value: str) -> bool:
    """Two to four words in capitals, of letters alone."""
    words = value.split()
    letters = re.sub(r"[\s.'’-]", "", value).isalpha()
    return 2 <= len(words) <= 4 and letters and all(word[0].isupper() for word in words)


def refuse_identifiers(
    source: Source, batches: Iterator[Batch], blur: AnyTextPrivatizer | None = None
) -> Iterator[Batch]:
    """The same batches; raise before the first if a copied column looks like an identifier, or if
    what `blur` draws from was made of the texts.

    A JSON key that is first met later is judged by its name when it is met.
    """
    waiting: list[Batch] = []
    values: ColumnValues = defaultdict(list)
    rows = 0
    for batch in batches:
        waiting.append(batch)
        collect_values(batch, ROWS - rows, values)
        rows += len(batch)
        if rows >= ROWS:
            break
    for name in source.copied:
        values.setdefault(name, [])
    refuse_columns(values, source.layout.keep)
    if blur is not None:
        texts = [text for batch in waiting for text in batch.texts]
        blur.refuse_own(texts, len(source.schema.columns))
    judged = set(source.copied)
    yield from waiting
    for batch in batches:
        fresh = [name for name in source.copied if name not in judged]
        if fresh:
            refuse_columns(dict.fromkeys(fresh, ()), source.layout.keep)
            judged.update(fresh)
        yield batch


def refuse_rows(
    batch: Batch, copied: Sequence[str], kept: Sequence[str], blur: AnyTextPrivatizer
) -> None:
    """The same for rows in memory; `copied` are the columns that are copied with them."""
    values: ColumnValues = defaultdict(list, {name: [] for name in copied})
    collect_values(batch, ROWS, values)
    few = len(batch) < _FEW_ROWS
    refuse_columns(values, kept, _JUDGED_BY_FEW.format(counted(len(batch), "row")) if few else "")
    blur.refuse_own(batch.texts, batch.width)


def collect_values(batch: Batch, rows: int, values: ColumnValues) -> None:
    """Add what the columns beside the texts hold in the first `rows` rows of a batch."""
    if rows <= 0:
        return
    elsewhere = {_letters(text) for text in batch.texts}
    for place, row in enumerate(islice(batch.columns.others(), rows)):
        found: ColumnValues = defaultdict(list)
        for name, value in row:
            for path, leaf in _leaves(value, name):
                found[path].append(leaf)
        mine = batch.records[place * batch.width : (place + 1) * batch.width]
        said = [(_content_words(record.text), _letters(record.text)) for record in mine]
        for path, leaves in found.items():
            written = " ".join(filter(_LETTER.search, leaves))  # a row may hold a thousand numbers
            held = _content_words(written) if written else set()
            signs = _letters(written)
            again = (len(signs) >= _LETTERS_ELSEWHERE and signs in elsewhere) or any(
                2 * len(words & held) >= len(words) >= _FEWEST
                or (len(letters) >= _LETTERS and letters in signs)
                for words, letters in said
            )
            values[path] += map(TextAgain, leaves) if again else leaves


def _content_words(text: str) -> set[str]:
    return {folded(word) for word in written_words(text)} - STOP_WORDS


def _letters(text: str) -> str:
    """The letters alone, as if nothing stood between them."""
    return "".join(filter(str.isalpha, folded(text)))


def telling_columns(
    values: Mapping[str, Sequence[str]], kept: Sequence[str] = ()
) -> dict[str, str]:
    """The columns that seem to say who wrote a text, or what it says, each with the reason.

    Columns are dropped and kept whole, so a part of one counts as a reason against all of it.

    >>> telling_columns({"user": ["7"], "stars": ["5"], "meta\\0mail": ["x"]})
    {'user': 'by its name a user', 'meta': "its part 'mail', by its name an e-mail address"}
    """
    reasons: dict[str, str] = {}
    for path, found in values.items():
        column, *parts = path.split("\0")
        if column in kept or column in reasons:
            continue
        whole = by_header(column)
        named = whole or next(filter(None, map(by_header, parts)), None)
        seen = None if named else by_values(found)
        part = "" if whole or not parts else f"its part {'.'.join(parts)!r}, "
        if named:
            reasons[column] = f"{part}by its name {named}"
        elif seen:
            reasons[column] = f"{part}its values look like {seen}"
    return reasons


def refuse_columns(
    values: Mapping[str, Sequence[str]], kept: Sequence[str], advice: str = ""
) -> None:
    """Raise where a column that is not among `kept` seems to say who wrote a text, or what."""
    reasons = telling_columns(values, kept)
    if reasons:
        listed = ", ".join(f"{name!r} ({reason})" for name, reason in reasons.items())
        raise PrivacyError(
            "columns that seem to say who wrote a text, or what it says, would be copied as they "
            f"are: {listed}; leave them out with `drop_columns=`, or copy them knowingly "
            f"with `keep_columns=`{advice}"
        )


def _leaves(value: object, path: str) -> Iterator[tuple[str, str]]:
    """Every single value below a column, and the names that lead to it."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves(inner, f"{path}\0{name}")
    elif isinstance(value, Iterable) and not isinstance(value, str | bytes):
        for inner in value:
            yield from _leaves(inner, path)
    elif value is not None:
        yield path, str(value)
