"""How uneven a vocabulary is: sparse and dense words (Mahalanobis paper, Appendix A, Table 5)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from inkblur.documents.analysis import known_id
from inkblur.documents.tokens import tokenize
from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.types import NULL_ID, Array, Ids, whole

EXTREMES = 50  # the paper's number of sparsest and densest words
_BLOCK = 1024  # words whose distances to the vocabulary are held at a time


@dataclass(frozen=True, slots=True)
class Density:
    """Table 5 for one vocabulary and, where texts were given, one collection.

    A word's d is the Euclidean distance to the nearest *other* word: largest for the sparsest
    words, smallest for the densest. Words that share a vector have d = 0 and make ratios infinite.
    """

    embedding: str
    vocabulary: int
    extremes: int  # how many words count as sparsest and densest
    largest: float  # d_max
    smallest: float  # d_min
    sparse_mean: float  # d_:50, mean d of the sparsest
    dense_mean: float  # d_-50:, mean d of the densest
    same_vector: int  # words at distance 0 from another
    sparsest: tuple[str, ...]  # sparsest first
    densest: tuple[str, ...]  # densest first
    records: int | None = None  # texts read
    mean_share: float | None = None  # p_:50: share of records holding a sparse word, mean over them
    any_share: float | None = None  # share of records holding at least one of them

    @property
    def extreme_ratio(self) -> float:
        """d_max / d_min."""
        return _ratio(self.largest, self.smallest)

    @property
    def mean_ratio(self) -> float:
        """d_:50 / d_-50:."""
        return _ratio(self.sparse_mean, self.dense_mean)

    def to_json(self) -> dict[str, Any]:
        """A JSON object; an infinite ratio becomes null."""
        ratios = {"extreme_ratio": self.extreme_ratio, "mean_ratio": self.mean_ratio}
        finite = {name: value if math.isfinite(value) else None for name, value in ratios.items()}
        return {**asdict(self), **finite}


def density(
    embedding: Embedding, texts: Iterable[str] | None = None, *, extremes: int = EXTREMES
) -> Density:
    """The spread of nearest-word distances, and how many texts hold one of the sparsest words.

    >>> table = Embedding(["a", "b", "c"], [[0.0], [1.0], [4.0]], name="toy")
    >>> density(table, ["c b", "a", "b", "b"], extremes=1).mean_share
    0.25
    """
    extremes = whole(extremes, "extremes")
    if 2 * extremes > len(embedding):
        raise ParameterError(
            f"{extremes} sparsest and {extremes} densest words need a vocabulary of "
            f"{2 * extremes}, {embedding.name} has {len(embedding)}"
        )
    distances = nearest_distances(embedding)
    order = np.argsort(distances, kind="stable")
    dense, sparse = order[:extremes], order[::-1][:extremes]
    records, mean_share, any_share = (
        (None, None, None) if texts is None else _shares(embedding, sparse, texts)
    )
    return Density(
        embedding=embedding.name,
        vocabulary=len(embedding),
        extremes=extremes,
        largest=float(distances[sparse[0]]),
        smallest=float(distances[dense[0]]),
        sparse_mean=float(distances[sparse].mean()),
        dense_mean=float(distances[dense].mean()),
        same_vector=int((distances == 0).sum()),
        sparsest=tuple(embedding.words[i] for i in sparse.tolist()),
        densest=tuple(embedding.words[i] for i in dense.tolist()),
        records=records,
        mean_share=mean_share,
        any_share=any_share,
    )


def nearest_distances(embedding: Embedding) -> Array:
    """Euclidean distance of every word to the nearest other word, (words,).

    The engine's search would find each word itself. Float64 products rank the others here; the
    winner's distance comes from the difference, because products lose the digits of a small one.
    """
    vectors = embedding.vectors.astype(np.float64) - embedding.null_vector
    halves = np.einsum("ij,ij->i", vectors, vectors) / 2
    distances = np.empty(len(vectors))
    for start in range(0, len(vectors), _BLOCK):
        block = vectors[start : start + _BLOCK]
        scores = block @ vectors.T
        scores -= halves  # larger is nearer: |a - b|^2 = |a|^2 - 2 score
        rows = np.arange(len(block))
        scores[rows, start + rows] = -np.inf
        nearest = np.argmax(scores, axis=1)
        gaps = embedding.vectors[start : start + _BLOCK].astype(np.float64)
        gaps -= embedding.vectors[nearest]
        distances[start : start + _BLOCK] = np.linalg.norm(gaps, axis=1)
    return distances


def _shares(embedding: Embedding, sparse: Ids, texts: Iterable[str]) -> tuple[int, float, float]:
    holders = dict.fromkeys(sparse.tolist(), 0)
    records = holding_any = 0
    for text in texts:
        records += 1
        found = {known_id(embedding, token.text) for token in tokenize(text)} - {NULL_ID}
        present = found & holders.keys()
        holding_any += bool(present)
        for id in present:
            holders[id] += 1
    if not records:
        raise ParameterError("no texts to look for sparse words in; leave texts out to skip that")
    return records, sum(holders.values()) / (records * len(holders)), holding_any / records


def _ratio(large: float, small: float) -> float:
    return large / small if small > 0 else math.inf
