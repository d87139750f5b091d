"""What duels found, as readings and as points of a frontier: utility left over attack success."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inkblur.experiments.duel import at_attack
from inkblur.experiments.estimate import Estimate
from inkblur.experiments.result import Drawing, Reading, Where

STATIC, ADAPTIVE, UTILITY, LEFT = "static attack", "adaptive attack", "utility", "utility left"
UNCHANGED = "words unchanged"
UNTOUCHED = "untouched texts"

Measured = Mapping[str, float]  # one duel: static, adaptive, utility, unchanged
Runs = Sequence[Measured]


def untouched_readings(table: str, where: Where, before: Measured) -> list[Reading]:
    """Attack and utility on the true texts."""
    named = {STATIC: before["static"], ADAPTIVE: before["adaptive"], UTILITY: before["utility"]}
    return [Reading(table, where, name, Estimate.exact(value)) for name, value in named.items()]


def duel_readings(table: str, where: Where, runs: Runs, before: Measured) -> list[Reading]:
    """The same under a release, with what is left of the untouched utility."""
    shares = {
        STATIC: [run["static"] for run in runs],
        ADAPTIVE: [run["adaptive"] for run in runs],
        UTILITY: [run["utility"] for run in runs],
        UNCHANGED: [run["unchanged"] for run in runs],
    }
    left = Estimate.of_runs([run["utility"] / before["utility"] for run in runs])  # may exceed 1
    found = {measure: Estimate.of_runs(values).share() for measure, values in shares.items()}
    return [
        Reading(table, where, measure, value) for measure, value in {**found, LEFT: left}.items()
    ]


def frontier_drawings(table: str, line: str) -> tuple[Drawing, Drawing]:
    """Utility left over the static and over the adaptive attack."""
    return (
        Drawing(f"{table}: static attacker", table, LEFT, STATIC, line=line),
        Drawing(f"{table}: adaptive attacker", table, LEFT, ADAPTIVE, line=line),
    )


def left_at(curve: Sequence[Runs], level: float, before: Measured) -> list[float]:
    """Utility left where the static attack succeeds with probability `level`; one value a run.

    `curve` holds the runs of one mechanism at each of its epsilons.
    """
    return [
        at_attack(
            [runs[run]["static"] for runs in curve],
            [runs[run]["utility"] / before["utility"] for runs in curve],
            level,
        )
        for run in range(len(curve[0]))
    ]


def gained(left: Sequence[float], right: Sequence[float]) -> Estimate:
    """How much more the left keeps, run by run."""
    return Estimate.of_runs([a - b for a, b in zip(left, right, strict=True)])
