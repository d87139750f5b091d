"""What a mechanism claims, worked out from its guarantee and the public vectors alone.

An audit must not ask the code under audit for the bound: a mechanism whose noise is wrong may well
measure distances wrongly too. So the metrics are written here a second time.
"""

from __future__ import annotations

import math

import numpy as np

from inkblur.errors import ParameterError
from inkblur.mechanisms.base import WordMechanism
from inkblur.types import Array, Ids, Metric, Points


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


def word_bounds(mechanism: WordMechanism, left: Ids, right: Ids) -> Array:
    """The claimed bound on the privacy loss between words, pair by pair."""
    distances = ClaimedMetric(mechanism).between(left, right)
    if not mechanism.guarantee.private:
        return np.where(distances == 0, 0.0, math.inf)
    return mechanism.guarantee.epsilon * distances
