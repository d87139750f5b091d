"""Self-contained pages of an evaluation, a tuning, a statement and a preview, from one base.

Nothing is loaded from anywhere: styles and charts stand in the page, there is no script, and its
own policy forbids any request.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from inkblur.errors import needs
from inkblur.evaluation.dataset import Facts
from inkblur.evaluation.plan import Plan
from inkblur.evaluation.reports import tables
from inkblur.evaluation.reports.charts import Figure, Series, Spot, dots, scatter
from inkblur.evaluation.reports.statement import KEEP_INSIDE, Statement
from inkblur.evaluation.results import AUTHOR, LABELS, MEANING, TRUE, Evaluation, Interval
from inkblur.evaluation.tune import Trial, Tuning
from inkblur.files.preview import NOTE, Preview, beginning
from inkblur.types import counted

QUESTIONS = {  # sections of the page
    AUTHOR: (AUTHOR,),
    "disclosed": ("reading", "repetition", "singling out", "linking", "inference"),
    LABELS: (LABELS,),
    MEANING: (MEANING,),
}
TITLES = {AUTHOR: "Author identified, suspects", LABELS: "Macro F1 of labels"}


def require_page_libraries() -> None:
    """Fail now, and not after the measuring, where Jinja or matplotlib is not installed."""
    for library in ("jinja2", "matplotlib"):
        with needs(f"the HTML page needs {library}", "evaluation", "leave the page out"):
            importlib.import_module(library)


def _page(name: str, **values: Any) -> str:
    """The page that the template of this name describes; escaped unless it says `safe`."""
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
    return str(environment.get_template(name).render(**values))


def evaluation_page(report: Evaluation) -> str:
    """The page; the same report gives the same text."""
    return _page(
        "evaluation.html",
        title="Inkblur evaluation",
        report=report,
        tried={attack.name for result in report.settings for attack in result.attacks},
        glance=tables.glance_table(report),
        tables={
            name: tables.measured_table(report, *questions) for name, questions in QUESTIONS.items()
        },
        charts={name: figures(report, name) for name in (AUTHOR, LABELS)},
        facts=tables.facts_table(report),
    )


def tuning_page(
    found: Tuning,
    *,
    facts: Facts,
    embedding: Mapping[str, Any],
    plan: Plan,
    commands: Sequence[str],
) -> str:
    """The page; the same tuning gives the same text. `embedding` has name, words, dimension."""
    return _page(
        "tuning.html",
        title="Inkblur tuning",
        found=found,
        facts=facts,
        embedding=dict(embedding),
        plan=plan,
        commands=commands,
        figure=tuning_figure(found),
        table=tables.tuning_table(found),
    )


def statement_page(statement: Statement) -> str:
    """A statement; `markdown` has the same as Markdown."""
    grids = [tables.table(s.rows[0], s.rows[1:]) if s.rows else None for s in statement.sections]
    return _page(
        "statement.html",
        title="Privacy statement",
        statement=statement,
        note=KEEP_INSIDE,
        tables=grids,
    )


def preview_page(seen: Preview, command: str, said: Callable[[str], str]) -> str:
    """What `inkblur preview` shows on the terminal; `command` is what to type next, and `said` puts
    a message into the words of the command line.
    """
    # The first and the last column hold words.
    first, *figures, last = seen.looks[0].figures
    names = ("original", *(look.name for look in seen.looks))
    texts = [
        list(zip(names, map(beginning, (text, *(k.texts[i] for k in seen.looks))), strict=True))
        for i, text in enumerate(seen.texts)
    ]
    return _page(
        "preview.html",
        title="Inkblur preview",
        seen=seen,
        note=NOTE,
        facts=tables.table(("the file", ""), [(name, said(value)) for name, value in seen.facts()]),
        texts=texts,
        strengths=tables.table(
            (first, *(f"#{head}" for head in figures), last),
            [tuple(look.figures.values()) for look in seen.looks],
        ),
        warnings=[said(line) for line in seen.warnings()],
        command=command,
    )


def figures(report: Evaluation, question: str) -> list[Figure]:
    """What was measured of a question on each release, a chart for each scenario."""
    results = (report.before, *report.settings)
    rows = [TRUE, *(each.name for each in report.settings)]
    drawn = []
    for scenario in dict.fromkeys(m.scenario for r in results for m in r.of(question)):
        lines: dict[tuple[str, str], list[Interval | None]] = {}
        for place, result in enumerate(results):
            for each in result.of(question):
                if each.scenario == scenario:
                    points = lines.setdefault((each.name, each.attacker), [None] * len(rows))
                    points[place] = each.value
        mark = next(m.chance for r in results for m in r.of(question) if m.scenario == scenario)
        title = f"{TITLES[question]}: {scenario}"
        series = [Series(", ".join(name), tuple(points)) for name, points in lines.items()]
        drawn.append(dots(rows, series, title=title, mark=mark))
    return drawn


def tuning_figure(found: Tuning) -> Figure:
    """Utility over attack: a line through the settings that differ in epsilon alone."""
    paths: dict[str, list[Trial]] = {}
    for trial in found.trials:
        paths.setdefault(tables.family(trial.spec.name), []).append(trial)
    chosen, judged = found.chosen, found.judged
    return scatter(
        {
            name: [_spot(each) for each in sorted(same, key=lambda t: t.spec.epsilon or 0.0)]
            for name, same in paths.items()
        },
        title="Utility left over the strongest attack",
        labels=("texts whose author is identified", "utility left"),
        chosen=_spot(chosen) if chosen is not None else None,
        wanted=(found.target.what == "attack", found.target.bound),
        held_out=_spot(judged) if chosen is not None and judged is not None else None,
    )


def _spot(trial: Trial) -> Spot:
    return trial.spec.name, trial.attack.accuracy.mean, trial.utility
