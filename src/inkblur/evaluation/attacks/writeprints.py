"""The WritePrints attack (limited): 22 groups of style features and a classifier.

Abbasi and Chen's WritePrints (2008), in the limited form of JStylo that SynTF attacks with
(section 4.2): a multinomial naive Bayes classifier or pairwise linear SVMs, both with Weka's usual
parameters, on features of every known text. Groups whose features could go on without end keep the
`limit` commonest in the known texts (50). Five groups are single numbers (two sizes, three
percentages); the others are histograms of raw counts, as JStylo leaves them (`norm NONE`): a long
text has larger ones than a short one. Term-frequency vectors are first written out as text.

Two lists make this work offline. TextBlob (MIT) ships the lexicon of the CLiPS Pattern library
(BSD): some 94,000 words with their commonest Penn Treebank tag, and rules for the suffixes of
others; a trained tagger is more exact, this is good enough for an author's habits. pyspellchecker
(MIT) carries some 160,000 English words: a word counts as misspelled when it has at least four
letters, is written in lower case, is not in the list, and one slip turns it into a word that is.
The list is American: colour and whilst count, which serves an attack well, as an author's habits.
"""

from __future__ import annotations

import re
import string
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import cache, lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from inkblur.documents.stop_words import STOP_WORDS
from inkblur.errors import ParameterError, needs
from inkblur.evaluation.attacks.base import DONT_KNOW, check_fitted, studied_rows
from inkblur.evaluation.measures.words import Counts, count_matrix, most_frequent, trained
from inkblur.types import Array, Ids, choose, whole

PUNCTUATION = ".,?!:;'\""
SPECIAL = "~@#$%^&*-_=+<>[]{}()/\\|`"
LONGEST_WORD = 20  # longer ones count as this long

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_LEAST_LETTERS = 4  # of a misspelled word
_NUMBER = re.compile(r"\d+")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'’”)\]]*\s+|\n\s*\n")
# Penn tokens: clitics apart (do n't, it 's), numbers in one piece, every other sign alone.
_TOKEN = re.compile(
    r"\d+(?:[.,:]\d+)*|[^\W\d_]+?(?=n't\b)|n't\b|'(?:s|m|d|ll|re|ve)\b|[^\W\d_]+|[^\w\s]|\w",
    re.IGNORECASE,
)
Features = Mapping[tuple[str, str], float]  # of a text: (group, feature)
# The columns of groups with a fixed number of features; of the others the commonest are chosen.
FIXED: dict[str, Iterable[str]] = {
    "sizes and shares": (
        "characters",
        "characters per word",
        "% of digits",
        "% of letters",
        "% of upper case",
    ),
    "letters": string.ascii_lowercase,
    "digits": string.digits,
    "two-digit numbers": [f"{n:02d}" for n in range(100)],
    "three-digit numbers": [f"{n:03d}" for n in range(1000)],
    "word lengths": [str(length) for length in range(1, LONGEST_WORD + 1)],
    "special characters": SPECIAL,
    "punctuation": PUNCTUATION,
}
OPEN = (
    "letter bigrams", "letter trigrams", "function words", "tags", "tag bigrams", "tag trigrams",
    "words", "word bigrams", "word trigrams", "misspellings",
)  # fmt: skip


def sentence_tags(text: str) -> list[list[str]]:
    """Penn Treebank tags of a text, sentence by sentence: DT NN VBD . for "The cat sat."."""
    sentences = (_TOKEN.findall(s.replace("’", "'")) for s in _SENTENCE_END.split(text))
    return [penn_tags(tokens) for tokens in sentences if tokens]


def _ngrams(parts: Iterable[Sequence[str]], size: int, between: str = " ") -> Counter[str]:
    return Counter(
        between.join(part[i : i + size]) for part in parts for i in range(len(part) - size + 1)
    )


