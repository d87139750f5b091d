"""One attempt to disprove a privacy claim from outside: by what comes out, and nothing else.

The loss between inputs x and y is the largest |log P(E | x) - log P(E | y)| over events E. For any
one event, Clopper-Pearson bounds on both probabilities give a lower bound on it. Choosing the event
on the same draws would cheat, so draws come in three parts: a quarter teaches an attacker a score
(its log-likelihood ratio), a quarter chooses for each direction the threshold whose event {score >=
t} promises most, and the fresh half bounds those two events, each at half the error. Nothing else
needs correcting, however many events were looked at. A lower bound above the claimed upper bound
convicts; one below it proves nothing.
"""

from __future__ import annotations

import itertools
import math
import reprlib
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np

from inkblur.errors import ParameterError
from inkblur.evaluation.measures.intervals import checked_confidence, log_ratio_lower
from inkblur.guarantees import rounded_down, rounded_up
from inkblur.types import Array, Ids, counted, positive, whole

DRAWS = 20_000  # of each input
ASSUMED = (
    "Assumed, and not tested: that each output was drawn independently of all others, and that the "
    "function is what will be released with."
)
_LOOKS = 2_000  # draws of each of several inputs, to find the pair that is audited
_FEWEST = 40
_RANKING = 0.05  # error of the bounds that rank pairs and thresholds; nothing is claimed by it
_MOST_THRESHOLDS = 1_000  # tried; more change nothing but the time

