"""The `inkblur` command: mounts each command's door."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Annotated

import typer

from inkblur.cli.audit import audit
from inkblur.cli.console import WRITTEN, data, plain_errors, talk
from inkblur.cli.embeddings import app as embeddings
from inkblur.cli.evaluate import evaluate
from inkblur.cli.ledger import app as ledger
from inkblur.cli.mechanisms import mechanisms
from inkblur.cli.pool import app as pool
from inkblur.cli.preview import preview
from inkblur.cli.privatize import privatize
from inkblur.cli.serve import serve
from inkblur.cli.statement import statement
from inkblur.cli.tune import tune

app = typer.Typer(
    name="inkblur",
    help="Differentially private text: publish it without publishing its author.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    epilog="Example: inkblur preview reviews.csv",
)
_RELEASE, _MEASURE, _PREPARE = "Release texts", "Measure and choose", "Prepare"
for command in (preview, privatize, statement, serve):
    app.command(rich_help_panel=_RELEASE)(command)
app.add_typer(ledger, name="ledger", rich_help_panel=_RELEASE)
for command in (evaluate, tune, audit, mechanisms):
    app.command(rich_help_panel=_MEASURE)(command)
app.add_typer(pool, name="pool", rich_help_panel=_PREPARE)
app.add_typer(embeddings, name="embeddings", rich_help_panel=_PREPARE)


@app.command(rich_help_panel=_PREPARE)
def keygen(
    file: Annotated[Path, typer.Argument(help="File to write the key to.", **WRITTEN)],
) -> None:
    """Write a new secret key, readable only by you.

    Example: inkblur keygen inkblur.key
    """
    with plain_errors():
        from inkblur.rng import write_key

        write_key(file)
        talk.print(
            f"wrote {file}; keep it secret: whoever has it can undo every release made with it"
        )


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
