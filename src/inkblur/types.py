"""The nouns everybody shares: enums, array aliases and small checks on numbers.

Nothing here imports NumPy, so that the command line can list its options without it.
"""

from __future__ import annotations

import math
import numbers
import re
import sys
import unicodedata
from bisect import bisect_left
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from inkblur.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Vectors: TypeAlias = "NDArray[np.float32]"  # (words, dimension): public word vectors
Points: TypeAlias = "NDArray[np.float64]"  # (tokens, dimension): centers, noise, noisy vectors
Ids: TypeAlias = "NDArray[np.int64]"  # positions in the vocabulary; NULL_ID is the null word
Array: TypeAlias = "NDArray[np.float64]"

NULL_ID = -1  # the null word: the vocabulary's mean, a fixed public point outside the vocabulary


EXACT = "exact"  # a length: as many words as the text has
# Released texts have one of these sizes, each a quarter above the last and rounded up.
SIZES = tuple(-(-8 * 5**step // 4**step) for step in range(64))


class Metric(Enum):
    """What the guarantee measures distance between words with."""

    EUCLIDEAN = "euclidean"
    MAHALANOBIS = "mahalanobis"  # regularized: sqrt(x' (lambda S + (1 - lambda) I)^-1 x)
    MANHATTAN = "manhattan"
    DISCRETE = "discrete"  # every two words are at distance 1: plain differential privacy
    NONE = "none"  # no guarantee


class Unit(Enum):
    """What two inputs are compared: this decides how word distances add up."""

    WORD = "word"
    SEQUENCE = "sequence"  # the sum over positions, between texts of one length
    BAG = "bag"  # N times Earth Mover's, between bags of one size N
    TEXT = "text"  # any two texts: one draw for a whole text
    VECTOR = "vector"  # any two documents: a synthetic term-frequency vector of N terms


class Piece(Enum):
    """What one draw replaces."""

    WORD = "word"
    TEXT = "text"


class ReleaseKind(Enum):
    """What is released."""

    SEQUENCE = "sequence"
    BAG = "bag"
    TF = "tf"


class Strength(Enum):
    """A plain-words choice of epsilon, by the risk that was measured at it."""

    LIGHT = "light"
    MEDIUM = "medium"
    STRONG = "strong"


class Morphology(Enum):
    """What becomes of a word's spelling before a tf release looks it up."""

    LEMMA = "lemma"  # its dictionary form
    LOWER = "lower"  # lower case
    AS_IS = "as-is"  # nothing


class Weighting(Enum):
    """What a term of a document counts in a tf release."""

    TF = "tf"  # how often it occurs
    TFIDF = "tf-idf"  # that, times ln((1 + N) / (1 + documents with it)) + 1 over the reference


class Bounding(Enum):
    """How the exponential mechanism turns a similarity into a rating in [0, 1]."""

    CLIP = "clip"
    RESCALE = "rescale"


E = TypeVar("E", bound=Enum)


def choose(kind: type[E], option: str | E, name: str) -> E:
    """Turn a string into its enum member once, at the door; unknown options fail.

    >>> choose(Metric, "euclidean", "metric")
    <Metric.EUCLIDEAN: 'euclidean'>
    """
    if isinstance(option, kind):
        return option
    for member in kind:
        if member.value == option:
            return member
    allowed = ", ".join(str(member.value) for member in kind)
    raise ParameterError(f"unknown {name} {option!r}; choose one of: {allowed}")


_LONGEST = 1_000_000  # words that a text may be filled to
_LEAST = 1e-100  # noise of a smaller epsilon could leave the range of float64


def positive(value: float, name: str) -> float:
    """A finite number above 0 that is no rounding error, or a clear error."""
    number = real(value, name)
    if not (math.isfinite(number) and number > 0):
        raise ParameterError(f"{name} must be a finite number above 0, got {value}")
    if number < _LEAST:
        raise ParameterError(f"{name} must be at least {_LEAST:g}, got {value}")
    return number


def fraction(value: float, name: str) -> float:
    """A number in [0, 1], or a clear error."""
    number = real(value, name)
    if not 0.0 <= number <= 1.0:  # NaN fails here too
        raise ParameterError(f"{name} must lie between 0 and 1, got {value}")
    return number


def inner_fraction(value: float, name: str) -> float:
    """A number between 0 and 1 that is neither, or a clear error."""
    number = real(value, name)
    if not 0.0 < number < 1.0:  # NaN fails here too
        raise ParameterError(f"{name} must lie between 0 and 1, exclusive, got {value}")
    return number


def whole(value: int, name: str) -> int:
    """A whole number of at least 1, or a clear error."""
    number = real(value, name)
    if not number.is_integer() or number < 1:  # infinity and NaN are no integers
        raise ParameterError(f"{name} must be a whole number of at least 1, got {value}")
    return int(value)


def fixed_length(value: Any) -> int:
    """The number of words that every text is cut or filled to, or a clear error."""
    length = whole(value, "length")
    if length > _LONGEST:
        raise ParameterError(
            f"length must be at most {_LONGEST:,}, got {length:,}: each text is filled to this "
            "many words and held in memory"
        )
    return length


def text_length(value: int | str | None) -> int | str | None:
    """How many words a text is released as: a number, `exact`, or None for the next of SIZES."""
    return value if value is None or value == EXACT else fixed_length(value)


def next_size(words: int) -> int:
    """What a text of so many words is filled to.

    >>> [next_size(words) for words in (0, 8, 9, 100)]
    [8, 8, 10, 117]
    """
    return int(SIZES[bisect_left(SIZES, words)])


def counted(count: int, one: str, more: str = "") -> str:
    """A number and what it counts; `more` is the plural where it is not an s.

    >>> counted(1, "word"), counted(1200, "word"), counted(0, "text repeats", "texts repeat")
    ('1 word', '1,200 words', '0 texts repeat')
    """
    return f"{count:,} {one if count == 1 else more or one + 's'}"


_MARKS = 30  # in a row: more than any script needs (Unicode's stream-safe text)
_LATE = re.compile(f"[\u0300-\U0010ffff]{{{_MARKS + 1}}}")  # no shorter run has more marks


def normalized_form(form: Literal["NFC", "NFKC", "NFKD"], text: str) -> str:
    """`unicodedata.normalize` in linear time: it sorts the marks of one letter by pairs, which
    takes minutes for a text of nothing else. Of more than 30 marks in a row the others are left
    out.

    >>> normalized_form("NFC", "e\u0301"), len(normalized_form("NFC", "e" + "\u0323" * 99))
    ('é', 30)
    """
    if _LATE.search(text):
        text = _many_marks().sub(lambda run: run[0][:_MARKS], text)
    return unicodedata.normalize(form, text)


@cache
def _many_marks() -> re.Pattern[str]:
    """Runs of what is sorted: what begins, decomposed, with a mark that is none by itself."""
    last = 0x1F000  # of all planes: behind it stand no marks with an order
    signs = map(chr, range(0x300, last))
    marks = [
        re.escape(sign)
        for sign in signs
        if unicodedata.combining(unicodedata.normalize("NFKD", sign)[0])
    ]
    return re.compile(f"[{''.join(marks)}]{{{_MARKS + 1},}}")


def is_missing(value: object) -> bool:
    """Whether a value stands for none: None, NaN, and what pandas has for them.

    >>> is_missing(None), is_missing(float("nan")), is_missing(0), is_missing("")
    (True, True, False, False)
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, numbers.Real) and value != value


def names_rows(rows: object) -> bool:
    """Whether these are a pandas Series or frame with an index that does not just count from 0."""
    pandas = sys.modules.get("pandas")  # imported already, if they are
    if pandas is None or not isinstance(rows, (pandas.Series, pandas.DataFrame)):
        return False
    return not rows.index.equals(pandas.RangeIndex(len(rows)))


def real(value: object, name: str) -> float:
    """A real number as a float; True, NumPy's True and '85' are none."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ParameterError(f"{name} must be a number, got {value!r}")
    try:
        return float(value)
    except OverflowError:  # beyond the range of float64; no caller takes negative ones
        return math.inf


@dataclass(frozen=True, slots=True)
class Record:
    """One document.

    Under one key, `id` and `text` decide the noise: give each document its own id. A file's records
    have the value of the id column, or where none is named the text's hash and how many times it
    has occurred. `place` is where it stands in its file ("line 7"), for messages.
    """

    id: str
    text: str
    place: str = field(default="", compare=False, repr=False)
    person: str | None = field(default=None, compare=False, repr=False)  # whom it belongs to

    def __str__(self) -> str:
        """What messages call it; never its text."""
        return self.place or (f"record {self.id}" if self.id else "the text")
