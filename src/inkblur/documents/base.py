"""What all releases have in common: a guarantee, and what their draws depend on."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from inkblur.documents.fingerprints import ADAPTED, refuse_corpus
from inkblur.documents.tokens import forget_pieces
from inkblur.embeddings.table import Fingerprints
from inkblur.errors import InputError, ParameterError, WeakSetting
from inkblur.guarantees import Guarantee
from inkblur.mechanisms.base import WordMechanism, for_rng, require_rng
from inkblur.mechanisms.strengths import profiled_words, survival_rate
from inkblur.rng import Rng, seeded_rng
from inkblur.types import Record

LONGEST_TEXT = 10_000_000  # characters, about twenty long novels
MOST_SURVIVAL = 0.95  # of the words
_SAMPLE = 400  # draws, a word each if there are as many: near the limit about 1 % off
_SEED = 7  # public: the sample is one of the public vocabulary
_measured: WeakKeyDictionary[WordMechanism, float] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class TextRelease:
    """One released document, and what is promised about it."""

    text: str
    guarantee: Guarantee


@dataclass(frozen=True, slots=True)
class BatchRelease:
    """Many documents, with counts for the data owner (the counts themselves are not protected)."""

    texts: tuple[Any, ...]  # or vectors of terms
    counts: Counter[str]
    words: tuple[int, ...]  # drawn for each document: what it spent
    bases: tuple[str, ...]  # what each draw was bound to besides key, id, text and settings


@dataclass(frozen=True, slots=True)
class Reading:
    """Texts as they enter a mechanism, before anything random."""

    draws: tuple[int, ...]  # that each text takes: what it spends, in epsilons
    entering: tuple[tuple[bytes, ...], ...]  # what each text's draws are bound to besides key, id,
    # text and settings: a later version may read a text otherwise, and must not meet the same noise
    state: Any  # of the privatizer that read them

    @property
    def bases(self) -> tuple[str, ...]:
        """A digest of what enters for each text: what was read otherwise draws anew, which the
        ledger has to count.
        """
        return tuple(map(_digest, self.entering))


def _digest(entering: tuple[bytes, ...]) -> str:
    digest = blake2b(digest_size=16)
    for part in entering:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()


class AnyPrivatizer(ABC):
    """Releases texts, as texts or as vectors."""

    mechanism: Any  # of words, or of the texts of a pool
    length: int | None  # draws for every text; None: as many as it has words

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What is promised about each text."""

    @property
    @abstractmethod
    def spec(self) -> str:
        """Everything the output law depends on: binds each record's stream to this release."""

    @property
    def bound(self) -> bool:
        """Whether a draw depends on more than key, id, text and settings: a retry may differ."""
        return False

    @property
    def hides_length(self) -> bool:
        """Whether a missing or empty text comes out like any other."""
        return self.length is not None

    @property
    def fewest(self) -> int:
        """How much is drawn for an empty text."""
        return self.length or 0

    @property
    def largest_loss(self) -> float:
        """Of one draw, between any two words or texts; infinite where nobody knows a bound."""
        loss: float = self.guarantee.epsilon * self.mechanism.diameter
        return loss

    @property
    def unbounded(self) -> str:
        """Why no loss covers all that a text's release shows but its size; empty where one does."""
        if math.isfinite(self.largest_loss):
            return ""
        return f"nobody knows how far apart two words can be for {self.mechanism.name}"

    @property
    def corpora(self) -> list[tuple[Fingerprints, str]]:
        """Public texts that something was learned from, and what: they cannot be protected."""
        return [(self.mechanism.embedding.corpus, ADAPTED)]

    @abstractmethod
    def read(self, texts: Sequence[str]) -> Reading:
        """The texts as they enter the mechanism; no randomness."""

    @abstractmethod
    def draw(self, reading: Reading, streams: Sequence[Rng]) -> tuple[Any, Counter[str]]:
        """What comes out for each text, drawn from a stream of its own, and what became of its
        words, for the data owner.
        """

    def streams(
        self, records: Sequence[Record], reading: Reading, rng: Rng | Sequence[Rng]
    ) -> list[Rng]:
        """Each record's own noise: a function of key, settings, id, text and what enters alone.
        Records of several callers have a key each.
        """
        spec, keys = self.spec, [rng] * len(records) if isinstance(rng, Rng) else rng
        return [
            key.child(spec, record.id, record.text, *entering)
            for key, record, entering in zip(keys, records, reading.entering, strict=True)
        ]

    def check_records(self, records: Sequence[Record]) -> None:
        """Raise where a record is none, where its text is too long to be held in memory, or where
        something was learned from it.
        """
        for place, record in enumerate(records):
            if not isinstance(record, Record):
                raise ParameterError(
                    f"record {place} must be a Record(id, text), got {type(record).__name__}"
                )
            if not isinstance(record.id, str) or not isinstance(record.text, str):
                raise ParameterError(
                    f"record {place} must have two strings, id and text; it has "
                    f"{type(record.id).__name__} and {type(record.text).__name__}"
                )
            if len(record.text) > LONGEST_TEXT:
                raise InputError(
                    f"{record} has {len(record.text):,} characters; the most is "
                    f"{LONGEST_TEXT:,}, because a text is held in memory whole: split it"
                )
        for corpus, learned in self.corpora:
            refuse_corpus(records, corpus, learned)

    def guaranteed(self, rng: Rng) -> Guarantee:
        """The guarantee of a release drawn from `rng`: a seeded one promises nothing."""
        return for_rng(rng, self.guarantee)

    def refuse_weak(self, *, accept_weak: bool) -> None:
        """Raise where nearly every word would stay, unless that is accepted."""
        refuse_weak(self.mechanism, accept_weak=accept_weak)

    def forget(self) -> None:
        """Remember nothing of the texts that were read and drawn, which is kept to be fast: callers
        that share a privatizer would learn each other's words by the time that theirs take.
        """
        forget_pieces()

    def refuse_own(self, texts: Sequence[str], columns: int = 1) -> None:
        """Raise where what comes out was made from these texts, as a pool may have been, or from
        those of one of their columns: so many texts of a row follow each other.
        """
        return


