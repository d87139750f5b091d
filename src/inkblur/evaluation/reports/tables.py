"""Tables of an evaluation and a tuning as plain rows: the page and the terminal show the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inkblur.evaluation.results import (
    ADAPTIVE,
    AUTHOR,
    BOTH,
    LABELS,
    MEANING,
    NOT_MEASURED,
    PUBLIC,
    RELEASED,
    STATIC,
    TRUE,
    Evaluation,
    Interval,
    Measurement,
    SettingResult,
    not_measured,
)
from inkblur.types import counted

if TYPE_CHECKING:
    from inkblur.evaluation.tune import Tuning


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
            _f1(each.score(studied, TRUE))
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
        rows.append([result.name, named, _interval(risk.accuracy, ".1%"), guessing, *labels])
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


def attack_tables(report: Evaluation) -> list[Table]:
    """One per scenario: every attack and attacker, the strongest on each release marked."""
    tables = []
    for scenario in dict.fromkeys(a.scenario for a in report.before.attacks):
        rows: list[list[Cell | str]] = []
        lead = []
        for name in attack_names(report, scenario):
            base = report.before.attack(name, scenario, STATIC)
            tried = [(TRUE, base)] if base is not None else []
            for kind in (ADAPTIVE, STATIC):
                for result in report.settings:
                    found = result.attack(name, scenario, kind)
                    if found is None:
                        continue
                    if found is result.strongest(scenario):
                        lead.append(len(rows) + len(tried))
                    tried.append((result.name, found))
            rows += [
                [
                    name,
                    texts,
                    "-" if each is base else each.attacker,
                    _interval(each.accuracy, ".1%"),
                    "-" if each is base else _left(each, base),
                    "-" if each.f1 is None else _interval(each.f1, ".3f"),
                ]
                for texts, each in tried
            ]
        first = next(a for a in report.before.attacks if a.scenario == scenario)
        strangers = counted(first.strangers, "test text")
        caption = (
            f"{first.authors:,} suspects with {counted(first.known, 'known text')}, "
            f"{counted(first.attacked, 'text')} attacked; guessing identifies {first.chance:.1%}"
            + f"; {strangers} by others left out"
            * bool(first.strangers)
        )
        most = "all authors"
        if scenario != "all":
            most = f"the {scenario.split('-')[1]} with most training texts"
        names = ("attack", "texts", "attacker", "#accuracy", "#of original", "#F1")
        made = table(names, rows, title=f"Suspects: {most}", caption=f"{caption}.", lead=lead)
        tables.append(made)
    return tables


def attack_names(report: Evaluation, scenario: str) -> list[str]:
    """The attacks tried on true texts, then those that only a release allows."""
    results = (report.before, *report.settings)
    return list(dict.fromkeys(a.name for r in results for a in r.attacks if a.scenario == scenario))


def disclosure_tables(report: Evaluation) -> list[Table]:
    """What can be read, linked and inferred, and what was not tried: one table per release."""
    return [
        table(
            ("attack", "measure", "#value", "#without the attack"),
            [
                *(_found(m, ".3f" if m.question == "linking" else ".1%") for m in _others(result)),
                *(
                    [attack, f"{what} ({why})", NOT_MEASURED, "-"]
                    for attack, what, why in not_measured(result.measurements)
                ),
            ],
            title=result.name,
        )
        for result in report.settings
    ]


def label_table(report: Evaluation) -> Table:
    """Every classifier: which texts it has studied, and whose labels it names."""
    rows: list[list[Cell | str]] = []
    for result in (report.before, *report.settings):
        for each in result.of(LABELS):
            base = report.before.score(TRUE, TRUE, each.name)
            left = "-" if result is report.before else _left(each, base)
            name = TRUE if result is report.before else result.name
            rows.append([name, each.scenario, each.attacker, each.name, _f1(each), left])
    names = ("texts", "labels of", "learned from", "classifier", "#F1", "#of original")
    if not rows:
        return table(names, [])
    first = report.before.of(LABELS)[0]
    unseen = f"; {first.strangers:,} left out, for no training text has their label"
    caption = (
        f"{counted(first.known, 'text')} to train on, {first.attacked:,} to score, "
        f"{report.facts.labels:,} labels, guessing: {first.chance:.3f}"
        + unseen
        * bool(first.strangers)
    )
    return table(names, rows, caption=f"{caption}.")


def meaning_table(report: Evaluation) -> Table:
    """How far texts moved, how many words stayed, and what a judge of meaning says."""
    rows = [
        [result.name, *_found(m, ".1%" if m.name == "words unchanged" else ".2f", m.name)]
        for result in report.settings
        for m in result.of(MEANING)
    ]
    return table(("texts", "measure", "of what", "#value", "#by chance"), rows)


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
            _interval(trial.attack.accuracy, ".1%"),
            _f1(trial.score),
            f"{trial.utility:.1%}",
            *(_f1(trial.taught(studied)) for studied in (PUBLIC, RELEASED, BOTH)),
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


def _others(result: SettingResult) -> list[Measurement]:
    return result.of("reading", "repetition", "singling out", "linking", "inference")


def _found(each: Measurement, form: str, name: str = "") -> list[Cell | str]:
    without = "-" if each.chance is None else f"{each.chance:{form}}"
    by_chance = Cell(without, True, each.by_chance if each.chance is not None else "")
    return [name or each.attack, each.scenario, _interval(each.accuracy, form), by_chance]


def _left(found: Measurement, base: Measurement | None) -> str:
    """What is left of a score: after / before; nothing where there was nothing."""
    if base is None or base.accuracy.mean <= 0:
        return "-"
    return f"{found.accuracy.mean / base.accuracy.mean:.0%}"


def _f1(found: Measurement | None) -> Cell:
    return Cell(NOT_MEASURED, True) if found is None else _interval(found.accuracy, ".3f")


def _interval(value: Interval, form: str) -> Cell:
    known = value.low is not None and value.high is not None
    ends = f"{value.low:{form}} to {value.high:{form}}" if known else ""
    return Cell(f"{value.mean:{form}}", True, ends)
