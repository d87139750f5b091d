"""How near released words are to the true ones: a first look at what a release is still worth."""

from __future__ import annotations

import numpy as np

from inkblur.embeddings.table import Embedding
from inkblur.mechanisms.base import DiscreteMechanism
from inkblur.types import NULL_ID, Ids

_WORDS = 48  # that the mean is taken over: their rows of the whole vocabulary are computed
_ROWS = 16  # at a time


def expected_cosine(mechanism: DiscreteMechanism, ids: Ids) -> float | None:
    """The mean cosine between these words and what comes out for them, computed and not drawn.

    One is the same word; unrelated words are near zero. Of many words an even selection counts;
    the null word has no vector. None where no word is left.

    >>> import inkblur
    >>> table = inkblur.Embedding(["cat", "dog"], [[0.0, 1.0], [1.0, 0.0]], name="toy")
    >>> mechanism = inkblur.Staircase(table, epsilon=2.0, tau=0.5)
    >>> round(expected_cosine(mechanism, np.array([0, 1])), 3)
    0.881
    """
    known = np.sort(ids[ids != NULL_ID])
    if not len(known):
        return None
    words = known[np.unique(np.linspace(0, len(known) - 1, _WORDS).astype(np.int64))]
    vectors = mechanism.embedding.vectors
    lengths = np.linalg.norm(vectors, axis=1)
    means: list[float] = []
    for start in range(0, len(words), _ROWS):
        some = words[start : start + _ROWS]
        # The mean of unit vectors under the output's law, then one product with the true word.
        weights = mechanism.probabilities(some) / np.maximum(lengths, 1e-12)
        outputs = weights.astype(vectors.dtype) @ vectors
        true = vectors[some] / np.maximum(lengths[some], 1e-12)[:, None]
        means += np.einsum("ij,ij->i", outputs, true).tolist()
    return float(np.mean(means))


def usual_words(table: Embedding, count: int = _WORDS) -> Ids:
    """Words as they occur in a usual text, by the table's public counts: evenly over their mass."""
    counts = table.counts if table.counts is not None else np.ones(len(table))
    mass = np.cumsum(counts, dtype=np.float64)
    points = (np.arange(count) + 0.5) / count * mass[-1]
    found: Ids = np.searchsorted(mass, points).astype(np.int64)
    return found
