"""`inkblur preview`: a file's own texts at three strengths, before anything is released."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from inkblur.atomic_file import PRIVATE, write_atomically
from inkblur.cli import options
from inkblur.cli.console import WRITTEN, data, talk
from inkblur.cli.options import in_flags
from inkblur.types import counted

if TYPE_CHECKING:
    from inkblur.files.preview import Preview

_WIDE = 120  # columns of a terminal from which on four texts stand side by side


def preview(
    input: Annotated[
        str, typer.Argument(help="One file that `inkblur privatize` reads, or - for its input.")
    ],
    html: Annotated[
        Path | None,
        typer.Option(help="Also write an HTML page, readable only by you.", **WRITTEN),
    ] = None,
    epsilon: options.Epsilons = None,
    mechanism: options.Mechanism = None,
    pool: options.Pool = None,
    column: options.Columns = None,
    keep_column: options.KeepColumns = None,
    settings: options.Set = None,
) -> None:
    """Show five texts of a file before and after release, at three strengths.

    Nothing is released: the draws come from a key that is thrown away, and the ledger does not
    change. It shows original text, so do not publish it. At most 100,000 rows are read.

    Example: inkblur preview reviews.csv --html preview.html
    """
    from inkblur.files.preview import preview_file
    from inkblur.files.release import refuse_overwriting, spec_files

    if html is not None:
        from inkblur.evaluation.reports.html import require_page_libraries

        require_page_libraries()
    # How strong is for the preview to vary.
    usual = {"strength": "medium"} if pool is None else {"epsilon": 1.0}
    spec = options.release_spec(
        settings,
        **usual,
        mechanism=mechanism,
        pool=pool,
        columns=column,
        keep_columns=keep_column,
    )
    if html is not None:
        refuse_overwriting("page", html, [input, *spec_files(spec)])
    seen = preview_file(input, spec, epsilons=options.numbers("epsilon", epsilon))
    command = next_command(input, seen)
    _print(seen, command)
    if html is not None:
        from inkblur.evaluation.reports.html import preview_page

        write_atomically(html, preview_page(seen, command, in_flags), mode=PRIVATE)
        talk.print(f"wrote {escape(str(html))}; it shows original text: do not publish it")


def next_command(path: str, seen: Preview) -> str:
    """What to type to release the file at the last strength shown."""
    file = Path(path)
    stem, suffixes = file.name.split(".", 1) if "." in file.name else (file.name, "")
    output = str(file.with_name(f"{stem}-blurred.{suffixes}")) if path != "-" else "-"
    report = str(file.with_name(f"{stem}-report.json")) if path != "-" else "report.json"
    described = options.typed(seen.next_spec())
    return shlex.join(["inkblur", "privatize", path, "-o", output, *described, "--report", report])


def _print(seen: Preview, command: str) -> None:
    from inkblur.files.preview import NOTE

    data.print(f"[bold]{escape(NOTE)}[/]", soft_wrap=False)
    facts = Table.grid(padding=(0, 2))
    facts.add_column(no_wrap=True, style="dim")
    facts.add_column(overflow="fold")
    for name, value in seen.facts():
        facts.add_row(name, escape(in_flags(value)))
    data.print(facts, soft_wrap=False)
    data.print()
    data.print(_side_by_side(seen) if data.width >= _WIDE else _stacked(seen), soft_wrap=False)
    data.print(_strengths(seen), soft_wrap=False)
    for line in seen.warnings():
        data.print(escape(in_flags(line)), soft_wrap=False)
    data.print(f"Next, at {seen.looks[-1].name} or the strength you prefer:")
    data.print(escape(command))  # unwrapped, so that it can be copied


def _side_by_side(seen: Preview) -> Table:
    from inkblur.files.preview import beginning

    table = Table(show_lines=True, expand=True)
    for name in ("original", *(look.name for look in seen.looks)):
        table.add_column(name, ratio=1, overflow="fold")
    for place, text in enumerate(seen.texts):
        shown = (text, *(look.texts[place] for look in seen.looks))
        table.add_row(*(escape(beginning(each)) for each in shown))
    return table


def _stacked(seen: Preview) -> Table:
    """One text below the other, for a narrow terminal."""
    from inkblur.files.preview import beginning

    table = Table(expand=True)
    table.add_column("", no_wrap=True)
    table.add_column(f"{counted(len(seen.texts), 'text')}, original and blurred", overflow="fold")
    for place, text in enumerate(seen.texts):
        table.add_row("original", escape(beginning(text)), style="bold")
        for look in seen.looks:
            last = look is seen.looks[-1]
            table.add_row(look.name, escape(beginning(look.texts[place])), end_section=last)
    return table


def _strengths(seen: Preview) -> Table:
    heads = list(seen.looks[0].figures)
    table = Table(expand=True)
    for name in heads:
        last = name == heads[-1]
        table.add_column(name, ratio=1 if last else None, overflow="fold")
    for look in seen.looks:
        table.add_row(*map(escape, look.figures.values()))
    return table
