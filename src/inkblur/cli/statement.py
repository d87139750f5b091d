"""`inkblur statement`: a run's report, explained on one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from inkblur.cli import texts
from inkblur.cli.console import plain_errors, talk


def statement(
    report: Annotated[Path, typer.Argument(help="What `inkblur privatize --report` wrote.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="A .html or .md file; Markdown on standard output if not given."
        ),
    ] = None,
    evaluation: Annotated[
        Path | None,
        typer.Option(help="The evaluation.json of `inkblur evaluate` for the same release."),
    ] = None,
) -> None:
    """Explain a release to a privacy officer: what it promises, what it leaves open, in figures.

    Example: inkblur statement report.json -o statement.html --evaluation results/evaluation.json
    """
    with plain_errors():
        from inkblur.errors import OutputError
        from inkblur.evaluation.reports.statement import make_statement, markdown, read_report

        suffix = ".md" if output is None else output.suffix.lower()
        if suffix not in (".html", ".md"):
            raise OutputError(f"a statement is .html or .md, not {output}; name it so")
        read = [path for path in (report, evaluation) if path is not None]
        if output is not None and output.resolve() in [path.resolve() for path in read]:
            raise OutputError(f"the statement would overwrite {output}; choose another name")
        measured = None if evaluation is None else read_report(evaluation)
        made = make_statement(read_report(report), measured, name=str(report))
        if suffix == ".html":
            from inkblur.evaluation.reports.html import statement_page

            body = statement_page(made)
        else:
            body = markdown(made)
        if output is None:
            typer.echo(body, nl=False)
        else:
            texts.write(output, body)
            talk.print(f"wrote {escape(str(output))}")
        if not made.private:
            talk.print("[bold red]no privacy guarantee:[/] the statement says why")
