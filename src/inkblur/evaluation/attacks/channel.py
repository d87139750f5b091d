"""The public channel: how likely each word is to come out as each other word.

A mechanism's law is public, so whoever reads a release can compute, or simulate, P(out | word):

- exactly, where the mechanism has `probabilities(ids)`, (ids, vocabulary);
- estimated for vector noise, whose chances are integrals over cells in hundreds of dimensions. The
  chance is taken to fall with the distance between the two words, up to a factor of the true word:

      P(o | w) = h(|w - o|) / Z_w,      Z_w = sum over o of h(|w - o|),

  in coordinates in which the noise is round. h is the monotone curve of largest likelihood
  (isotonic regression) for draws from public words; words that took no part in the fit say how far
  the estimate is off.

Bayes' rule then says which words a released one may have been (:func:`candidates`):

    P(w | o_1 .. o_r)  ~  prior(w) P(o_1 | w) ... P(o_r | w)

for one place of a text that came out as o_1, and again as o_2, ... where the same text was released
r times with fresh noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from inkblur.blas import one_thread
from inkblur.errors import needs
from inkblur.mechanisms.base import WordMechanism
from inkblur.mechanisms.mahalanobis import MahalanobisNoise
from inkblur.mechanisms.perturbation import Perturbation
from inkblur.rng import Rng
from inkblur.types import NULL_ID, Array, Ids, Vectors

Chances = NDArray[np.floating[Any]]  # 64 bits where exact, 32 where estimated
Cells = NDArray[np.int16]
DRAWN_ALL_THE_SAME = 0.01  # of the occurrences of a word that is copied: a guess
_CELLS = 4096  # of the grid of squared distances that h is tabulated on
_DRAWS = 20  # of each public word
_BLOCK = 512  # words whose distances to the vocabulary are held at a time
COMMON_WORDS = 8_000  # that are always considered as true words, besides all that came out
LIKELIEST = 12  # true words that are told apart behind one that came out
_TRUE_WORDS = 1_024  # considered at a time


class Channel(Protocol):
    """P(out | word) of one mechanism."""

    size: int  # words in the vocabulary
    error: float  # root mean square error of the chance to come out unchanged; 0 where exact

    def likelihood(self, ids: Ids, outs: Ids) -> Chances:
        """P(out | word), (ids, outs); NULL_ID among the ids is the null word."""
        ...


@runtime_checkable
class Probable(Protocol):
    """A mechanism that knows its probabilities, whatever its metric: attacks on it are exact."""

    def probabilities(self, ids: Ids) -> Array:
        """Where each id goes, (ids, vocabulary)."""
        ...


def channel_of(mechanism: WordMechanism, rng: Rng) -> Channel:
    """The mechanism's channel: exact where it knows its probabilities, else estimated."""
    if isinstance(mechanism, Probable):
        return ExactChannel(mechanism, len(mechanism.vocabulary))
    return EstimatedChannel(mechanism, rng)


class ClearChannel:
    """The channel of texts that are not released: every word comes out as it is."""

    error = 0.0

    def __init__(self, size: int) -> None:
        self.size = size

    def likelihood(self, ids: Ids, outs: Ids) -> Array:
        """1 where the two are the same, (ids, outs)."""
        same: Array = (ids[:, None] == outs[None, :]).astype(np.float64)
        return same


class ExactChannel:
    """The channel of a mechanism that knows its probabilities."""

    error = 0.0

    def __init__(self, mechanism: Probable, size: int) -> None:
        self.mechanism, self.size = mechanism, size

    def likelihood(self, ids: Ids, outs: Ids) -> Array:
        """P(out | word), (ids, outs)."""
        found = np.empty((len(ids), len(outs)))
        for start in range(0, len(ids), _BLOCK):
            rows = self.mechanism.probabilities(ids[start : start + _BLOCK])
            np.take(rows, outs, axis=1, out=found[start : start + _BLOCK], mode="clip")
        return found


