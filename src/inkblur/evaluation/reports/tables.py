"""Tables of an evaluation and a tuning as plain rows: the page and the terminal show the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inkblur.evaluation.results import (
    AUTHOR,
    BOTH,
    LABELS,
    NOT_MEASURED,
    PUBLIC,
    RELEASED,
    TRUE,
    Evaluation,
    Interval,
    Measurement,
    not_measured,
)

if TYPE_CHECKING:
    from inkblur.evaluation.tune import Tuning

_FORMS = {"linking": ".3f", "labels": ".3f", "meaning": ".2f"}  # other values are shares


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in a place; numbers go to the right, details are set small."""

    text: str
    number: bool = False
    detail: str = ""


@dataclass(frozen=True, slots=True)
class TableRow:
    """Cells; `lead` marks what should be read first."""

    cells: tuple[Cell, ...]
    lead: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A title, a caption, heads and rows."""

    title: str
    caption: str
    heads: tuple[Cell, ...]
    rows: tuple[TableRow, ...]


def table(
    names: Sequence[str],
    rows: Iterable[Sequence[Cell | str]],
    *,
    title: str = "",
    caption: str = "",
    lead: Sequence[int] = (),
) -> Table:
    """Cells in columns with these heads; those that begin with # stand over numbers. Rows whose
    places are in `lead` should be read first.
    """
    heads = tuple(Cell(name.removeprefix("#"), name.startswith("#")) for name in names)
    lines = [
        TableRow(
            tuple(
                cell if isinstance(cell, Cell) else Cell(cell, head.number)
                for head, cell in zip(heads, row, strict=True)
            ),
            place in lead,
        )
        for place, row in enumerate(rows)
    ]
    return Table(title, caption, heads, tuple(lines))


def glance_table(report: Evaluation) -> Table:
    """The answer: the largest risk, and what labels are learned from, for each setting."""
    rows: list[list[Cell | str]] = []
    for result in report.settings:
        risk = result.largest_risk()
        labels = [
            _figure(each.score(studied, TRUE))
            for each, studied in (
                (result, RELEASED), (result, PUBLIC), (result, BOTH), (report.before, TRUE)
            )
        ]  # fmt: skip
        if risk is None:
            rows.append([result.name, NOT_MEASURED, "-", "-", *labels])
            continue
        what = f"{risk.attack}, {risk.attacker}" if risk.question == AUTHOR else risk.scenario
        named = Cell("author identified" if risk.question == AUTHOR else risk.question, False, what)
        guessing = f"{risk.chance or 0:.1%}"
        rows.append([result.name, named, _interval(risk.accuracy), guessing, *labels])
    names = (
        "release", "largest risk found", "#share", "#guessing", "#F1: release",
        "#public texts alone", "#both", "#originals",
    )  # fmt: skip
    caption = (
        "Other attackers may do better: this is a lower bound on the risk. F1: the labels of "
        "original texts, by a classifier that has studied the release, the public texts that it "
        "was made with, both, or the originals; a release that teaches no more than the public "
        "texts alone is not worth its risk."
    )
    return table(names, rows, caption=caption, lead=range(len(rows)))


def measured_table(report: Evaluation, *questions: str) -> Table:
    """Everything measured of these questions, of each release the largest risk first, beside what
    was reached without an attack and on the texts as they are; and what was not measured.
    """
    rows: list[list[Cell | str]] = []
    lead = []
    for result in (report.before, *report.settings):
        name = TRUE if result is report.before else result.name
        found = result.of(*questions)
        for each in sorted(found, key=lambda m: -m.above_chance * (m.question == AUTHOR)):
            base = None if result is report.before else _before(report, each)
            left = ""
            if base is not None and base.accuracy.mean > 0:
                left = f"{each.accuracy.mean / base.accuracy.mean:.0%}"
            chance = "-" if each.chance is None else f"{each.chance:{_form(each)}}"
            if result is not report.before and each is result.strongest(each.scenario):
                lead.append(len(rows))
            rows.append(
                [
                    name,
                    each.attack,
                    ", ".join(filter(None, (each.scenario, each.attacker))),
                    _figure(each),
                    Cell(chance, True, each.by_chance if each.chance is not None else ""),
                    left,
                ]
            )
        for question, what, why in not_measured(result.measurements):
            if question.split(" (")[0] in questions:
                rows.append([name, question, f"{what} ({why})", NOT_MEASURED, "-", ""])
    suspects = {
        each.scenario: f"{each.scenario}: {each.authors:,} suspects with {each.known:,} known "
        f"texts, {each.attacked:,} texts attacked, {each.strangers:,} by others left out"
        for each in report.before.of(*questions)
        if each.question == AUTHOR
    }
    names = ("texts", "what", "of which, by whom", "#value", "#without it", "#of original")
    return table(names, rows, caption=". ".join(suspects.values()), lead=lead)


def facts_table(report: Evaluation) -> Table:
    """What the data is, and what was done about awkward cases."""
    facts = report.facts
    lines = [
        ("texts", facts.texts, ""),
        ("empty texts", facts.empty, "kept: an attack answers “don't know”, a classifier guesses"),
        ("authors", facts.authors, "numbered; their names are masked in the examples"),
        ("authors with one text", facts.single, "suspects, but none of their texts is attacked"),
        (
            "authors of the test part alone",
            facts.strangers,
            "no attack can identify them: their texts are not attacked",
        ),
        ("texts without an author", facts.without_author, "take part in utility alone"),
        ("labels", facts.labels, ""),
        ("texts without a label", facts.without_label, "take part in attacks alone"),
    ]
    rows = [(name, f"{count:,}", rule) for name, count, rule in lines]
    return table(("what", "#count", "rule"), rows)


def tuning_table(found: Tuning) -> Table:
    """Every setting in the order measured, and the choice on the half that judged it."""
    tried = [
        (trial, "chosen" if trial is found.chosen else trial.worthless) for trial in found.trials
    ]
    if found.judged is not None:
        tried.append((found.judged, found.refused or "on the other half"))
    rows: list[list[Cell | str]] = [
        [
            trial.spec.name,
            _figure(trial.attack),
            _figure(trial.score),
            f"{trial.utility:.1%}",
            *(_figure(trial.taught(studied)) for studied in (PUBLIC, RELEASED, BOTH)),
            said,
        ]
        for trial, said in tried
    ]
    first = found.trials[0]
    caption = (
        f"Guessing: {first.attack.chance:.1%} of the authors, F1 {first.score.chance:.3f}. F1, "
        "then what original texts' labels are learned from: the public texts alone, the release "
        "and both."
    )
    names = ("setting", "#attack", "#F1", "#utility left", "#public alone", "#release", "#both", "")
    lead = [place for place, (trial, _) in enumerate(tried) if trial is found.chosen]
    return table(names, rows, caption=caption, lead=lead)


def family(name: str) -> str:
    """A setting's name without its epsilon: points of one family are one line of a chart."""
    return ", ".join(part for part in name.split(", ") if not part.startswith("epsilon "))


def _before(report: Evaluation, found: Measurement) -> Measurement | None:
    """The same on the texts as they are."""
    if found.question == LABELS:
        return report.before.score(TRUE, TRUE, found.name)
    same = (found.question, found.name, found.scenario)
    tried = report.before.of(found.question)
    return next((m for m in tried if (m.question, m.name, m.scenario) == same), None)


def _form(found: Measurement) -> str:
    return _FORMS.get(found.question, ".1%")


def _figure(found: Measurement | None) -> Cell:
    if found is None:
        return Cell(NOT_MEASURED, True)
    return _interval(found.accuracy, _form(found))


def _interval(value: Interval, form: str = ".1%") -> Cell:
    known = value.low is not None and value.high is not None
    ends = f"{value.low:{form}} to {value.high:{form}}" if known else ""
    return Cell(f"{value.mean:{form}}", True, ends)
