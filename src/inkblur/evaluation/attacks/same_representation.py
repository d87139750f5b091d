"""The attack in the mechanism's own space: whose known text is nearest, as a bag of word vectors?

1-nearest neighbor by Earth Mover's distance, or by Euclidean distance between mean vectors (Earth
Mover's paper, section 6). The search for the former is exact and skips what cannot win:

    ||mean x - mean y||  <=  E(x, y)        and        relaxed(x, y)  <=  E(x, y),

so the text that is nearest by the first bound is tried first, and then the others in the order of
the second, until a bound exceeds the best distance found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from inkblur.blas import one_thread
from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.evaluation.attacks.base import DONT_KNOW, check_fitted, checked_known
from inkblur.evaluation.measures.earth_movers import earth_movers, relaxed
from inkblur.evaluation.measures.words import known_ids
from inkblur.types import Array, Ids, choose, whole

_SLACK = 1e-5  # the two sides of a bound are computed by different roads: room for rounding


class Distance(Enum):
    """What "nearest" means between two texts."""

    EARTH_MOVERS = "earth-movers"
    EUCLIDEAN = "euclidean"


@dataclass(frozen=True, slots=True)
class _Bag:
    """The words of a text that the vocabulary knows."""

    ids: Ids  # distinct, ascending
    counts: Array  # of each
    mean: Array  # (dimension,)

    @property
    def size(self) -> int:
        return int(self.counts.sum())


class SameRepresentation:
    """The attack as an object: `fit` on known texts, `predict` on unknown ones.

    Known texts without a word of the vocabulary are left out; for an unknown one the answer is
    DONT_KNOW. Between equally near texts the one given first wins.
    """

    def __init__(
        self,
        embedding: Embedding,
        *,
        distance: Distance | str = Distance.EARTH_MOVERS,
        stop_words: bool = False,  # whether function words take part; the paper removes them
        words: int | None = None,  # cut bags to their first words, as the paper does; None: all
    ) -> None:
        self.embedding = embedding
        self.distance = choose(Distance, distance, "distance")
        self.stop_words = stop_words
        self.words = whole(words, "words") if words is not None else None
        self.name = f"same-representation-{self.distance.value}"

    def fit(self, texts: Sequence[str], authors: ArrayLike) -> Self:
        """Turn the known texts into bags of word vectors."""
        numbers = checked_known(texts, authors)
        bags = [self._bag(text) for text in texts]
        kept = [row for row, bag in enumerate(bags) if bag is not None]
        if not kept:
            raise ParameterError(
                f"no known text has a word of {self.embedding.name}; choose an embedding that has "
                "the words of these texts, or leave this attack out"
            )
        self._bags = [bag for bag in bags if bag is not None]
        self._authors = numbers[kept]
        self._means = np.stack([bag.mean for bag in self._bags])
        return self

    def predict(self, texts: Sequence[str]) -> Ids:
        """The author of the nearest known text, or DONT_KNOW."""
        check_fitted(self, "_bags")
        answers = np.full(len(texts), DONT_KNOW, dtype=np.int64)
        with one_thread():
            for row, text in enumerate(texts):
                bag = self._bag(text)
                if bag is not None:
                    answers[row] = self._authors[self._nearest(bag)]
        return answers

    def _nearest(self, bag: _Bag) -> int:
        apart = cdist(bag.mean[None], self._means)[0]
        winner = int(apart.argmin())
        if self.distance is Distance.EUCLIDEAN:
            return winner
        vectors = self._vectors(bag)
        best = self._transport(bag, vectors, winner)
        bounds = [
            (self._bound(bag, vectors, row), row)
            for row in np.flatnonzero(apart <= best + _SLACK).tolist()
            if row != winner
        ]
        for bound, row in sorted(bounds):
            if bound > best + _SLACK:
                break
            value = self._transport(bag, vectors, row)
            if value < best or (value == best and row < winner):
                best, winner = value, row
        return winner

    def _bound(self, bag: _Bag, vectors: Array, row: int) -> float:
        other = self._bags[row]
        costs = _costs(vectors, self._vectors(other))
        return relaxed(costs, left=bag.counts, right=other.counts)

    def _transport(self, bag: _Bag, vectors: Array, row: int) -> float:
        """Earth Mover's distance; bags of one size by assignment, so that they need no POT."""
        other = self._bags[row]
        costs = _costs(vectors, self._vectors(other))
        if bag.size != other.size:
            return earth_movers(costs, left=bag.counts, right=other.counts)
        rows = np.repeat(np.arange(len(bag.ids)), bag.counts.astype(np.int64))
        columns = np.repeat(np.arange(len(other.ids)), other.counts.astype(np.int64))
        return earth_movers(costs[np.ix_(rows, columns)])

    def _vectors(self, bag: _Bag) -> Array:
        return self.embedding.vectors[bag.ids].astype(np.float64)

    def _bag(self, text: str) -> _Bag | None:
        ids = known_ids(text, self.embedding, stop_words=self.stop_words)
        if not len(ids):
            return None
        distinct, counts = np.unique(ids[: self.words], return_counts=True)
        weights = counts.astype(np.float64)
        mean = weights @ self.embedding.vectors[distinct].astype(np.float64) / weights.sum()
        return _Bag(distinct, weights, mean)


def _costs(left: Array, right: Array) -> Array:
    """Euclidean distances by a matrix product: faster than by differences, exact to about 1e-6."""
    squares = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1)[None, :]
    costs: Array = np.sqrt(np.maximum(squares - 2.0 * (left @ right.T), 0.0))
    return costs
