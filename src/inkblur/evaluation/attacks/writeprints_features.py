"""The 22 feature groups of WritePrints (limited): from a text to numbers about its style.

Abbasi and Chen's WritePrints (2008), in the limited form of JStylo that SynTF attacks with
(section 4.2): groups whose features could go on without end keep the `limit` commonest in the known
texts (50). Five groups are single numbers (two sizes, three percentages); the others are histograms
of raw counts, as JStylo leaves them (`norm NONE`): a long text has larger ones than a short one.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from inkblur.documents.stop_words import STOP_WORDS
from inkblur.errors import ParameterError
from inkblur.evaluation.attacks.spelling import misspellings
from inkblur.evaluation.attacks.tagging import penn_tags
from inkblur.evaluation.measures.ngrams import Counts, count_matrix, most_frequent
from inkblur.types import whole

PUNCTUATION = ".,?!:;'\""
SPECIAL = "~@#$%^&*-_=+<>[]{}()/\\|`"
LONGEST_WORD = 20  # longer ones count as this long

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_NUMBER = re.compile(r"\d+")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'’”)\]]*\s+|\n\s*\n")
# Penn tokens: clitics apart (do n't, it 's), numbers in one piece, every other sign alone.
_TOKEN = re.compile(
    r"\d+(?:[.,:]\d+)*|[^\W\d_]+?(?=n't\b)|n't\b|'(?:s|m|d|ll|re|ve)\b|[^\W\d_]+|[^\w\s]|\w",
    re.IGNORECASE,
)
Histogram = Mapping[str, float]
Measure = Callable[[str], Sequence[Histogram]]


class TextReading:
    """A text taken apart once, for all groups."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.written: list[str] = _WORD.findall(text)  # words as written
        self.words = [word.lower().replace("’", "'") for word in self.written]
        self.sentences = sentence_tags(text)


def sentence_tags(text: str) -> list[list[str]]:
    """Penn Treebank tags of a text, sentence by sentence: DT NN VBD . for "The cat sat."."""
    sentences = (_TOKEN.findall(s.replace("’", "'")) for s in _SENTENCE_END.split(text))
    return [penn_tags(tokens) for tokens in sentences if tokens]


@dataclass(frozen=True, slots=True)
class Group:
    """One of the 22. `columns` None: the commonest in the known texts, up to the limit."""

    name: str
    measure: Callable[[TextReading], Histogram]
    columns: tuple[str, ...] | None


def _single(name: str, measure: Callable[[TextReading], float]) -> Group:
    return Group(name, lambda reading: {name: measure(reading)}, (name,))


def _ratio(count: int, total: int) -> float:
    return count / total if total else 0.0


def _percentage(text: str, wanted: Callable[[str], bool]) -> float:
    return 100.0 * _ratio(sum(map(wanted, text)), len(text))


def _among(text: str, signs: str) -> Histogram:
    return {sign: text.count(sign) for sign in signs if sign in text}


def _numbers(reading: TextReading, digits: int) -> Histogram:
    found = _NUMBER.findall(reading.text)
    return Counter(number for number in found if len(number) == digits and number.isascii())


def _ngrams(parts: Iterable[Sequence[str]], size: int, between: str = " ") -> Histogram:
    return Counter(
        between.join(part[i : i + size]) for part in parts for i in range(len(part) - size + 1)
    )


def _letter_ngrams(reading: TextReading, size: int) -> Histogram:
    return _ngrams((run for word in reading.words for run in word.split("'")), size, "")


def _function_words(reading: TextReading) -> Histogram:
    return Counter(word for word in reading.words if word in STOP_WORDS)


def _word_lengths(reading: TextReading) -> Histogram:
    return Counter(str(min(len(word), LONGEST_WORD)) for word in reading.words)


_LENGTHS = tuple(str(length) for length in range(1, LONGEST_WORD + 1))
_DIGITS = tuple(string.digits)

