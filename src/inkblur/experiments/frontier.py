"""What duels found, as readings and as points of a frontier: utility left over attack success."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inkblur.experiments.duel import at_attack
from inkblur.experiments.estimate import Estimate
from inkblur.experiments.result import Claim, Drawing, Reading, Where

STATIC, ADAPTIVE, STRONGER = "static attack", "adaptive attack", "stronger attack"
UTILITY, LEFT, UNCHANGED = "utility", "utility left", "words unchanged"
UNTOUCHED = "untouched texts"
OVER_RUNS = (
    "Intervals are over runs on the same texts, authors and classifiers: other texts would differ "
    "by more."
)

Measured = Mapping[str, float]  # one duel: static, adaptive, utility, unchanged
Runs = Sequence[Measured]
Curve = Sequence[Runs]  # the runs of one mechanism at each of its epsilons


def untouched_readings(table: str, where: Where, before: Measured) -> list[Reading]:
    """Attack and utility on the true texts."""
    named = {
        STATIC: before["static"],
        ADAPTIVE: before["adaptive"],
        STRONGER: stronger(before),
        UTILITY: before["utility"],
    }
    return [Reading(table, where, name, Estimate.exact(value)) for name, value in named.items()]


def duel_readings(table: str, where: Where, runs: Runs, before: Measured) -> list[Reading]:
    """The same under a release, with what is left of the untouched utility."""
    shares = {
        STATIC: [run["static"] for run in runs],
        ADAPTIVE: [run["adaptive"] for run in runs],
        STRONGER: [stronger(run) for run in runs],
        UTILITY: [run["utility"] for run in runs],
        UNCHANGED: [run["unchanged"] for run in runs],
    }
    found = {measure: Estimate.of_runs(values).share() for measure, values in shares.items()}
    found[LEFT] = Estimate.of_runs([run["utility"] / before["utility"] for run in runs])
    return [Reading(table, where, measure, value) for measure, value in found.items()]


def frontier_drawing(table: str, line: str) -> Drawing:
    """Utility left over the stronger of the two attacks."""
    return Drawing(table, table, LEFT, STRONGER, line=line)


def stronger(run: Measured) -> float:
    """Nobody has to choose in advance: the better of the static and the adaptive attacker."""
    return max(run["static"], run["adaptive"])


def left_at(
    curve: Curve, level: float, before: Measured, *, static: bool = False
) -> list[float] | None:
    """Utility left where the stronger (or the static) attack succeeds with probability `level`.

    One value a run; None where the curve does not reach the level in every run.
    """
    found = [
        at_attack(
            [runs[run]["static"] if static else stronger(runs[run]) for runs in curve],
            [runs[run]["utility"] / before["utility"] for runs in curve],
            level,
        )
        for run in range(len(curve[0]))
    ]
    known = [value for value in found if value is not None]
    return known if len(known) == len(found) else None


def gain_claims(
    name: str, text: str, level: float, left: list[float] | None, right: list[float] | None
) -> list[Claim]:
    """That the left keeps more at one level of attack; no claim where a curve misses the level."""
    if left is None or right is None:
        return []
    return [
        Claim(
            name,
            text,
            "ours",
            f"difference of the utility left at an attack of {level:.0%}, interpolated in each run",
            Estimate.of_runs([a - b for a, b in zip(left, right, strict=True)]),
            0.0,
        )
    ]
