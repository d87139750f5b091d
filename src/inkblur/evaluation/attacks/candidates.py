"""Which words a released word may have been: the likeliest ones, by Bayes' rule.

    P(w | o_1 .. o_r)  ~  prior(w) P(o_1 | w) ... P(o_r | w)

for one place of a text that came out as o_1, and again as o_2, ... where the same text was released
r times with fresh noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from inkblur.evaluation.attacks.channel import Channel
from inkblur.types import NULL_ID, Array, Ids, whole

COMMON_WORDS = 8_000  # that are always considered as true words, beside all that came out
_BLOCK = 512  # true words at a time


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
    considered = np.unique(
        np.concatenate([np.argsort(-prior, kind="stable")[:common], distinct, [channel.size]])
    )
    kept = min(whole(kept, "kept"), len(considered))
    words: Ids = np.empty((len(observed), 0), np.int64)
    joint: Array = np.empty((len(observed), 0))
    total = np.full(len(observed), -np.inf)
    for start in range(0, len(considered), _BLOCK):
        block = considered[start : start + _BLOCK]
        chance = channel.likelihood(np.where(block == channel.size, NULL_ID, block), distinct)
        logs = np.log(np.maximum(chance, 1e-300)).T  # (distinct, block)
        summed = logs[columns[:, 0]]
        for column in columns.T[1:]:
            summed = summed + logs[column]
        summed += np.log(prior[block])
        total = np.logaddexp(total, np.logaddexp.reduce(summed, axis=1))
        words = np.hstack([words, np.broadcast_to(block, summed.shape)])
        joint = np.hstack([joint, summed])
        best = np.argpartition(-joint, min(kept, joint.shape[1] - 1), axis=1)[:, :kept]
        words, joint = _taken(words, best), _taken(joint, best)
    order = np.argsort(-joint, axis=1, kind="stable")
    words, joint = _taken(words, order), _taken(joint, order)
    scaled = joint - joint[:, :1] - np.log(prior[words])
    found = Candidates(
        words,
        np.exp(scaled - scaled.max(axis=1, keepdims=True)),
        np.exp(joint - total[:, None]),
    )
    return found.rows(back.ravel())


def _taken(table: Any, places: Ids) -> Any:
    return np.take_along_axis(table, places, axis=1)