class CopyingChannel:
    """A channel around which some words are copied, because their class is kept.

    `copied` marks them among the words of the table; the `others` numbers beyond those stand for
    what is copied and is no word of the table. A few of a copied word's forms are drawn all the
    same ("who'd" enters as "who"), so that another word is never impossible.
    """

    def __init__(self, channel: Channel, copied: NDArray[np.bool_], others: int = 0) -> None:
        self._channel, self.error = channel, channel.error
        self.copied, self.size = copied, channel.size + others
        self._kept = np.concatenate([copied, np.ones(others, np.bool_), [False]])  # null: drawn

    def with_copies(self, copied: Ids, others: int) -> CopyingChannel:
        """The same where these words of the table are copied as well, and so many others."""
        marked = self.copied.copy()
        marked[copied] = True
        return CopyingChannel(self._channel, marked, others)

    def likelihood(self, ids: Ids, outs: Ids) -> Array:
        """P(out | word), (ids, outs)."""
        found = np.zeros((len(ids), len(outs)))
        drawn, words = ids < self._channel.size, outs < self._channel.size
        found[np.ix_(drawn, words)] = self._channel.likelihood(ids[drawn], outs[words])
        kept = self._kept[ids]
        found[kept] *= DRAWN_ALL_THE_SAME
        found[kept] += (1.0 - DRAWN_ALL_THE_SAME) * (ids[kept][:, None] == outs)
        return found


