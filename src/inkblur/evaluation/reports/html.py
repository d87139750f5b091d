"""Self-contained pages of an evaluation, a statement and a preview: the one file that uses Jinja.

Nothing is loaded from anywhere: styles and charts stand in the page, there is no script, and its
own policy forbids any request.
"""

from __future__ import annotations

import importlib
from typing import Any

from inkblur.errors import needs
from inkblur.evaluation.reports import tables
from inkblur.evaluation.reports.charts import Column, Figure, Series, chart
from inkblur.evaluation.reports.statement import KEEP_INSIDE, Statement
from inkblur.evaluation.results import ADAPTIVE, AUTHOR, STATIC, Evaluation, headline
from inkblur.files.preview import NOTE, Preview, beginning
from inkblur.types import counted


def require_page_libraries() -> None:
    """Fail now, and not after the measuring, where Jinja or matplotlib is not installed."""
    for library in ("jinja2", "matplotlib"):
        with needs(f"the HTML page needs {library}", "evaluation", "leave the page out"):
            importlib.import_module(library)


def page(template: str, **values: Any) -> str:
    """A Jinja template that extends `base.html`, filled in; escaped unless it says `safe`.

    `title` is among the values; `grid(table)` draws a table.
    """
    return str(_environment().from_string(template).render(**values))


def page_of(name: str, **values: Any) -> str:
    """The page that the template of this name describes (`templates/`)."""
    return str(_environment().get_template(name).render(**values))


def _environment() -> Any:
    require_page_libraries()
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("inkblur.evaluation.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["count"] = lambda number: f"{number:,}"
    environment.filters["counted"] = counted
    grid = environment.get_template("table.html")
    environment.globals["grid"] = lambda table: Markup(grid.render(table=table))  # escaped there
    return environment


def evaluation_page(report: Evaluation) -> str:
    """The page; the same report gives the same text."""
    return page_of(
        "evaluation.html",
        title="Inkblur evaluation",
        report=report,
        tried={attack.name for result in report.settings for attack in result.attacks},
        disclosed={
            each.question
            for result in report.settings
            for each in result.measurements
            if each.question != AUTHOR or each.value is None
        },
        glance=[
            {"name": result.name, "sentence": headline(result, report.before)}
            for result in report.settings
        ],
        tables={
            "strongest": tables.strongest_table(report),
            "attacks": tables.attack_tables(report),
            "disclosures": tables.disclosure_tables(report),
            "utility": tables.utility_tables(report),
            "meaning": [*tables.meaning_tables(report), *tables.stand_in_tables(report)],
            "facts": [tables.facts_table(report)],
        },
        charts={"attacks": attack_figures(report), "utility": utility_figures(report)},
    )


def statement_page(statement: Statement) -> str:
    """A statement; `statement_markdown` has the same as Markdown."""
    return page_of(
        "statement.html",
        title="Privacy statement",
        statement=statement,
        note=KEEP_INSIDE,
        tables=[
            tables.plain_table(s.rows[0], s.rows[1:]) if s.rows else None
            for s in statement.sections
        ],
    )


def preview_page(seen: Preview, command: str) -> str:
    """What `inkblur preview` shows on the terminal; `command` is what to type next."""
    # The first and the last column hold words.
    first, *figures, last = seen.looks[0].figures
    names = ("original", *(look.name for look in seen.looks))
    texts = [
        list(zip(names, map(beginning, (text, *(k.texts[i] for k in seen.looks))), strict=True))
        for i, text in enumerate(seen.texts)
    ]
    return page_of(
        "preview.html",
        title="Inkblur preview",
        seen=seen,
        note=NOTE,
        facts=tables.plain_table(("the file", ""), seen.facts()),
        texts=texts,
        strengths=tables.plain_table(
            (first, *(f"#{head}" for head in figures), last),
            [tuple(look.figures.values()) for look in seen.looks],
        ),
        warnings=seen.warnings(),
        command=command,
    )


def attack_figures(report: Evaluation) -> list[Figure]:
    """Accuracy of each attack over the settings, a chart per scenario; adaptive lines are solid."""
    figures = []
    for scenario in dict.fromkeys(a.scenario for a in report.before.attacks):
        first = next(a for a in report.before.attacks if a.scenario == scenario)
        series = []
        started = set()  # attacks whose line begins at the texts as they are
        for kind in (ADAPTIVE, STATIC):
            for color, name in enumerate(tables.attack_names(report, scenario)):
                found = [r.attack(name, scenario, kind) for r in report.settings]
                if not any(found):  # an attack that only the other attacker can try
                    continue
                base = None if name in started else report.before.attack(name, scenario, STATIC)
                started.add(name)
                results = (base, *found)
                points = tuple(each.accuracy if each else None for each in results)
                series.append(Series(f"{name}, {kind}", points, color, kind == STATIC))
        title = f"Author identified ({scenario})" if scenario != "all" else "Author identified"
        mark = ("guessing", first.chance or 0.0)
        figures.append(chart(_columns(report), series, title=title, mark=mark))
    return figures


def utility_figures(report: Evaluation) -> list[Figure]:
    """F1 of each classifier over the settings."""
    if not report.before.utility:
        return []
    series = []
    for kind in (ADAPTIVE, STATIC):
        for color, base in enumerate(report.before.utility):
            found = [r.score(base.model, kind) for r in report.settings]
            after = [f.f1 if f else None for f in found]
            points = (base.f1 if kind == ADAPTIVE else None, *after)
            series.append(Series(f"{base.model}, {kind}", points, color, kind == STATIC))
    title = "Label recognized (F1, mean over labels)"
    return [chart(_columns(report), series, title=title, percent=False)]


def _columns(report: Evaluation) -> list[Column]:
    after = [
        Column("" if each.epsilon is None else f"ε {each.epsilon:g}", tables.family(each.name))
        for each in report.settings
    ]
    return [Column("before"), *after]
