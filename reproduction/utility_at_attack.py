"""Attack against label as readings and as a frontier: utility left over attack success."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from inkblur.evaluation import Array
from reproduction.attack_vs_label import MeasuredColumns, at_attack
from reproduction.estimate import Estimate
from reproduction.resampled_texts import COLLECTIONS, over_texts
from reproduction.result import UNDECIDED, Claim, Drawing, Reading, Where

STATIC, ADAPTIVE, STRONGER = "static attack", "adaptive attack", "stronger attack"
UTILITY, LEFT, UNCHANGED = "utility", "utility left", "words unchanged"
UNTOUCHED = "untouched texts"
OVER_TEXTS = (
    f"Intervals of attack and utility are over texts and their noise: {COLLECTIONS:,} times the "
    "attacked texts, and those asked about, were drawn again with replacement, each with all its "
    "runs. Authors, and what attackers and classifiers learned from, stay the same. Words "
    "unchanged: over runs."
)

Runs = Sequence[MeasuredColumns]
Curve = Sequence[Runs]  # the runs of one mechanism at each of its epsilons


def untouched_readings(table: str, where: Where, before: MeasuredColumns) -> list[Reading]:
    """Attack and utility on the true texts."""
    named = {
        STATIC: before["static"],
        ADAPTIVE: before["adaptive"],
        STRONGER: stronger(before),
        UTILITY: before["utility"],
    }
    return [
        Reading(table, where, name, over_texts([value]).share()) for name, value in named.items()
    ]


def contest_readings(
    table: str, where: Where, runs: Runs, before: MeasuredColumns
) -> list[Reading]:
    """The same under a release, with what is left of the untouched utility."""
    shares = {
        STATIC: [run["static"] for run in runs],
        ADAPTIVE: [run["adaptive"] for run in runs],
        STRONGER: [stronger(run) for run in runs],
        UTILITY: [run["utility"] for run in runs],
    }
    found = {measure: over_texts(values).share() for measure, values in shares.items()}
    found[UNCHANGED] = Estimate.of_runs([float(run["unchanged"][0]) for run in runs]).share()
    found[LEFT] = over_texts([run["utility"] / before["utility"] for run in runs])
    return [Reading(table, where, measure, value) for measure, value in found.items()]


def frontier_drawing(table: str, line: str, panel: str | None = None) -> Drawing:
    """Utility left over the stronger of the two attacks."""
    return Drawing(table, table, LEFT, STRONGER, line=line, panel=panel)


def stronger(run: MeasuredColumns) -> Array:
    """Nobody has to choose in advance: the better of the static and the adaptive attacker."""
    return np.maximum(run["static"], run["adaptive"])


def left_at(
    curve: Curve, level: float, before: MeasuredColumns, *, static: bool = False
) -> list[Array | None]:
    """Utility left where the stronger (or the static) attack succeeds with probability `level`.

    One column a run; None where the run's curve does not reach the level.
    """
    return [
        at_attack(
            [runs[run]["static"] if static else stronger(runs[run]) for runs in curve],
            [runs[run]["utility"] / before["utility"] for runs in curve],
            level,
        )
        for run in range(len(curve[0]))
    ]


def reached(values: Sequence[Array | None]) -> list[Array]:
    """The columns of the runs that reach the level."""
    return [value for value in values if value is not None]


def level_claim(
    name: str,
    text: str,
    statistic: str,
    values: Sequence[Array | None],  # one a run; None: that run does not reach the level
    threshold: float,
) -> Claim | str:
    """The claim, judged by the runs that reach its level, or a note that it is undecided.

    A claim never vanishes: whether a curve reaches a level is an outcome too.
    """
    known = reached(values)
    if len(known) < 2:
        return (
            f'{UNDECIDED}{name} ("{text}"): {len(known)} of {len(values)} runs reach the level of '
            "attack, and two are needed."
        )
    if len(known) < len(values):
        statistic += (
            f"; in {len(known)} of {len(values)} runs: the others do not reach the level of attack"
        )
    return Claim(name, text, "ours", statistic, over_texts(known), threshold)


def gain_claim(
    name: str,
    text: str,
    level: float,
    left: Sequence[Array | None],
    right: Sequence[Array | None],
) -> Claim | str:
    """That the left keeps more at one level of attack; a run counts where both curves reach it."""
    return level_claim(
        name,
        text,
        f"difference of the utility left at an attack of {level:.0%}, interpolated in each run",
        [None if a is None or b is None else a - b for a, b in zip(left, right, strict=True)],
        0.0,
    )


def sorted_out(judged: Iterable[Claim | str]) -> tuple[tuple[Claim, ...], tuple[str, ...]]:
    """Claims, and the notes on those that are undecided."""
    found = list(judged)
    return (
        tuple(item for item in found if isinstance(item, Claim)),
        tuple(item for item in found if isinstance(item, str)),
    )
