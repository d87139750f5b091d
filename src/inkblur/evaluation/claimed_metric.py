"""What a word mechanism claims, worked out from its guarantee and the public vectors alone.

An audit must not ask the code under audit for the bound: a mechanism whose noise is wrong may well
measure distances wrongly too. So the metrics are written here a second time.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from inkblur.errors import ParameterError
from inkblur.evaluation.audit import Claim
from inkblur.mechanisms.base import WordMechanism
from inkblur.rng import Rng
from inkblur.types import Array, Ids, Metric, Points

_SMALL = 32  # of vocabularies up to this size all words are compared
_WORDS = 12  # sampled from larger ones
_BLOCK = 4096  # vocabulary words compared at a time


class ClaimedMetric:
    """The metric of a mechanism's guarantee, on words and on differences of vectors.

    The regularized Mahalanobis metric is |z| = sqrt(z' R^-1 z) with R = lambda S + (1 - lambda) I
    (Mahalanobis paper, Definition 3).
    """

    def __init__(self, mechanism: WordMechanism) -> None:
        self.metric = mechanism.guarantee.metric
        self._embedding = mechanism.embedding
        self._scales: Array | None = None
        if self.metric is Metric.MAHALANOBIS:
            lam = mechanism.parameters.get("lam")
            if lam is None:
                raise ParameterError(
                    f"{mechanism.name} claims a Mahalanobis guarantee but names no lambda "
                    "among its parameters, so its distances cannot be checked"
                )
            eigenvalues, self._axes = np.linalg.eigh(self._embedding.covariance)
            self._scales = np.sqrt(float(lam) * eigenvalues + (1 - float(lam)))

    def coordinates(self, differences: Points) -> Points:
        """Rows whose plain norm (Manhattan: sum of sizes) is the metric's length."""
        if self._scales is None:
            return differences
        turned: Points = differences @ self._axes
        turned /= self._scales
        return turned

    def lengths(self, differences: Points) -> Array:
        """The metric's length of each row."""
        rows = self.coordinates(differences)
        if self.metric is Metric.MANHATTAN:
            sums: Array = np.abs(rows).sum(axis=-1)
            return sums
        if self.metric in (Metric.EUCLIDEAN, Metric.MAHALANOBIS):
            norms: Array = np.sqrt(np.einsum("...i,...i->...", rows, rows))
            return norms
        raise ParameterError(f"the {self.metric.value} metric has no length of vectors")

    def between(self, left: Ids, right: Ids) -> Array:
        """Distances of words, pair by pair. Infinite between any two where nothing is claimed."""
        if self.metric in (Metric.DISCRETE, Metric.NONE):
            apart = 1.0 if self.metric is Metric.DISCRETE else math.inf
            return np.where(left == right, 0.0, apart)
        return self.lengths(self._embedding.centers(left) - self._embedding.centers(right))


def word_claim(mechanism: WordMechanism) -> Claim:
    """What a mechanism claims about two words of its vocabulary."""
    metric, embedding = ClaimedMetric(mechanism), mechanism.embedding

    def distance(left: str, right: str) -> float:
        ids = (np.array([embedding.id(word)]) for word in (left, right))
        return float(metric.between(*ids)[0])

    return Claim(
        epsilon=mechanism.guarantee.epsilon if mechanism.guarantee.private else 1.0,
        metric=metric.metric.value,
        unit="word",
        distance=distance,
    )


def word_function(mechanism: WordMechanism, rng: Rng) -> Callable[[list[str]], list[int]]:
    """Draws a word, as its id, for each word."""
    find = mechanism.embedding.id
    return lambda words: mechanism.replace(
        np.array([find(word) for word in words], dtype=np.int64), rng
    ).tolist()


def words_to_compare(mechanism: WordMechanism, rng: Rng) -> list[str]:
    """All words of a small vocabulary. Of a larger one a dozen, each with its nearest neighbor in
    the claimed metric, where the bound is smallest.
    """
    size = len(mechanism.vocabulary)
    if size <= _SMALL:
        return list(mechanism.vocabulary)
    words = np.sort(rng.child("words").permutation(size)[:_WORDS]).tolist()
    metric = ClaimedMetric(mechanism)
    near: list[int] = []
    if metric.metric not in (Metric.DISCRETE, Metric.NONE):
        blocks = [np.arange(start, min(start + _BLOCK, size)) for start in range(0, size, _BLOCK)]
        for word in words:
            distances = np.concatenate(
                [metric.between(np.full(len(block), word), block) for block in blocks]
            )
            distances[word] = np.inf
            near.append(int(np.argmin(distances)))
    return [mechanism.vocabulary[id] for id in dict.fromkeys([*words, *near])]
