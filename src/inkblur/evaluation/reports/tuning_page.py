"""The page of `inkblur tune`: the goal, the choice, and the whole grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from inkblur.evaluation.dataset import Facts
from inkblur.evaluation.evaluate import Plan
from inkblur.evaluation.reports.charts import Path, Spot, scatter
from inkblur.evaluation.reports.html import Figure, page_of
from inkblur.evaluation.reports.tables import Cell, Table, TableRow
from inkblur.evaluation.tuning.grid import Criterion, Goal, Trial


def tuning_page(
    goal: Goal, trials: Sequence[Trial], *, facts: Facts, embedding: Mapping[str, Any], plan: Plan
) -> str:
    """The page; the same trials give the same text. `embedding` has name, words, dimension."""
    best = goal.best(trials)
    return page_of(
        "tuning_grid.html",
        title="Inkblur tuning",
        facts=facts,
        embedding=dict(embedding),
        plan=plan,
        wanted=_wanted(goal),
        best=best.setting.name if best is not None else None,
        reached=_reached(best) if best is not None else "",
        reading=_reading(goal),
        figure=tuning_figure(goal, trials),
        table=trials_table(goal, trials),
    )


def tuning_figure(goal: Goal, trials: Sequence[Trial]) -> Figure:
    """Utility left over what the criterion weighs against it, the chosen setting ringed."""
    best = goal.best(trials)
    paths: dict[str, list[Trial]] = {}
    for trial in trials:
        paths.setdefault(_family(trial), []).append(trial)
    drawn = [
        Path(name, tuple(_spot(goal, t) for t in sorted(same, key=_epsilon)))
        for name, same in paths.items()
    ]
    risk = _risk_name(goal)
    title = f"Utility left over {risk}"
    return Figure(
        title,
        scatter(
            drawn,
            title=title,
            x_label=risk,
            y_label="utility left",
            chosen=_spot(goal, best) if best is not None else None,
            least_y=goal.utility_floor,
            most_x=_most_risk(goal),
            diagonal=goal.criterion is Criterion.LARGEST_GAP,
        ),
    )


def trials_table(goal: Goal, trials: Sequence[Trial]) -> Table:
    """Every setting in the order measured, the chosen one marked."""
    best = goal.best(trials)
    heads = ("setting", "N_w", "F1", "utility left", "worst attack", "attack left", "gap")
    rows = tuple(
        TableRow(
            (
                Cell(trial.setting.name, detail="chosen" if trial is best else ""),
                Cell(f"{trial.survival:.1f}", True),
                Cell(_shown(trial.f1, ".3f"), True),
                Cell(_shown(trial.utility, ".1%"), True),
                Cell(_shown(trial.worst, ".1%"), True),
                Cell(_shown(trial.attack_left, ".1%"), True),
                Cell(_shown(trial.gap, ".3f"), True),
            ),
            lead=trial is best,
        )
        for trial in trials
    )
    return Table("", "", tuple(Cell(head, place > 0) for place, head in enumerate(heads)), rows)


def _spot(goal: Goal, trial: Trial) -> Spot:
    return Spot(trial.setting.name, _risk(goal, trial), trial.utility or 0.0)


def _risk(goal: Goal, trial: Trial) -> float:
    if goal.criterion is Criterion.LARGEST_GAP:
        return trial.attack_left or 0.0
    return trial.worst or 0.0 if goal.most_attack is not None else trial.survival / 100


def _risk_name(goal: Goal) -> str:
    if goal.criterion is Criterion.LARGEST_GAP:
        return "attack left"
    return "authors named by the worst attack" if goal.most_attack is not None else "words kept"


def _most_risk(goal: Goal) -> float | None:
    if goal.most_attack is not None:
        return goal.most_attack
    return goal.most_survival / 100 if goal.most_survival is not None else None


def _wanted(goal: Goal) -> str:
    if goal.criterion is Criterion.LEAST_SURVIVAL:
        return (
            f"Goal: keep the fewest words (lowest N_w) with at least {goal.utility_floor:.0%} of "
            "the utility left."
        )
    if goal.criterion is Criterion.LARGEST_GAP:
        return (
            "Goal: the largest gap between utility left and attack left, in the "
            "scenario where it is smallest (SynTF, section 4.2)."
        )
    limits = []
    if goal.most_survival is not None:
        limits.append(f"words survive at most {goal.most_survival:g} of 100 runs")
    if goal.most_attack is not None:
        limits.append(f"no attack names more than {goal.most_attack:.0%} of the authors")
    return f"Goal: most utility, provided that {' and '.join(limits)}."


def _reading(goal: Goal) -> str:
    if goal.criterion is Criterion.LARGEST_GAP:
        return (
            "Above the dashed line, the analyst keeps a larger share than the attacker: the "
            "farther above, the larger the gap."
        )
    if goal.criterion is Criterion.LEAST_SURVIVAL:
        return "Settings on or above the dashed line keep enough utility; farther left is better."
    also = " (words kept has its own limit, see the table)" * (
        goal.most_survival is not None and goal.most_attack is not None
    )
    return f"Settings on or left of the dashed line are private enough{also}; higher is better."


def _reached(best: Trial) -> str:
    parts = [f"words survive {best.survival:.1f} of 100 runs"]
    if best.utility is not None:
        parts.append(f"{best.utility:.0%} of the utility is left (F1 {best.f1:.3f})")
    if best.worst is not None:
        parts.append(f"the worst attack names {best.worst:.0%} of the authors")
    if best.gap is not None:
        parts.append(f"the smallest gap is {best.gap:.2f}")
    return "; ".join(parts) + "."


def _epsilon(trial: Trial) -> float:
    return trial.setting.known_epsilon


def _family(trial: Trial) -> str:
    parts = [p for p in trial.setting.name.split(", ") if not p.startswith("epsilon ")]
    return ", ".join(parts)


def _shown(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
