"""Laplace noise on each component: epsilon times the Manhattan distance (thesis, section 5.3.1,
mechanism 2 and Algorithm 2).
"""

from __future__ import annotations

import numpy as np

from inkblur.embeddings.table import Embedding
from inkblur.guarantees import Guarantee
from inkblur.mechanisms.perturbation import Perturbation
from inkblur.rng import Rows, uniforms_from
from inkblur.types import Array, Metric, Points, positive

_DIGITS = np.uint64(2**63 - 1)


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


class ComponentLaplace(Perturbation):
    """Laplace noise of scale 1/epsilon on each component: epsilon times the Manhattan distance.

    The thesis's mechanism 2 (Algorithm 2).

    >>> import inkblur
    >>> table = inkblur.Embedding(["cat", "dog"], [[0.0, 0.0], [0.0, 9.0]], name="toy")
    >>> mechanism = inkblur.make_mechanism("component-laplace", table, epsilon=50.0)
    >>> mechanism.release(["dog"], inkblur.seeded_rng(1)).words
    ('dog',)
    """

    name = "component-laplace"
    noise: ComponentNoise

    def __init__(self, embedding: Embedding, *, epsilon: float) -> None:
        super().__init__(embedding, ComponentNoise(embedding.dimension, epsilon=epsilon))
