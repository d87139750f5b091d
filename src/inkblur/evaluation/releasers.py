"""What is evaluated: releases of texts and of vectors, as an attacker and an analyst see them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from scipy.sparse import csr_array

from inkblur.documents.base import AnyPrivatizer
from inkblur.documents.privatizer import Privatizer
from inkblur.documents.tf_vector import SyntheticVectors
from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.guarantees import Guarantee, rounded_up
from inkblur.mechanisms.strengths import strength_of, typical_loss
from inkblur.pools.mechanism import PoolPrivatizer
from inkblur.rng import Rng
from inkblur.spec import ReleaseSpec
from inkblur.types import Record

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


@dataclass(frozen=True, slots=True)
class Released:
    """Texts as an attacker reads them, and vectors where those are what was released."""

    texts: tuple[str, ...]
    counts: csr_matrix | None = None  # (texts, vocabulary)
    unchanged: float | None = None  # share of the known words that came out as they went in


class Releaser(ABC):
    """Releases texts in one way."""

    name: str  # what tables call it; the same name, the same release

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What a release under a secret key promises."""

    @abstractmethod
    def release(self, texts: Sequence[str], rng: Rng) -> Released:
        """Release texts; the same texts and `rng` give the same."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Its settings."""

    def true_counts(self, texts: Sequence[str]) -> csr_matrix | None:
        """Unprotected counts, where vectors are released: what the static analyst trains on."""
        return None

    def worth(self) -> tuple[str, ...]:
        """What the guarantee is worth at the distances that occur."""
        return ()


P = TypeVar("P", bound=AnyPrivatizer)


class SpecReleaser(Releaser, Generic[P]):
    """A spec, and what releases by it."""

    def __init__(self, spec: ReleaseSpec, blur: P) -> None:
        self.spec, self.blur, self.name = spec, blur, spec.name
        self.mechanism = blur.mechanism

    @property
    def guarantee(self) -> Guarantee:
        """For one text; of vectors it is computed on first use, by a pass over the vocabulary."""
        return self.blur.guarantee

    def to_json(self) -> dict[str, Any]:
        """The spec, with the epsilon and the parameters that were chosen for it."""
        return self.spec.resolved(self.mechanism.embedding, self.mechanism).to_json()


class TextReleaser(SpecReleaser[Privatizer]):
    """Releases texts word by word."""

    def __init__(self, spec: ReleaseSpec, blur: Privatizer) -> None:
        super().__init__(spec, blur)
        found = None if spec.strength else strength_of(blur.mechanism)
        self.name = spec.name if found is None else f"{spec.name} ({found[0].value})"

    def release(self, texts: Sequence[str], rng: Rng) -> Released:
        """Blurred texts."""
        batch = self.blur.release_batch(_records(texts), rng)
        known = batch.counts["known"]
        return Released(batch.texts, None, batch.counts["unchanged"] / known if known else None)

    def worth(self) -> tuple[str, ...]:
        """The bound at typical distances."""
        return tuple(typical_loss(self.mechanism).sentences()) if self.guarantee.private else ()


class PoolReleaser(SpecReleaser[PoolPrivatizer]):
    """Releases texts of a pool."""

    def release(self, texts: Sequence[str], rng: Rng) -> Released:
        """Texts of the pool."""
        return Released(self.blur.release_batch(_records(texts), rng).texts)

    def worth(self) -> tuple[str, ...]:
        """What to expect, measured on the pool."""
        return (self.blur.expectation(),)


class VectorReleaser(SpecReleaser[SyntheticVectors]):
    """Releases term-frequency vectors; an attacker reads them written out."""

    def release(self, texts: Sequence[str], rng: Rng) -> Released:
        """Vectors, and their words written out."""
        release = self.blur.vectors(_records(texts), rng)
        return Released(
            tuple(reverse_vectorized(release.vectors, release.vocabulary)), release.vectors
        )

    def true_counts(self, texts: Sequence[str]) -> csr_matrix | None:
        """The true term frequencies over the same vocabulary."""
        return self.blur.vectorizer.transform(texts)

    def worth(self) -> tuple[str, ...]:
        """The bound between any two documents."""
        loss = rounded_up(self.guarantee.loss(1.0))
        return (f"Between any two documents the log of the likelihood ratio is at most {loss}.",)

    def to_json(self) -> dict[str, Any]:
        """The spec as it is: its mechanism has the vectorizer's words, not the table's."""
        return self.spec.to_json()


def releaser(
    spec: ReleaseSpec, embedding: Embedding
) -> TextReleaser | PoolReleaser | VectorReleaser:
    """The release that a spec describes, ready to run on these public word vectors."""
    blur = spec.privatizer(embedding)
    if isinstance(blur, PoolPrivatizer):
        return PoolReleaser(spec, blur)
    if isinstance(blur, SyntheticVectors):
        return VectorReleaser(spec, blur)
    return TextReleaser(spec, blur)


def _records(texts: Sequence[str]) -> list[Record]:
    return [Record(str(row), text) for row, text in enumerate(texts)]


def reverse_vectorized(vectors: Any, vocabulary: Sequence[str]) -> list[str]:
    """A text per row of `vectors`, (documents, vocabulary), dense or sparse, of whole counts.

    Reverse vectorization (SynTF, figure 2c): each word stands as often as its count says, in the
    order of the vocabulary. What order and signs tell stays lost; what spelling tells is back.

    >>> reverse_vectorized([[2, 0, 1], [0, 0, 0]], ["cat", "dog", "sky"])
    ['cat cat sky', '']
    """
    table = csr_array(vectors)
    if table.ndim != 2 or table.shape[1] != len(vocabulary):
        raise ParameterError(
            f"vectors of shape {table.shape} do not fit a vocabulary of {len(vocabulary)} words"
        )
    table.sort_indices()
    times = table.data.astype(np.int64)
    if (times != table.data).any() or (times < 0).any():
        raise ParameterError("counts must be whole numbers that are not negative")
    texts = []
    for row in range(table.shape[0]):
        span = slice(table.indptr[row], table.indptr[row + 1])
        repeated = np.repeat(table.indices[span], times[span])
        texts.append(" ".join(vocabulary[word] for word in repeated.tolist()))
    return texts
