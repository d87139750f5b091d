"""The grid: every job is one release of one collection, measured on its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from inkblur import ReleaseSpec
from reproduction.staircase.collections import (
    C50,
    JOINED,
    JOINED_WORDS,
    NOVELS,
    PAN,
    PAN_2,
    TASK,
)

RUNS = {C50: 1, JOINED: 2, PAN: 4, PAN_2: 4, NOVELS: 1}  # releases of every setting
NAMES_EPSILON = 8.0
LEVELS = (9.0, 8.0)  # epsilons of the staircase that others are compared at, at equal cosine
RANDOMIZED = "randomized response"  # a staircase on whose upper step the word stands alone
_WORDS = 56_700  # of the bundled table
OTHERS = {
    **{
        name: ReleaseSpec(name, 1.0)
        for name in ("mahalanobis", "laplace", "component-laplace", "exponential")
    },
    RANDOMIZED: ReleaseSpec(
        "staircase", 1.0, parameters={"tau": 1 / _WORDS, "frequency_power": 0.0}
    ),
}


@dataclass(frozen=True, slots=True)
class StaircaseJob:
    """One release and what is measured of it."""

    row: str  # of the table of targets that it belongs to
    collection: str
    spec: ReleaseSpec
    run: int
    as_staircase: float | None = None  # epsilon is the one with the cosine of this staircase

    @property
    def match(self) -> str:
        """Names the search for that epsilon in the file of finished work."""
        return f"match: {self.spec.name} as staircase {self.as_staircase:g} on {self.collection}"

    @property
    def key(self) -> str:
        """Names the job in the file of finished work."""
        equal = "" if self.as_staircase is None else f" as staircase {self.as_staircase:g}"
        return f"{self.row}: {self.spec.name}{equal} on {self.collection}, run {self.run}"

    def to_json(self) -> dict[str, Any]:
        """What the judge needs to know of it."""
        return {
            "row": self.row,
            "collection": self.collection,
            "spec": self.spec.to_json(),
            "spec_name": self.spec.name,
            "run": self.run,
            "as_staircase": self.as_staircase,
        }


def staircase(epsilon: float, tau: float | None = None, power: float | None = None) -> ReleaseSpec:
    """A staircase; what is not given, it chooses."""
    given = {"tau": tau, "frequency_power": power}
    return ReleaseSpec("staircase", epsilon, parameters=given)


def grid(draws: int | None = None) -> list[StaircaseJob]:
    """All jobs, the long and the important ones first; first releases before second ones.

    `draws` is the number of releases at equal cosine, where `RUNS` is not meant.
    """
    jobs = []
    for run in range(max(draws or 0, *RUNS.values())):
        for name in (C50, PAN, PAN_2, NOVELS):
            if run < (draws or RUNS[name]):
                jobs += _equal(name, run)
        if run < RUNS[C50]:
            jobs += _whole(run)
        if run < RUNS[JOINED]:
            jobs += _joined(run)
    return jobs


def _joined(run: int) -> list[StaircaseJob]:
    """Settings to choose from on half of the texts, and to judge on the other half."""
    settings = {
        6.8: ((200, 400, 800), (0.005, 0.01, 0.02)),
        5.5: ((400, 800, 1_500), (0.01, 0.02, 0.04)),
    }
    jobs = []
    for epsilon, (uniform, frequent) in settings.items():
        row = f"joined {epsilon:g}"
        for words in uniform:
            jobs.append(
                StaircaseJob(row, JOINED, staircase(epsilon, words / JOINED_WORDS, 0.0), run)
            )
        for tau in frequent:
            jobs.append(StaircaseJob(row, JOINED, staircase(epsilon, tau, 0.5), run))
        learned = staircase(epsilon, uniform[1] / JOINED_WORDS, 1.0)
        jobs.append(StaircaseJob(f"{row}, q for the task", TASK, learned, run))
    return jobs


def _whole(run: int) -> list[StaircaseJob]:
    settings = [(9.0, 0.0005, 1.0), (9.0, 0.0005, 0.5), (9.0, 0.002, 1.0)]
    return [StaircaseJob("plain 9", C50, staircase(*setting), run) for setting in settings]


def _equal(collection: str, run: int) -> list[StaircaseJob]:
    jobs = []
    for level in LEVELS:
        for spec in OTHERS.values():
            jobs.append(StaircaseJob("equal cosine", collection, spec, run, as_staircase=level))
        row = "plain 9" if level == 9 and collection == C50 else "equal cosine"
        jobs.append(StaircaseJob(row, collection, staircase(level), run))
    return jobs
