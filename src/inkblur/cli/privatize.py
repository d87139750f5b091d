"""`inkblur privatize`: a file of texts in, the same file with its words replaced out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from inkblur.cli import options
from inkblur.cli.console import WRITTEN, in_flags, plain_errors, progress, talk
from inkblur.types import counted

if TYPE_CHECKING:
    from inkblur.files.summary import RunSummary
    from inkblur.spec import ReleaseSpec


@options.release_options()
def privatize(
    input: Annotated[
        str,
        typer.Argument(
            help="A .txt file (one document per line), .csv, .tsv, .jsonl (all also as .gz or "
            ".zst) or .parquet file; a folder of them (but .txt), or a pattern in quotes; - for "
            "standard input."
        ),
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", help="File or folder to write; - for standard output.")
    ] = "-",
    spec: Annotated[
        Path | None,
        typer.Option(
            help="JSON file that describes the release: the report of an earlier run, or its "
            "spec. Replaces the options that describe a release."
        ),
    ] = None,
    key_file: Annotated[
        Path | None,
        typer.Option(
            help="Secret key from `inkblur keygen`. The same key repeats the same output."
        ),
    ] = None,
    seed: options.Seed = None,
    report: Annotated[
        Path | None,
        typer.Option(
            help="JSON file for a report of what was done, with the spec to repeat it.", **WRITTEN
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            help="Batches processed at once (default: 2 to 8, or all processors with --processes).",
            rich_help_panel=options.SPEED,
        ),
    ] = None,
    processes: Annotated[
        bool,
        typer.Option(
            "--processes",
            help="Use one process per worker: slower to start, faster on many processors.",
            rich_help_panel=options.SPEED,
        ),
    ] = False,
    device: options.DeviceName = "auto",
    threads: options.Threads = None,
    ledger: options.LedgerPlace = None,
    no_ledger: Annotated[
        bool,
        typer.Option(
            "--no-ledger", help="Do not record this release.", rich_help_panel=options.LEDGER
        ),
    ] = False,
    budget: options.RecordBudget = None,
    person_budget: options.PersonBudget = None,
    *,
    given: options.Given,
) -> None:
    """Replace the words in a file of texts with random ones, under a privacy guarantee.

    The mechanism is staircase, or exponential with --release tf, unless --mechanism names another.
    With --unit text --pool FILE each text is replaced by a whole public text instead.

    Only the texts and the columns that --keep-column names are written.

    Example: inkblur privatize reviews.csv -o blurred.csv --strength medium --keep-column stars
    """
    with plain_errors():
        from inkblur.files.formats import is_folder
        from inkblur.files.release import privatize_file
        from inkblur.release import Limits

        if ledger is not None and no_ledger:
            raise typer.BadParameter("use --ledger or --no-ledger, not both")
        described = given.spec() if spec is None else _read(spec, given)
        rng = options.rng_from(key_file, seed)
        counted: str | bool = False if no_ledger else True if ledger is None else ledger
        limits = Limits(budget, person_budget)
        counting: dict[str, Any] = {"rng": rng, "ledger": counted, "limits": limits}
        if is_folder(input):
            if output == "-":
                raise typer.BadParameter("a folder needs a folder to write: give --output")
            for flag, used in {
                "--report": report is not None,
                "--processes": processes,
                "--device": device != "auto",
                "--threads": threads is not None,
            }.items():
                if used:
                    raise typer.BadParameter(f"{flag} is for a single file, not for a folder")
            at_a_time = 2 if workers is None else workers
            _folder(input, output, described, workers=at_a_time, **counting)
            return
        with _told_if_written(output), progress("privatizing", "words") as bar:
            summary = privatize_file(
                input,
                output,
                described,
                report=report,
                workers=workers,
                processes=processes,
                device=device,
                threads=threads,
                untouched=[path for path in (key_file, spec) if path is not None],
                **counting,
                on_progress=lambda done, total, words: bar.show(done, total, counted=words),
                on_expectation=lambda sentence: talk.print(escape(sentence)),
            )
        _print_summary(summary)


@contextmanager
def _told_if_written(output: str) -> Iterator[None]:
    """A run may be interrupted after its output appeared, while it waits for the ledger."""

    def version() -> tuple[int, ...] | None:
        path = Path(output)
        return (path.stat().st_ino, path.stat().st_mtime_ns) if path.is_file() else None

    before = version()
    try:
        yield
    except KeyboardInterrupt:
        if version() == before:
            raise
        talk.print(
            f"[bold red]stopped:[/] interrupted, but {escape(output)} was written and counts as "
            "released"
        )
        raise typer.Exit(130) from None


def _folder(source: str, target: str, spec: ReleaseSpec, **options: Any) -> None:
    from inkblur.files.folder import privatize_folder

    with progress("privatizing", "files") as bar:
        try:
            summary = privatize_folder(
                source,
                target,
                spec,
                **options,
                on_file=lambda name, done, total: bar.show(done, total),
            )
        except KeyboardInterrupt:
            files = counted(bar.done, "file is", "files are")
            talk.print(
                f"[bold red]stopped:[/] interrupted, {files} finished; the same command with the "
                "same key writes all of them, at no further cost"
            )
            raise typer.Exit(130) from None
    _print_summary(summary)


def _read(file: Path, given: options.Given) -> ReleaseSpec:
    from inkblur.errors import InputError
    from inkblur.spec import read_spec

    if given.fields or given.parameters:
        raise typer.BadParameter(
            "--spec describes the whole release: leave out the other options that describe it"
        )
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise InputError(f"cannot read the spec {file}: {reason}") from None
    return read_spec(text)


def _print_summary(summary: RunSummary) -> None:
    for line in summary.lines():
        talk.print(escape(in_flags(line)))
    color = "green" if summary.guarantee.private else "bold red"
    talk.print(f"[{color}]guarantee:[/] {escape(summary.guarantee.sentence())}")
    for line in summary.guarantee.lines():
        talk.print(f"  - {escape(line)}")
    if summary.guarantee.private:
        head, *risks = summary.risks.lines()
        for sentence in (*summary.worth(), head, *(f"  - {line}" for line in risks)):
            talk.print(escape(sentence))
