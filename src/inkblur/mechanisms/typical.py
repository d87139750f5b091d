"""What the bound is worth: its value at the distances that occur in the vocabulary."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from inkblur.mechanisms.base import WordMechanism
from inkblur.rng import seeded_rng

_SAMPLE = 100  # words whose neighbours are looked at; public, so the sample may be seeded
_BLOCK = 8192  # vocabulary words compared at a time
_SEED = 7


@dataclass(frozen=True, slots=True)
class TypicalLoss:
    """The bound for changing one word of a text, at two distances measured on the vocabulary."""

    nearest_distance: float  # median over words of the distance to the nearest other word
    pair_distance: float  # median over pairs of words
    nearest_loss: float  # epsilon times the distance: bound on the log of the likelihood ratio
    pair_loss: float
    sample: int  # words measured

    def sentences(self) -> list[str]:
        """The same in plain words."""
        return [
            "Changing one word to its nearest neighbour (typical distance "
            f"{self.nearest_distance:.3g}) makes any output at most {_factor(self.nearest_loss)} "
            f"times as likely; to an unrelated word ({self.pair_distance:.3g}), at most "
            f"{_factor(self.pair_loss)} times.",
            self._verdict(),
        ]

    def _verdict(self) -> str:
        if self.pair_loss <= 1:
            return "That is strong protection for any word."
        if self.nearest_loss <= 1:
            return "That is strong protection between similar words, less between unrelated ones."
        if self.nearest_loss <= 5:
            return "That is moderate protection between similar words, little between others."
        return (
            "Factors this large prove little, even between similar words: what protects is the "
            "measured risk, so measure it."
        )


def typical_loss(mechanism: WordMechanism) -> TypicalLoss:
    """Measure an even sample of the vocabulary in the guarantee's own metric."""
    count = len(mechanism.vocabulary)
    uniforms = seeded_rng(_SEED).child("typical").rows(count, 1)[:, 0]
    sample = np.argsort(uniforms, kind="stable")[:_SAMPLE].astype(np.int64)
    nearest = np.full(len(sample), np.inf)
    for start in range(0, count, _BLOCK):
        ids = np.arange(start, min(start + _BLOCK, count), dtype=np.int64)
        distances = mechanism.pairwise(sample, ids)
        distances[sample[:, None] == ids[None, :]] = np.inf
        np.minimum(nearest, distances.min(axis=1), out=nearest)
    pairs = mechanism.pairwise(sample, sample)[np.triu_indices(len(sample), 1)]
    near, pair = float(np.median(nearest)), float(np.median(pairs))
    word = mechanism.guarantee
    return TypicalLoss(near, pair, word.loss(near), word.loss(pair), len(sample))


def _factor(loss: float) -> str:
    if not math.isfinite(loss):
        return "infinity"
    if loss < math.log(1e6):
        return f"{math.exp(loss):,.2f}" if loss < math.log(100) else f"{math.exp(loss):,.0f}"
    return f"10^{loss / math.log(10):.0f}"
