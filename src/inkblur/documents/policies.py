"""What happens to each class of token: closed by default, and every opening is named.

Which words are names of people is decided by the word alone, from a public list. A decision that
read the neighboring words would let one changed word change several inputs of the mechanism, and a
guarantee for one word would then not be one for its change. The list, its source and the rule for
names that are common words as well (Will, Rose, Brown): `data/PROVENANCE.md`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, fields
from enum import Enum
from functools import cache
from importlib import resources

from inkblur.errors import ParameterError
from inkblur.types import choose, normalized_form


class Treatment(Enum):
    """What happens to a class of tokens."""

    BLUR = "blur"  # the closed default of most classes: see TokenPolicies for what it means
    DROP = "drop"  # signs: gone; words: the null word stands in their place
    KEEP = "keep"  # copied as it is, at the cost of a line in the guarantee
    NULL = "null"  # names only: the null word, through the mechanism


@dataclass(frozen=True, slots=True)
class TokenPolicies:
    """One treatment for each class. Known words that are neither names nor stop words always go
    through the mechanism.

    | class | by default | drop | keep |
    |---|---|---|---|
    | stop_words | through the mechanism | null word | copied |
    | unknown | null word | null word | copied |
    | numbers | null word | null word | copied |
    | addresses | null word | null word | copied |
    | punctuation | gone | gone | copied |
    | sentence_ends | gone | gone | a full stop where a sentence ends |

    The null word goes through the mechanism like any other, so that a text is released as large as
    it is: what is dropped leaves its place.

    Capitals and spaces never pass: words are folded to lower case, with one space between them.

    Sentence ends are gone by default because no epsilon hides them: how many words an author's
    sentences have is a habit that identifies them.

    Names of people (`names`) enter as the null word unless `names` says otherwise: BLUR sends them
    through the mechanism like any other word, KEEP copies them. A word is a name if it is on a
    public list (`is_name`), whatever stands beside it.
    """

    stop_words: Treatment = Treatment.BLUR
    unknown: Treatment = Treatment.BLUR
    numbers: Treatment = Treatment.BLUR
    addresses: Treatment = Treatment.BLUR
    punctuation: Treatment = Treatment.DROP
    sentence_ends: Treatment = Treatment.DROP
    names: Treatment = Treatment.NULL

    def __post_init__(self) -> None:
        for name in CLASSES:
            given = getattr(self, name)
            if not isinstance(given, Treatment):
                raise ParameterError(
                    f"{name} must be a Treatment, such as Treatment.KEEP, got {given!r}; "
                    "TokenPolicies.of takes names of classes"
                )
            if given not in _ALLOWED.get(name, _USUAL):
                allowed = " or ".join(t.value for t in _ALLOWED.get(name, _USUAL))
                raise ParameterError(f"{name} cannot be {_DONE[given]}; choose {allowed}")

    @classmethod
    def of(
        cls,
        *,
        keep: Iterable[str] = (),
        drop: Iterable[str] = (),
        names: str | Treatment = Treatment.NULL,
    ) -> TokenPolicies:
        """Policies from class names, as on the command line.

        >>> TokenPolicies.of(keep=["numbers"], drop=["stop-words"]).numbers
        <Treatment.KEEP: 'keep'>
        """
        given: dict[str, Treatment] = {}
        for treatment, classes in ((Treatment.KEEP, keep), (Treatment.DROP, drop)):
            if isinstance(classes, str):
                raise ParameterError(f"give a list of token classes, not the string {classes!r}")
            for name in classes:
                if name not in TOKEN_CLASSES:
                    allowed = ", ".join(TOKEN_CLASSES)
                    raise ParameterError(f"unknown token class {name!r}; choose one of: {allowed}")
                if given.setdefault(name.replace("-", "_"), treatment) is not treatment:
                    raise ParameterError(f"{name} cannot be both kept and dropped")
        return cls(names=choose(Treatment, names, "names"), **given)

    @property
    def kept(self) -> tuple[str, ...]:
        """Names of the classes that are copied as they are."""
        return tuple(name for name in CLASSES if getattr(self, name) is Treatment.KEEP)

    def passed(self) -> tuple[str, ...]:
        """What a sequence released under these policies shows unprotected, a line each."""
        return tuple(_KEPT_LINES[name] for name in self.kept)

    def spec(self) -> str:
        """The policies as text: part of what binds a record's random stream."""
        # Hashed with the key. A class that is renamed or leaves goes on here as it was, or every
        # key would draw other words than before (tests/laws/test_frozen_words.py).
        return (
            f"stop_words={self.stop_words.value} unknown={self.unknown.value} "
            f"numbers={self.numbers.value} addresses={self.addresses.value} "
            f"punctuation={self.punctuation.value} sentence_ends={self.sentence_ends.value} "
            f"spaces=blur capitals=blur names={self.names.value} names_tagger=False"
        )


CLASSES = tuple(field.name for field in fields(TokenPolicies))
# As they are named on the command line; names of people have an option of their own.
TOKEN_CLASSES = tuple(name.replace("_", "-") for name in CLASSES if name != "names")
_USUAL = (Treatment.BLUR, Treatment.DROP, Treatment.KEEP)
_ALLOWED = {
    "punctuation": (Treatment.DROP, Treatment.KEEP),
    "sentence_ends": (Treatment.DROP, Treatment.KEEP),
    "names": (Treatment.BLUR, Treatment.NULL, Treatment.KEEP),
}
_DONE = {
    Treatment.BLUR: "blurred",
    Treatment.DROP: "dropped",
    Treatment.KEEP: "kept",
    Treatment.NULL: "null words",
}
WORD_CLASSES = ("stop_words", "unknown", "numbers", "addresses")  # that may be dropped
_KEPT_LINES = {
    "stop_words": "stop words, copied word for word",
    "unknown": "words that the vocabulary does not know, copied letter for letter",
    "numbers": "everything with a digit in it (12, 4th, anna87), copied letter for letter",
    "addresses": "web and e-mail addresses and @handles, copied letter for letter",
    "punctuation": "punctuation, copied unchanged, and which of it touches a word",
    "sentence_ends": "where sentences end",
    "names": "names of people that are on the list of names, copied unchanged",
}


def is_name(word: str) -> bool:
    """Whether a folded word is on the list of names, also with a possessive 's or an accent.

    >>> [is_name(word) for word in ("john", "garcia's", "o'brien", "josé", "hope", "will")]
    [True, True, True, True, False, False]
    """
    names = _names()
    if word in names:
        return True
    if word.isascii() and "'" not in word:
        return False
    stem = word.removesuffix("'").removesuffix("'s")
    if stem[1:2] == "'" and stem[0] in "dlo":
        stem = stem.replace("'", "", 1)  # the list has obrien, dangelo
    decomposed = normalized_form("NFKD", stem)
    plain = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    return plain in names


@cache
def _names() -> frozenset[str]:
    file = resources.files("inkblur.documents") / "data" / "names.txt"
    return frozenset(file.read_text(encoding="ascii").split())
