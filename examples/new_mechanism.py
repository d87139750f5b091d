"""A mechanism of your own in every table: one class, one catalogue entry.

Randomized response: keep a word with some probability, else draw any word of the vocabulary evenly.
"""

import math

import numpy as np

import inkblur
from inkblur.guarantees import Guarantee
from inkblur.mechanisms.base import ASSUMPTIONS, WordMechanism, with_adaptations
from inkblur.mechanisms.catalogue import CATALOGUE, Entry, Parameter
from inkblur.types import Metric, fraction, positive

REDRAW = Parameter(
    "redraw",
    0.0,
    "Share of the words that are drawn evenly whatever they are, 0 to 1.",
    low=0.0,
    high=1.0,
    tried=(0.0, 0.3),  # what the laws run over
)


class RandomizedResponse(WordMechanism):
    """At most epsilon between any two words, however far apart they are."""

    name = "randomized-response"

    def __init__(self, embedding, *, epsilon, redraw=REDRAW.default):
        super().__init__(embedding)
        self.epsilon = positive(epsilon, "epsilon")
        self.redraw = fraction(redraw, "redraw")
        stated = Guarantee(
            epsilon=self.epsilon,
            metric=Metric.DISCRETE,
            assumptions=ASSUMPTIONS,
            space=embedding.sha256,
        )
        self.guarantee = with_adaptations(embedding, stated)

    @property
    def parameters(self):
        """The arguments that make it again."""
        return {"epsilon": self.epsilon, "redraw": self.redraw}

    def replace(self, ids, rng):
        """Keep, or draw evenly."""
        words = len(self.vocabulary)
        uniforms = rng.rows(len(ids), 2)  # row i serves token i, whatever the batch
        kept = (math.exp(self.epsilon) - 1) / (math.exp(self.epsilon) + words - 1)
        drawn = (uniforms[:, 1] * words).astype(np.int64)
        # The null word (an id below 0) is no word that could come out: it is always redrawn.
        stays = (uniforms[:, 0] < (1 - self.redraw) * kept) & (ids >= 0)
        return np.where(stays, ids, drawn)


CATALOGUE["randomized-response"] = Entry(
    "randomized-response",
    Metric.DISCRETE,
    "at most epsilon between any two words; keeps a word or draws any",
    "Warner 1965",
    RandomizedResponse,
    (REDRAW,),
)

if __name__ == "__main__":
    # It is a mechanism like the others now: in `inkblur.ReleaseSpec`, the command line, the laws.
    from inkblur.evaluation.measures.statistics import privacy_statistics
    from inkblur.mechanisms.strengths import calibrate

    table = inkblur.load_embedding(limit=2_000)
    for name in ("randomized-response", "laplace"):
        epsilon = calibrate(name, table, survival=0.5, sample=1_000)
        mechanism = inkblur.ReleaseSpec(name, epsilon).mechanism_on(table)
        found = privacy_statistics(mechanism, words=200, runs=20, rng=inkblur.seeded_rng(1))
        print(
            f"{name:20} epsilon {epsilon:6.1f}: {found.survival.mean:4.1f} of 20 runs keep the "
            f"word, {found.variety.mean:4.1f} words stand in for it"
        )
