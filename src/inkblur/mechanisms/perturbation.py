"""Vector mechanisms: word vector plus noise, then the nearest word.

Privacy is spent when the noise is added. What follows reads only the noisy vector, so it is
post-processing and costs nothing (Earth Mover's paper, Lemma 3; Mahalanobis paper, proof of
Theorem 1).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from inkblur.embeddings.table import Embedding
from inkblur.mechanisms.base import ASSUMPTIONS, WordMechanism, with_adaptations
from inkblur.mechanisms.nearest.engine import Device, Engine, backend_on, engine_for
from inkblur.protocols import Noise
from inkblur.rng import Rows
from inkblur.types import Array, Ids

_WORDS = 8192  # whose distance from the mean is computed at a time
_NOISE_BLOCK = 1024  # tokens whose noise is drawn at a time: their numbers stay in the cache


class Perturbation(WordMechanism):
    """Adds `noise` to word vectors and returns the exact nearest words."""

    def __init__(self, embedding: Embedding, noise: Noise) -> None:
        super().__init__(embedding)
        self.noise = noise
        stated = replace(noise.guarantee, assumptions=ASSUMPTIONS, space=embedding.sha256)
        self.guarantee = with_adaptations(embedding, stated)
        self._engine: Engine | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Without the search, which has locks and threads: a copy builds its own."""
        return {**self.__dict__, "_engine": None}

    @property
    def engine(self) -> Engine:
        """The nearest-word search, built on first use and shared between mechanisms."""
        if self._engine is None:
            self._engine = engine_for(self.embedding)
        return self._engine

    def search_on(self, device: Device | str, *, threads: int | None = None) -> None:
        """Choose where this mechanism searches; the words found are the same everywhere."""
        self._engine = Engine(self.embedding, backend_on(Device(device), threads=threads))

    @property
    def parameters(self) -> dict[str, float | str]:
        """epsilon, per unit of distance in the guarantee's metric."""
        return {"epsilon": self.noise.epsilon}

    @cached_property
    def diameter(self) -> float:
        """How far apart any two words are at most: by the triangle inequality, twice the distance
        of the farthest from the null word, which lies in the middle. The true one is at least half.
        """
        vectors, middle = self.embedding.vectors, self.embedding.null_vector
        farthest = max(
            float(self.noise.distance(vectors[s : s + _WORDS].astype(np.float64), middle).max())
            for s in range(0, len(vectors), _WORDS)
        )
        return 2 * farthest * (1 + 1e-6)  # far above the rounding of the products

    @property
    def spec(self) -> str:
        """Names the way of drawing too: the same bits must never make noise in two ways."""
        return f"{super().spec} draw=far tails"

    def pairwise(self, left: Ids, right: Ids) -> Array:
        """The guarantee's metric between words, (left, right)."""
        return self.noise.pairwise(self.embedding.centers(left), self.embedding.centers(right))

    def replace(self, ids: Ids, rng: Rows) -> Ids:
        """Noise, then nearest word, block by block; row i of `rng` serves token i."""
        out = np.empty(len(ids), dtype=np.int64)
        step = self.engine.block
        noisy = np.empty((min(step, len(ids)), self.embedding.dimension))
        for start in range(0, len(ids), step):
            block = ids[start : start + step]
            for first in range(0, len(block), _NOISE_BLOCK):
                part = slice(first, first + _NOISE_BLOCK)
                noisy[: len(block)][part] = self.noise.around(
                    self.embedding.centers(block[part]), rng
                )
            out[start : start + step] = self.engine.nearest(noisy[: len(block)])
        return out
