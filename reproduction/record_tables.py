"""Records of experiments as tables: the page and the document show the same ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from inkblur.evaluation import Cell, Table, TableRow, heads
from reproduction.estimate import Estimate
from reproduction.experiments import EXPERIMENTS, Experiment
from reproduction.figures import Plot, plots
from reproduction.reasons import reason
from reproduction.result import Claim, ExperimentRecord, Outcome, Passage, Reading


@dataclass(frozen=True, slots=True)
class Section:
    """One experiment as it is shown."""

    experiment: Experiment
    record: ExperimentRecord
    claims: Table | None
    tables: tuple[Table, ...]
    plots: tuple[Plot, ...]
    passages: tuple[Passage, ...]

    @property
    def anchor(self) -> str:
        """For links."""
        return _anchor(self.experiment.name)


def sections(records: Sequence[ExperimentRecord]) -> tuple[Section, ...]:
    """One section a record."""
    made = []
    for record in records:
        outcome = record.outcome
        made.append(
            Section(
                EXPERIMENTS[record.experiment],
                record,
                claims_table(record) if outcome.claims else None,
                reading_tables(outcome),
                plots(record.experiment, outcome),
                outcome.passages,
            )
        )
    return tuple(made)


def overview(records: Sequence[ExperimentRecord]) -> Table:
    """Every claim with its verdict, experiment after experiment."""
    rows = [
        TableRow(
            (
                Cell(record.experiment, link=_anchor(record.experiment)),
                Cell(claim.text, detail="ours" * claim.ours),
                Cell(shown_verdict(record, claim)),
                Cell(_number(claim.found.value), True, _range(claim.found)),
                Cell(f"> {_number(claim.threshold)}", True),
                Cell("" if record.quick else reason(record.experiment, claim)),
            )
        )
        for record in records
        for claim in record.outcome.claims
    ]
    names = heads("experiment", "claim", "verdict", "#statistic", "#claimed", "why not")
    return Table("", "", names, tuple(rows))


def shown_verdict(record: ExperimentRecord, claim: Claim) -> str:
    """A quick look judges nothing."""
    return "-" if record.quick else claim.verdict.value


def claims_table(record: ExperimentRecord) -> Table:
    """The claims of one experiment, each with the number that decides it."""
    rows = [
        TableRow(
            (
                Cell(claim.name),
                Cell(claim.text, detail=claim.source),
                Cell(shown_verdict(record, claim), detail=claim.undecided),
                Cell(_number(claim.found.value), True, _range(claim.found)),
                Cell(f"above {_number(claim.threshold)}: {claim.statistic}"),
            )
        )
        for claim in record.outcome.claims
    ]
    names = heads("claim", "in words", "verdict", "#found", "holds when the number lies")
    return Table("Claims", "", names, tuple(rows))


def reading_tables(outcome: Outcome) -> tuple[Table, ...]:
    """One table for each of the paper's, a row for each place, a column for each measure."""
    tables = []
    for title in dict.fromkeys(reading.table for reading in outcome.readings):
        readings = [reading for reading in outcome.readings if reading.table == title]
        places = list(dict.fromkeys(tuple(r.where.items()) for r in readings))
        axes = list(dict.fromkeys(axis for r in readings for axis in r.where))
        measures = list(dict.fromkeys(r.measure for r in readings))
        held = {(tuple(r.where.items()), r.measure): r for r in readings}
        rows = []
        for place in places:
            at = dict(place)
            cells = [_place(at.get(axis)) for axis in axes]
            cells += [_reading(held.get((place, measure))) for measure in measures]
            rows.append(TableRow(tuple(cells)))
        numeric = {
            axis for r in readings for axis, at in r.where.items() if at and not isinstance(at, str)
        }
        names = heads(
            *(f"#{axis}" if axis in numeric else axis for axis in axes),
            *(f"#{measure}" for measure in measures),
        )
        tables.append(Table(title, "", names, tuple(rows)))
    return tuple(tables)


def _anchor(name: str) -> str:
    return name.replace("/", "-")


def _place(value: str | float | None) -> Cell:
    if value is None:
        return Cell("")
    return (
        Cell(value)
        if isinstance(value, str)
        else Cell(f"{value:,g}" if value < 1e6 else f"{value:,.0f}", True)
    )


def _reading(reading: Reading | None) -> Cell:
    if reading is None:
        return Cell("", True)
    details = [_range(reading.found)]
    if reading.paper is not None:
        details.append(f"paper {_number(reading.paper)}")
    return Cell(_number(reading.found.value), True, "; ".join(d for d in details if d))


def _range(found: Estimate) -> str:
    if found.low == found.high:
        return ""
    return f"{_number(found.low)} to {_number(found.high)}"


def _number(value: float) -> str:
    """Three digits that count, and no exponent where a person would not write one."""
    if value == 0 or not math.isfinite(value):
        return f"{value + 0.0:g}"  # no minus before a zero
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 1e-4 else f"{value:.1e}"
