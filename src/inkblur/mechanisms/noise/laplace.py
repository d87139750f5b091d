"""Laplace noise in three metrics: density proportional to exp(-epsilon * norm).

The norm is the Euclidean one, the regularized Mahalanobis one, or the sum over components.
"""

from __future__ import annotations

import math

import numpy as np

from inkblur.errors import ParameterError
from inkblur.guarantees import Guarantee
from inkblur.mechanisms.noise.sphere import CUT, UNIFORMS, on_spheres, radius_from
from inkblur.rng import Rows, uniforms_from
from inkblur.types import Array, Metric, Points, fraction, positive

_DIGITS = np.uint64(2**63 - 1)


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
        self._log_constant = (
            math.lgamma(dimension / 2)
            + dimension * math.log(self.epsilon)
            - math.log(2)
            - dimension / 2 * math.log(math.pi)
            - math.lgamma(dimension)
        )

    def around(self, centers: Points, rng: Rows) -> Points:
        """Noisy copies of `centers`, (tokens, n)."""
        noise = spherical(len(centers), self.dimension, self.epsilon, rng)
        noise += centers
        return noise

    def log_density(self, points: Points, centers: Points) -> Array:
        """log f(points - centers), row by row."""
        return self._log_constant - self.epsilon * self.distance(points, centers)

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


class MahalanobisNoise(LaplaceNoise):
    """Z = Y * R^(1/2) X with R = lambda S + (1 - lambda) I, X uniform on the sphere, Y ~ Gamma(n,
    1/epsilon).

    Mathematics: |z|_R = sqrt(z' R^-1 z) and f(z) = c |R|^(-1/2) exp(-epsilon |z|_R) with the
    constant c of the spherical case (Mahalanobis paper, Algorithm 1, Lemma 1 and Theorem 1).
    R^(1/2) multiplies the normalized X and nothing is normalized afterwards: doing so would put the
    noise back on a sphere and void the proof. S is the covariance of the public vectors scaled to
    trace n. With lambda 0 the factor is the identity and is not applied at all, so the draws equal
    the spherical ones bit for bit.

    The product with R^(1/2) is a BLAS call, whose last bits (about 1e-15 of the noise) depend on
    the batch: a replay in other batches can differ in a word that lies that close to a boundary.
    """

    def __init__(self, covariance: Array, *, epsilon: float, lam: float) -> None:
        super().__init__(len(covariance), epsilon=epsilon)
        self.lam = fraction(lam, "lambda")
        eigenvalues, vectors = np.linalg.eigh(covariance)
        shaped = self.lam * eigenvalues + (1 - self.lam)
        floor = self.dimension * np.finfo(np.float64).eps * max(1.0, float(eigenvalues[-1]))
        if shaped[0] <= floor:
            raise ParameterError(
                f"lambda {self.lam:g} needs a covariance of full rank, but this embedding's is "
                f"singular (smallest eigenvalue {eigenvalues[0]:.1e}: a direction never varies); "
                "choose a lambda below 1"
            )
        self.root: Points | None = None  # R^(1/2), symmetric; None with lambda 0
        self._whitening: Points | None = None
        if self.lam > 0:
            self.root = (vectors * np.sqrt(shaped)) @ vectors.T
            self._whitening = vectors / np.sqrt(shaped)
            self._log_constant -= 0.5 * float(np.log(shaped).sum())
        # Lemma 3 with the exact extreme eigenvalues, which is tighter than its c and m.
        self.guarantee = Guarantee(
            epsilon=self.epsilon,
            metric=Metric.MAHALANOBIS,
            metric_detail=f"lambda {self.lam!r}",
            delta=cut_tails(self.dimension),
            euclidean=(
                self.epsilon / math.sqrt(float(shaped[-1])),
                self.epsilon / math.sqrt(float(shaped[0])),
            ),
        )

    def around(self, centers: Points, rng: Rows) -> Points:
        """Noisy copies of `centers`, (tokens, n)."""
        noise = spherical(len(centers), self.dimension, self.epsilon, rng)
        if self.root is not None:
            noise = noise @ self.root
        noise += centers
        return noise

    def distance(self, left: Points, right: Points) -> Array:
        """Regularized Mahalanobis distance between rows (Definition 3)."""
        lengths: Array = np.linalg.norm(self._whitened(left - right), axis=-1)
        return lengths

    def pairwise(self, left: Points, right: Points) -> Array:
        """Regularized Mahalanobis distance between all pairs, (left, right)."""
        return super().pairwise(self._whitened(left), self._whitened(right))

    def _whitened(self, differences: Points) -> Points:
        if self._whitening is None:
            return differences
        return differences @ self._whitening


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
        self.width = dimension + 1  # one number a component, and one for the digits after them
        self.guarantee = Guarantee(
            epsilon=self.epsilon, metric=Metric.MANHATTAN, delta=_cut_components(dimension)
        )

    def around(self, centers: Points, rng: Rows) -> Points:
        """Noisy copies of `centers`, (tokens, n), by the inverse distribution function.

        |z| = -log(t) / epsilon with t uniform. A component's number gives its sign and 63 binary
        digits k of t; the row's last number gives the digits v after them, the same for all
        components: t = (k + v) / 2^63. So t has 52 digits wherever it lies, down to 2^-63, and ends
        at 2^-116. That components share v shows only where two have a k of few digits.
        """
        bits = rng.bits(len(centers), self.width)
        noise: Points = (bits[:, :-1] & _DIGITS).astype(np.float64)
        noise += uniforms_from(bits[:, -1:])
        noise *= 2.0**-63
        np.log(noise, out=noise)
        noise /= -self.epsilon
        np.copysign(noise, bits[:, :-1].view(np.int64), out=noise)
        noise += centers
        return noise

    def log_density(self, points: Points, centers: Points) -> Array:
        """log f(points - centers), row by row."""
        density: Array = self.dimension * math.log(self.epsilon / 2) - self.epsilon * self.distance(
            points, centers
        )
        return density

    def distance(self, left: Points, right: Points) -> Array:
        """Manhattan distance between rows."""
        lengths: Array = np.abs(left - right).sum(axis=-1)
        return lengths

    def pairwise(self, left: Points, right: Points) -> Array:
        """Manhattan distance between all pairs, (left, right)."""
        from scipy.spatial.distance import cdist

        return cdist(left, right, "cityblock")


def _cut_components(dimension: int) -> float:
    """Total variation between what is drawn and independent Laplace components, but for rounding.

    Either a component is in its last cell, t < 2^-115; or two have k < 2^31 and share their digits
    v. Otherwise at most one does, and for the others v is less than 2^-31 of t.
    """
    return dimension * 2.0**-115 + dimension * (dimension - 1) * 2.0**-65
