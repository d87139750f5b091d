"""n-dimensional Laplace noise: epsilon times the Euclidean distance (Earth Mover's paper, section
5: Definition 5, Theorem 2 and Algorithm 2).
"""

from __future__ import annotations

import numpy as np

from inkblur.embeddings.table import Embedding
from inkblur.guarantees import Guarantee
from inkblur.mechanisms.noise.sphere import CUT, UNIFORMS, on_spheres, radius_from
from inkblur.mechanisms.perturbation import Perturbation
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
        self.width = dimension + UNIFORMS  # n normals for the direction, the rest for the radius
        self.guarantee = Guarantee(
            epsilon=self.epsilon, metric=Metric.EUCLIDEAN, delta=cut_tails(dimension)
        )

    def around(self, centers: Points, rng: Rows) -> Points:
        """Noisy copies of `centers`, (tokens, n)."""
        noise = spherical(len(centers), self.dimension, self.epsilon, rng)
        noise += centers
        return noise

    def distance(self, left: Points, right: Points) -> Array:
        """Euclidean distance between rows."""
        lengths: Array = np.linalg.norm(left - right, axis=-1)
        return lengths

    def pairwise(self, left: Points, right: Points) -> Array:
        """Euclidean distance between all pairs, (left, right)."""
        from scipy.spatial.distance import cdist

        return cdist(left, right)


def spherical(count: int, dimension: int, epsilon: float, rng: Rows) -> Points:
    """`count` draws of n-dimensional Laplace noise, (count, n), from n + 3 uniforms each."""
    bits = rng.bits(count, dimension + UNIFORMS)
    radius = radius_from(uniforms_from(bits[:, dimension:]), dimension) / epsilon
    return on_spheres(bits[:, :dimension], radius)


def cut_tails(dimension: int) -> float:
    """Probability of a draw beyond what its bits reach, where noise stays at the last point.

    Outside that event the noise is the ideal one but for rounding, so this is the distance in total
    variation. A normal is cut beyond its 2^-52 quantiles on either side; in one dimension only its
    sign counts, and nothing is cut but the radius, 2^-104 on either side.
    """
    directions = dimension * 2.0**-51 if dimension > 1 else 0.0
    return directions + CUT


class Laplace(Perturbation):
    """n-dimensional Laplace noise: epsilon times the Euclidean distance (Earth Mover's paper,
    Theorem 2).

    >>> import inkblur
    >>> table = inkblur.Embedding(["cat", "dog"], [[0.0, 0.0], [0.0, 9.0]], name="toy")
    >>> mechanism = inkblur.make_mechanism("laplace", table, epsilon=50.0)
    >>> mechanism.release(["dog"], inkblur.seeded_rng(1)).words
    ('dog',)
    """

    name = "laplace"
    noise: LaplaceNoise

    def __init__(self, embedding: Embedding, *, epsilon: float) -> None:
        super().__init__(embedding, LaplaceNoise(embedding.dimension, epsilon=epsilon))
