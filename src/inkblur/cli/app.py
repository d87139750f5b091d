"""The `inkblur` command: mounts each command's door."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from inkblur.cli import options
from inkblur.cli.audit import audit
from inkblur.cli.console import WRITTEN, Command, data, print_table, talk
from inkblur.cli.evaluate import evaluate, tune, write_private
from inkblur.cli.ledger import app as ledger
from inkblur.cli.preview import preview
from inkblur.cli.privatize import privatize
from inkblur.cli.public import embeddings, pool
from inkblur.cli.serve import serve
from inkblur.types import counted

if TYPE_CHECKING:
    from inkblur.spec import ReleaseSpec

_SHOWN = 10  # replacements of a word

app = typer.Typer(
    name="inkblur",
    help="Differentially private text: publish it without publishing its author.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    epilog="Example: inkblur preview reviews.csv",
)
_release = partial(app.command, cls=Command, rich_help_panel="Release texts")
_measure = partial(app.command, cls=Command, rich_help_panel="Measure and choose")
_prepare = partial(app.command, cls=Command, rich_help_panel="Prepare")
_release()(preview)
_release()(privatize)
_release()(serve)
app.add_typer(ledger, name="ledger", rich_help_panel="Release texts")
_measure()(evaluate)
_measure()(tune)
_measure()(audit)
app.add_typer(pool, name="pool", rich_help_panel="Prepare")
app.add_typer(embeddings, name="embeddings", rich_help_panel="Prepare")


@_release()
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
        write_private(output, body)
        talk.print(f"wrote {escape(str(output))}")
    if not made.private:
        talk.print("[bold red]no privacy guarantee:[/] the statement says why")


@_measure()
def mechanisms(
    word: Annotated[
        str | None, typer.Option(help="Show what a mechanism makes of this word.")
    ] = None,
    epsilon: options.Epsilon = None,
    mechanism: options.Mechanism = None,
    settings: options.Set = None,
) -> None:
    """List the mechanisms with their guarantees; or, with --word, what one makes of a word.

    Example: inkblur mechanisms --word doctor --epsilon 8
    """
    from rich.table import Table

    from inkblur.mechanisms import CATALOGUE

    if word is None:
        table = Table("mechanism", "metric", "guarantee for one word", "from")
        for entry in CATALOGUE.values():
            table.add_row(entry.name, entry.metric.value, entry.promise, entry.source)
        print_table(table)
        for entry in CATALOGUE.values():
            for each in entry.parameters:
                data.print(f"{entry.name} --set {each.name}=...: {escape(each.help)}")
        return
    spec = options.release_spec(settings, epsilon=epsilon, mechanism=mechanism)
    _show_word(word, spec)


def _show_word(word: str, spec: ReleaseSpec) -> None:
    """Its likeliest replacements: exact where the mechanism can say, else from draws."""
    import numpy as np
    from rich.table import Table

    from inkblur.documents.analysis import folded, known_id
    from inkblur.documents.policies import is_name
    from inkblur.errors import ParameterError
    from inkblur.rng import secure_rng
    from inkblur.types import NULL_ID

    if len(word.split()) != 1:
        raise ParameterError(f"give one word, got {word!r}; each word of a text is drawn alone")
    vectors = spec.table()
    id = known_id(vectors, word)  # as a text's words are looked up
    spelled = vectors.words[id] if id != NULL_ID else word
    if id == NULL_ID:
        talk.print(
            f"[yellow]{escape(word)} is not in the vocabulary:[/] it enters as the null word"
        )
    elif is_name(folded(spelled)):
        talk.print(
            f"[yellow]{escape(spelled)} is on the list of names:[/] in a text it enters as the "
            "null word, unless --set names=blur makes it a word like any other, as shown here"
        )
    found = spec.mechanism_on(vectors).distribution(spelled, secure_rng())
    shares = found.probabilities
    table = Table("becomes", "probability")
    for place in np.argsort(-shares, kind="stable")[:_SHOWN].tolist():
        if shares[place] > 0:
            table.add_row(escape(vectors.words[place]), f"{shares[place]:.4%}")
    print_table(table)
    if id != NULL_ID:
        talk.print(f"stays the same: {shares[id]:.4%}")
    if found.draws is not None:
        talk.print(f"estimated from {counted(found.draws, 'draw')}")


@_prepare()
def keygen(
    file: Annotated[Path, typer.Argument(help="File to write the key to.", **WRITTEN)],
) -> None:
    """Write a new secret key, readable only by you.

    Example: inkblur keygen inkblur.key
    """
    from inkblur.rng import write_key

    write_key(file)
    talk.print(f"wrote {file}; keep it secret: whoever has it can undo every release made with it")


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        from inkblur.mechanisms.nearest import engine
        from inkblur.mechanisms.noise import sphere

        search, noise = engine.describe(), sphere.describe()
        data.print(f"inkblur {version('inkblur')}; nearest words by {search}; noise by {noise}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", "-V", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line. SIGTERM and a lost terminal clean up as Ctrl-C does."""
    signal.signal(signal.SIGTERM, _stop)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # `nohup` has it ignored
        signal.signal(signal.SIGHUP, _stop)
    # BLAS threads that have nothing to do should sleep, not spin: the search needs the cores.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    app()


def _stop(number: int, frame: object) -> None:
    raise KeyboardInterrupt