def measured_groups(text: str) -> Features:
    """What each of the 22 groups measures in a text (five of one number are joined here)."""
    written: list[str] = _WORD.findall(text)
    words = [word.lower().replace("’", "'") for word in written]
    runs = [run for word in words for run in word.split("'")]
    numbers = [number for number in _NUMBER.findall(text) if number.isascii()]
    sentences, lower = sentence_tags(text), text.lower()
    shares = {
        f"% of {name}": 100.0 * sum(map(wanted, text)) / max(1, len(text))
        for name, wanted in (
            ("digits", str.isdigit),
            ("letters", str.isalpha),
            ("upper case", str.isupper),
        )
    }
    mean = sum(map(len, words)) / max(1, len(words))
    groups: dict[str, Mapping[str, float]] = {
        "sizes and shares": {"characters": len(text), "characters per word": mean, **shares},
        "letters": {letter: lower.count(letter) for letter in string.ascii_lowercase},
        "digits": {digit: text.count(digit) for digit in string.digits},
        "two-digit numbers": Counter(number for number in numbers if len(number) == 2),
        "three-digit numbers": Counter(number for number in numbers if len(number) == 3),
        "word lengths": Counter(str(min(len(word), LONGEST_WORD)) for word in words),
        "special characters": {sign: text.count(sign) for sign in SPECIAL},
        "punctuation": {sign: text.count(sign) for sign in PUNCTUATION},
        "letter bigrams": _ngrams(runs, 2, ""),
        "letter trigrams": _ngrams(runs, 3, ""),
        "function words": Counter(word for word in words if word in STOP_WORDS),
        "tags": _ngrams(sentences, 1),
        "tag bigrams": _ngrams(sentences, 2),
        "tag trigrams": _ngrams(sentences, 3),
        "words": Counter(words),
        "word bigrams": _ngrams([words], 2),
        "word trigrams": _ngrams([words], 3),
        "misspellings": misspellings(written),
    }
    return {
        (group, name): count
        for group, counts in groups.items()
        for name, count in counts.items()
        if count
    }


class WritePrintsFeatures:
    """Learns which columns there are from the known texts; then gives a row per text.

    `limit` is how many features of each open group become columns: the commonest ones. `measure`
    takes a text apart; a remembering one serves where the same texts are studied again and again.
    """

    def __init__(
        self, *, limit: int = 50, measure: Callable[[str], Features] = measured_groups
    ) -> None:
        self.limit, self._measure = whole(limit, "limit"), measure
        self.columns: dict[tuple[str, str], int] = {}  # places of (group, feature)

    def fit_transform(self, texts: Sequence[str]) -> Counts:
        """Choose the columns from these texts and give their rows, (texts, columns)."""
        measured = [self._measure(text) for text in texts]
        columns = [(group, name) for group, names in FIXED.items() for name in names]
        for group in OPEN:
            own = [
                {name: count for (g, name), count in each.items() if g == group}
                for each in measured
            ]
            columns += [(group, name) for name in most_frequent(own, self.limit)]
        self.columns = {column: place for place, column in enumerate(columns)}
        return count_matrix(measured, self.columns)

    def transform(self, texts: Sequence[str]) -> Counts:
        """Rows of other texts, (texts, columns)."""
        if not self.columns:
            raise ParameterError("no columns were chosen yet: call fit first")
        return count_matrix([self._measure(text) for text in texts], self.columns)


def penn_tags(tokens: Sequence[str]) -> list[str]:
    """The Penn Treebank tag of each token, which its neighbors decide too.

    >>> penn_tags(["The", "cat", "sat", "."])
    ['DT', 'NN', 'VBD', '.']
    """
    tagged = _tagger().tag(" ".join(tokens), tokenize=False) if tokens else []
    return [str(tag) for _, tag in tagged]


@cache
def _tagger() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TextBlob leaves its lexicon open after reading it
        with needs("part-of-speech tags need TextBlob", "evaluation"):
            from textblob.taggers import PatternTagger
        tagger = PatternTagger()
        tagger.tag("loaded now")  # the lexicon is read on first use
    return tagger


def misspellings(words: Iterable[str]) -> Counter[str]:
    """How often each misspelled word occurs among words as they were written."""
    return Counter(word for word in words if is_misspelled(word))


