"""What an attack on the author is, and how its success is counted.

The attacker holds texts whose authors are known and names the author of texts that are not. Authors
are numbers everywhere in here; :func:`number_authors` turns names into numbers once, at the door.

Rules for awkward corpora, the same for every attack:
- one author only: an error, for there is nothing to tell apart;
- an author with one known text: fine, that text is all the attacker has;
- an unknown text whose author has no known text (a stranger): no attack can name them, so it is
  counted apart and left out of the accuracy, which would otherwise look safer than it is;
- an empty text among the known: it adds nothing; an empty unknown text: the answer is DONT_KNOW.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from inkblur.errors import ParameterError
from inkblur.types import Array, Ids, counted

DONT_KNOW = -1  # an answer; never the number of an author


class Attack(Protocol):
    """Names authors of texts."""

    name: str

    def fit(self, texts: Sequence[str], authors: ArrayLike) -> Self:
        """Study texts whose authors are known: `authors` (texts,) holds numbers from 0."""
        ...

    def predict(self, texts: Sequence[str]) -> Ids:
        """The author of each text, (texts,), or DONT_KNOW."""
        ...


class ScoringAttack(Attack, ABC):
    """An attack that says how well each suspect fits a text, and names the one that fits best."""

    suspects: Ids  # ascending; known once texts were studied

    @abstractmethod
    def scores(self, texts: Sequence[str]) -> Array:
        """(texts, suspects): the larger, the likelier."""

    def named(self, texts: Sequence[str], scores: Array) -> Ids:
        """The suspect with the largest score of each text; DONT_KNOW where all are equal."""
        answers: Ids = self.suspects[scores.argmax(axis=1)]
        answers[np.ptp(scores, axis=1) == 0] = DONT_KNOW
        return answers

    def predict(self, texts: Sequence[str]) -> Ids:
        """The author of each text, (texts,), or DONT_KNOW."""
        return self.named(texts, self.scores(texts))


@dataclass(frozen=True, slots=True)
class Attribution:
    """What an attack said of the texts whose author is a suspect."""

    suspects: int
    known: int  # texts the attacker studied
    strangers: int  # other texts, by authors without any known text
    chance: float  # accuracy without looking at any text: see `guessing`
    truth: Ids  # the author of each
    answers: Ids  # who was named, or DONT_KNOW

    @property
    def accuracy(self) -> float:
        """Share of the texts whose author was named."""
        return float((self.answers == self.truth).mean())


def number_authors(names: Iterable[Hashable]) -> Ids:
    """Numbers from 0 in the order in which names first occur; None stays unknown (DONT_KNOW).

    >>> number_authors(["kim", "lee", "kim", None]).tolist()
    [0, 1, 0, -1]
    """
    numbers: dict[Hashable, int] = {}
    out = [DONT_KNOW if name is None else numbers.setdefault(name, len(numbers)) for name in names]
    return np.array(out, dtype=np.int64)


def checked_authors(texts: Sequence[str], authors: ArrayLike) -> Ids:
    """One whole number per text, or a clear error."""
    if isinstance(texts, str):
        raise ParameterError("give a list of texts, not one text")
    numbers = np.asarray(authors)
    if numbers.shape != (len(texts),):
        raise ParameterError(
            f"{counted(len(texts), 'text needs', 'texts need')} as many authors, got "
            f"{numbers.shape}"
        )
    if len(texts) and not np.issubdtype(numbers.dtype, np.integer):
        raise ParameterError(f"authors must be numbers, got {numbers.dtype}; use number_authors()")
    return numbers.astype(np.int64)


def checked_known(texts: Sequence[str], authors: ArrayLike) -> tuple[Ids, Ids]:
    """The suspects, ascending, and the place of each text's author among them, after checking that
    an attack can be built on these texts.
    """
    numbers = checked_authors(texts, authors)
    if numbers.size and numbers.min() < 0:
        row = int(np.flatnonzero(numbers < 0)[0])
        raise ParameterError(f"known text {row} has no author; leave out texts of unknown origin")
    suspects, writers = np.unique(numbers, return_inverse=True)
    if len(suspects) < 2:
        raise ParameterError(
            f"an attack needs known texts of at least 2 authors, got {len(suspects)}: "
            "with one suspect there is nothing to tell apart"
        )
    if not any(text.strip() for text in texts):
        raise ParameterError("all known texts are empty: there is nothing to study")
    return suspects, writers


def studied_rows(
    texts: Sequence[str], authors: ArrayLike, *, name: str, most: int
) -> tuple[list[str], Ids]:
    """The texts that are not empty and their authors, for an attack that trains a classifier on at
    most so many authors.
    """
    suspects, writers = checked_known(texts, authors)
    if len(suspects) > most:
        raise ParameterError(
            f"{name} takes at most {most:,} authors, got {len(suspects):,}: choose the authors "
            "with most texts, or use Koppel's attack"
        )
    rows = [row for row, text in enumerate(texts) if text.strip()]
    if len(np.unique(writers[rows])) < 2:
        raise ParameterError("fewer than 2 authors have a known text that is not empty")
    return [texts[row] for row in rows], suspects[writers[rows]]


def check_fitted(attack: object, learned: str) -> None:
    """Raise where an attack lacks what `fit` gives it."""
    if not hasattr(attack, learned):
        raise ParameterError("this attack has not studied any text yet: call fit first")


def joined_by_author(texts: Sequence[str], authors: Ids) -> list[str]:
    """Each author's texts joined into one, by rising author number."""
    return [
        "\n".join(texts[row] for row in np.flatnonzero(authors == author).tolist())
        for author in np.unique(authors[authors >= 0])
    ]


def guessing(truth: Ids, known: Ids) -> float:
    """What is named right without looking at any text, among authors with known texts.

    Either of two guesses, whichever is better: evenly among all suspects, or always one of those
    who wrote most of the known texts. An attack that learned nothing may still find the latter.

    >>> guessing(np.array([0, 0, 0, 1]), np.array([0, 0, 1])), guessing(np.arange(4), np.arange(4))
    (0.75, 0.25)
    """
    suspects, times = np.unique(known, return_counts=True)
    prolific = suspects[times == times.max()]
    return max(1.0 / len(suspects), float(np.isin(truth, prolific).mean()) / len(prolific))


def judged(answers: Ids, authors: Ids, known: Ids) -> Attribution:
    """The answers of an attack, one for each of `authors` who is among the `known`."""
    familiar = np.isin(authors, known)
    if not familiar.any():
        raise ParameterError(
            "no unknown text is by an author with known texts, so nothing can be attributed"
        )
    truth = authors[familiar]
    suspects, strangers = len(np.unique(known)), int((~familiar).sum())
    return Attribution(suspects, len(known), strangers, guessing(truth, known), truth, answers)