class EstimatedChannel:
    """The channel of a mechanism that can only be drawn from: see the module's text.

    `words` public words, spread evenly over the ranks' logarithm (a table is in order of
    frequency), are drawn 20 times each; every second one is held out to measure `error`.
    """

    def __init__(self, mechanism: WordMechanism, rng: Rng, *, words: int = 1_600) -> None:
        self.size = len(mechanism.vocabulary)
        points = _round_coordinates(mechanism)
        squares = np.einsum("ij,ij->i", points, points)
        # A product of a row here and a row there is a pair's squared distance, in cells.
        scale = np.float32((_CELLS - 1) / (4.0 * float(squares.max()) + 1e-9))
        ones = np.ones_like(squares)
        self._words = np.column_stack([points, squares, ones])
        self._outs = scale * np.column_stack([-2.0 * points, ones, squares])
        count = min(words, self.size)
        ranks = np.geomspace(1, self.size, 4 * count).astype(np.int64) - 1
        ids = np.unique(ranks)
        ids = ids[np.linspace(0, len(ids) - 1, count).astype(np.int64)]
        ids = np.append(np.unique(ids), NULL_ID)
        drawn = mechanism.replace(np.repeat(ids, _DRAWS), rng.child("channel"))
        outs = drawn.reshape(-1, _DRAWS)
        # Z_w, worked out when first needed.
        self._totals = np.full(self.size + 1, np.nan, np.float32)
        self._curve = self._fitted(ids[::2], outs[::2])
        self.error = self._missed(ids[1::2], outs[1::2])

    def likelihood(self, ids: Ids, outs: Ids) -> Vectors:
        """P(out | word), (ids, outs)."""
        found = np.empty((len(ids), len(outs)), np.float32)
        for start in range(0, len(ids), _BLOCK):
            block, rows = ids[start : start + _BLOCK], found[start : start + _BLOCK]
            if np.isnan(self._totals[block]).any():
                heights = self._curve[self._cells(block, np.arange(self.size))]
                self._totals[block] = heights.sum(axis=1)
                np.take(heights, outs, axis=1, out=rows, mode="clip")  # unchecked: faster
            else:
                rows[:] = self._curve[self._cells(block, outs)]
            rows /= self._totals[block, None]
        return found

    def _fitted(self, ids: Ids, outs: Ids) -> Vectors:
        """h on the grid: the falling curve under which the draws are likeliest."""
        with needs("the reading attack needs scikit-learn", "evaluation"):
            from sklearn.isotonic import IsotonicRegression
        pairs, hits = np.zeros(_CELLS), np.zeros(_CELLS)
        for start in range(0, len(ids), _BLOCK):
            cells = self._cells(ids[start : start + _BLOCK], np.arange(self.size))
            pairs += np.bincount(cells.ravel(), minlength=_CELLS)
            landed = np.take_along_axis(cells, outs[start : start + _BLOCK], axis=1)
            hits += np.bincount(landed.ravel(), minlength=_CELLS)
        used = np.flatnonzero(pairs)
        hits[used[-1]] += 0.5  # no chance is 0: another draw could land there
        rate = hits[used] / (pairs[used] * outs.shape[1])
        falling = IsotonicRegression(increasing=False)
        smooth = falling.fit_transform(used, rate, sample_weight=pairs[used])
        curve: Vectors = np.interp(np.arange(_CELLS), used, smooth).astype(np.float32)
        return curve

    def _missed(self, ids: Ids, outs: Ids) -> float:
        """How far estimated chances to survive lie from counted ones, less what counting adds."""
        real = ids != NULL_ID
        ids, outs = ids[real], outs[real]
        if not len(ids):
            return float("nan")
        chance = np.concatenate(
            [
                np.diagonal(self.likelihood(part, part))
                for part in np.array_split(ids, 1 + len(ids) // _BLOCK)
            ]
        )
        counted = (outs == ids[:, None]).mean(axis=1)
        noise = (counted * (1 - counted)).mean() / max(1, outs.shape[1] - 1)
        return float(np.sqrt(max(0.0, ((chance - counted) ** 2).mean() - noise)))

    def _cells(self, ids: Ids, outs: Ids) -> Cells:
        """The grid's cell of each squared distance, (ids, outs).

        Cell 0 is the word itself alone: another word with the same vector lies in cell 1. NULL_ID
        is the last point, because it is -1, and never comes out.
        """
        with one_thread():
            product = self._words[ids] @ self._outs[outs].T
        np.clip(product, 0, _CELLS - 2, out=product)
        cells = product.astype(np.int16)
        cells += 1
        cells[ids[:, None] == outs] = 0
        return cells


def _round_coordinates(mechanism: WordMechanism) -> Vectors:
    """The vectors, the null word's last, stretched so that elliptical noise is round."""
    table = mechanism.embedding
    points = np.vstack([table.vectors, table.null_vector.astype(np.float32)])
    if isinstance(mechanism, Perturbation) and isinstance(mechanism.noise, MahalanobisNoise):
        root = mechanism.noise.root
        if root is not None:
            points = np.linalg.solve(root, points.T).T
    centered: Vectors = (points - points[-1]).astype(np.float32)
    return centered


@dataclass(frozen=True, slots=True)
class Candidates:
    """For each observation the likeliest true words, best first."""

    words: Ids  # (observations, kept); the null word is the number of the vocabulary's words
    likelihood: Array  # (observations, kept): of the observation given the word, up to a factor
    posterior: Array  # (observations, kept): under the unigram prior, among all words considered

    @property
    def rest(self) -> Array:
        """Posterior mass of the words that are not kept, (observations,)."""
        left: Array = np.maximum(0.0, 1.0 - self.posterior.sum(axis=1))
        return left

    def rows(self, places: Ids) -> Candidates:
        """Of these observations only."""
        return Candidates(self.words[places], self.likelihood[places], self.posterior[places])


def candidates(
    channel: Channel, prior: Array, outs: Ids, *, kept: int = LIKELIEST, common: int = COMMON_WORDS
) -> Candidates:
    """The likeliest true words behind each row of `outs`, (observations, releases).

    Considered are the `common` likeliest words of the prior, the null word and every word that came
    out anywhere. Equal rows are worked out once.
    """
    observed, back = np.unique(outs, axis=0, return_inverse=True)
    distinct, where = np.unique(observed, return_inverse=True)
    columns: Ids = where.reshape(observed.shape)
    commonest = np.argsort(-prior, kind="stable")[:common]
    considered = np.unique(np.concatenate([commonest, distinct, [len(prior) - 1]]))
    kept = min(kept, len(considered))
    words: Ids = np.zeros((len(observed), kept), np.int64)
    joint: Array = np.full((len(observed), kept), -1.0)  # of those words, falling
    total = np.zeros(len(observed))
    least = 1e-300 ** (1.0 / outs.shape[1])  # of a chance: their product stays above 0
    start = 0
    while start < len(considered):
        # Few words first: they raise the bar for all that follow.
        block = considered[start : start + min(_TRUE_WORDS, max(start, kept))]
        start += len(block)
        chance = channel.likelihood(np.where(block == channel.size, NULL_ID, block), distinct)
        np.maximum(chance, least, out=chance)
        table = chance  # (block, observations): of one release, an observation is a word
        if outs.shape[1] > 1:
            chance = chance.astype(np.float64)
            table = reduce(np.multiply, (chance[:, column] for column in columns.T))
        table *= prior[block][:, None].astype(table.dtype)
        total += table.sum(axis=0, dtype=np.float64)
        above = table > joint[:, -1].astype(table.dtype)
        better, at = np.divmod(np.flatnonzero(above), len(observed))
        rows = np.unique(at)  # the others keep what they have
        owners = np.append(np.repeat(rows, kept), at)
        values = np.append(joint[rows], table[better, at])
        named = np.append(words[rows], block[better])
        order = np.lexsort((-values, owners))
        best = order[np.searchsorted(owners[order], rows)[:, None] + np.arange(kept)]
        words[rows], joint[rows] = named[best], values[best]
    likely = joint / prior[words]
    likely /= likely.max(axis=1, keepdims=True)
    return Candidates(words, likely, joint / total[:, None]).rows(back.ravel())
