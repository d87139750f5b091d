"""Euclidean distance between documents: between the means of their word vectors,

    D(X, Y) = || 1/|X| sum_i x_i  -  1/|Y| sum_j y_j ||.

Never more than Earth Mover's distance over the Euclidean ground metric (Jensen's inequality), and
cheap: one vector stands for a document.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial.distance import cdist

from inkblur.errors import ParameterError
from inkblur.types import Array


def mean_vectors(documents: Sequence[Array]) -> Array:
    """Documents as word vectors, D arrays (N_d, n), give their means (D, n)."""
    for position, document in enumerate(documents):
        if np.ndim(document) != 2 or len(document) == 0:
            raise ParameterError(
                f"document {position} has shape {np.shape(document)}; expected (words, dimension) "
                "with at least one word: an empty document has no mean"
            )
    if not documents:
        raise ParameterError("no documents were given")
    return np.stack([np.mean(document, axis=0, dtype=np.float64) for document in documents])


def document_distance(left: Array, right: Array) -> float:
    """The distance between two documents, (N, n) and (M, n).

    >>> document_distance(np.array([[0.0, 0.0], [2.0, 0.0]]), np.array([[1.0, 3.0]]))
    3.0
    """
    return float(document_distances([left], [right])[0, 0])


def document_distances(lefts: Sequence[Array], rights: Sequence[Array]) -> Array:
    """All distances: A arrays (N_a, n) and B arrays (M_b, n) give (A, B)."""
    distances: Array = cdist(mean_vectors(lefts), mean_vectors(rights))
    return distances
