"""What an evaluation found, as records: tables, charts, pages and JSON are all made from these."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from inkblur.errors import ParameterError
from inkblur.evaluation.dataset import Facts
from inkblur.guarantees import Guarantee

ADAPTIVE, STATIC = "adaptive", "static"  # studied released texts, studied true ones
AUTHOR = "author"  # the question who wrote a text
LABELS, MEANING = "labels", "meaning"  # what is left for a reader
TRUE, RELEASED = "original texts", "released texts"  # whose labels are named
PUBLIC, BOTH = "public texts alone", "both"  # what was studied: these, or RELEASED, or TRUE
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
    none. Over texts it is a bootstrap (:mod:`inkblur.evaluation.measures.intervals`): other texts
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
    """One figure; or that it was not measured, which does not say that it would be none."""

    question: str  # author, reading, repetition, singling out, linking, inference, labels, meaning
    name: str  # the attack on the author, reader, classifier or judge; often there is only one
    scenario: str  # the suspects: all, top-5; whose labels; of other questions, what is counted
    attacker: str = ""  # adaptive, static; of labels, which texts were studied
    value: Interval | None = None  # a share, an area, an F1, a distance; None: not measured
    chance: float | None = None  # what is reached without the attack; None: nothing to compare with
    by_chance: str = "guessing"  # how: guessing, reading the text as it stands, ...
    reason: str = ""  # why it was not measured
    f1: Interval | None = None  # of attacks on the author: mean over authors
    authors: int = 0  # suspects
    known: int = 0  # texts studied
    attacked: int = 0  # texts that were attacked, labeled or compared
    strangers: int = 0  # test texts left out: no text that was studied has their author or label

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
        """The value of what was measured."""
        if self.value is None:
            raise ParameterError(f"{self.attack} was not measured: {self.reason}")
        return self.value

    @property
    def above_chance(self) -> float:
        """The risk; below 0 for an attack worse than chance."""
        return above_chance(self.accuracy.mean, self.chance or 0.0)


@dataclass(frozen=True, slots=True)
class SettingResult:
    """Everything about one release, or (`guarantee` None) about the texts before any."""

    name: str
    settings: dict[str, Any]
    guarantee: Guarantee | None
    worth: tuple[str, ...]
    measurements: tuple[Measurement, ...]  # on authors and labels, who studied the release first

    def of(self, *questions: str) -> list[Measurement]:
        """What was measured of these questions."""
        return [m for m in self.measurements if m.question in questions and m.value is not None]

    @property
    def attacks(self) -> list[Measurement]:
        """The attacks on the author that were tried."""
        return self.of(AUTHOR)

    def attack(self, name: str, scenario: str, attacker: str) -> Measurement | None:
        """One of the attacks on the author."""
        wanted = (name, scenario, attacker)
        tried = (a for a in self.attacks if (a.name, a.scenario, a.attacker) == wanted)
        return next(tried, None)

    def strongest(self, scenario: str | None = None) -> Measurement | None:
        """The attack on the author of the largest risk; of all scenarios, or of one."""
        tried = [a for a in self.attacks if scenario in (None, a.scenario)]
        return max(tried, key=lambda a: a.above_chance, default=None)

    def largest_risk(self) -> Measurement | None:
        """The attack that succeeds most above chance: on the author, original or secret label."""
        tried = self.of(AUTHOR, "singling out", "inference")
        return max(tried, key=lambda m: m.above_chance, default=None)

    def score(self, studied: str, asked: str, model: str | None = None) -> Measurement | None:
        """How well the labels of some texts are named by who studied others; the best classifier,
        or one of them.
        """
        tried = [
            m
            for m in self.of(LABELS)
            if (m.attacker, m.scenario) == (studied, asked) and model in (None, m.name)
        ]
        return max(tried, key=lambda m: m.accuracy.mean, default=None)

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        return {
            "name": self.name,
            "settings": self.settings,
            "guarantee": self.guarantee.to_json() if self.guarantee is not None else None,
            "worth": list(self.worth),
            "measurements": [each.to_json() for each in self.measurements],
        }


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

    def answers(self) -> list[str]:
        """What a data owner should read first, a line for each setting."""
        return [f"{each.name}: {_answer(each, self.before)}" for each in self.settings]

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
    names: dict[str, list[str]] = {}
    missing = []
    for each in measurements:
        if each.value is not None:
            continue
        if each.question == AUTHOR:
            names.setdefault(each.reason, []).append(each.name)
        else:
            missing.append((each.attack, each.scenario, each.reason))
    authors = []
    for why, attacks in names.items():
        by = f" by {', '.join(dict.fromkeys(attacks))}" if any(attacks) else ""
        authors.append((AUTHOR, f"author identified{by}", why))
    return authors + missing


def _answer(result: SettingResult, before: SettingResult) -> str:
    """The largest risk, and what the release is worth beside the public texts alone."""
    parts = []
    risk = result.largest_risk()
    if risk is not None:
        what = f"{risk.question}, {risk.scenario}"
        if risk.question == AUTHOR:
            base = before.strongest(risk.scenario)
            was = "" if base is None else f"; original texts: {base.accuracy.mean:.0%}"
            what = f"author by {risk.name}, {risk.attacker}, {risk.authors} suspects{was}"
        share, chance = f"{risk.accuracy.mean:.0%}", f"{risk.chance or 0:.0%}"
        parts.append(f"the largest risk found is {share} ({what}; {risk.by_chance}: {chance})")
    learned = result.score(RELEASED, TRUE)
    if learned is not None:
        shown = [f"from the release F1 {learned.accuracy.mean:.2f}"]
        for studied, name in ((PUBLIC, "the public texts alone"), (BOTH, "both")):
            found = result.score(studied, TRUE, learned.name)
            figure = NOT_MEASURED if found is None else f"{found.accuracy.mean:.2f}"
            shown.append(f"from {name} {figure}")
        original = before.score(TRUE, TRUE, learned.name)
        if original is not None:
            shown.append(f"from the originals {original.accuracy.mean:.2f}")
        parts.append(
            f"labels are learned ({learned.name}) {', '.join(shown)}, by guessing "
            f"{learned.chance or 0:.2f}"
        )
    return f"{'; '.join(parts) or 'nothing was attacked or scored'}."
