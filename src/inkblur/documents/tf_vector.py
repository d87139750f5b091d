"""Synthetic term-frequency vectors (SynTF, Algorithm 1).

    repeat n times:  v ~ theta_t (a term of the document),  w ~ E(v) (a discrete mechanism)
    release the counts of the w's

Choosing v is arbitrary randomized preprocessing, and the mechanism treats all inputs as adjacent,
so one round costs the mechanism's loss between *any* two documents (Lemma 3.2); n independent
rounds cost n times that (Theorem 3.3, Corollary 3.5, eq. 1), and counting is post-processing.
Nothing else is released: n is fixed, and a document without a single known term gives n terms
too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from inkblur.documents.base import AnyPrivatizer, Reading
from inkblur.documents.vectorizer import Vectorizer
from inkblur.embeddings.table import Fingerprints
from inkblur.errors import ParameterError
from inkblur.guarantees import Guarantee
from inkblur.mechanisms.base import DiscreteMechanism, require_rng
from inkblur.rng import Bits, JoinedRows, Rng, Rows, uniforms_from
from inkblur.types import NULL_ID, Array, Ids, Record, Unit, fixed_length

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_DRAWS = 1 << 21  # in flight
Terms = tuple[Ids, Ids]  # of one vector: ids of words, ascending, and how often each


@dataclass(frozen=True, slots=True)
class VectorRelease:
    """Released vectors, and what is promised about each row."""

    vectors: csr_matrix  # int64 (documents, vocabulary); every row sums to the length
    vocabulary: tuple[str, ...]  # the columns
    ids: tuple[str, ...]  # the rows
    counts: Counter[str] = field(repr=False)  # of the true texts: a pickle has none
    promise: Callable[[], Guarantee] = field(repr=False, compare=False)

    @property
    def guarantee(self) -> Guarantee:
        """For each row. The tight bound takes a pass over all pairs of words, so it is computed
        when it is first asked for, once a mechanism.
        """
        return self.promise()

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickled release carries its guarantee, and no mechanism, key or true count."""
        parts = (self.vectors, self.vocabulary, self.ids, Counter[str]())
        return VectorRelease, (*parts, partial(_settled, self.guarantee))


def _settled(guarantee: Guarantee) -> Guarantee:
    """A promise that is computed already."""
    return guarantee


