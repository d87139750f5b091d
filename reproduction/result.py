"""What an experiment found, as records: page, document and plots are made from these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any

from reproduction.estimate import Estimate

Where = Mapping[str, str | float]  # the coordinates of a number: {"epsilon": 5, "lambda": 1}


@dataclass(frozen=True, slots=True)
class Reading:
    """One measured number, and the one that the paper prints in that place."""

    table: str  # of the paper ("Table 1") or ours ("Beyond the paper: ...")
    where: Where
    measure: str  # "mean N_w", "accuracy"
    found: Estimate
    paper: float | None = None  # as printed


class Verdict(Enum):
    """What the measurement says about a claim."""

    HOLDS = "holds"
    FAILS = "fails"
    OPEN = "open"  # the interval lies on both sides, or the data cannot decide


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of a paper (in our words), and the one number that decides it."""

    name: str  # "lower-survival-by-lambda"
    text: str
    source: str  # paper, section; begins with "ours" where no paper claims it
    statistic: str  # what the number is
    found: Estimate
    threshold: float  # the claim is that the number lies above it
    undecided: str = ""  # why it stays open whatever the number: there was nothing to measure on

    @property
    def ours(self) -> bool:
        """Whether it is no paper's claim."""
        return self.source.startswith("ours")

    @property
    def verdict(self) -> Verdict:
        """Decided only when the whole interval lies on one side, and the data could decide.

        >>> Claim("c", "", "", "", Estimate(0.2, 0.1, 0.3), 0.0).verdict
        <Verdict.HOLDS: 'holds'>
        """
        if self.undecided:
            return Verdict.OPEN
        if self.found.low > self.threshold:
            return Verdict.HOLDS
        return Verdict.FAILS if self.found.high < self.threshold else Verdict.OPEN


@dataclass(frozen=True, slots=True)
class Drawing:
    """A plot of readings of one table: `measure` over `x`, a line for each value of `line`.

    `x` and the axes' names are keys of `where`; another measure may stand on the x axis (a frontier
    plots utility over attack). `panel` makes one plot for each of its values.
    """

    title: str
    table: str
    measure: str
    x: str
    line: str | None = None
    panel: str | None = None
    log_x: bool = False


@dataclass(frozen=True, slots=True)
class Passage:
    """Words or a text to be read: a text before and after, a list of neighbors."""

    title: str
    lines: tuple[tuple[str, str], ...]  # (what it is, the text)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Everything one experiment found."""

    readings: tuple[Reading, ...]
    claims: tuple[Claim, ...] = ()
    drawings: tuple[Drawing, ...] = ()
    passages: tuple[Passage, ...] = ()
    notes: tuple[str, ...] = ()  # how it was done, and where it departs from the paper


@dataclass(frozen=True, slots=True)
class ExperimentRecord:
    """An outcome with how it came about; one JSON file each."""

    experiment: str
    seed: int
    quick: bool
    commits: tuple[str, ...]  # more than one where a run was continued with a later source
    days: tuple[str, ...]  # on which it was measured, "2026-11-16" (UTC)
    machine: str
    seconds: float  # by the clock
    processor_seconds: float  # all cores together
    outcome: Outcome = field(repr=False)

    def to_json(self) -> dict[str, Any]:
        """A JSON object; :meth:`from_json` reads it back."""
        body = asdict(self)
        for claim, made in zip(body["outcome"]["claims"], self.outcome.claims, strict=True):
            claim["verdict"] = made.verdict.value
        return body

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> ExperimentRecord:
        """The record that :meth:`to_json` wrote."""
        outcome = body["outcome"]
        return cls(
            body["experiment"],
            body["seed"],
            body["quick"],
            tuple(body["commits"]),
            tuple(body["days"]),
            body["machine"],
            body["seconds"],
            body["processor_seconds"],
            Outcome(
                tuple(
                    Reading(**{**reading, "found": Estimate(**reading["found"])})
                    for reading in outcome["readings"]
                ),
                tuple(
                    Claim(
                        **{
                            **{key: value for key, value in claim.items() if key != "verdict"},
                            "found": Estimate(**claim["found"]),
                        }
                    )
                    for claim in outcome["claims"]
                ),
                tuple(Drawing(**drawing) for drawing in outcome["drawings"]),
                tuple(
                    Passage(p["title"], tuple((what, text) for what, text in p["lines"]))
                    for p in outcome["passages"]
                ),
                tuple(outcome["notes"]),
            ),
        )
