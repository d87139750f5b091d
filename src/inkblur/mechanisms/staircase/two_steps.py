"""What the staircases over words share: a draw for each word, its exact weights, the guarantee."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from inkblur.embeddings.table import Embedding
from inkblur.guarantees import PUBLIC_EMBEDDING, SECRET_KEY, Guarantee
from inkblur.mechanisms.base import DiscreteMechanism, with_adaptations
from inkblur.mechanisms.nearest.cpu.native import processors
from inkblur.mechanisms.staircase.units import MOST_EPSILON, Draw, Steps, WordUnits
from inkblur.rng import Bits, Rows
from inkblur.types import Array, Ids, Metric, positive

_TOKENS = 1 << 21  # draws in flight
_PIECE = 1 << 15  # draws that one thread takes at a time


class TwoSteps(DiscreteMechanism):
    """Two weights and one sum for every word; a subclass says which units each word marks."""

    name = "staircase"
    batch = 50_000
    width = 1  # random numbers of 64 bits a word
    steps: Steps

    def __init__(self, embedding: Embedding, *, epsilon: float) -> None:
        super().__init__(embedding)
        self.epsilon = positive(epsilon, "epsilon")
        stated = Guarantee(
            # a / b is at most e to this power.
            epsilon=min(self.epsilon, MOST_EPSILON),
            metric=Metric.DISCRETE,
            assumptions=(PUBLIC_EMBEDDING, SECRET_KEY),
        )
        self.guarantee = with_adaptations(embedding, stated)

    @property
    @abstractmethod
    def units(self) -> WordUnits:
        """c(y): units that each word owns, (words,)."""

    @abstractmethod
    def _draws(self, ids: Ids) -> Iterator[tuple[Ids, Draw]]:
        """Positions in `ids`, with what draws for them; each position once."""

    def weights(self, word: int) -> NDArray[np.uint64]:
        """How many of the 2^64 equally likely numbers draw each word for this id, (words,)."""
        found = [draw.weights(word) for here, draw in self._draws(np.array([word])) if len(here)]
        return found[0]

    def probabilities(self, ids: Ids) -> Array:
        """Where these words go, (ids, words); NULL_ID is q itself."""
        rows = np.empty((len(ids), len(self.embedding)))
        for positions, draw in self._draws(ids):
            for position in positions.tolist():
                rows[position] = draw.weights(int(ids[position]))
        rows *= 2.0**-64
        return rows

    def replace(self, ids: Ids, rng: Rows) -> Ids:
        """A draw for each id; token i uses row i of `rng`, one number of 64 bits."""
        out = np.empty(len(ids), dtype=np.int64)
        for start in range(0, len(ids), _TOKENS):
            part = slice(start, start + _TOKENS)
            out[part] = self.draw(ids[part], rng.bits(len(ids[part]), self.width)[:, 0])
        return out

    def draw(self, ids: Ids, bits: Bits) -> Ids:
        """The words that these numbers of 64 random bits draw for these ids."""
        out = np.empty(len(ids), dtype=np.int64)
        for positions, draw in self._draws(ids):
            pieces = [positions[s : s + _PIECE] for s in range(0, len(positions), _PIECE)]

            def some(piece: Ids, draw: Draw = draw) -> None:
                out[piece] = draw.words(ids[piece], bits[piece])

            if len(pieces) > 1:
                with ThreadPoolExecutor(processors()) as pool:
                    list(pool.map(some, pieces))
            elif pieces:
                some(pieces[0])
        return out
