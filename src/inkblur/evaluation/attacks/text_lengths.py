"""The author who writes texts as long as these: words may all be drawn, how many there are shows.

A release has as many words as the true text, whatever epsilon is, unless `--length` fixes their
number. The lengths of an author's texts are counted on a scale of logarithms, each spread over its
neighbors, and joined with those of everybody. How far to spread and how much to join is whatever
names the authors of the known texts best, each in turn left out of what is counted: where lengths
say nothing of authors, the attack learns so.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from itertools import product
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from inkblur.embeddings.table import Embedding
from inkblur.evaluation.attacks.base import ScoringAttack, check_fitted, checked_known
from inkblur.evaluation.attacks.entering import Entering
from inkblur.evaluation.attacks.sentence_lengths import piece_words
from inkblur.types import Array, Ids

_STEP = 0.02  # of a length's logarithm, from one step of the scale to the next
_STEPS = 600  # up to 160,000 words
_SPREADS = (0.03, 0.06, 0.12, 0.25, 0.5, 1.0)  # of a length's logarithm
_EVERYBODY = (1.0, 4.0, 16.0, 64.0)  # texts that everybody's lengths weigh beside an author's own
_WEIGHT = 2.0  # beside an attack on words: chosen on the validation authors of C50 and PAN 2018


class TextLengths(ScoringAttack):
    """The attack as an object: `fit` on known texts, `predict` or `scores` on unknown ones, true or
    released. `enter` says which words of a true text enter the release; None: all.

    >>> table = Embedding(["cat", "sat"], [[0.0], [1.0]], name="toy")
    >>> known = ["Cat.", "Cat sat.", "Cat sat cat sat cat sat.", "Sat cat sat cat sat."]
    >>> attack = TextLengths(table).fit(known, [0, 0, 1, 1])
    >>> attack.predict(["sat sat", "cat cat cat cat cat", ""]).tolist()
    [0, 1, -1]
    """

    name = "text-lengths"

    def __init__(self, embedding: Embedding, enter: Entering | None = None) -> None:
        self.embedding, self.enter = embedding, enter

    def fit(self, texts: Sequence[str], authors: ArrayLike) -> Self:
        """Count the words of each author's texts."""
        self.suspects, writers = np.unique(checked_known(texts, authors), return_inverse=True)
        lengths = self._lengths(texts)
        if self.enter is not None:
            lengths = np.array([len(self.enter(text)) for text in texts])
        counts = np.zeros((len(self.suspects), _STEPS + 1))
        written = lengths > 0
        np.add.at(counts, (writers[written], _steps(lengths[written])), 1.0)
        tried = (_Fit(counts, *each) for each in product(_SPREADS, _EVERYBODY))
        self._logs: Array = max(tried, key=lambda each: each.worth).logs
        return self

    def scores(self, texts: Sequence[str]) -> Array:
        """Log-likelihoods, (texts, suspects); 0 for a text without a word, and for all where they
        are equally long: their length was fixed, and says nothing.
        """
        check_fitted(self, "_logs")
        lengths = self._lengths(texts)
        found = self._logs[:, _steps(np.maximum(lengths, 1))].T
        silent = lengths == 0
        if len(texts) > 1 and np.ptp(lengths) == 0:
            silent[:] = True
        return np.where(silent[:, None], 0.0, found)

    def _lengths(self, texts: Sequence[str]) -> Ids:
        read = cache(partial(piece_words, embedding=self.embedding))
        return np.array([sum(read(piece)[0] for piece in text.split()) for text in texts], np.int64)


class _Fit:
    """One way to spread lengths and to join them with everybody's, and what it is worth."""

    def __init__(self, counts: Array, spread: float, everybody: float) -> None:
        near = _neighbors(spread)
        texts = counts.sum(axis=1, keepdims=True)
        total = max(1.0, texts.sum())
        found = counts @ near
        own = np.diag(near)  # what a text adds to its own length
        shares = _joined(found, texts, found.sum(axis=0) / total, everybody)
        self.logs: Array = np.log(shares)
        everyone = np.maximum(found.sum(axis=0) - own, 0.0) / max(1.0, total - 1.0)
        without = _joined(
            np.maximum(found - own, 0.0), np.maximum(texts - 1.0, 0.0), everyone, everybody
        )
        named = np.log(without / (shares.sum(axis=0) - shares + without))
        self.worth = float((named * counts).sum())


def _joined(found: Array, texts: Array, everyone: Array, everybody: float) -> Array:
    joined: Array = (found + everybody * everyone + 1e-12) / (texts + everybody)
    return joined


def _neighbors(spread: float) -> Array:
    """How a text of each length is spread over the others, (steps, steps)."""
    scale = _STEP * np.arange(_STEPS + 1)
    near = np.exp(-0.5 * ((scale[:, None] - scale) / spread) ** 2)
    shares: Array = near / near.sum(axis=1, keepdims=True)
    return shares


def _steps(lengths: Ids) -> Ids:
    steps: Ids = np.minimum(np.rint(np.log(lengths) / _STEP), _STEPS).astype(np.int64)
    return steps


def with_text_lengths(words: Array, lengths: Array) -> Array:
    """The scores of an attack on words joined with those of `TextLengths`."""
    return words + _WEIGHT * lengths
