"""What a column may tell that was named to be copied, by the first rows: a warning, no protection.

It tells whose a text is where nearly every value differs, and what a text says where it holds the
text.
"""

from __future__ import annotations

import re
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice

from inkblur.documents.analysis import folded
from inkblur.documents.base import AnyTextPrivatizer
from inkblur.documents.stop_words import STOP_WORDS
from inkblur.documents.tokens import written_words
from inkblur.files.records import Batch
from inkblur.files.source import Source

ColumnValues = defaultdict[str, list[str]]  # of each column, a value a row
ROWS = 1000  # that are looked at
_FEWEST_ROWS = 20  # by which a column is said to differ nearly everywhere
_FEWEST = 3  # content words of a text whose repetition is no accident
_LETTERS = 8  # of a text with fewer words: scripts without spaces have one in a sentence
_LETTERS_ELSEWHERE = 20  # of a text that stands beside another row's: an answer, for one
_LETTER = re.compile(r"[^\W\d_]")


class TextAgain(str):
    """A value that holds at least half of the words of the text beside it, or all its letters; or a
    text of another row.
    """

    __slots__ = ()


def look_first(
    source: Source, batches: Iterator[Batch], blur: AnyTextPrivatizer
) -> tuple[dict[str, str], Iterator[Batch]]:
    """What the copied columns tell, and the same batches; raise if what `blur` draws from was made
    of the texts.
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
    texts = [text for batch in waiting for text in batch.texts]
    blur.refuse_own(texts, len(source.schema.columns))
    return telling_columns(values), chain(waiting, batches)


def collect_values(batch: Batch, rows: int, values: ColumnValues) -> None:
    """Add what the columns beside the texts hold in the first `rows` rows of a batch."""
    if rows <= 0:
        return
    elsewhere: set[str] = set()
    for place, row in enumerate(islice(batch.columns.others(), rows)):
        found = {name: leaves for name, value in row if (leaves := list(_leaves(value)))}
        if found and not elsewhere:
            elsewhere = {_letters(text) for text in batch.texts}
        mine = batch.records[place * batch.width : (place + 1) * batch.width] if found else ()
        said = [(_content_words(record.text), _letters(record.text)) for record in mine]
        for name, leaves in found.items():
            written = " ".join(filter(_LETTER.search, leaves))  # a row may hold a thousand numbers
            held = _content_words(written) if written else set()
            signs = _letters(written)
            again = (len(signs) >= _LETTERS_ELSEWHERE and signs in elsewhere) or any(
                2 * len(words & held) >= len(words) >= _FEWEST
                or (len(letters) >= _LETTERS and letters in signs)
                for words, letters in said
            )
            value = " ".join(leaves)
            values[name].append(TextAgain(value) if again else value)


def telling_columns(values: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The columns that tell whose a text is, or what it says, each with the reason.

    >>> telling_columns({"stars": ["5", "3"] * 20, "born": [f"19{n}" for n in range(60, 90)]})
    {'born': 'nearly every value differs, so it may tell whose a text is'}
    """
    reasons: dict[str, str] = {}
    for name, found in values.items():
        filled = [value for value in found if value.strip()]
        if 10 * sum(isinstance(value, TextAgain) for value in found) > len(found):
            reasons[name] = "it holds the words of the texts"
        elif len(filled) >= _FEWEST_ROWS and 10 * len(set(filled)) >= 9 * len(filled):
            reasons[name] = "nearly every value differs, so it may tell whose a text is"
    return reasons


def telling_of(batch: Batch) -> dict[str, str]:
    """The same for rows in memory."""
    values: ColumnValues = defaultdict(list)
    collect_values(batch, ROWS, values)
    return telling_columns(values)


def warning_lines(telling: Mapping[str, str]) -> list[str]:
    """The warnings, a sentence for each column."""
    return [f"the column {name!r} is copied: {why}" for name, why in telling.items()]


def warn_of(telling: Mapping[str, str]) -> None:
    """The warnings, where no summary says them: of the line that called the library."""
    for line in warning_lines(telling):
        warnings.warn(line, stacklevel=4)


def _content_words(text: str) -> set[str]:
    return {folded(word) for word in written_words(text)} - STOP_WORDS


def _letters(text: str) -> str:
    """The letters alone, as if nothing stood between them."""
    return "".join(filter(str.isalpha, folded(text)))


def _leaves(value: object) -> Iterator[str]:
    """Every single value below a column."""
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from _leaves(inner)
    elif isinstance(value, Iterable) and not isinstance(value, str | bytes):
        for inner in value:
            yield from _leaves(inner)
    elif value is not None:
        yield str(value)
