"""The reproduction as one self-contained page, and as a Markdown document with its plots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from inkblur.evaluation import Cell, Table, TableRow, heads, page, write_atomically
from reproduction.command import Command
from reproduction.datasets import SOURCES
from reproduction.record_tables import Section, overview, sections
from reproduction.result import Claim, ExperimentRecord, Verdict

DOCUMENT, PAGE, FIGURES = "reproduction.md", "reproduction.html", "figures"

_TEMPLATE = """{% extends "base.html" %}
{% block page %}
<h1>The papers' claims, measured again</h1>
<p class="soft">{{ summary }}</p>
{% for note in notes %}<div class="note"><p>{{ note }}</p></div>{% endfor %}
<h2>Every claim</h2>
{{ grid(overview) }}
{% for section in sections %}
<h2 id="{{ section.anchor }}">{{ section.experiment.name }}</h2>
<p>{{ section.experiment.question }}</p>
<p class="soft">Repeats: {{ section.experiment.repeats }}.
Commit {{ section.record.commits|join(", ") }},
measured on {{ section.record.days|join(", ") }} (UTC), seed {{ section.record.seed }},
{{ section.record.seconds|round|int }} s
({{ section.record.processor_seconds|round|int }} s of processor time) on
{{ section.record.machine }}{{ "; a quick look" if section.record.quick }}.</p>
{% if section.claims %}{{ grid(section.claims) }}{% endif %}
{% for note in section.record.outcome.notes %}<p>{{ note }}</p>{% endfor %}
<div class="charts">
{% for plot in section.plots %}<figure{{ " class=wide" if plot.wide }}>
<figcaption>{{ plot.title }}</figcaption>
{{ plot.svg|safe }}</figure>{% endfor %}
</div>
{% for table in section.tables %}<h3>{{ table.title }}</h3>{{ grid(table) }}{% endfor %}
{% for passage in section.passages %}<h3>{{ passage.title }}</h3>
<div class="example"><dl>{% for what, text in passage.lines %}
<dt>{{ what }}</dt><dd>{{ text }}</dd>{% endfor %}</dl></div>{% endfor %}
{% endfor %}
<h2>The data</h2>
{{ grid(sources) }}
{% endblock %}
"""


def write_reproduction(
    records: Sequence[ExperimentRecord], folder: Path, command: Command | None = None
) -> tuple[Path, ...]:
    """The page, the document and its plots, all from the same records.

    `command`: the one that made the records, where that is known.
    """
    made = sections(records)
    headline = summary(records, command)
    files = {
        PAGE: reproduction_page(records, made, headline),
        DOCUMENT: reproduction_document(records, made, headline),
    }
    for section in made:
        files |= {f"{FIGURES}/{plot.file}": plot.svg + "\n" for plot in section.plots}
    for name, text in files.items():
        write_atomically(folder / name, text)
    return tuple(folder / name for name in files)


def reproduction_page(
    records: Sequence[ExperimentRecord], made: Sequence[Section], headline: str
) -> str:
    """Everything in one file that loads nothing."""
    return page(
        _TEMPLATE,
        title="Inkblur: the papers measured again",
        summary=headline,
        notes=_notes(records),
        overview=overview(records),
        sections=made,
        sources=_sources(),
    )


def reproduction_document(
    records: Sequence[ExperimentRecord], made: Sequence[Section], headline: str
) -> str:
    """The same as Markdown; plots are files beside it."""
    parts = [
        "# The papers' claims, measured again",
        "",
        "Made by `python -m reproduction` from the records beside it; do not edit. " + headline,
        "",
        *(line for note in _notes(records) for line in (note, "")),
        "## Every claim",
        "",
        *_markdown(overview(records)),
    ]
    for section in made:
        record = section.record
        parts += [
            f"## {section.experiment.name}",
            "",
            f"{section.experiment.question} (Repeats: {section.experiment.repeats}.)",
            "",
            f"Commit {', '.join(record.commits)}, measured on {', '.join(record.days)} (UTC), seed "
            f"{record.seed}, {record.seconds:,.0f} s ({record.processor_seconds:,.0f} s of "
            "processor time) on "
            f"{record.machine}{'; a quick look' * record.quick}.",
            "",
        ]
        if section.claims is not None:
            parts += _markdown(section.claims)
        parts += [line for note in record.outcome.notes for line in (f"- {note}",)]
        parts.append("")
        for plot in section.plots:
            parts += [f"![{plot.title}]({FIGURES}/{plot.file})", ""]
        for table in section.tables:
            parts += [f"### {table.title}", "", *_markdown(table)]
        for passage in section.passages:
            parts += [f"### {passage.title}", ""]
            parts += [f"- **{what}**: {_escaped(text)}" for what, text in passage.lines]
            parts.append("")
    parts += [
        "## The data",
        "",
        *_markdown(_sources()),
    ]
    return "\n".join(parts).rstrip("\n") + "\n"


def summary(records: Sequence[ExperimentRecord], command: Command | None = None) -> str:
    """How many claims hold, fail and stay open, the papers' and ours apart; and what it took.

    `command`: the one that filled the folder; its time is given where it began with nothing.
    """
    if command is not None and command.did(records):
        count = len(command.experiments)
        took = (
            f"One command measured {count} experiment{'s' * (count != 1)} in "
            f"{_time(command.seconds)} by the clock on {command.workers} "
            f"worker{'s' * (command.workers != 1)}; {_processor_time(command.processor_seconds)}"
        )
    else:
        took = _processor_time(sum(record.processor_seconds for record in records))
    outcomes = [record.outcome for record in records if not record.quick]
    judged = [claim for outcome in outcomes for claim in outcome.claims]
    verdicts = [
        _verdicts("Claims of the papers", [claim for claim in judged if not claim.ours]),
        _verdicts("Claims of ours", [claim for claim in judged if claim.ours]),
    ]
    return (
        f"Experiments: {len(records)}. {' '.join(filter(None, verdicts)) or 'No claim is judged.'} "
        f"{_OPEN * bool(judged)}{took} "
        "Small print in a cell: the interval, and the number that the paper prints."
    )


def _processor_time(seconds: float) -> str:
    return (
        f"{_time(seconds)} of processor time ({_time(seconds / 2)} if two cores share it evenly: "
        "computed, not run)."
    )


_OPEN = (
    "(Open: the 95 % interval lies on both sides, or the data could not decide. Every claim that "
    "does not hold says whether the paper, the data or the sample is the reason; one of ours may "
    "also have been too bold.) "
)


def _verdicts(whose: str, claims: Sequence[Claim]) -> str:
    if not claims:
        return ""
    counts = Counter(claim.verdict for claim in claims)
    return (
        f"{whose}: {len(claims)}; {counts[Verdict.HOLDS]} hold, {counts[Verdict.FAILS]} fail, "
        f"{counts[Verdict.OPEN]} stay open."
    )


def _time(seconds: float) -> str:
    return f"{seconds / 60:,.0f} minutes" if seconds >= 90 else f"{seconds:.0f} seconds"


def _sources() -> Table:
    rows = []
    for source in SOURCES.values():
        packing = f"here: {source.packing}" if source.packing else ""
        for path, sha256 in source.files:
            cells = (
                Cell(path),
                Cell(sha256[:16] + "..."),
                Cell(source.origin, detail=packing),
            )
            rows.append(TableRow(cells))
    return Table("", "", heads("file", "sha256", "public original"), tuple(rows))


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


def _markdown(table: Table) -> list[str]:
    lines = [
        "| " + " | ".join(_escaped(head.text) for head in table.heads) + " |",
        "|" + "|".join("---:" if head.number else "---" for head in table.heads) + "|",
    ]
    lines += ["| " + " | ".join(_cell(cell) for cell in row.cells) + " |" for row in table.rows]
    return [*lines, ""]


def _cell(cell: Cell) -> str:
    detail = f" ({_escaped(cell.detail)})" if cell.detail else ""
    return _escaped(cell.text) + detail


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