Function = Callable[[list[Any]], Iterable[Hashable]]  # draws an output for each input
Scores = Callable[[Any], Array]  # of outputs; above 0: the left input is likelier


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The privacy loss between two inputs is at most epsilon times their distance.

    `metric="discrete"`: the distance is 1 between any two inputs of unit "text", and the number of
    words that differ in unit "word" (of texts of one length). Any other metric or unit needs
    `distance`, a function of two inputs.
    """

    epsilon: float
    metric: str
    unit: str
    distance: Callable[[Any, Any], float] | None = None

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        known = self.metric == "discrete" and self.unit in ("word", "text")
        if self.distance is None and not known:
            raise ParameterError(
                f"a claim in the {self.metric} metric for a {self.unit} needs `distance=`, a "
                "function of two inputs"
            )

    def bound(self, left: Any, right: Any) -> float:
        """The claimed bound on the loss; infinite where nothing is claimed."""
        if self.distance is not None:
            return self.epsilon * float(self.distance(left, right))
        if self.unit == "text":
            return 0.0 if left == right else self.epsilon
        words, others = str(left).split(), str(right).split()
        if len(words) != len(others):
            raise ParameterError(
                f"a claim for a word compares texts of one length, got {len(words)} and "
                f"{len(others)} words"
            )
        return self.epsilon * sum(word != other for word, other in zip(words, others, strict=True))

    def sentence(self) -> str:
        """What is claimed, in words."""
        return (
            f"Claimed: between two inputs the loss is at most {self.epsilon:g} x their distance in "
            f"the {self.metric} metric, for a {self.unit}."
        )


@dataclass(frozen=True, slots=True)
class Audit:
    """The privacy loss between two inputs: at least `loss`, at the stated confidence."""

    claim: str
    subject: str
    bound: float  # claimed; infinite where nothing is claimed
    loss: float  # lower confidence bound, at least 0
    estimate: float  # log-ratio of the event's frequencies, without confidence
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
        """What was found, honest about what the draws could show."""
        claim = "there is no bound"
        if math.isfinite(self.bound):
            claim = f"the claim is at most {rounded_up(self.bound)}"
        measured = (
            f"Between {self.subject} the privacy loss is at least {rounded_down(self.loss)} "
            f"({self.confidence:.4g} confidence, {self.draws:,} draws of each); {claim}"
        )
        if self.flagged:
            return f"{measured}: THE CLAIM IS FALSE. {ASSUMED}"
        if self.powerless:
            return (
                f"{measured}. This says nothing for or against the claim: this many draws can "
                f"show a loss of {rounded_up(self.ceiling)} at most. {ASSUMED}"
            )
        return f"{measured}. That it was not disproved is no proof. {ASSUMED}"

    def __str__(self) -> str:
        return f"{self.claim} {self.verdict()}"

    def to_json(self) -> dict[str, Any]:
        """A JSON object; an infinite bound becomes null."""
        return {
            **asdict(self),
            "bound": self.bound if math.isfinite(self.bound) else None,
            "flagged": self.flagged,
            "powerless": self.powerless,
            "verdict": self.verdict(),
            "assumed": ASSUMED,
        }


class Pair(Protocol):
    """Two inputs under one release."""

    subject: str
    bound: float  # claimed

    def draw(self, right: bool, draws: int) -> Any:
        """So many outputs of the left or the right input, drawn afresh."""

    def learn(self, draws: int) -> Scores:
        """Log-likelihood ratios, taught by so many draws of what is needed."""


def audit(
    function: Function,
    claim: Claim,
    *,
    inputs: Sequence[Any],
    draws: int = DRAWS,
    confidence: float = 0.99,
) -> Audit:
    """Try to disprove a claim about any function that draws an output for each of its inputs.

    `function` takes a list of inputs and returns an output for each, drawn independently; of more
    than two `inputs`, extra draws find the two whose loss stands out against its bound.
    `confidence` is the probability that a claim that is true is not called false.

    >>> coin = np.random.default_rng(1)
    >>> def answer(truths):  # randomized response: the truth in three cases of four
    ...     return [truth ^ (coin.random() < 0.25) for truth in truths]
    >>> claim = Claim(epsilon=0.8, metric="discrete", unit="text")
    >>> audit(answer, claim, inputs=[False, True]).flagged  # it is log 3 = 1.10
    True
    """
    if len(inputs) < 2:
        raise ParameterError("an audit compares inputs: give two or more")
    checked_draws(draws)
    checked_confidence(confidence)
    left, right = inputs if len(inputs) == 2 else _likeliest_pair(function, claim, inputs, draws)
    if left == right:
        raise ParameterError("an audit compares two different inputs; these are the same")
    pair = _Draws(function, claim, (left, right))
    return measure_loss(pair, draws=draws, confidence=confidence, claim=claim.sentence())


def measure_loss(
    pair: Pair, *, draws: int = DRAWS, confidence: float = 0.99, claim: str = ""
) -> Audit:
    """A lower confidence bound on the privacy loss between two inputs."""
    alpha = 1 - checked_confidence(confidence)
    quarter = checked_draws(draws) // 4
    fresh = draws - 2 * quarter
    scores = pair.learn(quarter)
    choosing = [scores(pair.draw(side, quarter)) for side in (False, True)]
    confirming = [scores(pair.draw(side, fresh)) for side in (False, True)]

    def towards(sign: int) -> Audit:
        """By events that are likelier from the left input (1), or from the right one (-1)."""
        likely, unlikely = (sign * scores for scores in choosing[::sign])
        threshold, _ = _best_threshold(likely, unlikely, alpha / 2)
        hits, against = (int((sign * scores >= threshold).sum()) for scores in confirming[::sign])
        return Audit(
            claim=claim,
            subject=pair.subject,
            bound=pair.bound,
            loss=max(0.0, float(log_ratio_lower(hits, against, fresh, fresh, alpha / 2))),
            estimate=math.log(max(hits, 0.5) / max(against, 0.5)),
            hits=(hits, against) if sign > 0 else (against, hits),
            confirmed_on=fresh,
            draws=draws,
            confidence=confidence,
            ceiling=float(log_ratio_lower(fresh, 0, fresh, fresh, alpha / 2)),
        )

    return max(towards(1), towards(-1), key=lambda audit: audit.loss)


def checked_draws(draws: int) -> int:
    """Enough draws for all three parts, or a clear error."""
    if whole(draws, "draws") < _FEWEST:
        raise ParameterError(f"an audit needs at least {_FEWEST} draws of each input, got {draws}")
    return draws


def _best_threshold(scores: Array, against: Array, alpha: float) -> tuple[float, float]:
    """The t for which {score >= t} promises the largest log-ratio, and what it promises.

    The promise is made on the draws that chose t, so it is no bound until fresh ones confirm it.
    """
    thresholds = np.unique(np.concatenate([scores, against]))
    if len(thresholds) > _MOST_THRESHOLDS:
        places = np.linspace(0, len(thresholds) - 1, _MOST_THRESHOLDS).astype(np.int64)
        thresholds = thresholds[places]
    hits = len(scores) - np.searchsorted(np.sort(scores), thresholds)
    misses = len(against) - np.searchsorted(np.sort(against), thresholds)
    promises = log_ratio_lower(hits, misses, len(scores), len(against), alpha)
    best = int(np.argmax(promises))
    return float(thresholds[best]), float(promises[best])


class _Draws:
    """What a function draws from some inputs, each different output with a number of its own. The
    first two are a pair under a function of which nothing is known.
    """

    def __init__(self, function: Function, claim: Claim, inputs: Sequence[Any]) -> None:
        left, right = inputs[:2]
        self._function, self._inputs = function, inputs
        self._numbers: dict[Hashable, int] = {}
        self.subject = f"{reprlib.repr(left)} and {reprlib.repr(right)}"
        self.bound = claim.bound(left, right)

    def draw(self, place: int, draws: int) -> Ids:
        returned = self._function([self._inputs[place]] * draws)
        if not isinstance(returned, Iterable):
            raise ParameterError(
                f"the function returned {type(returned).__name__}; it must return an output for "
                "each input, such as a list (of `inkblur.privatize` take `.texts`)"
            )
        outputs = list(returned)
        if len(outputs) != draws:
            raise ParameterError(
                f"the function returned {counted(len(outputs), 'output')} for "
                f"{counted(draws, 'input')}; it must return one for each"
            )
        numbers = self._numbers
        return np.array([numbers.setdefault(each, len(numbers)) for each in outputs])

    def log_ratios(self, left: Ids, right: Ids) -> Array:
        """log P(output | left) - log P(output | right), estimated from draws of each; half a count
        is added to each, for an output never seen is not impossible.
        """
        one, other = (np.bincount(side, minlength=len(self._numbers)) for side in (left, right))
        ratios: Array = np.log(one + 0.5) - np.log(other + 0.5)
        return ratios

    def learn(self, draws: int) -> Scores:
        ratios = self.log_ratios(self.draw(0, draws), self.draw(1, draws))

        def scores(outputs: Ids) -> Array:
            seen = outputs < len(ratios)  # an output that is new says nothing
            return np.where(seen, ratios[np.where(seen, outputs, 0)], 0.0)

        return scores


def _likeliest_pair(
    function: Function, claim: Claim, inputs: Sequence[Any], draws: int
) -> tuple[Any, Any]:
    """The pair whose promised loss exceeds its bound by most, or falls short of it by least."""
    outputs, looks = _Draws(function, claim, inputs), min(_LOOKS, max(_FEWEST, draws // 4))
    drawn = [outputs.draw(place, looks) for place in range(len(inputs))]
    half = looks // 2

    def excess(places: tuple[int, int]) -> float:
        one, other = (drawn[place] for place in places)
        bound = claim.bound(*(inputs[place] for place in places))
        ratios = outputs.log_ratios(one[:half], other[:half])
        left, right = ratios[one[half:]], ratios[other[half:]]
        sides = (left, right), (-right, -left)
        promise = max(_best_threshold(*side, _RANKING)[1] for side in sides)
        return promise - (bound if math.isfinite(bound) else 0.0)

    best = max(itertools.combinations(range(len(inputs)), 2), key=excess)
    return inputs[best[0]], inputs[best[1]]
