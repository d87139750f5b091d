"""How alike a text and what stands for it are, to a judge that had no part in the release.

A mechanism that orders texts by its own encoder looks good to that encoder. The judge is another
one, and its cosines are read beside two others: those of random pairs of true texts, which is what
a release that keeps nothing reaches, and those of each true text and its nearest in the pool, which
no release through that pool can exceed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from inkblur.embeddings.table import Embedding
from inkblur.evaluation.measures.words import known_ids
from inkblur.types import Array, Vectors

_ROWS = 512  # true texts whose cosines with all candidates are held at once


class Judge(Protocol):
    """Says where texts lie."""

    @property
    def name(self) -> str:
        """What tables call it."""
        ...

    def directions(self, texts: Sequence[str]) -> Vectors:
        """Rows of length 1, (texts, dimension); 0 for a text that it cannot place."""
        ...


class WordMeans:
    """Means of word vectors, every known word counting alike.

    >>> table = Embedding(["cat", "dog"], [[3.0, 0.0], [0.0, 3.0]], name="toy")
    >>> WordMeans(table).directions(["Cat, cat!", "?"]).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """

    def __init__(self, embedding: Embedding) -> None:
        self.embedding = embedding
        self.name = embedding.name

    def directions(self, texts: Sequence[str]) -> Vectors:
        """The directions of the means."""
        out = np.zeros((len(texts), self.embedding.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            known = known_ids(text, self.embedding, stop_words=True)
            if len(known):
                out[row] = self.embedding.centers(known).mean(axis=0)
        return _normalized(out)


class MeaningSimilarity:
    """Cosines by one judge, with what these true texts have in common taken away."""

    def __init__(self, judge: Judge, texts: Sequence[str]) -> None:
        self._judge = judge
        placed = judge.directions(texts)
        self._mean = placed.mean(axis=0)
        self._true = self._seen(placed)

    def with_texts(self, others: Sequence[str]) -> Array:
        """The cosine of each true text and the one in its place, (texts,)."""
        return self._cosines(self._seen(self._judge.directions(others)))

    def of_random_pairs(self) -> Array:
        """The cosine of each true text and another: that half of all texts further on."""
        return self._cosines(np.roll(self._true, len(self._true) // 2, axis=0))

    def with_nearest(self, candidates: Sequence[str]) -> Array:
        """The cosine of each true text and its nearest among these, (texts,)."""
        others = self._seen(self._judge.directions(candidates)).T
        blocks = range(0, len(self._true), _ROWS)
        best = [(self._true[start : start + _ROWS] @ others).max(axis=1) for start in blocks]
        return np.concatenate(best).astype(np.float64)

    def _seen(self, placed: Vectors) -> Vectors:
        """Seen from the mean of the true texts; what could not be placed stays 0."""
        return _normalized((placed - self._mean) * np.any(placed != 0, axis=1)[:, None])

    def _cosines(self, others: Vectors) -> Array:
        cosines: Array = np.einsum("ij,ij->i", self._true, others).astype(np.float64)
        return cosines


def _normalized(rows: Vectors) -> Vectors:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    normalized: Vectors = (rows / np.maximum(lengths, 1e-12)).astype(np.float32)
    return normalized
