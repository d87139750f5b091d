"""Inference in the mechanism's own space: nearest known texts by Earth Mover's distance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from threadpoolctl import threadpool_limits

from inkblur import Embedding
from inkblur.evaluation import earth_movers, known_id
from reproduction.arrays import NULL_ID, Array

READ = 60  # words of a document that take part: exact transport grows with their cube
NEIGHBORS = 5  # for the topic (section 6)


def distances(
    left: Sequence[str], right: Sequence[str], embedding: Embedding, words: int = READ
) -> Array:
    """Earth Mover's distance between documents, (left, right), on their first `words` words.

    >>> table = Embedding(["cat", "dog"], [[0.0, 0.0], [0.0, 9.0]], name="toy")
    >>> distances(["cat cat"], ["cat dog", "dog dog"], table).tolist()
    [[4.5, 9.0]]
    """
    here, there = ([_vectors(text, embedding, words) for text in texts] for texts in (left, right))
    ends = np.cumsum([0, *(len(bag) for bag in there)])
    others = np.concatenate(there)
    squares = (others**2).sum(axis=1)
    table = np.empty((len(left), len(right)))
    with threadpool_limits(1, user_api="blas"):
        for row, bag in enumerate(here):
            # One matrix product for all documents; by differences it costs more than the transport.
            apart = (bag**2).sum(axis=1)[:, None] + squares - 2.0 * (bag @ others.T)
            costs = np.sqrt(np.maximum(apart, 0.0))
            for column in range(len(there)):
                table[row, column] = earth_movers(costs[:, ends[column] : ends[column + 1]])
    return table


def nearest_hits(table: Array) -> int:
    """How many rows are nearest to the column of the same number: authors named.

    >>> nearest_hits(np.array([[1.0, 2.0], [1.0, 2.0]]))
    1
    """
    return int((table.argmin(axis=1) == np.arange(len(table))).sum())


def majority_hits(table: Array, topics: Sequence[str]) -> int:
    """How many rows have the topic of most of their nearest columns; of equals, the nearest one's.

    >>> majority_hits(np.array([[1.0, 2.0, 3.0]] * 3), ["a", "b", "b"])
    2
    """
    hits = 0
    for row, true in enumerate(topics):
        near = [topics[column] for column in table[row].argsort(kind="stable")[:NEIGHBORS]]
        hits += Counter(near).most_common(1)[0][0] == true
    return hits


def _vectors(text: str, embedding: Embedding, words: int) -> Array:
    ids = [known_id(embedding, word) for word in text.split()]
    held = [found for found in ids if found != NULL_ID][:words]
    return embedding.vectors[held].astype(np.float64)
