"""Tables of an evaluation as plain rows: the page and the terminal show the same ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from inkblur.evaluation.results import (
    ADAPTIVE,
    AUTHOR,
    NOT_MEASURED,
    STATIC,
    Evaluation,
    Interval,
    Measurement,
    UtilityResult,
    not_measured,
    relative,
)
from inkblur.types import counted

BEFORE = "original texts"


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in a place; numbers go to the right, details are set small."""

    text: str
    number: bool = False
    detail: str = ""
    link: str = ""  # a place on the same page


@dataclass(frozen=True, slots=True)
class TableRow:
    """Cells; `lead` marks what should be read first."""

    cells: tuple[Cell, ...]
    lead: bool = False


def row(*cells: Cell | str, lead: bool = False) -> TableRow:
    """A row of these cells; a text is a cell by itself."""
    return TableRow(tuple(Cell(c) if isinstance(c, str) else c for c in cells), lead)


@dataclass(frozen=True, slots=True)
class Table:
    """A title, a caption, heads and rows."""

    title: str
    caption: str
    heads: tuple[Cell, ...]
    rows: tuple[TableRow, ...]


def strongest_table(report: Evaluation) -> list[Table]:
    """The risk to authors at a glance: the strongest attack on each release, whoever tries it."""
    rows = []
    for result in report.settings:
        worst = result.strongest()
        if worst is not None:
            base = report.before.strongest(worst.scenario)
            assert base is not None  # what is tried on a release is tried on true texts
            rows.append(
                row(
                    result.name,
                    f"{worst.attack}, {worst.attacker}",
                    _interval(worst.accuracy, ".1%"),
                    Cell(f"{worst.above_chance:.1%}", True),
                    Cell(f"{worst.chance:.1%}", True),
                    Cell(f"{base.accuracy.mean:.1%}", True, base.attack),
                    lead=True,
                )
            )
    names = heads(
        "release", "strongest attack tried", "#authors identified", "#above chance", "#guessing",
        "#original texts",
    )  # fmt: skip
    caption = "Other attackers may do better: this is a lower bound on the risk."
    return [Table("", caption, names, tuple(rows))] if rows else []


def disclosure_tables(report: Evaluation) -> list[Table]:
    """What can be read, linked and inferred, and what was not tried: one table per release."""
    names = heads("attack", "measure", "#value", "#without the attack")
    return [
        Table(result.name, "", names, rows)
        for result in report.settings
        if (rows := (*_disclosed_rows(result.measurements), *_missing_rows(result.measurements)))
    ]


def _disclosed_rows(measurements: Sequence[Measurement]) -> Iterable[TableRow]:
    for found in measurements:
        if found.question != AUTHOR and found.value is not None:
            # An area under a curve is no share.
            form = ".3f" if found.question == "linking" else ".1%"
            without = "-" if found.chance is None else f"{found.chance:{form}}"
            value = _interval(found.value, form)
            yield row(found.attack, found.scenario, value, Cell(without, True, found.by_chance))


def _missing_rows(measurements: Sequence[Measurement]) -> Iterable[TableRow]:
    for question, what, reason in not_measured(measurements):
        measure = f"{what} ({reason})"
        yield row(question, measure, Cell(NOT_MEASURED, True), Cell("-", True))


def attack_tables(report: Evaluation) -> list[Table]:
    """One per scenario: every attack and attacker, the strongest on each release marked."""
    tables = []
    for scenario in dict.fromkeys(a.scenario for a in report.before.attacks):
        rows = []
        for name in attack_names(report, scenario):
            base = report.before.attack(name, scenario, STATIC)
            if base is not None:
                rows.append(_attack_row(BEFORE, base, base, lead=False))
            for kind in (ADAPTIVE, STATIC):
                for result in report.settings:
                    found = result.attack(name, scenario, kind)
                    if found is not None:
                        lead = found is result.strongest(scenario)
                        rows.append(_attack_row(result.name, found, base, lead=lead))
        first = next(a for a in report.before.attacks if a.scenario == scenario)
        others = counted(first.strangers, "test text")
        strangers = f"; {others} by others left out" * bool(first.strangers)
        tables.append(
            Table(
                f"Suspects: {_scenario(scenario)}",
                f"{first.authors:,} suspects with {counted(first.known, 'known text')}, "
                f"{counted(first.attacked, 'text')} attacked; guessing identifies "
                f"{first.chance:.1%}{strangers}.",
                heads("attack", "texts", "attacker", "#accuracy", "#of original", "#F1"),
                tuple(rows),
            )
        )
    return tables


def attack_names(report: Evaluation, scenario: str) -> list[str]:
    """The attacks tried on true texts, then those that only a release allows."""
    results = (report.before, *report.settings)
    return list(
        dict.fromkeys(a.attack for r in results for a in r.attacks if a.scenario == scenario)
    )


