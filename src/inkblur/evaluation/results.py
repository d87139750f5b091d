"""What an evaluation found, as records: tables, plots, pages and JSON are all made from these."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from inkblur.errors import ParameterError
from inkblur.evaluation.dataset import Facts
from inkblur.guarantees import Guarantee

ADAPTIVE, STATIC = "adaptive", "static"
AUTHOR = "author"  # the question who wrote a text
MEASURED, NOT_MEASURED = "measured", "not measured"
SEEDED_NOTE = (
    "The draws of this evaluation are seeded, so that it can be repeated; nothing drawn here may "
    "be published. A release for publication uses a fresh secret key, and its guarantee is the one "
    "stated."
)


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with a confidence interval.

    Over repetitions it is Student's and covers other draws on the same texts; one repetition has
    none. Over texts it is a bootstrap (:mod:`inkblur.evaluation.measures.bootstrap`): other texts
    differ by more than other draws.
    """

    mean: float
    low: float | None
    high: float | None
    values: tuple[float, ...]  # one per repetition
    over: str = "repetitions"  # what the interval covers: repetitions, or texts

    @classmethod
    def of(cls, values: Sequence[float], confidence: float) -> Interval:
        """Summarize one number per repetition.

        >>> found = Interval.of([1.0, 2.0, 3.0], 0.95)
        >>> round(found.low, 3), found.mean, round(found.high, 3)
        (-0.484, 2.0, 4.484)
        """
        from scipy.special import stdtrit

        if not values:
            raise ParameterError("no repetition to summarize")
        count = len(values)
        mean = math.fsum(values) / count
        if count == 1:
            return cls(mean, None, None, tuple(values))
        spread = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (count - 1) / count)
        half = float(stdtrit(count - 1, 0.5 + confidence / 2)) * spread
        return cls(mean, mean - half, mean + half, tuple(values))

    def share(self) -> Interval:
        """The same for a number that lies between 0 and 1: so does its interval."""
        if self.low is None or self.high is None:
            return self
        return replace(self, low=max(0.0, self.low), high=min(1.0, self.high))


def above_chance(accuracy: float, chance: float) -> float:
    """(accuracy - chance) / (1 - chance); 0 where guessing is always right.

    >>> round(above_chance(0.55, 0.1), 3), above_chance(1.0, 1.0)
    (0.5, 0.0)
    """
    return (accuracy - chance) / (1 - chance) if chance < 1 else 0.0


@dataclass(frozen=True, slots=True)
class Measurement:
    """What one attack found; or that it was not tried, which does not say it would find nothing."""

    question: str  # author, reading, repetition, singling out, linking, inference
    name: str  # the attack on the author, or the reader; empty where the question has one attack
    scenario: str  # the suspects: all, top-5; of other questions, what is counted
    attacker: str = ""  # adaptive: studied released texts; static: studied true texts
    value: Interval | None = None  # a share (of linking: an area) over texts; None: not measured
    chance: float | None = None  # what is reached without the attack; None: nothing to compare with
    by_chance: str = "guessing"  # how: guessing, reading the text as it stands, ...
    reason: str = ""  # why it was not tried
    # Of attacks on the author:
    f1: Interval | None = None  # mean over authors
    authors: int = 0  # suspects
    known: int = 0  # texts studied
    attacked: int = 0  # texts
    strangers: int = 0  # test texts left out, by authors who are no suspects

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Measurement:
        """What `to_json` gave."""
        spread = {
            name: None if body[name] is None else Interval(**body[name]) for name in ("value", "f1")
        }
        return cls(**{name: value for name, value in body.items() if name != "status"} | spread)

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        return {**asdict(self), "status": self.status}

    @property
    def status(self) -> str:
        """Whether it was tried: an attack that was not is no attack that found nothing."""
        return NOT_MEASURED if self.value is None else MEASURED

    @property
    def attack(self) -> str:
        """What tables call it."""
        if self.question == AUTHOR:
            return self.name
        return f"{self.question} ({self.name})" if self.name else self.question

    @property
    def accuracy(self) -> Interval:
        """The value of an attack that was tried."""
        if self.value is None:
            raise ParameterError(f"{self.attack} was not measured: {self.reason}")
        return self.value

    @property
    def above_chance(self) -> float:
        """The risk: (accuracy - chance) / (1 - chance); below 0 for an attack worse than chance."""
        return above_chance(self.accuracy.mean, self.chance or 0.0)


@dataclass(frozen=True, slots=True)
class UtilityResult:
    """One classifier of labels."""

    model: str
    analyst: str  # adaptive: trained on released texts; static: on true ones
    accuracy: Interval
    precision: Interval
    recall: Interval
    f1: Interval
    trained: int
    tested: int
    labels: int
    unseen: int


@dataclass(frozen=True, slots=True)
class MeaningResult:
    """How far texts moved."""

    earth_movers: Interval
    cosine: Interval
    compared: int  # texts, in the first repetition
    left_out: int


@dataclass(frozen=True, slots=True)
class LabelsFound:
    """How well one classifier found labels."""

    model: str
    accuracy: Interval
    f1: Interval
    trained: int  # texts


@dataclass(frozen=True, slots=True)
class MeaningKept:
    """Mean cosines by a judge that had no part in the release."""

    judge: str
    cosine: Interval  # of a text and its stand-in
    random: Interval  # of two true texts by chance
    nearest: Interval  # of a text and its nearest in the pool


