"""What is promised, as data: a Guarantee travels with every release and states itself in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from inkblur.errors import Incomposable, ParameterError
from inkblur.guarantees import wording
from inkblur.types import Metric, Unit

PUBLIC_EMBEDDING = (
    "the word vectors and everything computed from them are public and were not made from the "
    "protected text"
)
SECRET_KEY = "the key of the run stays secret"
REAL_NUMBERS = (
    "rounding in 64-bit floating point does not matter: the proof is about real numbers, and only "
    "words leave the program, never noisy vectors"
)
ADD_UP = (
    "the losses of several releases of the same text are added up, with or without a key (an exact "
    "repeat, with the same key and settings, adds nothing)"
)
ONE_ID = "under one key each id belongs to one record: the same id and text give the same output"
NOBODY_COUNTS = "no ledger was used, so repeated releases of these texts are not counted"
SEEDED = "not private: seeded. Anyone who guesses the seed can repeat the draws"


@dataclass(frozen=True, slots=True)
class Guarantee:
    """A bound on how much likelier any output can be from one input than from another.

    For a metric d on words the promise is `P(out | x) <= exp(epsilon * D(x, y)) * P(out | y)` for
    every output and every two inputs, where D is d itself for single words, its sum over positions
    for sequences of one length, and N times Earth Mover's distance over d for bags of one size N
    (Earth Mover's paper, Theorem 1). For the discrete metric D is the number of words drawn,
    whatever the documents (SynTF, Theorem 3.3). Where a whole text is one draw
    (`Unit.TEXT`), D is 1 between any two texts.

    `delta` is no part of that promise but its fine print: the total variation distance, a word,
    between the law that is drawn from and the law that the promise is proved for. For texts x and y
    of N words it adds at most `N * delta * (1 + exp(epsilon * D(x, y)))` to the right-hand side.

    >>> word = Guarantee(epsilon=2.0, metric=Metric.EUCLIDEAN)
    >>> word.loss(distance=0.5)
    1.0
    >>> compose([word, word]) == word.scaled(2)
    True
    """

    epsilon: float  # per unit of distance and word, in (0, inf); inf where nothing is promised
    metric: Metric
    unit: Unit = Unit.WORD
    size: int | None = None  # N of a bag or vector; None: as many as a text is released as
    metric_detail: str = ""  # what else defines the metric, e.g. "lambda 0.5"
    space: str = ""  # sha256 of the word vectors that distances are measured on; empty: none are
    euclidean: tuple[float, float] | None = None  # epsilon in Euclidean terms, from below and above
    bounds: tuple[tuple[str, float], ...] = ()  # other proved bounds a word, by name
    delta: float = 0.0  # total variation a word between what is drawn and what is proved, in [0, 1)
    typical_words: int | None = None  # draws of a typical text, to state what a whole one spends
    assumptions: tuple[str, ...] = ()
    reveals: tuple[str, ...] = ()  # what the metric blurs less than the rest, on purpose
    passed: tuple[str, ...] = ()  # what the release shows unprotected
    releases: int = 1
    void: str = ""  # why nothing is promised; empty where something is

    def __post_init__(self) -> None:
        if not self.void and not (math.isfinite(self.epsilon) and self.epsilon > 0):
            raise ParameterError(f"epsilon must be a finite number above 0, got {self.epsilon}")
        if self.metric is Metric.NONE and not self.void:
            raise ParameterError("a guarantee without a metric must say why it is void")
        if not 0 <= self.delta < 1:
            raise ParameterError(f"delta must lie in [0, 1), got {self.delta}")

    @property
    def private(self) -> bool:
        """Whether anything is promised."""
        return not self.void

    def loss(self, distance: float, *, size: int | None = None) -> float:
        """The bound on the log-ratio at this distance (summed, or Earth Mover's for bags).

        `size` is needed for bags and vectors released at their own size. For the discrete metric
        the distance between two sequences is the number of positions that differ; bags, vectors and
        whole texts are bounded whatever the distance.
        """
        if not self.private:
            return math.inf
        if self.unit is Unit.TEXT:
            return self.epsilon
        if self.unit in (Unit.BAG, Unit.VECTOR):
            count = self.size if self.size is not None else size
            if count is None:
                raise ParameterError("this release has no fixed size: give size=")
            return self.epsilon * count * (1.0 if self.metric is Metric.DISCRETE else distance)
        return self.epsilon * distance

    def lifted(
        self,
        unit: Unit,
        *,
        size: int | None = None,
        passed: Iterable[str] = (),
    ) -> Guarantee:
        """The guarantee of a whole document from that of one word."""
        return replace(self, unit=unit, size=size).passing(passed)

    def passing(self, shown: Iterable[str]) -> Guarantee:
        """The same promise, naming more that is released as it is."""
        return replace(self, passed=_union([self.passed, tuple(shown)]))

    def scaled(self, times: int) -> Guarantee:
        """What `times` independent releases of one input spend together."""
        return compose([self] * times)

    def voided(self, reason: str) -> Guarantee:
        """The same release, promising nothing, for this reason (and those it had)."""
        return replace(self, void="; ".join(filter(None, (self.void, reason))))

    def assuming(self, *lines: str) -> Guarantee:
        """The same promise, resting on more."""
        return replace(self, assumptions=_union([self.assumptions, lines]))

    def revealing(self, *lines: str) -> Guarantee:
        """The same promise, naming more that its metric blurs less on purpose."""
        return replace(self, reveals=_union([self.reveals, lines]))

    def to_json(self) -> dict[str, Any]:
        """A JSON object; :meth:`from_json` reads it back. Infinity becomes null."""
        body = {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}
        return {
            **body,
            "metric": self.metric.value,
            "unit": self.unit.value,
            "epsilon": self.epsilon if math.isfinite(self.epsilon) else None,
            "bounds": dict(self.bounds),
            "private": self.private,
            "sentence": self.sentence(),
            "lines": self.lines(),
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Guarantee:
        """The guarantee that :meth:`to_json` wrote."""
        if body.get("without"):
            raise ParameterError(
                "this guarantee leaves words out before it counts them, as an earlier version did: "
                "make the release again"
            )
        epsilon, euclidean = body["epsilon"], body["euclidean"]
        return cls(
            epsilon=math.inf if epsilon is None else float(epsilon),
            metric=Metric(body["metric"]),
            unit=Unit(body["unit"]),
            size=body["size"],
            metric_detail=body["metric_detail"],
            space=body["space"],
            euclidean=(float(euclidean[0]), float(euclidean[1])) if euclidean else None,
            bounds=tuple((str(k), float(v)) for k, v in body["bounds"].items()),
            delta=float(body.get("delta", 0.0)),  # older files have none
            typical_words=body.get("typical_words"),
            assumptions=tuple(body["assumptions"]),
            reveals=tuple(body.get("reveals", ())),  # older files have none
            passed=tuple(body["passed"]),
            releases=int(body["releases"]),
            void=body["void"],
        )

    def sentence(self) -> str:
        """The promise in one sentence that can be quoted; :meth:`lines` says what it rests on.

        >>> print(Guarantee(epsilon=2.0, metric=Metric.DISCRETE).sentence())
        For any two words, every possible output is at most exp(epsilon) times as likely from one \
as from the other, where epsilon = 2.
        """
        return wording.sentence(self)

    def lines(self) -> list[str]:
        """What the sentence rests on and what it leaves open, one full sentence each."""
        return wording.lines(self)

    def statement(self) -> str:
        """The sentence, then :meth:`lines` as a list."""
        return "\n".join([self.sentence(), *(f"- {line}" for line in self.lines())])


def compose(guarantees: Sequence[Guarantee]) -> Guarantee:
    """What several releases of one input spend together: their epsilons and deltas add.

    Refuses to add what does not add up: other metrics, units, sizes or words counted.
    """
    if not guarantees:
        raise ParameterError("nothing to compose: at least one release is needed")
    first = guarantees[0]
    for other in guarantees[1:]:
        for field in ("metric", "metric_detail", "space", "unit", "size"):
            if getattr(first, field) != getattr(other, field):
                raise Incomposable(
                    f"guarantees of different {field.replace('_', ' ')} do not add up: "
                    f"{_shown(getattr(first, field))} and {_shown(getattr(other, field))}; "
                    "report them side by side"
                )
    return replace(
        first,
        epsilon=math.fsum(g.epsilon for g in guarantees),
        euclidean=_sum_pairs([g.euclidean for g in guarantees]),
        bounds=_sum_bounds([g.bounds for g in guarantees]),
        delta=math.fsum(g.delta for g in guarantees),
        assumptions=_union([g.assumptions for g in guarantees]),
        reveals=_union([g.reveals for g in guarantees]),
        passed=_union([g.passed for g in guarantees]),
        releases=sum(g.releases for g in guarantees),
        void="; ".join(_union([tuple(filter(None, [g.void])) for g in guarantees])),
    )


def _sum_pairs(pairs: Sequence[tuple[float, float] | None]) -> tuple[float, float] | None:
    present = [pair for pair in pairs if pair is not None]
    if len(present) != len(pairs):
        return None
    return math.fsum(p[0] for p in present), math.fsum(p[1] for p in present)


def _sum_bounds(bounds: Sequence[tuple[tuple[str, float], ...]]) -> tuple[tuple[str, float], ...]:
    tables = [dict(b) for b in bounds]
    shared = [name for name, _ in bounds[0] if all(name in table for table in tables)]
    return tuple((name, math.fsum(table[name] for table in tables)) for name in shared)


def _union(groups: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item for group in groups for item in group))


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        value = ", ".join(value)
    return str(getattr(value, "value", value)) or "none"
