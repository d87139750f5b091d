"""The records of experiments as one Markdown document with its plots."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from reproduction.checkpoint import write_whole
from reproduction.datasets import SOURCES
from reproduction.estimate import Estimate
from reproduction.experiments import EXPERIMENTS
from reproduction.figures import Plot, plots
from reproduction.reasons import reason
from reproduction.result import Claim, ExperimentRecord, Outcome, Reading, Verdict

DOCUMENT, FIGURES = "reproduction.md", "figures"
Cell = tuple[str, str]  # a text, and what stands beside it in parentheses


def write_reproduction(records: Sequence[ExperimentRecord], folder: Path) -> tuple[Path, ...]:
    """The document and its plots."""
    drawn = [plots(record.experiment, record.outcome) for record in records]
    files = {DOCUMENT: reproduction_document(records, drawn)}
    files |= {f"{FIGURES}/{plot.file}": plot.svg + "\n" for of in drawn for plot in of}
    for name, text in files.items():
        write_whole(folder / name, text)
    return tuple(folder / name for name in files)


def reproduction_document(
    records: Sequence[ExperimentRecord], drawn: Sequence[Sequence[Plot]]
) -> str:
    """Everything as Markdown; plots are files beside it."""
    lines = [
        "# The papers' claims, measured again",
        "",
        "Made by `python -m reproduction` from the records beside it; do not edit. "
        + summary(records),
        "",
        *(line for note in _notes(records) for line in (note, "")),
        "## Every claim",
        "",
        *_overview(records),
    ]
    for record, figures in zip(records, drawn, strict=True):
        lines += _section(record, figures)
    rows = [
        [
            (path, ""),
            (sha256[:16] + "...", ""),
            (source.origin, f"here: {source.packing}" if source.packing else ""),
        ]
        for source in SOURCES.values()
        for path, sha256 in source.files
    ]
    lines += ["## The data", "", *_table(("file", "sha256", "public original"), rows)]
    return "\n".join(lines).rstrip("\n") + "\n"


def summary(records: Sequence[ExperimentRecord]) -> str:
    """How many claims hold, fail and stay open, the papers' and ours apart; and what it took."""
    seconds = sum(record.processor_seconds for record in records)
    took = f"{seconds / 60:,.0f} minutes" if seconds >= 90 else f"{seconds:.0f} seconds"
    judged = [claim for record in records if not record.quick for claim in record.outcome.claims]
    verdicts = []
    for whose, claims in (
        ("Claims of the papers", [claim for claim in judged if not claim.ours]),
        ("Claims of ours", [claim for claim in judged if claim.ours]),
    ):
        counts = Counter(claim.verdict for claim in claims)
        if claims:
            verdicts.append(
                f"{whose}: {len(claims)}; {counts[Verdict.HOLDS]} hold, {counts[Verdict.FAILS]} "
                f"fail, {counts[Verdict.OPEN]} stay open."
            )
    return (
        f"Experiments: {len(records)}. {' '.join(verdicts) or 'No claim is judged.'} "
        f"{_OPEN * bool(judged)}{took} of processor time. "
        "Small print in a cell: the interval, and the number that the paper prints."
    )


_OPEN = (
    "(Open: the 95 % interval lies on both sides, or the data could not decide. Every claim that "
    "does not hold says whether the paper, the data or the sample is the reason; one of ours may "
    "also have been too bold.) "
)


def shown_verdict(record: ExperimentRecord, claim: Claim) -> str:
    """A quick look judges nothing."""
    return "-" if record.quick else claim.verdict.value


def _notes(records: Sequence[ExperimentRecord]) -> list[str]:
    if any(record.quick for record in records):
        return [
            "A quick look on small samples, sometimes of smaller collections than the notes name: "
            "it shows that everything runs, and judges nothing."
        ]
    sources: dict[tuple[str, str], list[str]] = {}
    for record in records:
        by = f"{', '.join(record.commits)} on {', '.join(record.days)}", record.machine
        sources.setdefault(by, []).append(record.experiment)
    if len(sources) < 2:
        return []
    return [
        f"Measured with commit {source} (UTC), on {machine}: {', '.join(names)}."
        for (source, machine), names in sources.items()
    ]


