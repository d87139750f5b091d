"""The distinguishing game: one of two inputs was released; an attacker says which.

Mathematics: if the privacy loss between the inputs is at most L, no attacker who holds them
equally likely beforehand is right with probability above e^L / (1 + e^L), and the advantage 2 p -
1 is at most tanh(L / 2). The best attacker compares likelihoods (Neyman and Pearson); this one
estimates them from draws of its own.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from inkblur.errors import ParameterError
from inkblur.evaluation.audit.pairs import Pair, accuracy_bound
from inkblur.evaluation.measures.intervals import (
    checked_confidence,
    clopper_pearson_lower,
    clopper_pearson_upper,
)
from inkblur.guarantees import rounded_up
from inkblur.rng import Rng
from inkblur.types import whole


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
        return accuracy_bound(self.bound)

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
    """Teach the attacker by `lessons` draws a word, then let it guess in `trials` fresh trials.

    Each input is released in half of the trials, so that guessing blindly is right in exactly
    half. The number of right guesses is then a sum of two binomials, whose tails are no heavier
    than those of one binomial with their mean probability (Hoeffding, 1956), so the
    Clopper-Pearson interval holds.
    """
    trials, lessons = whole(trials, "trials"), whole(lessons, "lessons")
    if trials % 2:
        raise ParameterError(f"trials must be even, half for each input, got {trials}")
    alpha = 1 - checked_confidence(confidence)
    attacker = pair.learn(lessons, rng.child("game", "lessons"))
    from_right = np.arange(trials) % 2 == 1
    outputs = pair.draw(from_right, rng.child("game", "trials"))
    right = int(((attacker(outputs) < 0) == from_right).sum())
    return Game(
        subject=pair.subject,
        trials=trials,
        right=right,
        low=float(clopper_pearson_lower(right, trials, alpha / 2)),
        high=float(clopper_pearson_upper(right, trials, alpha / 2)),
        confidence=confidence,
        bound=pair.bound,
    )
