"""The page of `inkblur tune`: the goal, the choice, and the whole grid."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from inkblur.evaluation.dataset import Facts
from inkblur.evaluation.plan import Plan
from inkblur.evaluation.reports.charts import Figure, Spot, scatter
from inkblur.evaluation.reports.html import page_of
from inkblur.evaluation.reports.tables import Cell, Table, family, heads, row
from inkblur.evaluation.tuning.criterion import Criterion, Goal
from inkblur.evaluation.tuning.trials import Trial

CHOSEN_BY = (
    "The best of several settings looks a little better on the texts that chose it than on others: "
    "measure it again (inkblur evaluate) on texts that took no part."
)


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
        best=best.name if best is not None else None,
        reached=_reached(best) if best is not None else "",
        chosen_by=CHOSEN_BY if len(trials) > 1 else "",
        doubt=trials[0].doubt,
        reading=_reading(goal),
        figure=tuning_figure(goal, trials),
        table=trials_table(goal, trials),
    )


def tuning_figure(goal: Goal, trials: Sequence[Trial]) -> Figure:
    """Utility left over what the criterion weighs against it, the chosen setting ringed."""
    best = goal.best(trials)
    risk, of, most = _risk(goal)

    def spot(trial: Trial) -> Spot:
        return Spot(trial.name, of(trial), trial.utility)

    return scatter(
        paths(trials, spot),
        title=f"Utility left over {risk}",
        x_label=risk,
        y_label="utility left",
        chosen=spot(best) if best is not None else None,
        least_y=goal.utility_floor,
        most_x=most,
        diagonal=goal.criterion is Criterion.LARGEST_GAP,
    )


def _risk(goal: Goal) -> tuple[str, Callable[[Trial], float], float | None]:
    """What the criterion weighs against utility: its name, a trial's share, the most allowed."""
    if goal.criterion is Criterion.LARGEST_GAP:
        return "attack left", lambda trial: trial.attack_left or 0.0, None
    if goal.most_attack is not None:
        return "texts whose author is identified", lambda trial: trial.attack, goal.most_attack
    most = None if goal.most_survival is None else goal.most_survival / 100
    return "words kept", lambda trial: (trial.survival or 0.0) / 100, most


def paths(trials: Sequence[Trial], spot: Callable[[Trial], Spot]) -> dict[str, list[Spot]]:
    """The trials that differ in epsilon alone, in its order, by what they share."""
    lines: dict[str, list[tuple[float, Spot]]] = {}
    for trial in trials:
        if trial.candidate is not None:
            place = trial.candidate.setting.known_epsilon, spot(trial)
            lines.setdefault(family(trial.name), []).append(place)
    return {
        name: [spot for _, spot in sorted(line, key=lambda place: place[0])]
        for name, line in lines.items()
    }


def trials_table(goal: Goal, trials: Sequence[Trial]) -> Table:
    """Every setting in the order measured, the chosen one marked, and what guessing reaches."""
    best = goal.best(trials)
    columns = heads(
        "setting", "#N_w", "#F1", "#utility left", "#worst attack", "#attack left", "#gap"
    )
    rows = tuple(
        row(
            Cell(trial.name, detail="chosen" if trial is best else ""),
            Cell(_shown(trial.survival, ".1f"), True),
            Cell(f"{trial.f1:.3f}", True),
            Cell(f"{trial.utility:.1%}", True),
            Cell(_shown(trial.attack if trial.attacks else None, ".1%"), True, _by_chance(trial)),
            Cell(_shown(trial.attack_left, ".1%"), True),
            Cell(_shown(trial.gap, ".3f"), True),
            lead=trial is best,
        )
        for trial in trials
    )
    return Table("", _by_guessing(goal, best or trials[0]), columns, rows)


def _by_guessing(goal: Goal, trial: Trial) -> str:
    """What guessing without reading a text reaches: only a share above it means something."""
    kept = trial.utility_of_guessing
    said = f"Guessing labels by their frequency alone keeps about {kept:.0%} of the utility"
    if trial.attacks:
        said += f"; guessing authors without reading any text identifies {trial.chance:.0%} of them"
    if goal.utility_floor is not None and goal.utility_floor <= kept:
        said += (
            f". The floor of {goal.utility_floor:.0%} asks for no more than that: a setting that "
            "keeps nothing of the labels can meet it"
        )
    return f"{said}."


def _by_chance(trial: Trial) -> str:
    return f"guessing: {trial.chance:.1%}" if trial.attacks else ""


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
        limits.append(
            f"no attack identifies the author of more than {goal.most_attack:.0%} of the texts"
        )
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
    parts = [
        f"words survive {_shown(best.survival, '.1f')} of 100 runs",
        f"{best.utility:.0%} of the utility is left (F1 {best.f1:.3f})",
    ]
    if best.attacks:
        parts.append(
            f"the strongest attack identifies the author of {best.attack:.0%} of the texts "
            f"({_by_chance(best)})"
        )
    if best.gap is not None:
        parts.append(f"the smallest gap is {best.gap:.2f}")
    return "; ".join(parts) + "."


def _shown(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