def utility_tables(report: Evaluation) -> list[Table]:
    """Every classifier and analyst."""
    if not report.before.utility:
        return []
    rows = []
    for base in report.before.utility:
        rows.append(_utility_row(BEFORE, base, base))
        for kind in (ADAPTIVE, STATIC):
            for result in report.settings:
                found = result.score(base.model, kind)
                if found is not None:
                    rows.append(_utility_row(result.name, found, base))
    first = report.before.utility[0]
    unseen = f"; {first.unseen:,} left out, for no training text has their label"
    return [
        Table(
            "",
            f"{counted(first.trained, 'text')} to train on, {first.tested:,} to score, "
            f"{first.labels:,} labels{unseen * bool(first.unseen)}.",
            heads("classifier", "texts", "trained on", "#accuracy", "#precision", "#recall",
                   "#F1", "#of original"),
            tuple(rows),
        )
    ]  # fmt: skip


def meaning_tables(report: Evaluation) -> list[Table]:
    """How far texts moved, and how many words stayed."""
    rows = [
        row(
            result.name,
            _interval(result.meaning.earth_movers, ".2f"),
            _interval(result.meaning.cosine, ".2f"),
            _interval(result.unchanged, ".1%"),
            Cell(f"{result.meaning.compared:,}", True),
        )
        for result in report.settings
        if result.meaning is not None
    ]
    names = heads("texts", "#Earth Mover's", "#cosine", "#words unchanged", "#texts compared")
    return [Table("", "", names, tuple(rows))] if rows else []


def stand_in_tables(report: Evaluation) -> list[Table]:
    """Releases from a pool: labels recognized and learned, and the meaning that is kept."""
    rows, kept = [], []
    for result in report.settings:
        if result.stand_ins is None:
            continue
        found = result.stand_ins
        for texts, scores in (
            ("true, by one who studied the public texts alone", found.public),
            ("released, by one who studied the pool", found.recognized),
            ("true, by one who studied released texts", found.learned),
        ):
            for score in scores:
                cells = (_interval(score.accuracy, ".1%"), _interval(score.f1, ".3f"))
                rows.append(row(result.name, texts, score.model, *cells))
        if found.meaning is not None:
            means = (found.meaning.cosine, found.meaning.random, found.meaning.nearest)
            cosines = (_interval(mean, ".3f") for mean in means)
            kept.append(row(result.name, found.meaning.judge, *cosines))
    tables = []
    if rows:
        columns = heads("release", "labels of texts", "classifier", "#accuracy", "#F1")
        tables.append(Table("", "", columns, tuple(rows)))
    if kept:
        columns = heads("release", "judge", "#cosine", "#random pairs", "#nearest in the pool")
        caption = "Mean cosine of a text and its stand-in, by a judge without part in the release."
        tables.append(Table("", caption, columns, tuple(kept)))
    return tables


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
    return plain_table(
        ("what", "#count", "rule"), [(name, f"{count:,}", rule) for name, count, rule in lines]
    )


def family(name: str) -> str:
    """A setting's name without its epsilon: points of one family are one line of a chart."""
    return ", ".join(part for part in name.split(", ") if not part.startswith("epsilon "))


def _attack_row(name: str, found: Measurement, base: Measurement | None, *, lead: bool) -> TableRow:
    left = None if base is None else relative(found.accuracy.mean, base.accuracy.mean)
    return row(
        found.attack,
        name,
        "-" if found is base else found.attacker,
        _interval(found.accuracy, ".1%"),
        Cell("-" if found is base or left is None else f"{left:.0%}", True),
        _interval(found.f1, ".3f"),
        lead=lead,
    )


def _utility_row(name: str, found: UtilityResult, base: UtilityResult) -> TableRow:
    left = relative(found.f1.mean, base.f1.mean)
    kind = "released texts" if found.analyst == ADAPTIVE else "original texts"
    return row(
        found.model,
        name,
        kind,
        _interval(found.accuracy, ".1%"),
        _interval(found.precision, ".3f"),
        _interval(found.recall, ".3f"),
        _interval(found.f1, ".3f"),
        Cell("-" if found is base or left is None else f"{left:.0%}", True),
        lead=found is not base and found.analyst == ADAPTIVE,
    )


def _interval(value: Interval | None, form: str) -> Cell:
    if value is None:
        return Cell("-", True)
    known = value.low is not None and value.high is not None
    ends = f"{value.low:{form}} to {value.high:{form}}" if known else ""
    return Cell(f"{value.mean:{form}}", True, ends)


def heads(*names: str) -> tuple[Cell, ...]:
    """The heads of columns; those that begin with # stand over numbers."""
    return tuple(Cell(name.removeprefix("#"), name.startswith("#")) for name in names)


def plain_table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Texts in columns with these :func:`heads`."""
    columns = heads(*names)
    cells = [
        tuple(Cell(text, head.number) for head, text in zip(columns, row, strict=True))
        for row in rows
    ]
    return Table("", "", columns, tuple(map(TableRow, cells)))


def _scenario(name: str) -> str:
    if name == "all":
        return "all authors"
    return f"the {name.split('-')[1]} with most training texts"
