"""What the bound is worth: its value at the distances that occur in the vocabulary."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from inkblur.embeddings.table import Embedding
from inkblur.guarantees import factor
from inkblur.mechanisms.base import WordMechanism
from inkblur.rng import seeded_rng
from inkblur.types import Ids, Metric

_SAMPLE = 100  # words whose neighbors are looked at; public, so the sample may be seeded
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
    adapted: bool = False  # measured over the words that the corpus of an adapted embedding has
    discrete: bool = False  # every two words are at distance 1

    def sentences(self) -> list[str]:
        """The same in plain words."""
        if self.discrete:
            return [
                "Changing one word to any other, similar or not, makes any output at most "
                f"{factor(self.pair_loss)} times as likely.",
                self._verdict(),
            ]
        over = ", measured over words in the corpus" if self.adapted else ""
        return [
            "Changing one word to its nearest neighbor (typical distance "
            f"{self.nearest_distance:.3g}{over}) makes any output at most "
            f"{factor(self.nearest_loss)} times as likely; to an unrelated word "
            f"({self.pair_distance:.3g}), at most {factor(self.pair_loss)} times.",
            self._verdict(),
        ]

    def _verdict(self) -> str:
        if self.pair_loss <= 1:
            return "That is strong protection for any word."
        if self.discrete and self.pair_loss <= 5:
            return "That is moderate protection for any word."
        if self.discrete:
            return (
                "At such a factor, a single word can still be guessed if the rest of the text "
                "gives it away. `inkblur evaluate` measures what attackers achieve."
            )
        if self.nearest_loss <= 1:
            return "That is strong protection between similar words, less between unrelated ones."
        if self.nearest_loss <= 5:
            return "That is moderate protection between similar words, little between others."
        return (
            "Bounds this large promise almost nothing, even between similar words. Rely on the "
            "measured risk instead: `inkblur evaluate` measures it."
        )


def typical_loss(mechanism: WordMechanism) -> TypicalLoss:
    """Measure an even sample of the vocabulary in the guarantee's own metric.

    Of an adapted embedding, only words that its corpus has: the others have profile zero and crowd
    near each other, so that with them the distances between words of texts would be understated.
    """
    words = profiled_words(mechanism.embedding)
    count = len(mechanism.vocabulary)
    adapted = len(words) < count
    order = seeded_rng(_SEED).child("typical").permutation(count)
    sample = order[np.isin(order, words)][:_SAMPLE]
    nearest = np.full(len(sample), np.inf)
    for start in range(0, len(words), _BLOCK):
        ids = words[start : start + _BLOCK]
        distances = mechanism.pairwise(sample, ids)
        distances[sample[:, None] == ids[None, :]] = np.inf
        np.minimum(nearest, distances.min(axis=1), out=nearest)
    pairs = mechanism.pairwise(sample, sample)[np.triu_indices(len(sample), 1)]
    near, pair = float(np.median(nearest)), float(np.median(pairs))
    word = mechanism.guarantee
    discrete = word.metric is Metric.DISCRETE
    return TypicalLoss(near, pair, word.loss(near), word.loss(pair), len(sample), adapted, discrete)


def profiled_words(embedding: Embedding) -> Ids:
    """Words with a label profile other than zero; all words where fewer than two have one."""
    columns = [column for each in embedding.adaptations for column in each.columns]
    profiles = embedding.vectors[:, embedding.dimension - sum(c.dimensions for c in columns) :]
    found = np.flatnonzero(profiles.any(axis=1)).astype(np.int64)
    return found if len(found) > 1 else np.arange(len(embedding), dtype=np.int64)