GROUPS: tuple[Group, ...] = (
    _single("characters", lambda r: float(len(r.text))),
    _single("characters per word", lambda r: _ratio(sum(map(len, r.words)), len(r.words))),
    _single("percentage of digits", lambda r: _percentage(r.text, str.isdigit)),
    _single("percentage of letters", lambda r: _percentage(r.text, str.isalpha)),
    _single("percentage of upper case", lambda r: _percentage(r.text, str.isupper)),
    Group(
        "letters",
        lambda r: _among(r.text.lower(), string.ascii_lowercase),
        tuple(string.ascii_lowercase),
    ),
    Group("digits", lambda r: _among(r.text, string.digits), _DIGITS),
    Group("two-digit numbers", lambda r: _numbers(r, 2), tuple(f"{n:02d}" for n in range(100))),
    Group("three-digit numbers", lambda r: _numbers(r, 3), tuple(f"{n:03d}" for n in range(1000))),
    Group("word lengths", _word_lengths, _LENGTHS),
    Group("special characters", lambda r: _among(r.text, SPECIAL), tuple(SPECIAL)),
    Group("punctuation", lambda r: _among(r.text, PUNCTUATION), tuple(PUNCTUATION)),
    Group("letter bigrams", lambda r: _letter_ngrams(r, 2), None),
    Group("letter trigrams", lambda r: _letter_ngrams(r, 3), None),
    Group("function words", _function_words, None),
    Group("tags", lambda r: _ngrams(r.sentences, 1), None),
    Group("tag bigrams", lambda r: _ngrams(r.sentences, 2), None),
    Group("tag trigrams", lambda r: _ngrams(r.sentences, 3), None),
    Group("words", lambda r: _ngrams([r.words], 1), None),
    Group("word bigrams", lambda r: _ngrams([r.words], 2), None),
    Group("word trigrams", lambda r: _ngrams([r.words], 3), None),
    Group("misspellings", lambda r: misspellings(r.written), None),
)


class WritePrintsFeatures:
    """Learns which columns there are from the known texts; then gives a row per text.

    `limit` is how many features of each open group become columns: the commonest ones. `measure`
    takes a text apart; a remembering one serves where the same texts are studied again and again.
    """

    def __init__(self, *, limit: int = 50, measure: Measure | None = None) -> None:
        self.limit = whole(limit, "limit")
        self._measure = measure if measure is not None else measured_groups
        self.columns: tuple[tuple[str, str], ...] = ()  # (group, feature)

    def fit_transform(self, texts: Sequence[str]) -> Counts:
        """Choose the columns from these texts and give their rows, (texts, columns)."""
        measured = [self._measure(text) for text in texts]
        columns: list[tuple[str, str]] = []
        for place, group in enumerate(GROUPS):
            names = group.columns
            if names is None:
                names = tuple(most_frequent([each[place] for each in measured], self.limit))
            columns.extend((group.name, name) for name in names)
        self.columns = tuple(columns)
        self._place = {column: i for i, column in enumerate(columns)}
        return self._rows(measured)

    def fit(self, texts: Sequence[str]) -> Self:
        """Choose the columns."""
        self.fit_transform(texts)
        return self

    def transform(self, texts: Sequence[str]) -> Counts:
        """Rows of other texts, (texts, columns)."""
        if not self.columns:
            raise ParameterError("no columns were chosen yet: call fit first")
        return self._rows([self._measure(text) for text in texts])

    def _rows(self, measured: Sequence[Sequence[Histogram]]) -> Counts:
        rows = [
            {
                (group.name, name): count
                for group, histogram in zip(GROUPS, histograms, strict=True)
                for name, count in histogram.items()
            }
            for histograms in measured
        ]
        return count_matrix(rows, self._place)


def measured_groups(text: str) -> Sequence[Histogram]:
    """What each group measures in a text, in the order of GROUPS."""
    reading = TextReading(text)
    return [group.measure(reading) for group in GROUPS]