class SyntheticVectors(AnyPrivatizer):
    """Releases documents as synthetic term-frequency vectors of one length.

    The mechanism must have the vectorizer's vocabulary:

    >>> from inkblur.rng import seeded_rng
    >>> from inkblur.embeddings.table import Embedding
    >>> table = Embedding(["cat", "dog", "sky"], [[1, 0.1], [1, 0.3], [-1, 0.2]], name="toy")
    >>> vectorizer = Vectorizer(table)
    >>> from inkblur.mechanisms.exponential import Exponential
    >>> mechanism = Exponential(vectorizer.embedding, epsilon=8.0)
    >>> synthetic = SyntheticVectors(mechanism, vectorizer, length=20)
    >>> release = synthetic.vectors([Record("0", "A cat."), Record("1", "")], seeded_rng(1))
    >>> release.vectors.sum(axis=1).tolist()
    [[20], [20]]
    """

    mechanism: DiscreteMechanism
    length: int

    def __init__(self, mechanism: DiscreteMechanism, vectorizer: Vectorizer, length: int) -> None:
        if not isinstance(mechanism, DiscreteMechanism):
            raise ParameterError(
                f"a tf release needs the mechanism staircase or exponential, got {mechanism!r}: "
                "its guarantee must hold between any two words, however far apart"
            )
        if mechanism.embedding.sha256 != vectorizer.embedding.sha256:
            raise ParameterError(
                "the mechanism and the vectorizer have different vocabularies; "
                "make the mechanism from vectorizer.embedding"
            )
        self.mechanism = mechanism
        self.vectorizer = vectorizer
        self.length = fixed_length(length)

    @property
    def guarantee(self) -> Guarantee:
        """For one document: `length` times the mechanism's loss, whatever the documents."""
        return self.mechanism.guarantee.lifted(Unit.VECTOR, size=self.length)

    @property
    def spec(self) -> str:
        """Everything the output law depends on: binds each record's stream to this release."""
        return f"{self.mechanism.spec} tf length={self.length} {self.vectorizer.spec}"

    @property
    def corpora(self) -> list[tuple[Fingerprints, str]]:
        """Public texts that the vocabulary and the vectors were learned from."""
        known = list(self.vectorizer.corpora)
        same = self.mechanism.embedding is self.vectorizer.embedding
        return known if same else known + super().corpora  # it may know another corpus

    def read(self, texts: Sequence[str]) -> Reading:
        """The texts as distributions over terms."""
        compositions = [self.vectorizer.read(text) for text in texts]
        entering = tuple((ids.tobytes(), shares.tobytes()) for ids, shares, _ in compositions)
        return Reading((self.length,) * len(texts), entering, compositions)

    def draw(self, reading: Reading, streams: Sequence[Rng]) -> tuple[list[Terms], Counter[str]]:
        """The terms for each text, and how many of its own they show."""
        terms = self.terms([(ids, shares) for ids, shares, _ in reading.state], streams)
        counts: Counter[str] = Counter(drawn=len(terms))
        rows: list[Terms] = []
        for (ids, _, covered), drawn in zip(
            reading.state, terms.reshape(-1, self.length), strict=True
        ):
            rows.append(np.unique(drawn, return_counts=True))
            true = ids[ids != NULL_ID]
            shown = np.isin(true, rows[-1][0])
            counts.update({"words blur": covered.known, "unknown drop": covered.unknown})
            counts.update({"known": len(true), "unchanged": int(shown.sum())})
            counts["without known terms"] += len(true) == 0
        counts.update({"content": counts["known"], "content unchanged": counts["unchanged"]})
        return rows, counts

    def vectors(self, records: Iterable[Record], rng: Rng) -> VectorRelease:
        """Synthetic vectors of many records, in order.

        A record's draws depend on key, id, text and settings alone: the same record gives the
        same row in any batch, and drawing it again with the same key spends nothing.
        """
        require_rng(rng)
        records = list(records)
        self.check_records(records)
        step = max(1, _DRAWS // self.length)
        rows: list[Terms] = []
        counts: Counter[str] = Counter()
        for start in range(0, len(records), step):
            batch = records[start : start + step]
            reading = self.read([record.text for record in batch])
            drawn, became = self.draw(reading, self.streams(batch, reading, rng))
            rows += drawn
            counts.update(became)
        return VectorRelease(
            self.matrix(rows),
            tuple(self.mechanism.vocabulary),
            tuple(record.id for record in records),
            counts,
            lambda: self.guaranteed(rng),
        )

    def matrix(self, rows: Sequence[Terms]) -> csr_matrix:
        """Rows of terms as one matrix, (documents, vocabulary)."""
        from scipy.sparse import csr_matrix

        none = np.empty(0, dtype=np.int64)
        ends = np.cumsum([0, *(len(ids) for ids, _ in rows)])
        ids = np.concatenate([none, *(ids for ids, _ in rows)])
        counts = np.concatenate([none, *(counts for _, counts in rows)])
        return csr_matrix((counts, ids, ends), shape=(len(rows), len(self.mechanism.vocabulary)))

    def terms(self, compositions: Sequence[tuple[Ids, Array]], streams: Sequence[Rng]) -> Ids:
        """n words a document, one document after the other; a stream may serve one document.

        Compositions have no text any more, so nothing is looked for in a corpus here:
        :meth:`vectors` does that.
        """
        sizes = [self.length] * len(streams)
        supply = JoinedRows(streams, sizes)
        bits = supply.bits(self.length * len(streams), 1 + self.mechanism.width)
        first = uniforms_from(bits[:, 0])
        terms = np.empty(len(bits), dtype=np.int64)
        for row, (ids, shares) in enumerate(compositions):
            part = slice(row * self.length, (row + 1) * self.length)
            terms[part] = pick(ids, shares, first[part])
        return self.mechanism.replace(terms, _Rest(bits[:, 1:]))


class _Rest(Rows):
    """The rows a mechanism draws from, once a term was picked with the first number of each."""

    def __init__(self, bits: Bits) -> None:
        self._bits = bits
        self._given = 0

    def bits(self, count: int, width: int) -> Bits:
        part = self._bits[self._given : self._given + count]
        if part.shape != (count, width):
            raise ValueError(f"{count} rows of {width} were asked for, {part.shape} are left")
        self._given += count
        return part


def pick(ids: Ids, shares: Array, uniforms: Array) -> Ids:
    """Draws from Cat(shares) over `ids`: the inverse of the cumulative sum, one uniform each."""
    climbing = np.cumsum(shares)
    step = np.searchsorted(climbing, uniforms * climbing[-1], side="right")
    picked: Ids = ids[np.minimum(step, len(ids) - 1)]
    return picked