@lru_cache(maxsize=1 << 18)
def is_misspelled(word: str) -> bool:
    """Whether this word, as written, is one slip away from a word of the list."""
    if len(word) < _LEAST_LETTERS or not (word.isascii() and word.isalpha() and word.islower()):
        return False
    known = _known_words()
    return word not in known and any(other in known for other in _one_slip(word))


def _one_slip(word: str) -> Iterable[str]:
    for i in range(len(word) + 1):
        head, tail = word[:i], word[i:]
        if tail:
            yield head + tail[1:]
            yield from (head + letter + tail[1:] for letter in string.ascii_lowercase)
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        yield from (head + letter + tail for letter in string.ascii_lowercase)


@cache
def _known_words() -> Any:
    with needs("misspellings need pyspellchecker", "evaluation"):
        from spellchecker import SpellChecker
    return SpellChecker().word_frequency.dictionary


class AuthorClassifier(Enum):
    """Which model learns an author's features."""

    NAIVE_BAYES = "naive-bayes"  # multinomial, Laplace smoothing, on the counts as they are
    SVM = "svm"  # linear, C = 1, one model for every pair of authors


# Naive Bayes holds one row of weights per author, the SVM one for every other author and text.
MOST_AUTHORS = {AuthorClassifier.NAIVE_BAYES: 20_000, AuthorClassifier.SVM: 1_000}


class PairwiseSvm:
    """A linear SVM for each pair of classes and a vote between them: Weka's SMO at its defaults.

    SMO first brings every column to [0, 1] by its least and largest value in the known texts. Here
    columns are only divided by that range, which keeps them sparse; the shift that is left out
    ends in each model's free constant, so the answers are the same.
    """

    def __init__(self) -> None:
        with needs("WritePrints needs scikit-learn", "evaluation"):
            from sklearn.svm import SVC
        self._model = SVC(kernel="linear", C=1.0)

    def fit(self, rows: Counts, classes: Any) -> Self:
        """Learn from rows of features, (texts, columns), and the class of each."""
        spread = rows.max(axis=0).toarray() - rows.min(axis=0).toarray()
        self._range: Array = np.where(spread > 0, spread, 1.0).ravel()
        trained(self._model, self._scaled(rows), classes)
        return self

    def predict(self, rows: Counts) -> Any:
        """The class of each row."""
        return self._model.predict(self._scaled(rows))

    def _scaled(self, rows: Counts) -> Counts:
        scaled = rows.copy()
        scaled.data /= self._range[scaled.indices]
        return scaled


def make_classifier(kind: AuthorClassifier) -> Any:
    """An estimator with `fit` and `predict`."""
    if kind is AuthorClassifier.SVM:
        return PairwiseSvm()
    with needs("WritePrints needs scikit-learn", "evaluation"):
        from sklearn.naive_bayes import MultinomialNB
    return MultinomialNB(alpha=1.0)


class WritePrints:
    """The attack as an object: `fit` on known texts, `predict` on unknown ones.

    It answers for every text that is not empty. Too many authors for the classifier are an error
    that names the limit; Koppel's attack has none.
    """

    def __init__(self, *, classifier: AuthorClassifier | str = AuthorClassifier.SVM) -> None:
        self.classifier = choose(AuthorClassifier, classifier, "classifier")
        self.name = f"writeprints-{self.classifier.value}"
        self._features = WritePrintsFeatures()

    def fit(self, texts: Sequence[str], authors: ArrayLike) -> Self:
        """Measure the known texts and train the classifier; empty texts are left out."""
        most = MOST_AUTHORS[self.classifier]
        known, writers = studied_rows(texts, authors, name=self.name, most=most)
        rows = self._features.fit_transform(known)
        self._model = trained(make_classifier(self.classifier), rows, writers)
        return self

    def predict(self, texts: Sequence[str]) -> Ids:
        """The author of each text; DONT_KNOW for an empty one."""
        check_fitted(self, "_model")
        answers = np.full(len(texts), DONT_KNOW, dtype=np.int64)
        kept = [row for row, text in enumerate(texts) if text.strip()]
        if kept:
            rows = self._features.transform([texts[row] for row in kept])
            answers[kept] = self._model.predict(rows)
        return answers