def _overview(records: Sequence[ExperimentRecord]) -> list[str]:
    rows: list[list[Cell]] = [
        [
            (record.experiment, ""),
            (claim.text, "ours" * claim.ours),
            (shown_verdict(record, claim), ""),
            (_number(claim.found.value), _range(claim.found)),
            (f"> {_number(claim.threshold)}", ""),
            ("" if record.quick else reason(record.experiment, claim), ""),
        ]
        for record in records
        for claim in record.outcome.claims
    ]
    heads = ("experiment", "claim", "verdict", "#statistic", "#claimed", "why not")
    return _table(heads, rows)


def _section(record: ExperimentRecord, figures: Sequence[Plot]) -> list[str]:
    experiment, outcome = EXPERIMENTS[record.experiment], record.outcome
    lines = [
        f"## {experiment.name}",
        "",
        f"{experiment.question} (Repeats: {experiment.repeats}.)",
        "",
        f"Commit {', '.join(record.commits)}, measured on {', '.join(record.days)} (UTC), seed "
        f"{record.seed}, {record.seconds:,.0f} s ({record.processor_seconds:,.0f} s of "
        f"processor time) on {record.machine}{'; a quick look' * record.quick}.",
        "",
    ]
    if outcome.claims:
        rows: list[list[Cell]] = [
            [
                (claim.name, ""),
                (claim.text, claim.source),
                (shown_verdict(record, claim), claim.undecided),
                (_number(claim.found.value), _range(claim.found)),
                (f"above {_number(claim.threshold)}: {claim.statistic}", ""),
            ]
            for claim in outcome.claims
        ]
        heads = ("claim", "in words", "verdict", "#found", "holds when the number lies")
        lines += _table(heads, rows)
    lines += [*(f"- {note}" for note in outcome.notes), ""]
    for plot in figures:
        lines += [f"![{plot.title}]({FIGURES}/{plot.file})", ""]
    lines += _readings(outcome)
    for passage in outcome.passages:
        lines += [f"### {passage.title}", ""]
        lines += [f"- **{what}**: {_escaped(text)}" for what, text in passage.lines]
        lines.append("")
    return lines


def _readings(outcome: Outcome) -> list[str]:
    """One table for each of the paper's, a row for each place, a column for each measure."""
    lines = []
    for title in dict.fromkeys(reading.table for reading in outcome.readings):
        readings = [reading for reading in outcome.readings if reading.table == title]
        places = dict.fromkeys(tuple(reading.where.items()) for reading in readings)
        axes = dict.fromkeys(axis for reading in readings for axis in reading.where)
        measures = dict.fromkeys(reading.measure for reading in readings)
        found = {(tuple(r.where.items()), r.measure): r for r in readings}
        rows = [
            [
                *((_place(dict(place).get(axis)), "") for axis in axes),
                *(_reading(found.get((place, measure))) for measure in measures),
            ]
            for place in places
        ]
        numbers = {
            axis for r in readings for axis, at in r.where.items() if at and not isinstance(at, str)
        }
        heads = [*(f"#{a}" if a in numbers else a for a in axes), *(f"#{m}" for m in measures)]
        lines += [f"### {title}", "", *_table(heads, rows)]
    return lines


def _table(heads: Iterable[str], rows: Iterable[Sequence[Cell]]) -> list[str]:
    """Heads that begin with # stand over numbers."""
    names = list(heads)
    lines = [
        "| " + " | ".join(_escaped(name.removeprefix("#")) for name in names) + " |",
        "|" + "|".join("---:" if name.startswith("#") else "---" for name in names) + "|",
    ]
    for row in rows:
        cells = [_escaped(text) + f" ({_escaped(beside)})" * bool(beside) for text, beside in row]
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def _place(value: str | float | None) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value:,g}" if value < 1e6 else f"{value:,.0f}"


def _reading(reading: Reading | None) -> Cell:
    if reading is None:
        return "", ""
    printed = "" if reading.paper is None else f"paper {_number(reading.paper)}"
    return _number(reading.found.value), "; ".join(filter(None, (_range(reading.found), printed)))


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
