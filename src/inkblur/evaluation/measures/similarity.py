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

    def directions(self, texts: Sequence[str]) -> Vectors:
        """Rows of length 1, (texts, dimension); 0 for a text that it cannot place."""


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


def meaning_cosines(
    judge: Judge, texts: Sequence[str], shown: Sequence[str], pool: Sequence[str]
) -> tuple[Array, Array, Array]:
    """Cosines of each true text with the one `shown`, another true one, and its nearest pool text.

    The true texts' mean is taken away first; what the judge cannot place stays 0.
    """
    placed = judge.directions(texts)
    mean = placed.mean(axis=0)

    def seen(rows: Vectors) -> Vectors:
        return _normalized((rows - mean) * np.any(rows != 0, axis=1)[:, None])

    def cosines(others: Vectors) -> Array:
        return np.asarray(np.einsum("ij,ij->i", true, others), np.float64)

    true = seen(placed)
    near = seen(judge.directions(pool)).T
    blocks = range(0, len(true), _ROWS)
    nearest = [(true[start : start + _ROWS] @ near).max(axis=1) for start in blocks]
    return (
        cosines(seen(judge.directions(shown))),
        cosines(np.roll(true, len(true) // 2, axis=0)),
        np.concatenate(nearest).astype(np.float64),
    )


def _normalized(rows: Vectors) -> Vectors:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    normalized: Vectors = (rows / np.maximum(lengths, 1e-12)).astype(np.float32)
    return normalized
