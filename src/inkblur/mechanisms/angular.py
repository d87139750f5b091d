"""The thesis's mechanism 1: a word at a random angle from the true one. It proves nothing."""

from __future__ import annotations

import math

import numpy as np

from inkblur.embeddings.table import Embedding
from inkblur.errors import NoGuarantee
from inkblur.guarantees import Guarantee
from inkblur.mechanisms.base import WordMechanism
from inkblur.noise import truncated_angle
from inkblur.rng import Rows
from inkblur.types import Array, Ids, Metric, Points, positive

WHY_NONE = (
    "the angular mechanism searches for the replacement from the true word itself, so some outputs "
    "are possible from one word and impossible from another"
)
_BLOCK = 256  # distinct words whose cosines with the vocabulary are held at a time


class AngularLaplace(WordMechanism):
    """Draws an angle (Laplace of scale 1/epsilon cut off at a right angle), takes the word whose
    cosine fits best.

    Thesis, section 5.3.1, Algorithm 1; the thesis found it too slow to run. One matrix product
    gives a block of distinct words' cosines with the whole vocabulary; sorted once, each row
    answers all
    draws of its word by binary search.

    There is no privacy guarantee: for a true word v only words that are some angle's best fit
    *seen from v*
    can come out, and that set depends on v. So `accept_no_guarantee=True` is required.
    """

    name = "angular-laplace"

    def __init__(
        self, embedding: Embedding, *, epsilon: float, accept_no_guarantee: bool = False
    ) -> None:
        super().__init__(embedding)
        if not accept_no_guarantee:
            raise NoGuarantee(
                f"angular-laplace has no privacy guarantee: {WHY_NONE}; to run it all the same, "
                "pass --accept-no-guarantee (in Python accept_no_guarantee=True)"
            )
        self.epsilon = positive(epsilon, "epsilon")
        self.guarantee = Guarantee(epsilon=math.inf, metric=Metric.NONE, void=WHY_NONE)
        self._unit = _directions(embedding.vectors.astype(np.float64))
        self._null = _directions(embedding.null_vector[None, :])

    @property
    def parameters(self) -> dict[str, float | str]:
        """epsilon: one over the scale of the angle, in radians."""
        return {"epsilon": self.epsilon}

    def replace(self, ids: Ids, rng: Rows) -> Ids:
        """An angle for each token, then the word whose cosine with the true word is closest."""
        targets = np.cos(truncated_angle(len(ids), 1 / self.epsilon, rng))
        distinct, inverse = np.unique(ids, return_inverse=True)
        order = np.argsort(inverse, kind="stable")
        bounds = np.searchsorted(inverse[order], np.arange(len(distinct) + 1))
        out = np.empty(len(ids), dtype=np.int64)
        for start in range(0, len(distinct), _BLOCK):
            block = distinct[start : start + _BLOCK]
            cosines = self._cosines(block)
            for row, word in enumerate(range(start, start + len(block))):
                tokens = order[bounds[word] : bounds[word + 1]]
                out[tokens] = _closest(cosines[row], targets[tokens])
        return out

    def _cosines(self, ids: Ids) -> Points:
        rows = self._unit[np.maximum(ids, 0)]
        rows[ids < 0] = self._null
        cosines: Points = rows @ self._unit.T
        # Rounded far above the product's own error, so that the batch it was computed in cannot
        # show.
        return np.round(cosines, 12)


def _closest(cosines: Array, targets: Array) -> Ids:
    """For each target the position of the closest cosine; ties go to the larger cosine, lower
    id.
    """
    order = np.argsort(-cosines, kind="stable")
    falling = -cosines[order]
    right = np.clip(np.searchsorted(falling, -targets), 0, len(order) - 1)
    left = np.maximum(right - 1, 0)
    nearer_left = np.abs(falling[left] + targets) <= np.abs(falling[right] + targets)
    pick = np.where(nearer_left, left, right)
    # Equal cosines stand together in id order: take the first of them.
    first: Ids = order[np.searchsorted(falling, falling[pick], side="left")]
    return first


def _directions(vectors: Points) -> Points:
    """Rows of length 1; a zero vector stays zero and has cosine 0 with everything."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    directions: Points = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return directions
