"""What every word mechanism shares: looking words up, releasing them, estimating where they go."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Self

import numpy as np

from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.guarantees import (
    ADD_UP,
    ONE_ID,
    PUBLIC_EMBEDDING,
    REAL_NUMBERS,
    SECRET_KEY,
    SEEDED,
    Guarantee,
)
from inkblur.protocols import Distribution, Release
from inkblur.rng import Rng, Rows
from inkblur.types import Array, Ids, Metric, Unit

UNGUARDED = (
    "this embedding no longer knows which texts it was adapted on, so that it can be measured on "
    "them; protect with the adapted one itself"
)


def require_rng(rng: object) -> Rng:
    """The random stream, or a clear error where something else was given."""
    if not isinstance(rng, Rng):
        raise ParameterError(
            "rng must be a random stream, made by secure_rng(), keyed_rng(key) or seeded_rng(7); "
            f"got {type(rng).__name__}"  # it may be the key itself
        )
    return rng


def for_rng(rng: Rng, guarantee: Guarantee) -> Guarantee:
    """What is promised about a release drawn from `rng`: nothing where anyone can repeat it."""
    if rng.seeded:
        return guarantee.voided(SEEDED)
    return guarantee.assuming(ONE_ID) if rng.kept else guarantee


def with_adaptations(embedding: Embedding, guarantee: Guarantee) -> Guarantee:
    """The guarantee of a mechanism over this table: an adapted one names what it shows, and why."""
    guarantee = guarantee.assuming(ADD_UP)
    for adaptation in embedding.adaptations:
        guarantee = guarantee.revealing(adaptation.reveals).assuming(adaptation.assumption)
    # A table adapted again has a corpus, but not that of the table it was made from.
    forgot = embedding.provenance.get("unguarded", False)
    if forgot or (embedding.adaptations and not embedding.corpus.size):
        return guarantee.voided(UNGUARDED)
    return guarantee


ASSUMPTIONS = (PUBLIC_EMBEDDING, SECRET_KEY, REAL_NUMBERS)
_DRAWS = 10_000  # from which a distribution is estimated


class WordMechanism(ABC):
    """A mechanism over the words of one embedding; a subclass says how ids are replaced."""

    name: str
    guarantee: Guarantee  # for one word
    batch: int = 12_000  # words a call that use it well: a file is read in such pieces
    most_epsilon: float = 1e9  # that calibration tries

    def __init__(self, embedding: Embedding) -> None:
        self.embedding = embedding
        self.vocabulary: Sequence[str] = embedding.words

    @property
    @abstractmethod
    def parameters(self) -> dict[str, float | str]:
        """The arguments that make this mechanism again, for reports and for :attr:`spec`."""

    @abstractmethod
    def replace(self, ids: Ids, rng: Rows) -> Ids:
        """Draw a replacement for each id; token i uses row i of `rng`."""

    def forget(self) -> None:
        """Remember no word that was drawn for; most mechanisms remember none."""
        return

    def pairwise(self, left: Ids, right: Ids) -> Array:
        """The guarantee's metric between words, (left, right); infinite where none is promised."""
        fill = 1.0 if self.guarantee.metric is Metric.DISCRETE else np.inf
        return np.where(left[:, None] == right[None, :], 0.0, fill)

    @property
    def diameter(self) -> float:
        """A bound on the distance between any two words in the guarantee's metric: one draw loses
        at most epsilon times it. Infinite where nobody knows one.
        """
        return 1.0 if self.guarantee.metric is Metric.DISCRETE else np.inf

    @property
    def spec(self) -> str:
        """Everything the output law depends on: it binds the random stream to this mechanism."""
        # Hashed with the key: names and values are frozen (tests/laws/test_frozen_words.py).
        arguments = " ".join(f"{k}={v!r}" for k, v in sorted(self.parameters.items()))
        return f"{self.name} {arguments} embedding={self.embedding.sha256}"

    def __repr__(self) -> str:
        arguments = ", ".join(f"{k}={v!r}" for k, v in self.parameters.items())
        return f"{type(self).__name__}({self.embedding!r}, {arguments})"

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        """Itself: a mechanism never changes, and scikit-learn's `clone` copies parameters."""
        return self

    def release(self, words: Sequence[str], rng: Rng) -> Release:
        """Replace words in order; unknown ones enter as the null word.

        Each call spends: releasing the same words again with the same `rng` draws fresh noise.
        Only whole documents (:class:`inkblur.Privatizer`) are looked for among the texts that an
        embedding was adapted on.
        """
        if isinstance(words, str) or not isinstance(words, Iterable):
            raise ParameterError(f"give a list of words, not {words!r}")
        words = list(words)
        for place, word in enumerate(words):
            if not isinstance(word, str):
                raise ParameterError(f"word {place} is a {type(word).__name__}, expected a string")
        require_rng(rng)
        ids = self.embedding.ids(words)
        out = self.replace(ids, rng.next_child(self.spec, ids.tobytes(), *words))
        guarantee = self.guarantee.lifted(Unit.SEQUENCE, passed=("the number of words",))
        return Release(tuple(self.vocabulary[i] for i in out.tolist()), for_rng(rng, guarantee))

    def survival(self, ids: Ids, rng: Rng) -> float:
        """Mean probability that these words come out unchanged, from one draw each."""
        return float((self.replace(ids, rng) == ids).mean())

    def distribution(self, word: str, rng: Rng) -> Distribution:
        """Where `word` goes, estimated from independent replacements."""
        ids = np.full(_DRAWS, self.embedding.id(word), dtype=np.int64)
        require_rng(rng)
        out = self.replace(ids, rng.next_child(self.spec, word))
        counts = np.bincount(out, minlength=len(self.vocabulary))
        return Distribution(word, counts / _DRAWS, _DRAWS)


class DiscreteMechanism(WordMechanism):
    """A mechanism whose loss is bounded between *any* two words, however far apart.

    So the word that enters may itself be drawn from a document (SynTF, Lemma 3.2).
    """

    width: int  # numbers of 64 bits, or uniforms, that one draw takes

    @abstractmethod
    def probabilities(self, ids: Ids) -> Array:
        """Where these words go, (ids, vocabulary), computed and not estimated."""

    def distribution(self, word: str, rng: Rng | None = None) -> Distribution:
        """Where `word` goes: exact, so `rng` is not used."""
        return Distribution(word, self.probabilities(self.embedding.ids([word]))[0], None)
