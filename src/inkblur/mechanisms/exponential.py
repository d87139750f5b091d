"""The exponential mechanism: a word is replaced by one drawn with a weight for every word there is.

    P(v becomes w) = exp(kappa rho(v, w)) / Z_v,    kappa = epsilon / (2 Delta)

over the *whole* vocabulary, whatever v is: a list of candidates chosen by the input would make some
outputs possible from one word and impossible from another (SynTF, sections 3.3 and 3.4).
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.guarantees import PUBLIC_EMBEDDING, SECRET_KEY, Guarantee
from inkblur.mechanisms.base import WordMechanism, standing_on
from inkblur.mechanisms.bounds import improved_bound, standard_bound
from inkblur.mechanisms.ladder import (
    MOST_KAPPA,
    Ladder,
    choose_words,
    digits,
    positions,
    rounding,
    weights,
)
from inkblur.mechanisms.loss import remembered_loss
from inkblur.mechanisms.rating import SENSITIVITY, Bounding, CosineRating, Rating, checked
from inkblur.protocols import Distribution
from inkblur.rng import Rng, Rows
from inkblur.types import Array, Ids, Metric, positive

_BLOCK_BYTES = 64 << 20  # ratings computed at a time
_TOKENS = 1 << 21  # draws in flight
_STORE_BYTES = 512 << 20
ROUNDING_INCLUDED = "epsilon includes the rounding of 64-bit arithmetic and of the random numbers"


class Exponential(WordMechanism):
    """Weights exp(epsilon rho / 2) over the whole vocabulary: plain differential privacy.

    `epsilon` is the mechanism's parameter and the *standard* bound a word; the guarantee carries
    the smaller tight loss of the real probabilities and names the others. `bigram` is s: how
    strongly a replacement that is spelt alike is disliked. `rating` puts another rating in place
    of the cosine.

    >>> table = Embedding(["cat", "dog", "sky"], [[1.0, 0.1], [1.0, 0.3], [-1.0, 0.2]], name="toy")
    >>> mechanism = Exponential(table, epsilon=4.0)
    >>> mechanism.probabilities(np.array([0])).round(3).tolist()
    [[0.476, 0.459, 0.064]]
    """

    name = "exponential"

    def __init__(
        self,
        embedding: Embedding,
        *,
        epsilon: float,
        bigram: float = 0.0,
        bounding: str | Bounding = Bounding.CLIP,
        rating: Rating | None = None,
        store_bytes: int = _STORE_BYTES,
    ) -> None:
        super().__init__(embedding)
        self.epsilon = positive(epsilon, "epsilon")
        self.kappa = self.epsilon / (2 * SENSITIVITY)
        if self.kappa > MOST_KAPPA:
            raise ParameterError(
                f"epsilon must be at most {2 * SENSITIVITY * MOST_KAPPA:g} for the exponential "
                f"mechanism, got {epsilon}: beyond it weights are too small for 64-bit numbers"
            )
        if rating is not None and (bigram or bounding is not Bounding.CLIP):
            raise ParameterError("give either a rating or bigram and bounding, not both")
        self._custom = rating is not None
        self.rating: Rating = (
            checked(rating, len(embedding))
            if rating is not None
            else CosineRating(embedding, bigram=bigram, bounding=bounding)
        )
        self.width = digits(self.kappa, len(embedding))  # uniforms a draw
        self._store = _Store(store_bytes)

    @property
    def parameters(self) -> dict[str, float | str]:
        """epsilon, the standard bound a word; and what the rating is made of."""
        if isinstance(self.rating, CosineRating) and not self._custom:
            return {
                "epsilon": self.epsilon,
                "bigram": self.rating.bigram,
                "bounding": self.rating.bounding.value,
            }
        return {"epsilon": self.epsilon, "rating": self.rating.spec}

    @cached_property
    def guarantee(self) -> Guarantee:  # type: ignore[override]
        """For one word as it is drawn: the tight loss, computed on first use and remembered."""
        extra = rounding(self.kappa, len(self.embedding))
        improved = improved_bound(self.epsilon, len(self.embedding))
        tight = remembered_loss(self.rating, self.epsilon, self.embedding.sha256)
        stated = Guarantee(
            epsilon=tight + extra,
            metric=Metric.DISCRETE,
            bounds=(
                ("improved", improved + extra),
                ("standard", standard_bound(self.epsilon) + extra),
            ),
            assumptions=(PUBLIC_EMBEDDING, SECRET_KEY, ROUNDING_INCLUDED),
        )
        return standing_on(self.embedding, stated)

    def probabilities(self, ids: Ids) -> Array:
        """Where each id goes: (ids, vocabulary), rows that sum to 1, nowhere 0."""
        values = weights(self.rating.block(np.asarray(ids), slice(0, self.rating.size)), self.kappa)
        values /= values.sum(axis=1, keepdims=True)
        return values

    def survival(self, ids: Ids, rng: Rng) -> float:
        """Mean probability that these words come out unchanged: exact, so `rng` is not used."""
        step = max(1, _BLOCK_BYTES // (8 * self.rating.size))
        total = 0.0
        for start in range(0, len(ids), step):
            block = ids[start : start + step]
            total += float(self.probabilities(block)[np.arange(len(block)), block].sum())
        return total / len(ids)

    def distribution(
        self, word: str, rng: Rng | None = None, *, draws: int = 10_000
    ) -> Distribution:
        """Where `word` goes: exact, so `rng` and `draws` are not used."""
        return Distribution(word, self.probabilities(self.ids([word]))[0], None)

    def replace(self, ids: Ids, rng: Rows) -> Ids:
        """A weighted draw for each id; token i uses row i of `rng`, :attr:`width` uniforms."""
        out = np.empty(len(ids), dtype=np.int64)
        for start in range(0, len(ids), _TOKENS):
            part = slice(start, start + _TOKENS)
            out[part] = self.draw(ids[part], positions(rng.rows(len(ids[part]), self.width)))
        return out

    def draw(self, ids: Ids, where: Array) -> Ids:
        """The words at these positions in (0, 1] of their inputs' ladders (see `ladder`)."""
        out = np.empty(len(ids), dtype=np.int64)
        turn = self._store.turn()
        missing: list[tuple[int, Ids]] = []
        for word, tokens in _by_word(ids):
            ladder = self._store.get(word, turn)
            if ladder is None:
                missing.append((word, tokens))
                continue
            out[tokens] = ladder.climb(where[tokens])
            below = ladder.below(where[tokens])
            if below.any():
                missing.append((word, tokens[below]))
        missing.sort(key=lambda item: -len(item[1]))  # the commonest are stored first
        self._draw_missing(missing, where, out, turn)
        return out

    def _draw_missing(
        self, missing: list[tuple[int, Ids]], where: Array, out: Ids, turn: int
    ) -> None:
        """Draws that need their word's whole row of ratings; the ladders go into the store."""
        step = max(1, _BLOCK_BYTES // (8 * self.rating.size))

        def answer(item: tuple[int, Ids], ratings: Array) -> Ladder:
            tokens = item[1]
            out[tokens], ladder = choose_words(ratings, self.kappa, where[tokens])
            return ladder.head()

        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            for start in range(0, len(missing), step):
                block = missing[start : start + step]
                words = np.array([word for word, _ in block])
                ratings = self.rating.block(words, slice(0, self.rating.size))
                for (word, _), head in zip(block, pool.map(answer, block, ratings), strict=True):
                    self._store.put(word, head, turn)


class _Store:
    """Heads of ladders by word, within a limit in bytes.

    The least recently used goes first, but nothing that the present batch uses goes to make room
    for the same batch's rarer words: a batch wider than the store would otherwise empty it in
    passing.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held = 0
        self._turns = 0
        self._ladders: OrderedDict[int, tuple[int, Ladder]] = OrderedDict()
        self._lock = threading.Lock()

    def turn(self) -> int:
        """The number of a new batch."""
        with self._lock:
            self._turns += 1
            return self._turns

    def get(self, word: int, turn: int) -> Ladder | None:
        """The word's ladder, marked as used by this batch."""
        with self._lock:
            found = self._ladders.get(word)
            if found is None:
                return None
            self._ladders[word] = (turn, found[1])
            self._ladders.move_to_end(word)
            return found[1]

    def put(self, word: int, ladder: Ladder, turn: int) -> None:
        """Store it if there is room, or if older batches' ladders can make room."""
        with self._lock:
            if word in self._ladders:
                return
            while self._held + ladder.bytes > self._limit:
                oldest = next(iter(self._ladders), None)
                if oldest is None or self._ladders[oldest][0] >= turn:
                    return
                self._held -= self._ladders.pop(oldest)[1].bytes
            self._held += ladder.bytes
            self._ladders[word] = (turn, ladder)


def _by_word(ids: Ids) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Each distinct id with the positions of its tokens."""
    order = np.argsort(ids, kind="stable")
    ends = np.flatnonzero(np.diff(ids[order])) + 1
    starts = np.concatenate([[0], ends])
    stops = np.concatenate([ends, [len(ids)]])
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        if stop > start:
            yield int(ids[order[start]]), order[start:stop]
