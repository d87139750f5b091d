"""Laplace noise on each component by itself (thesis, mechanism 2)."""

from __future__ import annotations

import math

import numpy as np

from inkblur.guarantees import Guarantee
from inkblur.rng import Rows
from inkblur.types import Array, Metric, Points, positive


class ComponentNoise:
    """Independent Laplace(0, b) on every component, b = 1/epsilon.

    Mathematics: f(z) = (epsilon/2)^n exp(-epsilon |z|_1), so the log-ratio of the densities around
    x and y never exceeds epsilon times their *Manhattan* distance. The thesis (section 5.3.1,
    Algorithm 2) claims no guarantee because it measures by angle; by the Manhattan distance there
    is one. Its scale r/epsilon for "l-privacy within radius r" is b = r/l.
    """

    def __init__(self, dimension: int, *, epsilon: float) -> None:
        self.epsilon = positive(epsilon, "epsilon")
        self.dimension = dimension
        self.width = dimension
        self.guarantee = Guarantee(epsilon=self.epsilon, metric=Metric.MANHATTAN)

    def around(self, centres: Points, rng: Rows) -> Points:
        """Noisy copies of `centres`, (tokens, n), by the inverse distribution function."""
        centred = rng.rows(len(centres), self.dimension) - 0.5
        noise: Points = -np.sign(centred) * np.log1p(-2 * np.abs(centred))
        noise /= self.epsilon
        noise += centres
        return noise

    def log_density(self, points: Points, centres: Points) -> Array:
        """log f(points - centres), row by row."""
        density: Array = self.dimension * math.log(self.epsilon / 2) - self.epsilon * self.distance(
            points, centres
        )
        return density

    def distance(self, left: Points, right: Points) -> Array:
        """Manhattan distance between rows."""
        lengths: Array = np.abs(left - right).sum(axis=-1)
        return lengths

    def pairwise(self, left: Points, right: Points) -> Array:
        """Manhattan distance between all pairs, (left, right)."""
        from scipy.spatial.distance import cdist

        lengths: Array = cdist(left, right, "cityblock")
        return lengths
