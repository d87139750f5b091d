"""The author under whom a release is likeliest: naive Bayes through the public channel.

An author's texts give the shares p_a(w) of the words they use, smoothed with what everybody uses.
Sent through the channel these become the shares of the words that come *out*,

    P_a(o) = sum over w of p_a(w) P(o | w),

without any noise of the attacker's own, and a released text is named after the author of the
largest sum of log P_a(o). Among attackers who look at single words and know each author's true
shares none does better; where the release is strong and the known texts are many, this one is
therefore ahead of classifiers that have to learn the channel from noisy copies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from inkblur.embeddings.table import Embedding
from inkblur.evaluation.attacks.base import ScoringAttack, check_fitted, checked_known
from inkblur.evaluation.attacks.channel import Chances, Channel
from inkblur.evaluation.attacks.entering import Entering, came_out
from inkblur.evaluation.attacks.language import entering_ids
from inkblur.types import NULL_ID, Array, Ids, fraction

SMOOTHING = 0.5  # of an author's shares is everybody's
_BLOCK = 1024  # true words at a time


class Likelihood(ScoringAttack):
    """The attack as an object: `fit` on true texts, `predict` or `scores` on released ones.

    `enter` says which words of a true text enter the release, by id (:func:`.entering`); None: all.

    >>> from inkblur import Exponential
    >>> from inkblur.evaluation.attacks.channel import ExactChannel
    >>> table = Embedding(["cat", "dog", "sky"], [[1, 0.1], [1, 0.3], [-1, 0.2]], name="toy")
    >>> attack = Likelihood(ExactChannel(Exponential(table, epsilon=4.0), 3), table)
    >>> attack.fit(["cat cat dog", "sky"], [0, 1]).predict(["dog", "sky sky", ""]).tolist()
    [0, 1, -1]
    """

    name = "likelihood"

    def __init__(
        self,
        channel: Channel,
        embedding: Embedding,
        enter: Entering | None = None,
        *,
        smoothing: float = SMOOTHING,
    ) -> None:
        self.channel, self.embedding = channel, embedding
        self.enter = enter if enter is not None else partial(entering_ids, embedding=embedding)
        self.smoothing = fraction(smoothing, "smoothing")

    def fit(self, texts: Sequence[str], authors: ArrayLike) -> Self:
        """Count each author's words, in true texts."""
        self.suspects, writers = np.unique(checked_known(texts, authors), return_inverse=True)
        size = len(self.embedding) + 1  # the null word is the last
        self._learn(writers, [self.enter(text) % size for text in texts])
        return self

    def _learn(self, writers: Ids, texts: Sequence[Ids]) -> None:
        """Count words, given by id; `writers` are places among the suspects."""
        self._words, words = np.unique(np.concatenate(texts), return_inverse=True)
        rows = np.repeat(writers, [len(text) for text in texts])
        counts = np.zeros((len(self.suspects), len(self._words)))
        np.add.at(counts, (rows, words), 1.0)
        everybody = counts.sum(axis=0) / counts.sum()
        own = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
        self._shares: Array = (1.0 - self.smoothing) * own + self.smoothing * everybody

    def scores(self, texts: Sequence[str]) -> Array:
        """Log-likelihoods, (texts, suspects)."""
        from scipy.sparse import csr_matrix

        check_fitted(self, "_shares")
        ids = [came_out(self.channel, text, self.embedding) for text in texts]
        ids = [row[row != NULL_ID] for row in ids]  # the null word never comes out
        if not sum(map(len, ids)):
            return np.zeros((len(texts), len(self.suspects)))
        outs, columns = np.unique(np.concatenate(ids), return_inverse=True)
        logs = self._outcomes(outs)
        np.log(np.maximum(logs, 1e-300, out=logs), out=logs)  # (components, outs)
        ends = np.cumsum([0, *map(len, ids)])
        counts = csr_matrix((np.ones(len(columns)), columns, ends), (len(texts), len(outs)))
        scores: Array = counts @ logs.T
        return self._by_author(scores)

    def _by_author(self, scores: Array) -> Array:
        """Scores of the suspects from those of the components."""
        return scores

    def _outcomes(self, outs: Ids) -> Array:
        """P_a(o), (components, outs)."""
        total = np.zeros((len(self.suspects), len(outs)))
        for part, chances in self._chances(outs):
            total += self._shares[:, part].astype(chances.dtype) @ chances
        return total

    def _chances(self, outs: Ids) -> Iterator[tuple[slice, Chances]]:
        """P(o | w) for some of the words that are used at a time, and which they are."""
        true = np.where(self._words == len(self.embedding), NULL_ID, self._words)
        for start in range(0, len(true), _BLOCK):
            part = slice(start, start + _BLOCK)
            yield part, self.channel.likelihood(true[part], outs)