class AnyTextPrivatizer(AnyPrivatizer):
    """Releases texts as texts."""

    def release(self, text: str, rng: Rng) -> TextRelease:
        """One text. Each call spends: the same text again draws fresh noise."""
        if not isinstance(text, str):
            raise ParameterError(f"the text must be a string, got {type(text).__name__}")
        require_rng(rng)
        batch = self.release_batch([Record("", text)], rng.next_child(self.spec))
        return TextRelease(batch.texts[0], self.guaranteed(rng))

    def release_batch(self, records: Sequence[Record], rng: Rng) -> BatchRelease:
        """Many records. A record's noise depends on key, id, text and settings alone, so the same
        record comes out the same in any batch, and drawing it again with the same key spends
        nothing. Under one key an id must name one record only.
        """
        require_rng(rng)
        self.check_records(records)
        reading = self.read([record.text for record in records])
        texts, counts = self.draw(reading, self.streams(records, reading, rng))
        return BatchRelease(tuple(texts), counts, reading.draws, reading.bases)


def expected_survival(mechanism: WordMechanism) -> float:
    """The share of words that come out unchanged, on an even sample of the public vocabulary.

    Of an adapted embedding, only words with a label profile: those are the words of texts.
    """
    if mechanism not in _measured:
        words = profiled_words(mechanism.embedding)
        order = seeded_rng(_SEED).child("weakness").permutation(len(words))
        _measured[mechanism] = survival_rate(mechanism, np.resize(words[order], _SAMPLE))
    return _measured[mechanism]


def refuse_weak(mechanism: WordMechanism, *, accept_weak: bool = False) -> None:
    """Raise :class:`WeakSetting` where more than 95 % of the words are expected to stay: with a
    huge epsilon a guarantee is true and worthless.

    >>> from inkblur.embeddings.table import Embedding
    >>> from inkblur.mechanisms.laplace import Laplace
    >>> table = Embedding(["cat", "dog"], [[0.0, 0.0], [0.0, 9.0]], name="toy")
    >>> refuse_weak(Laplace(table, epsilon=0.1))
    >>> try:
    ...     refuse_weak(Laplace(table, epsilon=1e300))
    ... except WeakSetting as error:
    ...     print(str(error).split(",")[0])
    about 100% of the words would stay unchanged
    """
    if accept_weak:
        return
    share = expected_survival(mechanism)
    if share > MOST_SURVIVAL:
        raise WeakSetting(
            f"about {share:.0%} of the words would stay unchanged, which hides nothing; choose "
            "a smaller epsilon, or run it anyway with `accept_weak=True`"
        )
