"""The distinguishing game: one of two inputs was released; an attacker says which.

Mathematics: if the privacy loss between the inputs is at most L, no attacker who holds them equally
likely beforehand is right with probability p above e^L / (1 + e^L), and the advantage 2p - 1 is at
most tanh(L / 2). The best attacker compares likelihoods (Neyman and Pearson); this one estimates
them from draws of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from inkblur.errors import ParameterError
from inkblur.evaluation.audit.claimed_metric import word_bounds
from inkblur.evaluation.measures.intervals import checked_confidence, clopper_pearson
from inkblur.guarantees import rounded_up
from inkblur.mechanisms.base import WordMechanism
from inkblur.rng import Rng
from inkblur.types import NULL_ID, Array, Ids, whole

SMOOTHING = 0.5  # added to every count: an output never seen is not impossible

BoolArray = NDArray[np.bool_]
# An attacker: log-likelihood ratios, one per row of outputs; above 0: the left input is likelier.
Attacker = Callable[[Ids], Array]


class Pair(Protocol):
    """Two inputs under one release, and what is claimed about them."""

    subject: str
    bound: float  # claimed bound on the privacy loss; infinite where nothing is claimed

    def draw(self, right: BoolArray, rng: Rng) -> Ids:
        """Independent outputs as ids, (trials, words); `right` says which input each comes from."""

    def learn(self, draws: int, rng: Rng) -> Attacker:
        """The attacker, taught by `draws` draws of every word involved."""


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
        """One output word per trial, (trials, 1)."""
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
    return np.log((counts + SMOOTHING) / draws)


def known(mechanism: WordMechanism, word: str) -> int:
    """The word's id, or an error that names the vocabulary."""
    found = mechanism.embedding.id(word)
    if found == NULL_ID:
        raise ParameterError(
            f"the word {word!r} is not among the {len(mechanism.embedding):,} words of "
            f"{mechanism.embedding.name}"
        )
    return found


@dataclass(frozen=True, slots=True)
class Game:
    """How often the attacker was right."""

    subject: str
    trials: int
    right: int  # guesses that were right
    low: float  # accuracy, confidence interval by Clopper and Pearson
    high: float
    confidence: float
    bound: float  # claimed bound on the privacy loss; infinite where nothing is claimed

    @property
    def accuracy(self) -> float:
        """Share of right guesses; 0.5 is guessing."""
        return self.right / self.trials

    @property
    def advantage(self) -> float:
        """2 accuracy - 1: 0 is guessing, 1 is certainty."""
        return 2 * self.accuracy - 1

    @property
    def highest_allowed(self) -> float:
        """The accuracy that the claim allows, e^L / (1 + e^L)."""
        return 1 / (1 + math.exp(-self.bound))

    @property
    def flagged(self) -> bool:
        """Whether the attacker is surely better than the claim allows."""
        return self.low > self.highest_allowed

    def verdict(self) -> str:
        """One sentence."""
        allowed = (
            f"the claim allows {rounded_up(self.highest_allowed)}"
            if math.isfinite(self.bound)
            else "nothing is claimed"
        )
        return (
            f"An attacker who knows everything but which of {self.subject} was released is right "
            f"in {self.accuracy:.3f} of {self.trials:,} trials ({self.confidence:.4g} confidence: "
            f"{self.low:.3f} to {self.high:.3f}); guessing gives 0.500, {allowed}"
            + (": THE CLAIM IS FALSE." if self.flagged else ".")
        )

    def to_json(self) -> dict[str, Any]:
        """A JSON object; an infinite bound becomes null."""
        return {
            **asdict(self),
            "bound": self.bound if math.isfinite(self.bound) else None,
            "accuracy": self.accuracy,
            "advantage": self.advantage,
            "highest_allowed": self.highest_allowed,
            "flagged": self.flagged,
            "verdict": self.verdict(),
        }


def play(
    pair: Pair, *, rng: Rng, trials: int = 20_000, lessons: int = 5_000, confidence: float = 0.99
) -> Game:
    """Teach the attacker by `lessons` draws per word, then let it guess in `trials` fresh trials.

    Each input is released in half of the trials. The number of right guesses is then a sum of two
    binomials, whose tails are no heavier than those of one binomial with their mean probability
    (Hoeffding, 1956), so the Clopper-Pearson interval holds.
    """
    trials, lessons = whole(trials, "trials"), whole(lessons, "lessons")
    if trials % 2:
        raise ParameterError(f"trials must be even, half for each input, got {trials}")
    level = checked_confidence(confidence)
    attacker = pair.learn(lessons, rng.child("game", "lessons"))
    from_right = np.arange(trials) % 2 == 1
    outputs = pair.draw(from_right, rng.child("game", "trials"))
    right = int(((attacker(outputs) < 0) == from_right).sum())
    low, high = clopper_pearson(right, trials, level)
    return Game(pair.subject, trials, right, low, high, confidence, pair.bound)
