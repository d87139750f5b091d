"""Is the claim true? A measured lower bound on the privacy loss, beside the proved upper one.

Mathematics: the loss between inputs x and y is the largest |log P(E | x) - log P(E | y)| over
events E. For any one event, Clopper-Pearson bounds on both probabilities give a lower bound on it.
Choosing the event on the same draws would cheat, so draws come in three parts: a quarter teaches
the attacker a score (its log-likelihood ratio), a quarter chooses for each direction the threshold
whose event {score >= t} promises most, and the fresh half bounds those two events, each at half
the error. Nothing else needs correcting, however many events were looked at. A lower bound above
the claimed upper bound convicts; one below it proves nothing.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from inkblur.errors import ParameterError
from inkblur.evaluation.audit.choice import audit_choice
from inkblur.evaluation.audit.distinguishing import Attacker, Game, Pair, WordPair, play
from inkblur.evaluation.audit.noise import NoiseAudit, audit_noise
from inkblur.evaluation.audit.normality import InsideAudit
from inkblur.evaluation.audit.pair_search import LOOKS, best_threshold, likely_pair
from inkblur.evaluation.measures.intervals import checked_confidence, log_ratio_lower
from inkblur.guarantees import rounded_down, rounded_up
from inkblur.mechanisms.base import DiscreteMechanism, WordMechanism
from inkblur.mechanisms.perturbation import Perturbation
from inkblur.rng import Rng
from inkblur.types import Array, whole

DRAWS = 20_000  # of each input
INSIDE_DRAWS = 20_000
FEW_DIMENSIONS = 8  # with more, an audit from outside has little power and says so
_FEWEST = 40


@dataclass(frozen=True, slots=True)
class LossAudit:
    """The privacy loss between two inputs: at least `loss`, at the stated confidence."""

    subject: str
    bound: float  # claimed; infinite where nothing is claimed
    loss: float  # lower confidence bound, at least 0
    estimate: float  # log-ratio of the event's frequencies, without confidence
    event: str
    hits: tuple[int, int]  # how often the event happened, from either input
    confirmed_on: int  # fresh draws of each input that the hits are out of
    draws: int  # all draws of each input
    confidence: float
    ceiling: float  # the largest loss that this many draws can show

    @property
    def flagged(self) -> bool:
        """Whether the loss surely exceeds the claim."""
        return self.loss > self.bound

    @property
    def powerless(self) -> bool:
        """Whether this audit could not have convicted anything: its ceiling is below the bound."""
        return math.isfinite(self.bound) and self.ceiling <= self.bound

    def verdict(self) -> str:
        """One sentence, honest about what the draws could show."""
        claim = (
            f"the claim is at most {rounded_up(self.bound)}"
            if math.isfinite(self.bound)
            else "there is no bound"
        )
        measured = (
            f"Between {self.subject} the privacy loss is at least {rounded_down(self.loss)} "
            f"({self.confidence:.4g} confidence, {self.draws:,} draws of each); {claim}"
        )
        if self.flagged:
            return f"{measured}: THE CLAIM IS FALSE."
        if self.powerless:
            return (
                f"{measured}. This says nothing for or against the claim: this many draws can "
                f"show a loss of {rounded_up(self.ceiling)} at most."
            )
        return f"{measured}."

    def to_json(self) -> dict[str, Any]:
        """A JSON object; an infinite bound becomes null."""
        return {
            **asdict(self),
            "bound": self.bound if math.isfinite(self.bound) else None,
            "flagged": self.flagged,
            "powerless": self.powerless,
            "verdict": self.verdict(),
        }


@dataclass(frozen=True, slots=True)
class Audit:
    """Everything one audit found; `confidence` is that a right mechanism passes all of it."""

    mechanism: str
    parameters: dict[str, float | str]
    confidence: float
    loss: LossAudit
    game: Game
    inside: InsideAudit | None  # None: nothing with a guarantee to look into

    @property
    def flagged(self) -> bool:
        """Whether any part contradicts the claim."""
        return (
            self.loss.flagged
            or self.game.flagged
            or (self.inside is not None and self.inside.flagged)
        )

    def verdicts(self) -> tuple[str, ...]:
        """What was found, a sentence each."""
        lines = [self.loss.verdict(), self.game.verdict()]
        if isinstance(self.inside, NoiseAudit) and self.inside.dimension > FEW_DIMENSIONS:
            lines.append(
                f"In {self.inside.dimension} dimensions the outputs that would show a false claim "
                "hardly ever come up, so these two figures cannot clear it: the look inside counts."
            )
        if self.inside is None:
            lines.append("Nothing with a guarantee to look into: only outputs were audited.")
        elif self.inside.flagged:
            lines += [f"Inside: {finding}: THE CLAIM IS FALSE." for finding in self.inside.findings]
        else:
            lines.append(self.inside.verdict())
        return tuple(lines)

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        return {
            "mechanism": self.mechanism,
            "parameters": dict(self.parameters),
            "confidence": self.confidence,
            "flagged": self.flagged,
            "loss": self.loss.to_json(),
            "game": self.game.to_json(),
            "inside": self.inside.to_json() if self.inside is not None else None,
        }


def measure_loss(
    pair: Pair, *, rng: Rng, draws: int = DRAWS, confidence: float = 0.99
) -> LossAudit:
    """A lower confidence bound on the privacy loss between two inputs."""
    draws = checked_draws(draws)
    alpha = 1 - checked_confidence(confidence)
    quarter = draws // 4
    fresh = draws - 2 * quarter
    attacker = pair.learn(quarter, rng.child("loss", "lessons"))
    chosen = _both_scores(pair, attacker, quarter, rng.child("loss", "choice"))
    confirmed = _both_scores(pair, attacker, fresh, rng.child("loss", "confirmation"))

    def towards(sign: int) -> LossAudit:
        """By events that are likelier from the left input (1), or from the right one (-1)."""
        likely, unlikely = (sign * scores for scores in chosen[::sign])
        threshold, _ = best_threshold(likely, unlikely, alpha / 2)
        hits, against = (int((sign * scores >= threshold).sum()) for scores in confirmed[::sign])
        low = float(log_ratio_lower(hits, against, fresh, fresh, alpha / 2))
        return LossAudit(
            subject=pair.subject,
            bound=pair.bound,
            loss=max(0.0, low),
            estimate=math.log(max(hits, 0.5) / max(against, 0.5)),
            event=f"log-likelihood ratio {'>=' if sign > 0 else '<='} {sign * threshold:.4g}",
            hits=(hits, against) if sign > 0 else (against, hits),
            confirmed_on=fresh,
            draws=draws,
            confidence=confidence,
            ceiling=float(log_ratio_lower(fresh, 0, fresh, fresh, alpha / 2)),
        )

    return max(towards(1), towards(-1), key=lambda audit: audit.loss)


def audit_mechanism(
    mechanism: WordMechanism,
    *,
    rng: Rng,
    pair: tuple[str, str] | None = None,
    draws: int = DRAWS,
    inside_draws: int = INSIDE_DRAWS,
    confidence: float = 0.99,
) -> Audit:
    """Audit a word mechanism by its outputs, and from inside where it is noise or a stated choice.

    Without `pair`, extra draws look for two words whose loss stands out against its bound. The
    allowed error is shared evenly between the three parts.
    """
    part = 1 - (1 - checked_confidence(confidence)) / 3
    if pair is None:
        looks = min(LOOKS, max(_FEWEST, draws // 4))
        stream = rng.child("audit", "pair search", mechanism.spec)
        pair = likely_pair(mechanism, stream, looks=looks)
    words = WordPair(mechanism, *pair)
    stream = rng.child("audit", mechanism.spec, *pair)
    return Audit(
        mechanism=mechanism.name,
        parameters=dict(mechanism.parameters),
        confidence=confidence,
        loss=measure_loss(words, rng=stream, draws=draws, confidence=part),
        game=play(
            words, rng=stream, trials=2 * (draws // 2), lessons=max(1, draws // 4), confidence=part
        ),
        inside=_look_inside(mechanism, stream, inside_draws, part),
    )


def _look_inside(
    mechanism: WordMechanism, rng: Rng, draws: int, confidence: float
) -> InsideAudit | None:
    if not mechanism.guarantee.private:
        return None
    if isinstance(mechanism, Perturbation):
        return audit_noise(mechanism, rng=rng, draws=draws, confidence=confidence)
    if isinstance(mechanism, DiscreteMechanism):
        return audit_choice(mechanism, rng=rng, draws=draws, confidence=confidence)
    return None


def checked_draws(draws: int) -> int:
    """Enough draws for all three parts, or a clear error."""
    if whole(draws, "draws") < _FEWEST:
        raise ParameterError(f"an audit needs at least {_FEWEST} draws of each input, got {draws}")
    return draws


def _both_scores(pair: Pair, attacker: Attacker, draws: int, rng: Rng) -> tuple[Array, Array]:
    left = pair.draw(np.zeros(draws, dtype=bool), rng.child("left"))
    right = pair.draw(np.ones(draws, dtype=bool), rng.child("right"))
    return attacker(left), attacker(right)
