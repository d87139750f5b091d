"""The author under whom a pool's text is likeliest: the public channel, from true texts.

Whoever knows the pool knows Q(y | x) for every text x. An author's known texts stand for what the
author writes, so the released text y has under that author the probability

    P_a(y) = mean over the author's known texts x of Q(y | x),

exact but for the texts that the attacker does not have. Where y is near no known text all authors
are as likely, and the one whose texts lie nearest is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from inkblur.evaluation.attacks.base import ScoringAttack, check_fitted, checked_known
from inkblur.mechanisms.staircase.nearness import LONGEST
from inkblur.pools.mechanism import PoolStaircase
from inkblur.types import Array

_LITTLE = 1e-6  # of nearness beside a log-likelihood


class PoolLikelihood(ScoringAttack):
    """The attack as an object: `fit` on true texts, `predict` or `scores` on released ones."""

    name = "likelihood"

    def __init__(self, mechanism: PoolStaircase) -> None:
        self.mechanism = mechanism
        self._numbers: dict[str, int] = {}  # of texts, the same for equal ones
        texts = mechanism.pool.texts
        self._number_at = [self._numbers.setdefault(text, len(self._numbers)) for text in texts]
        self._first = np.unique(self._number_at, return_index=True)[1]  # place of each number

    def fit(self, texts: Sequence[str], authors: ArrayLike) -> Self:
        """Send each author's true texts through the channel."""
        self.suspects, writers = np.unique(checked_known(texts, authors), return_inverse=True)
        encoded = self.mechanism.encode(texts)
        self._chances = np.zeros((len(self.suspects), len(self._numbers)))
        for row, author in enumerate(writers.tolist()):
            weights = self.mechanism.weights(encoded, row) / 2.0**64
            self._chances[author] += np.bincount(self._number_at, weights)
        self._chances /= np.bincount(writers)[:, None]
        points = encoded.points.astype(np.float64) / LONGEST
        own = [points[writers == author].mean(axis=0) for author in range(len(self.suspects))]
        self._middles = np.stack(own)
        return self

    def scores(self, texts: Sequence[str]) -> Array:
        """Log-likelihoods, (texts, suspects), nearness deciding between equals; 0 for what is no
        text of the pool.
        """
        check_fitted(self, "_chances")
        out = np.zeros((len(texts), len(self.suspects)))
        for row, text in enumerate(texts):
            if text in self._numbers:
                number = self._numbers[text]
                point = self.mechanism.pool.points[self._first[number]] / LONGEST
                out[row] = np.log(self._chances[:, number]) + _LITTLE * (self._middles @ point)
        return out
