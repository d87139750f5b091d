"""Two words that an attacker must tell apart, and the attacker who knows everything else."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from inkblur.errors import ParameterError
from inkblur.evaluation.audit.claimed_metric import word_bounds
from inkblur.mechanisms.base import WordMechanism
from inkblur.rng import Rng
from inkblur.types import NULL_ID, Array, Ids

SMOOTHING = 0.5  # added to every count: an output never seen is not impossible

BoolArray = NDArray[np.bool_]


# An attacker: log-likelihood ratios, one a row of outputs; above 0: the left input is likelier.
Attacker = Callable[[Ids], Array]


class Pair(Protocol):
    """Two inputs under one release, and what is claimed about them."""

    subject: str
    bound: float  # claimed bound on the privacy loss; infinite where nothing is claimed

    def draw(self, right: BoolArray, rng: Rng) -> Ids:
        """Independent outputs as ids, (trials, words); `right` says which input each comes from."""
        ...

    def learn(self, draws: int, rng: Rng) -> Attacker:
        """The attacker, taught by `draws` draws of every word involved."""
        ...


class WordPair:
    """Two words under a word mechanism."""

    def __init__(self, mechanism: WordMechanism, left: str, right: str) -> None:
        self._mechanism = mechanism
        self._left, self._right = (known(mechanism, word) for word in (left, right))
        if self._left == self._right:
            raise ParameterError(f"{left!r} twice is not a pair; give two different words")
        self.subject = f"the words {left!r} and {right!r}"
        ends = np.array([self._left]), np.array([self._right])
        self.bound = float(word_bounds(mechanism, *ends)[0])

    def draw(self, right: BoolArray, rng: Rng) -> Ids:
        """One output word a trial, (trials, 1)."""
        ids = np.where(right, self._right, self._left).astype(np.int64)
        return self._mechanism.replace(ids, rng)[:, None]

    def learn(self, draws: int, rng: Rng) -> Attacker:
        """log P(output | left) - log P(output | right), estimated."""
        left, right = (
            log_frequencies(self._mechanism, id, draws, rng) for id in (self._left, self._right)
        )
        ratios = left - right
        return lambda outputs: ratios[outputs[:, 0]]


def log_frequencies(mechanism: WordMechanism, id: int, draws: int, rng: Rng) -> Array:
    """How often each word comes out for this one, estimated from `draws` draws, as logarithms."""
    stream = rng.child("attacker", str(id))
    out = mechanism.replace(np.full(draws, id, dtype=np.int64), stream)
    counts = np.bincount(out, minlength=len(mechanism.vocabulary))
    frequencies: Array = np.log((counts + SMOOTHING) / draws)
    return frequencies


def known(mechanism: WordMechanism, word: str) -> int:
    """The word's id, or an error that names the vocabulary."""
    found = mechanism.embedding.id(word)
    if found == NULL_ID:
        raise ParameterError(
            f"the word {word!r} is not among the {len(mechanism.embedding):,} words of "
            f"{mechanism.embedding.name}"
        )
    return found


def accuracy_bound(loss: float) -> float:
    """What no attacker can exceed: e^L / (1 + e^L), guessing between two equally likely inputs.

    >>> accuracy_bound(0.0)
    0.5
    """
    return 1 / (1 + math.exp(-loss))
