"""Two documents released as synthetic term-frequency vectors (SynTF): the pair and its attacker."""

from __future__ import annotations

import numpy as np

from inkblur.documents.tf_vector import SyntheticVectors, pick
from inkblur.evaluation.audit.pairs import SMOOTHING, BoolArray
from inkblur.rng import Rng
from inkblur.types import Array, Ids, Record

_DOCUMENTS = 1024  # documents released at a time


class VectorPair:
    """Two texts, whatever they say: the guarantee makes any two documents adjacent.

    The bound is n times the mechanism's loss for vectors of n terms (SynTF, Theorem 3.3).
    """

    def __init__(self, synthetic: SyntheticVectors, left: str, right: str) -> None:
        self._synthetic = synthetic
        self._texts = (left, right)
        self.subject = f"two texts, released as vectors of {synthetic.length} terms"
        self.bound = synthetic.guarantee.loss(0.0)

    def draw(self, right: BoolArray, rng: Rng) -> Ids:
        """One released vector a trial, written out as ids, (trials, length)."""
        out = np.empty((len(right), self._synthetic.length), dtype=np.int64)
        for start in range(0, len(right), _DOCUMENTS):
            records = [
                Record(str(start + i), self._texts[int(side)])
                for i, side in enumerate(right[start : start + _DOCUMENTS])
            ]
            counts = self._synthetic.vectors(records, rng).vectors
            terms = np.repeat(counts.indices, counts.data)
            out[start : start + _DOCUMENTS] = terms.reshape(len(records), -1)
        return out

    def learn(self, draws: int, rng: Rng) -> VectorAttacker:
        """The attacker of this pair."""
        return VectorAttacker(self._synthetic, self._texts, draws, rng)


class VectorAttacker:
    """Scores a vector by its log-likelihood ratio: terms are independent draws from one law.

    A document's law is the mean of its terms' distributions, weighted by their shares; it is
    estimated from `draws` draws.
    """

    def __init__(
        self, synthetic: SyntheticVectors, texts: tuple[str, str], draws: int, rng: Rng
    ) -> None:
        logs = []
        for side, text in zip(("left", "right"), texts, strict=True):
            stream = rng.child("vector attacker", side)
            ids, shares = synthetic.vectorizer.composition(text)
            terms = pick(ids, shares, stream.rows(draws, 1)[:, 0])
            out = synthetic.mechanism.replace(terms, stream.child("mechanism"))
            counts = np.bincount(out, minlength=len(synthetic.mechanism.vocabulary))
            logs.append(np.log((counts + SMOOTHING) / draws))
        self._ratios: Array = logs[0] - logs[1]

    def scores(self, outputs: Ids) -> Array:
        """log P(vector | left) - log P(vector | right), estimated, one a row; above 0: left."""
        scores: Array = self._ratios[outputs].sum(axis=1)
        return scores
