"""n-dimensional Laplace noise: density proportional to exp(-epsilon * Euclidean norm)."""

from __future__ import annotations

import math

import numpy as np

from inkblur.guarantees import Guarantee
from inkblur.mechanisms.noise.sphere import on_spheres
from inkblur.rng import Rows, uniforms_from
from inkblur.types import Array, Metric, Points, positive


class LaplaceNoise:
    """Radius ~ Gamma(n, 1/epsilon), direction uniform on the sphere.

    Mathematics: f(z) = c exp(-epsilon |z|) with c = Gamma(n/2) epsilon^n / (2 pi^(n/2) Gamma(n)).
    By the triangle inequality the log-ratio of the densities around x and y never exceeds epsilon
    |x - y| (Earth Mover's paper, Definition 5 and Theorem 2).
    """

    def __init__(self, dimension: int, *, epsilon: float) -> None:
        self.epsilon = positive(epsilon, "epsilon")
        self.dimension = dimension
        self.width = dimension + 1  # n normals for the direction, one uniform for the radius
        self.guarantee = Guarantee(epsilon=self.epsilon, metric=Metric.EUCLIDEAN)
        self._log_constant = (
            math.lgamma(dimension / 2)
            + dimension * math.log(self.epsilon)
            - math.log(2)
            - dimension / 2 * math.log(math.pi)
            - math.lgamma(dimension)
        )

    def around(self, centres: Points, rng: Rows) -> Points:
        """Noisy copies of `centres`, (tokens, n)."""
        noise = spherical(len(centres), self.dimension, self.epsilon, rng)
        noise += centres
        return noise

    def log_density(self, points: Points, centres: Points) -> Array:
        """log f(points - centres), row by row."""
        density: Array = self._log_constant - self.epsilon * self.distance(points, centres)
        return density

    def distance(self, left: Points, right: Points) -> Array:
        """Euclidean distance between rows."""
        lengths: Array = np.linalg.norm(left - right, axis=-1)
        return lengths

    def pairwise(self, left: Points, right: Points) -> Array:
        """Euclidean distance between all pairs, (left, right)."""
        from scipy.spatial.distance import cdist

        lengths: Array = cdist(left, right)
        return lengths


def spherical(count: int, dimension: int, epsilon: float, rng: Rows) -> Points:
    """`count` draws of n-dimensional Laplace noise, (count, n), from n + 1 uniforms each."""
    from scipy.special import gammaincinv

    bits = rng.bits(count, dimension + 1)
    radius = gammaincinv(dimension, uniforms_from(bits[:, -1])) / epsilon
    return on_spheres(bits[:, :-1], radius)
