"""Elliptical Laplace noise: epsilon times the regularized Mahalanobis distance (Mahalanobis paper,
section 3: Algorithms 1 and 2, Theorem 1).
"""

from __future__ import annotations

import math

import numpy as np

from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.guarantees import Guarantee
from inkblur.mechanisms.catalogue import LAMBDA
from inkblur.mechanisms.laplace import LaplaceNoise, cut_tails, spherical
from inkblur.mechanisms.perturbation import Perturbation
from inkblur.rng import Rows
from inkblur.types import Array, Metric, Points, fraction


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


class Mahalanobis(Perturbation):
    """Elliptical noise shaped like the vocabulary (Mahalanobis paper, Algorithm 2).

    >>> import inkblur
    >>> table = inkblur.Embedding(["cat", "dog", "cow"], [[0, 0], [0, 9], [9, 0]], name="toy")
    >>> mechanism = inkblur.make_mechanism("mahalanobis", table, epsilon=50.0, lam=0.5)
    >>> mechanism.release(["dog"], inkblur.seeded_rng(1)).words
    ('dog',)
    """

    name = "mahalanobis"
    noise: MahalanobisNoise

    def __init__(self, embedding: Embedding, *, epsilon: float, lam: float = LAMBDA) -> None:
        super().__init__(
            embedding, MahalanobisNoise(embedding.covariance, epsilon=epsilon, lam=lam)
        )

    @property
    def parameters(self) -> dict[str, float | str]:
        """epsilon, per unit of regularized Mahalanobis distance, and lambda in [0, 1]."""
        return {"epsilon": self.noise.epsilon, "lam": self.noise.lam}
