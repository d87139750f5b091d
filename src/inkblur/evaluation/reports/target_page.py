"""The page of `inkblur tune --target`: the target, the choice, its judgment, and the frontier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from inkblur.evaluation.plan import Plan
from inkblur.evaluation.reports.charts import Figure, Spot, scatter
from inkblur.evaluation.reports.html import page_of
from inkblur.evaluation.reports.tables import Cell, Table, TableRow, heads, row
from inkblur.evaluation.reports.tuning_page import paths
from inkblur.evaluation.tuning.adapted_grid import BETA
from inkblur.evaluation.tuning.four_way_split import FourWaySplit
from inkblur.evaluation.tuning.search import Judgment, Search
from inkblur.evaluation.tuning.target import Aim
from inkblur.evaluation.tuning.trials import Trial
from inkblur.types import counted


def target_page(
    found: Search,
    *,
    parts: FourWaySplit,
    embedding: Mapping[str, Any],
    plan: Plan,
    commands: Sequence[str],
) -> str:
    """The page; the same search gives the same text. `embedding` has name, words, dimension."""
    return page_of(
        "tuning_target.html",
        title="Inkblur tuning",
        facts=parts.validation.facts,
        held_facts=parts.held_out.facts,
        taught=len(parts.taught),
        studied=parts.validation.facts.train - len(parts.taught),
        left_out=parts.left_out,
        embedding=dict(embedding),
        plan=plan,
        wanted=found.target.sentence(),
        best=found.best.name if found.best is not None else None,
        nearest=_point(found.nearest),
        verdict=verdict(found),
        judged=judged_table(found),
        commands=commands,
        figure=frontier_figure(found),
        beta=f"{BETA:g}",
        guessing=f"{found.before.utility_of_guessing:.0%}",
        chance=f"{found.nearest.chance:.1%}",
        table=frontier_table(found),
        doubts=found.doubts,
    )


def verdict(found: Search) -> tuple[str, ...]:
    """What validation and held-out texts say of the choice, in sentences; none without a choice."""
    best, held = found.best, found.held_out
    if best is None or held is None:
        return ()
    low, high = held.attack_between
    sentences = [
        f"On the texts that chose it: attack {best.attack:.1%} of "
        f"{counted(_attacked(best), 'text')} (guessing: {best.chance:.1%}), utility left "
        f"{best.utility:.1%}.",
        f"On held-out texts, not used for the choice: attack {held.attack:.1%} of "
        f"{counted(_attacked(held), 'text')} (guessing: {held.chance:.1%}; for other texts like "
        f"these {low:.0%} to {high:.0%}, with 95 % confidence), utility left {held.utility:.1%}.",
        "Guessing labels by their frequency alone keeps about "
        f"{found.before.utility_of_guessing:.0%} of the utility.",
    ]
    if found.judgment is Judgment.MISSED:
        sentences.append(
            f"{found.target} is not met on the held-out texts: aim for more than you need, or "
            "use more texts to choose."
        )
    elif found.judgment is Judgment.OPEN:
        sentences.append(
            f"{found.target} is met on the held-out texts, but the interval reaches {high:.0%}: "
            "aim for more than you need, or hold out more texts."
        )
    else:
        alone = " by this figure, which has no interval" if found.target.aim is Aim.UTILITY else ""
        sentences.append(f"{found.target} is met on the held-out texts{alone}.")
    if found.looks > 1:
        sentences.append(
            f"The held-out texts have now judged {found.looks} choices in this folder: the more, "
            "the less they are held out."
        )
    return tuple(sentences)


def frontier_figure(found: Search) -> Figure:
    """Utility over attack: every trial, the frontier, the choice, and the choice held out."""
    bound = found.target.bound
    return scatter(
        paths(found.trials, _spot),
        title="Utility left over the strongest attack",
        x_label="texts whose author is identified",
        y_label="utility left",
        chosen=_spot(found.best) if found.best is not None else None,
        least_y=bound if found.target.aim is Aim.UTILITY else None,
        most_x=bound if found.target.aim is Aim.ATTACK else None,
        frontier=[_spot(trial) for trial in found.frontier],
        held_out=_spot(found.held_out) if found.held_out is not None else None,
    )


def frontier_table(found: Search) -> Table:
    """The texts as they are, then every trial in the order measured, with its place."""
    front = found.frontier
    rows = [_row(found.before)]
    for trial in found.trials:
        chosen = trial is found.best
        place = "chosen" if chosen else "on the frontier" if trial in front else ""
        rows.append(_row(trial, place, lead=chosen))
    return _table(rows)


def judged_table(found: Search) -> Table:
    """The choice beside the texts as they are, on validation and on held-out texts."""
    rows = []
    for before, after in ((found.before, found.best), (found.held_out_before, found.held_out)):
        if before is not None and after is not None:
            rows += [_row(before, before.part.value), _row(after, after.part.value, lead=True)]
    return _table(rows)


def _table(rows: Sequence[TableRow]) -> Table:
    return Table("", "", heads("setting", "#attack", "#F1", "#utility left"), (*rows,))


def _row(found: Trial, place: str = "", *, lead: bool = False) -> TableRow:
    return row(
        Cell(found.name, detail=place),
        Cell(f"{found.attack:.1%}", True, _attacker(found)),
        Cell(f"{found.f1:.3f}", True, found.model),
        Cell(f"{found.utility:.1%}", True),
        lead=lead,
    )


def _spot(found: Trial) -> Spot:
    return Spot(found.name, found.attack, found.utility)


def _point(found: Trial) -> str:
    return (
        f"{found.name}: attack {found.attack:.1%} (guessing: {found.chance:.1%}), "
        f"utility left {found.utility:.1%}"
    )


def _attacked(found: Trial) -> int:
    return found.strongest.attacked if found.strongest is not None else 0


def _attacker(found: Trial) -> str:
    worst = found.strongest
    return f"{worst.attacker} {worst.attack}, {worst.suspects} suspects" if worst else ""