@dataclass(frozen=True, slots=True)
class StandIns:
    """What texts of a pool are worth in place of the true ones."""

    pool: int  # texts
    studied: int  # of them
    public: tuple[LabelsFound, ...]  # from true texts, having studied the pool alone
    recognized: tuple[LabelsFound, ...]  # from released texts, having studied the pool
    learned: tuple[LabelsFound, ...]  # from true texts, having studied released ones
    meaning: MeaningKept | None


@dataclass(frozen=True, slots=True)
class SettingResult:
    """Everything about one release, or (`guarantee` None) about the texts before any."""

    name: str
    settings: dict[str, Any]
    guarantee: Guarantee | None
    worth: tuple[str, ...]
    unchanged: Interval | None  # share of words that came out as they went in
    measurements: tuple[Measurement, ...]  # every attack; on authors, the adaptive attacker first
    utility: tuple[UtilityResult, ...]  # the analyst of released texts first
    meaning: MeaningResult | None
    stand_ins: StandIns | None = None  # for releases from a pool

    @property
    def attacks(self) -> tuple[Measurement, ...]:
        """The attacks on the author that were tried."""
        return tuple(m for m in self.measurements if m.question == AUTHOR and m.value is not None)

    @property
    def epsilon(self) -> float | None:
        """Its epsilon, where it has one."""
        value = self.settings.get("epsilon")
        return None if value is None else float(value)

    def attack(self, name: str, scenario: str, attacker: str) -> Measurement | None:
        """One of the attacks."""
        wanted = (name, scenario, attacker)
        tried = (a for a in self.attacks if (a.name, a.scenario, a.attacker) == wanted)
        return next(tried, None)

    def score(self, model: str, analyst: str) -> UtilityResult | None:
        """One of the classifiers."""
        wanted = (model, analyst)
        return next((u for u in self.utility if (u.model, u.analyst) == wanted), None)

    def strongest(self, scenario: str | None = None) -> Measurement | None:
        """The attack of the largest risk, whoever the attacker; of all scenarios, or of one."""
        tried = [a for a in self.attacks if scenario in (None, a.scenario)]
        return max(tried, key=lambda a: a.above_chance, default=None)

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        body = asdict(self)
        body["measurements"] = [each.to_json() for each in self.measurements]
        body["guarantee"] = self.guarantee.to_json() if self.guarantee is not None else None
        return body


@dataclass(frozen=True, slots=True)
class Example:
    """A text before and after, authors' names masked, cut where it is long."""

    author: int | None
    label: str | None
    before: str
    after: tuple[str, ...]  # one per setting


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The whole report. It holds true texts (the examples): keep it inside."""

    seed: int
    repeats: int
    confidence: float
    embedding: dict[str, Any]
    facts: Facts
    before: SettingResult
    settings: tuple[SettingResult, ...]
    examples: tuple[Example, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """A JSON object; the same seed and data give the same."""
        return {
            "seed": self.seed,
            "repeats": self.repeats,
            "confidence": self.confidence,
            "embedding": dict(self.embedding),
            "data": asdict(self.facts),
            "before": self.before.to_json(),
            "settings": [result.to_json() for result in self.settings],
            "examples": [asdict(example) for example in self.examples],
            "notes": list(self.notes),
        }


def not_measured(measurements: Sequence[Measurement]) -> list[tuple[str, str, str]]:
    """Question, what was not measured and the reason; attacks on the author by reason."""
    missing = [m for m in measurements if m.value is None]
    names: dict[str, dict[str, None]] = {}
    for each in missing:
        if each.question == AUTHOR:
            names.setdefault(each.reason, {})[each.name] = None
    authors = [
        (
            AUTHOR,
            f"author identified by {', '.join(found)}" if any(found) else "author identified",
            why,
        )
        for why, found in names.items()
    ]
    others = [(m.attack, m.scenario, m.reason) for m in missing if m.question != AUTHOR]
    return authors + others


def relative(after: float, before: float) -> float | None:
    """What is left of a score: after / before; None where there was nothing."""
    return after / before if before > 0 else None


def headline(result: SettingResult, before: SettingResult) -> str:
    """What a data owner should read first: the strongest attack, and what the analyst keeps."""
    parts = []
    # Whoever knows the mechanism may study either kind of text: the stronger attack counts.
    worst = result.strongest()
    if worst is not None:
        base = before.strongest(worst.scenario)
        was = "" if base is None else f"; before the release: {base.accuracy.mean:.0%}"
        parts.append(
            f"the strongest attack tried identifies the author of {worst.accuracy.mean:.0%} of "
            f"the texts ({worst.attack}, {worst.attacker}, {worst.authors} suspects; guessing: "
            f"{worst.chance:.0%}{was})"
        )
    best = max(
        (u for u in result.utility if u.analyst == ADAPTIVE), key=lambda u: u.f1.mean, default=None
    )
    if best is not None:
        old = before.score(best.model, STATIC)
        was = "" if old is None else f", {old.f1.mean:.2f} before the release"
        parts.append(f"labels are predicted with F1 {best.f1.mean:.2f} ({best.model}{was})")
    text = "; ".join(parts) or "nothing was attacked or scored"
    return f"{text[0].upper()}{text[1:]}."
