"""How much of the meaning is kept: how far a text moved in the space of word vectors.

For a text before, with vectors x_1..x_N, and after, with y_1..y_M (words the vocabulary knows):

    Earth Mover's distance   the least mean distance that the words have to travel; 0: none moved
    cosine of mean vectors   between sum x_i / N and sum y_j / M; 1: the same direction

Earth Mover's distance (Word Mover's) of bags X and Y of |X| and |Y| words over a ground metric d is

    E_d(X, Y) = min_F  sum_ij F_ij d(x_i, y_j)
    subject to  F >= 0,  sum_j F_ij = a_i / |X|,  sum_i F_ij = b_j / |Y|,

where a_i and b_j count how often x_i and y_j occur (Earth Mover's paper, Definition 3). Between
bags of one size the minimum is reached by a one-to-one assignment (its Lemma A1), so the answer is
a mean of N costs and no linear program is needed; other sizes are solved exactly by POT.

A mechanism that orders texts by its own encoder looks good to that encoder. So stand-ins for whole
texts have a judge that had no part in the release, and its cosines are read beside two others:
those of random pairs of true texts, which is what a release that keeps nothing reaches, and those
of each true text and its nearest in the pool, which no release through that pool can exceed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from inkblur.embeddings.table import Embedding
from inkblur.errors import InkblurError, ParameterError, needs
from inkblur.evaluation.measures.words import known_ids
from inkblur.types import Array, Ids, Vectors, counted

_STEPS = 10_000_000  # of the network simplex; POT's own limit is too low for long documents
_ROWS = 512  # true texts whose cosines with all candidates are held at once


@dataclass(frozen=True, slots=True)
class Meaning:
    """Means over the texts that could be compared."""

    earth_movers: float  # in the unit of the word vectors
    cosine: float  # in [-1, 1]; of centered vectors, for the vocabulary's mean is in every text
    compared: int  # texts
    left_out: int  # texts without a known word before or after


def meaning_kept(before: Sequence[str], after: Sequence[str], embedding: Embedding) -> Meaning:
    """Compare each text with what became of it, without function words.

    >>> table = Embedding(["cat", "dog", "sky"], [[0.0, 3.0], [4.0, 0.0], [-4.0, -3.0]], name="toy")
    >>> meaning_kept(["A cat!"], ["dog"], table).earth_movers
    5.0
    """
    if len(before) != len(after):
        raise ParameterError(
            f"{counted(len(before), 'text')} before and {len(after)} after do not match"
        )
    moved, alike = [], []
    for old, new in zip(before, after, strict=True):
        left, right = (known_ids(text, embedding, stop_words=False) for text in (old, new))
        if len(left) and len(right):
            moved.append(_distance(left, right, embedding))
            alike.append(_cosine(left, right, embedding))
    if not moved:
        raise ParameterError(
            f"no text has a word of {embedding.name} both before and after, so nothing can be "
            "compared; use an embedding of the texts' language"
        )
    means = float(np.mean(moved)), float(np.mean(alike))
    return Meaning(*means, len(moved), len(before) - len(moved))


def _distance(left: Ids, right: Ids, embedding: Embedding) -> float:
    if len(left) == len(right):  # an assignment, which needs no further library
        return earth_movers(euclidean_costs(embedding.centers(left), embedding.centers(right)))
    (rows, from_left), (columns, from_right) = (
        np.unique(ids, return_counts=True) for ids in (left, right)
    )
    costs = euclidean_costs(embedding.centers(rows), embedding.centers(columns))
    return earth_movers(costs, left=from_left, right=from_right)


def _cosine(left: Ids, right: Ids, embedding: Embedding) -> float:
    old, new = (embedding.centers(i).mean(axis=0) - embedding.null_vector for i in (left, right))
    size = float(np.linalg.norm(old) * np.linalg.norm(new))
    return float(old @ new) / size if size else 0.0


def euclidean_costs(left: Array, right: Array) -> Array:
    """||x_i - y_j|| for all rows: (N, n) and (M, n) give (N, M)."""
    return cdist(np.asarray(left, np.float64), np.asarray(right, np.float64))


def earth_movers(
    costs: ArrayLike, *, left: ArrayLike | None = None, right: ArrayLike | None = None
) -> float:
    """min <F, costs> over flows F, for costs (N, M) between the words of two documents.

    `left` (N,) and `right` (M,) say how often each row and column occurs; without them, once each.
    Only their shares matter. A metric between bags of one size; between others, a distance.

    >>> earth_movers([[1.0, 9.0], [9.0, 3.0]])
    2.0
    """
    table = np.ascontiguousarray(costs, dtype=np.float64)
    if table.ndim != 2 or table.size == 0 or not (np.isfinite(table).all() and table.min() >= 0):
        raise ParameterError(
            f"costs must be a table (words, words) of finite numbers that are not negative, got "
            f"shape {table.shape}; an empty document has no Earth Mover's distance to any other"
        )
    from_left, from_right = _shares(left, table.shape[0]), _shares(right, table.shape[1])
    once = np.ptp(from_left) == 0 and np.ptp(from_right) == 0
    if once and len(from_left) == len(from_right):  # one size, every word once
        rows, columns = linear_sum_assignment(table)
        return float(table[rows, columns].mean())
    with needs("Earth Mover's distance between texts of different sizes needs POT", "evaluation"):
        import ot  # type: ignore[import-untyped, import-not-found, unused-ignore]
    # Exact (network simplex), not the entropic approximation.
    flow, log = ot.emd(
        from_left, from_right, table, numItermax=_STEPS, log=True, check_marginals=False
    )
    if log["warning"] is not None:
        raise InkblurError(f"the optimal flow was not found: {log['warning']}")
    return float((flow * table).sum())


def _shares(weights: ArrayLike | None, size: int) -> Array:
    counts = np.ones(size) if weights is None else np.asarray(weights, dtype=np.float64)
    if counts.shape != (size,) or not (np.isfinite(counts).all() and counts.min() > 0):
        raise ParameterError(f"counts of words must be {size} finite numbers above 0")
    shares: Array = counts / counts.sum()
    return shares


class Judge(Protocol):
    """Says where texts lie."""

    @property
    def name(self) -> str:
        """What tables call it."""

    def directions(self, texts: Sequence[str]) -> Vectors:
        """Rows of length 1, (texts, dimension); 0 for a text that it cannot place."""


class WordMeans:
    """Means of word vectors, every known word counting alike."""

    def __init__(self, embedding: Embedding) -> None:
        self.embedding, self.name = embedding, embedding.name

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

    true, near = seen(placed), seen(judge.directions(pool)).T
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
