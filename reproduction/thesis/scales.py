"""The thesis's noise scales on our vectors: as printed, and at its ratio of noise to signal.

The thesis adds Laplace noise of scale 0.1, 0.2 or 0.5 to each component of Google News word2vec
vectors (section 5.3.1). It does not say that it normalized them, and cannot have: at length 1 the
cosine between a word and its noisy vector at scale 0.2 is about 0.2, less than that of the nearest
of 3 million unrelated words, yet its texts "remained virtually unmodified" at that scale. So its
vectors had the lengths of the published file, and the same scale on GloVe's, 2.2 times as long, is
less than half the noise.
"""

from __future__ import annotations

from enum import Enum

import numpy as np

from inkblur import Embedding, ReleaseSpec
from reproduction.context import Context

WORD2VEC_NORM = 2.927  # mean of the 7,895 Google News vectors; `Datasets` checks it


class NoiseScale(Enum):
    """How a printed scale is carried over to other vectors."""

    AS_PRINTED = "as printed"
    EQUAL_RATIO = "equal noise-to-signal ratio"

    @property
    def suffix(self) -> str:
        """For names of claims: the equal ratio is the thesis's own condition and has none."""
        return "-as-printed" if self is NoiseScale.AS_PRINTED else ""


def commonest(work: Context, words: int) -> Embedding:
    """GloVe cut to its commonest words, which is the vocabulary that can come out."""
    return work.datasets.glove.first(words)


def scale_on(embedding: Embedding, scale: float, noise: NoiseScale) -> float:
    """The scale to use: multiplied by the ratio of mean vector lengths for the equal ratio."""
    if noise is NoiseScale.AS_PRINTED:
        return scale
    return scale * float(np.linalg.norm(embedding.vectors, axis=1).mean()) / WORD2VEC_NORM


def obfuscation(embedding: Embedding, scale: float, noise: NoiseScale) -> ReleaseSpec:
    """Mechanism 2 at a scale of the thesis."""
    return ReleaseSpec("component-laplace", float(f"{1 / scale_on(embedding, scale, noise):.6g}"))
