"""Which words a released word may have been: the likeliest ones, by Bayes' rule.

    P(w | o_1 .. o_r)  ~  prior(w) P(o_1 | w) ... P(o_r | w)

for one place of a text that came out as o_1, and again as o_2, ... where the same text was released
r times with fresh noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np

from inkblur.evaluation.attacks.channel import Channel
from inkblur.types import NULL_ID, Array, Ids, whole

COMMON_WORDS = 8_000  # that are always considered as true words, besides all that came out
_BLOCK = 1_024  # true words at a time


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
    channel: Channel, prior: Array, outs: Ids, *, kept: int = 12, common: int = COMMON_WORDS
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
    kept = min(whole(kept, "kept"), len(considered))
    words: Ids = np.zeros((len(observed), kept), np.int64)
    joint: Array = np.full((len(observed), kept), -1.0)  # of those words, falling
    total = np.zeros(len(observed))
    least = 1e-300 ** (1.0 / outs.shape[1])  # of a chance: their product stays above 0
    start = 0
    while start < len(considered):
        # Few words first: they raise the bar for all that follow.
        block = considered[start : start + min(_BLOCK, max(start, kept))]
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
