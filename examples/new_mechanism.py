"""A mechanism of your own in every table: one class, one catalogue entry.

Randomised response: keep a word with a probability, else draw any word of the vocabulary evenly.
"""

import math

import numpy as np

import inkblur
from inkblur.mechanisms.base import ASSUMPTIONS, WordMechanism, standing_on
from inkblur.mechanisms.catalogue import CATALOGUE, Entry
from inkblur.types import Metric, positive


class RandomisedResponse(WordMechanism):
    """At most epsilon between any two words, however far apart they are."""

    name = "randomised-response"

    def __init__(self, embedding, *, epsilon):
        super().__init__(embedding)
        self.epsilon = positive(epsilon, "epsilon")
        stated = inkblur.Guarantee(
            epsilon=self.epsilon,
            metric=Metric.DISCRETE,
            assumptions=ASSUMPTIONS,
            space=embedding.sha256,
        )
        self.guarantee = standing_on(embedding, stated)

    @property
    def parameters(self):
        """The arguments that make it again."""
        return {"epsilon": self.epsilon}

    def replace(self, ids, rng):
        """Keep, or draw evenly."""
        words = len(self.vocabulary)
        uniforms = rng.rows(len(ids), 2)  # row i serves token i, whatever the batch
        kept = (math.exp(self.epsilon) - 1) / (math.exp(self.epsilon) + words - 1)
        drawn = (uniforms[:, 1] * words).astype(np.int64)
        # The null word (an id below 0) is no word that could come out: it is always redrawn.
        return np.where((uniforms[:, 0] < kept) & (ids >= 0), ids, drawn)


CATALOGUE["randomised-response"] = Entry(
    "randomised-response",
    Metric.DISCRETE,
    "at most epsilon between any two words; keeps a word or draws any",
    "Warner 1965",
    RandomisedResponse,
)

# From here on it is a mechanism like the others: in `Setting`, `evaluate`, `calibrate`, the race.
from inkblur.evaluation.measures.statistics import privacy_statistics  # noqa: E402
from inkblur.evaluation.settings import Setting  # noqa: E402
from inkblur.mechanisms.calibration import calibrate  # noqa: E402

table = inkblur.load_embedding(limit=2_000)
for name in ("randomised-response", "laplace"):
    epsilon = calibrate(name, table, survival=0.5, sample=1_000)
    mechanism = Setting(name, epsilon).mechanism_on(table)
    found = privacy_statistics(mechanism, words=200, runs=20, rng=inkblur.seeded_rng(1))
    print(
        f"{name:20} epsilon {epsilon:6.1f}: {found.survival.mean:4.1f} of 20 runs keep the word, "
        f"{found.variety.mean:4.1f} words stand in for it"
    )
