"""The exponential mechanism: a word is replaced by one drawn with a weight for every word there is.

    P(v becomes w) = exp(kappa rho(v, w)) / Z_v,    kappa = epsilon / (2 Delta)

over the *whole* vocabulary, whatever v is: a list of candidates chosen by the input would make some
outputs possible from one word and impossible from another (SynTF, sections 3.3 and 3.4).
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inkblur.blas import one_thread, processors
from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.guarantees import PUBLIC_EMBEDDING, SECRET_KEY, Guarantee
from inkblur.mechanisms.base import DiscreteMechanism, with_adaptations
from inkblur.mechanisms.exact_choice import (
    BLOCK,
    MOST_KAPPA,
    block_sums,
    blocks_in,
    digits,
    locate,
    positions,
    rounding,
    weights,
    word_sums,
)
from inkblur.mechanisms.loss import improved_bound, remembered_loss, standard_bound
from inkblur.mechanisms.rating import SENSITIVITY, CheckedRating, CosineRating, Rating
from inkblur.rng import Rng, Rows
from inkblur.types import NULL_ID, Array, Bounding, Ids, Metric, choose, positive

_BLOCK_BYTES = 64 << 20  # ratings computed at a time
_TOKENS = 1 << 21  # draws in flight
_PIECE = 4096  # draws whose blocks of ratings are held at a time: they stay in the cache
_STORE_BYTES = 256 << 20  # for the sums of blocks, by word
ROUNDING_INCLUDED = "epsilon includes the rounding of 64-bit arithmetic and of the random numbers"


class Exponential(DiscreteMechanism):
    """Weights exp(epsilon rho / 2) over the whole vocabulary: plain differential privacy.

    `epsilon` is the mechanism's parameter and the *standard* bound a word; the guarantee carries
    the smaller tight loss of the real probabilities and names the others. `bigram` is s: how
    strongly replacements with a similar spelling are avoided. `rating` takes the place of the
    cosine.

    >>> table = Embedding(["cat", "dog", "sky"], [[1.0, 0.1], [1.0, 0.3], [-1.0, 0.2]], name="toy")
    >>> mechanism = Exponential(table, epsilon=4.0)
    >>> mechanism.probabilities(np.array([0])).round(3).tolist()
    [[0.476, 0.459, 0.064]]
    """

    name = "exponential"
    batch = 50_000  # draws from one block of words share a product, so the more the better
    most_epsilon = 2 * SENSITIVITY * MOST_KAPPA

    def __init__(
        self,
        embedding: Embedding,
        *,
        epsilon: float,
        bigram: float = 0.0,
        bounding: str | Bounding = Bounding.CLIP,
        rating: Rating | None = None,
    ) -> None:
        super().__init__(embedding)
        self.epsilon = positive(epsilon, "epsilon")
        self.kappa = self.epsilon / (2 * SENSITIVITY)
        if self.epsilon > self.most_epsilon:
            raise ParameterError(
                f"epsilon must be at most {self.most_epsilon:g} for the exponential "
                f"mechanism, got {epsilon}: beyond it weights are too small for 64-bit numbers"
            )
        chosen = choose(Bounding, bounding, "bounding")
        if rating is not None and (bigram or chosen is not Bounding.CLIP):
            raise ParameterError("give either a rating or bigram and bounding, not both")
        self.rating: Rating = (
            CheckedRating(rating, len(embedding))
            if rating is not None
            else CosineRating(embedding, bigram=bigram, bounding=chosen)
        )
        # Uniforms that choose the block (the last may be a single word); one block needs none.
        several = blocks_in(len(embedding)) > 1
        self._first = digits(self.kappa, len(embedding)) if several else 0
        self.width = self._first + digits(self.kappa, BLOCK)  # uniforms a draw
        self.forget()

    def forget(self) -> None:
        """Remember no word that was drawn for: the next takes as long as any."""
        self._known = _StoredSums(len(self.embedding))

    def __getstate__(self) -> dict[str, Any]:
        """Without what was drawn so far: the words of true texts stay in memory."""
        return {**self.__dict__, "_known": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _known=_StoredSums(len(state["embedding"])))

    @property
    def parameters(self) -> dict[str, float | str]:
        """epsilon, the standard bound a word; and what the rating is made of."""
        if isinstance(self.rating, CosineRating):  # a rating of someone else's is wrapped
            return {
                "epsilon": self.epsilon,
                "bigram": self.rating.bigram,
                "bounding": self.rating.bounding.value,
            }
        return {"epsilon": self.epsilon, "rating": self.rating.spec}

    @property
    def spec(self) -> str:
        """Names the way of drawing too: the same uniforms must never choose words in two ways."""
        return f"{super().spec} draw=blocks of {BLOCK}"

    @cached_property
    def guarantee(self) -> Guarantee:  # type: ignore[override]
        """For one word as it is drawn: the tight loss, computed on first use and remembered."""
        extra = rounding(self.kappa, len(self.embedding))
        improved = improved_bound(self.epsilon, len(self.embedding))
        tight = remembered_loss(self.rating, self.epsilon, self.embedding.sha256)
        stated = Guarantee(
            epsilon=min(tight, improved) + extra,  # where both are one number they round apart
            metric=Metric.DISCRETE,
            bounds=(
                ("improved", improved + extra),
                ("standard", standard_bound(self.epsilon) + extra),
            ),
            assumptions=(PUBLIC_EMBEDDING, SECRET_KEY, ROUNDING_INCLUDED),
        )
        return with_adaptations(self.embedding, stated)

    def probabilities(self, ids: Ids) -> Array:
        """Where each id goes: (ids, vocabulary), rows that sum to 1, nowhere 0."""
        values = weights(self.rating.block(np.asarray(ids), slice(0, self.rating.size)), self.kappa)
        values /= values.sum(axis=1, keepdims=True)
        return values

    def survival(self, ids: Ids, rng: Rng) -> float:
        """Mean probability that these words come out unchanged: exact, so `rng` is not used."""
        step = max(1, _BLOCK_BYTES // (8 * self.rating.size))
        total, known = 0.0, ids[ids != NULL_ID]
        for start in range(0, len(known), step):
            block = known[start : start + step]
            total += float(self.probabilities(block)[np.arange(len(block)), block].sum())
        return total / len(ids)

    def replace(self, ids: Ids, rng: Rows) -> Ids:
        """A weighted draw for each id; token i uses row i of `rng`, :attr:`width` uniforms."""
        out = np.empty(len(ids), dtype=np.int64)
        for start in range(0, len(ids), _TOKENS):
            part = slice(start, start + _TOKENS)
            out[part] = self.draw(ids[part], rng.rows(len(ids[part]), self.width))
        return out

    def draw(self, ids: Ids, uniforms: Array) -> Ids:
        """The words that rows of :attr:`width` uniforms draw for these ids (see `exact_choice`)."""
        with ThreadPoolExecutor(processors()) as pool:
            blocks = self._draw_blocks(ids, positions(uniforms[:, : self._first]), pool)
            return self._draw_words(ids, blocks, positions(uniforms[:, self._first :]), pool)

    def _draw_blocks(self, ids: Ids, where: Array, pool: ThreadPoolExecutor) -> Ids:
        """A block for each id; words that are not in the store need a whole row of ratings each."""
        out = np.empty(len(ids), dtype=np.int64)
        stored = self._known  # another thread may forget it
        slots = stored.slots[ids]
        known, missing = np.flatnonzero(slots >= 0), np.flatnonzero(slots < 0)
        out[known] = locate(stored.sums, stored.order, slots[known], where[known])
        words, which, counts = np.unique(ids[missing], return_inverse=True, return_counts=True)
        commonest = np.argsort(-counts, kind="stable")  # they are stored first
        place = np.argsort(commonest)[which]
        step = max(1, _BLOCK_BYTES // (8 * self.rating.size))  # words whose ratings are held
        for start in range(0, len(words), step):
            part = words[commonest[start : start + step]]
            ratings = self.rating.block(part, slice(0, self.rating.size))
            intervals = pool.map(lambda row: block_sums(row, self.kappa), ratings)
            sums, order = (np.stack(column) for column in zip(*intervals, strict=True))
            stored.put(part, sums, order)
            here = np.flatnonzero((place >= start) & (place < start + len(part)))
            out[missing[here]] = locate(sums, order, place[here] - start, where[missing[here]])
        return out

    def _draw_words(self, ids: Ids, blocks: Ids, where: Array, pool: ThreadPoolExecutor) -> Ids:
        """A word of its block for each id. Draws from one block share a product of matrices."""
        out = blocks * BLOCK
        by_block = np.argsort(blocks, kind="stable")

        def answer(start: int) -> None:
            tokens = by_block[start : start + _PIECE]
            intervals = word_sums(self._block_ratings(ids[tokens], blocks[tokens]), self.kappa)
            out[tokens] += locate(*intervals, np.arange(len(tokens)), where[tokens])

        with one_thread():
            list(pool.map(answer, range(0, len(out), _PIECE)))
        return out

    def _block_ratings(self, ids: Ids, blocks: Ids) -> Array:
        """Ratings of the words of block i in place of id i, blocks rising; -1 where words end."""
        ratings = np.full((len(ids), BLOCK), -1.0)
        ends = np.append(np.flatnonzero(np.diff(blocks)) + 1, len(ids)).tolist()
        for start, end in pairwise([0, *ends]):
            first = int(blocks[start]) * BLOCK
            last = min(first + BLOCK, self.rating.size)
            ratings[start:end, : last - first] = self.rating.block(
                ids[start:end], slice(first, last)
            )
        return ratings


class _StoredSums:
    """Cumulative sums of blocks by word, within a limit in bytes.

    Rows are added and never replaced, so that other batches may read meanwhile: a row is written
    before its number is shown. The sums of words that find no room are computed each time.
    """

    def __init__(self, words: int) -> None:
        blocks = blocks_in(words)
        rows = min(words + 1, _STORE_BYTES // (12 * blocks))
        # Memory that is not written to is not taken.
        self.sums, self.order = np.empty((rows, blocks)), np.empty((rows, blocks), dtype=np.int32)
        self.slots = np.full(words + 1, -1, dtype=np.int32)  # row by id; last, the null word's
        self._used = 0
        self._lock = threading.Lock()

    def put(self, words: Ids, sums: Array, order: NDArray[np.int32]) -> None:
        """Add the first of these words' sums, as many as there is room for."""
        with self._lock:
            first = self._used
            new = np.flatnonzero(self.slots[words] < 0)[: len(self.sums) - first]
            self._used += len(new)
            self.sums[first : self._used], self.order[first : self._used] = sums[new], order[new]
            self.slots[words[new]] = np.arange(first, self._used)
