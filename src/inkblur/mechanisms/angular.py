"""The thesis's mechanism 1: a word at a random angle from the true one. It proves nothing."""

from __future__ import annotations

import math

import numpy as np

from inkblur.embeddings.table import Embedding
from inkblur.errors import NoGuarantee
from inkblur.guarantees import Guarantee
from inkblur.mechanisms.base import WordMechanism, with_adaptations
from inkblur.mechanisms.rating import directions
from inkblur.rng import Rows
from inkblur.types import Array, Ids, Metric, Points, positive

WHY_NONE = (
    "the angular mechanism searches for the replacement from the true word itself, so some outputs "
    "are possible from one word and impossible from another"
)
_BLOCK = 256  # distinct words whose cosines with the vocabulary are held at a time


class AngularLaplace(WordMechanism):
    """Draws an angle (Laplace of scale 1/epsilon, cut off at 90 degrees) and takes the word whose
    cosine fits best (thesis, section 5.3.1, Algorithm 1).

    There is no privacy guarantee: for a true word v only words that are some angle's best fit *seen
    from v* can come out, and that set depends on v. So `accept_no_guarantee=True` is required.
    """

    name = "angular-laplace"

    def __init__(
        self, embedding: Embedding, *, epsilon: float, accept_no_guarantee: bool = False
    ) -> None:
        super().__init__(embedding)
        if not accept_no_guarantee:
            raise NoGuarantee(
                f"angular-laplace has no privacy guarantee: {WHY_NONE}; to run it all the same, "
                "pass `accept_no_guarantee=True`"
            )
        self.epsilon = positive(epsilon, "epsilon")
        self.guarantee = with_adaptations(
            embedding, Guarantee(epsilon=math.inf, metric=Metric.NONE, void=WHY_NONE)
        )
        self._unit = directions(embedding.vectors.astype(np.float64))
        self._null = directions(embedding.null_vector[None, :])

    @property
    def parameters(self) -> dict[str, float | str]:
        """epsilon: one over the scale of the angle, in radians."""
        return {"epsilon": self.epsilon}

    def replace(self, ids: Ids, rng: Rows) -> Ids:
        """An angle for each token, then the word whose cosine with the true word is closest."""
        targets = np.cos(truncated_angle(len(ids), 1 / self.epsilon, rng))
        out = np.empty(len(ids), dtype=np.int64)
        order = np.argsort(ids, kind="stable")  # equal words together: their cosines serve all
        distinct, starts = np.unique(ids[order], return_index=True)
        stops = np.append(starts[1:], len(ids))
        for first in range(0, len(distinct), _BLOCK):
            block = slice(first, first + _BLOCK)
            cosines = self._cosines(distinct[block])
            for row, start, stop in zip(cosines, starts[block], stops[block], strict=True):
                for token in order[start:stop]:
                    out[token] = np.argmin(np.abs(row - targets[token]))
        return out

    def _cosines(self, ids: Ids) -> Points:
        rows = self._unit[np.maximum(ids, 0)]
        rows[ids < 0] = self._null
        cosines: Points = rows @ self._unit.T
        # Rounded far above the product's own error: the batch it was computed in must not show.
        return np.round(cosines, 12)


def truncated_angle(count: int, scale: float, rng: Rows) -> Array:
    """`count` draws of |theta|, theta ~ Laplace(0, scale) given |theta| <= pi/2, in radians.

    |theta| is exponential, so its truncated distribution function inverts in closed form:
    F(t) = (1 - exp(-t/scale)) / (1 - exp(-pi/(2 scale))).
    """
    uniforms = rng.rows(count, 1)[:, 0]
    mass = -np.expm1(-np.pi / 2 / scale)
    angles: Array = -scale * np.log1p(-uniforms * mass)
    return np.minimum(angles, np.pi / 2)
