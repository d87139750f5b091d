"""The 22 feature groups of WritePrints (limited): from a text to numbers about its style.

Abbasi and Chen's WritePrints (2008), in the limited form of JStylo that SynTF attacks with
(section 4.2): groups whose features could go on without end keep the `limit` commonest in the known
texts (50). Five groups are single numbers; the others are histograms, given as shares of what they
count, so that a short and a long text can be compared:

    characters, letters, digits...   share of the text's letters, digits, signs
    words, tags and their n-grams    share of the text's words, tags, n-grams
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from scipy.sparse import csr_array

from inkblur.documents.stop_words import STOP_WORDS
from inkblur.errors import ParameterError
from inkblur.evaluation.attacks.spelling import misspellings
from inkblur.evaluation.attacks.tagging import sentence_tags
from inkblur.evaluation.measures.ngrams import Counts
from inkblur.types import whole

PUNCTUATION = ".,?!:;'\""
SPECIAL = "~@#$%^&*-_=+<>[]{}()/\\|`"
LONGEST_WORD = 20  # longer ones count as this long

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_NUMBER = re.compile(r"(?<![\d])\d+(?![\d])")
Histogram = Mapping[str, float]
Measure = Callable[[str], Sequence[Histogram]]


@dataclass(slots=True)
class Reading:
    """A text taken apart once, for all groups."""

    text: str
    written: list[str] = field(init=False)  # words as written
    words: list[str] = field(init=False)  # in lower case, straight apostrophes
    sentences: list[list[str]] = field(init=False)  # part-of-speech tags

    def __post_init__(self) -> None:
        self.written = _WORD.findall(self.text)
        self.words = [word.lower().replace("’", "'") for word in self.written]
        self.sentences = sentence_tags(self.text)


@dataclass(frozen=True, slots=True)
class Group:
    """One of the 22. `columns` None: the commonest in the known texts, up to the limit."""

    name: str
    measure: Callable[[Reading], Histogram]
    columns: tuple[str, ...] | None


def _single(name: str, measure: Callable[[Reading], float]) -> Group:
    return Group(name, lambda reading: {name: measure(reading)}, (name,))


def _share(count: int, total: int) -> float:
    return count / total if total else 0.0


def _shares(items: Iterable[str]) -> Histogram:
    counts = Counter(items)
    total = counts.total()
    return {item: times / total for item, times in counts.items()}


def _per_word(counts: Counter[str], reading: Reading) -> Histogram:
    return {item: _share(times, len(reading.words)) for item, times in counts.items()}


def _among(text: str, signs: str) -> Histogram:
    return {sign: _share(text.count(sign), len(text)) for sign in signs if sign in text}


def _numbers(reading: Reading, digits: int) -> Histogram:
    found = Counter(number for number in _NUMBER.findall(reading.text) if len(number) == digits)
    return _per_word(Counter({n: c for n, c in found.items() if n.isascii()}), reading)


def _letter_ngrams(reading: Reading, size: int) -> Histogram:
    return _shares(
        run[i : i + size]
        for word in reading.words
        for run in word.split("'")
        for i in range(len(run) - size + 1)
    )


def _ngrams(parts: Iterable[Sequence[str]], size: int) -> Histogram:
    return _shares(
        " ".join(part[i : i + size]) for part in parts for i in range(len(part) - size + 1)
    )


def _function_words(reading: Reading) -> Histogram:
    return _per_word(Counter(word for word in reading.words if word in STOP_WORDS), reading)


def _word_lengths(reading: Reading) -> Histogram:
    return _shares(str(min(len(word), LONGEST_WORD)) for word in reading.words)


_LENGTHS = tuple(str(length) for length in range(1, LONGEST_WORD + 1))
_DIGITS = tuple(string.digits)

GROUPS: tuple[Group, ...] = (
    _single("characters", lambda r: float(len(r.text))),
    _single("characters per word", lambda r: _share(sum(map(len, r.words)), len(r.words))),
    _single("share of digits", lambda r: _share(sum(map(str.isdigit, r.text)), len(r.text))),
    _single("share of letters", lambda r: _share(sum(map(str.isalpha, r.text)), len(r.text))),
    _single("share of upper case", lambda r: _share(sum(map(str.isupper, r.text)), len(r.text))),
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
    Group("misspellings", lambda r: _per_word(misspellings(r.written), r), None),
)


class WritePrintsFeatures:
    """Learns which columns there are from the known texts; then gives a row a text.

    Every column is divided by its largest value in the known texts, so that all features weigh
    alike: the number of characters would drown the rest otherwise. `measure` takes a text apart; a
    remembering one serves where the same texts are studied again and again.
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
                total: dict[str, float] = {}
                for histograms in measured:
                    for name, share in histograms[place].items():
                        total[name] = total.get(name, 0.0) + share
                ranked = sorted(total, key=lambda name: (-round(total[name], 12), name))
                names = tuple(ranked[: self.limit])
            columns.extend((group.name, name) for name in names)
        self.columns = tuple(columns)
        self._place = {column: i for i, column in enumerate(columns)}
        raw = self._rows(measured)
        largest = np.zeros(len(columns))
        np.maximum.at(largest, raw.indices, raw.data)
        self._scale = np.where(largest > 0, largest, 1.0)
        return self._scaled(raw)

    def fit(self, texts: Sequence[str]) -> Self:
        """Choose the columns."""
        self.fit_transform(texts)
        return self

    def transform(self, texts: Sequence[str]) -> Counts:
        """Rows of other texts, (texts, columns); 1 is the most that a known text had."""
        if not self.columns:
            raise ParameterError("no columns were chosen yet: call fit first")
        return self._scaled(self._rows([self._measure(text) for text in texts]))

    def _rows(self, measured: Sequence[Sequence[Histogram]]) -> Counts:
        data: list[float] = []
        indices: list[int] = []
        ends = [0]
        for histograms in measured:
            for group, histogram in zip(GROUPS, histograms, strict=True):
                for name, share in histogram.items():
                    column = self._place.get((group.name, name))
                    if column is not None:
                        indices.append(column)
                        data.append(share)
            ends.append(len(indices))
        # 32-bit places, because liblinear takes no others.
        arrays = np.array(data, np.float64), np.array(indices, np.int32), np.array(ends, np.int32)
        return csr_array(arrays, shape=(len(measured), len(self.columns)))

    def _scaled(self, rows: Counts) -> Counts:
        rows.data /= self._scale[rows.indices]
        return rows


def measured_groups(text: str) -> Sequence[Histogram]:
    """What each group measures in a text, in the order of GROUPS."""
    reading = Reading(text)
    return [group.measure(reading) for group in GROUPS]
