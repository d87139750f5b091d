"""The page of `inkblur tune`: one table, one plot, and what is chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from inkblur.evaluation.dataset import Facts
from inkblur.evaluation.plan import Plan
from inkblur.evaluation.reports.charts import Figure, Spot, scatter
from inkblur.evaluation.reports.html import page_of
from inkblur.evaluation.reports.tables import Cell, Table, family, heads, row
from inkblur.evaluation.tune import Trial, Tuning


def tuning_page(
    found: Tuning,
    *,
    facts: Facts,
    embedding: Mapping[str, Any],
    plan: Plan,
    commands: Sequence[str],
) -> str:
    """The page; the same tuning gives the same text. `embedding` has name, words, dimension."""
    return page_of(
        "tuning.html",
        title="Inkblur tuning",
        found=found,
        facts=facts,
        embedding=dict(embedding),
        plan=plan,
        commands=commands,
        figure=tuning_figure(found),
        table=tuning_table(found),
    )


def tuning_table(found: Tuning) -> Table:
    """Every setting in the order measured, and the choice on the half that judged it."""
    columns = heads("setting", "#attack", "#F1", "#utility left", "#public alone", "")
    rows = []
    for trial in found.trials:
        chosen = trial is found.chosen
        rows.append((trial, "chosen" if chosen else trial.worthless, chosen))
    if found.judged is not None:
        rows.append((found.judged, found.refused or "on the other half", False))
    return Table(
        "",
        "",
        columns,
        tuple(
            row(
                trial.spec.name,
                Cell(
                    f"{trial.attack.accuracy.mean:.1%}",
                    True,
                    f"{trial.attack.attack}, guessing: {trial.attack.chance:.1%}",
                ),
                Cell(f"{trial.score.f1.mean:.3f}", True, f"guessing: {trial.guessing:.3f}"),
                Cell(f"{trial.utility:.1%}", True),
                Cell("-" if trial.public_alone is None else f"{trial.public_alone[0]:.3f}", True),
                said,
                lead=lead,
            )
            for trial, said, lead in rows
        ),
    )


def tuning_figure(found: Tuning) -> Figure:
    """Utility over attack: a line through the settings that differ in epsilon alone."""
    paths: dict[str, list[Trial]] = {}
    for trial in found.trials:
        paths.setdefault(family(trial.spec.name), []).append(trial)
    chosen, judged = found.chosen, found.judged
    return scatter(
        {
            name: [_spot(each) for each in sorted(same, key=lambda t: t.spec.known_epsilon)]
            for name, same in paths.items()
        },
        title="Utility left over the strongest attack",
        x_label="texts whose author is identified",
        y_label="utility left",
        chosen=_spot(chosen) if chosen is not None else None,
        least_y=found.target.least_utility,
        most_x=found.target.most_attack,
        held_out=_spot(judged) if chosen is not None and judged is not None else None,
    )


def _spot(trial: Trial) -> Spot:
    return Spot(trial.spec.name, trial.attack.accuracy.mean, trial.utility)
