"""`inkblur privatize`: a file of texts in, the same file with its words replaced out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from inkblur.cli import options
from inkblur.cli.console import WRITTEN, HelpAll, progress, talk
from inkblur.cli.options import in_flags
from inkblur.types import counted

if TYPE_CHECKING:
    from inkblur.files.summary import RunSummary
    from inkblur.spec import ReleaseSpec


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
    strength: options.Strength = None,
    epsilon: options.Epsilon = None,
    mechanism: options.Mechanism = None,
    pool: options.Pool = None,
    column: options.Columns = None,
    keep_column: options.KeepColumns = None,
    id: options.Id = None,
    person: options.Person = None,
    key_file: Annotated[
        Path | None,
        typer.Option(
            help="Secret key from `inkblur keygen`. The same key repeats the same output."
        ),
    ] = None,
    ledger: options.LedgerPlace = None,
    budget: options.RecordBudget = None,
    report: Annotated[
        Path | None,
        typer.Option(
            help="JSON file for a report of what was done, with the spec to repeat it.", **WRITTEN
        ),
    ] = None,
    settings: options.Set = None,
    spec: Annotated[
        Path | None,
        typer.Option(
            help="JSON file that describes the release: the report of an earlier run, or its "
            "spec. Replaces the options that describe a release.",
            hidden=True,
            rich_help_panel=options.MORE,
        ),
    ] = None,
    length: Annotated[
        str | None,
        typer.Option(
            help="Cut or fill every text to this many words; or exact: fill none, so that the "
            "number of words shows (default: fill to the next of 8, 10, 13, 16, 20, ...).",
            hidden=True,
            rich_help_panel=options.MORE,
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            help="Copy this kind of token unchanged: stop-words, unknown, numbers, addresses or "
            "punctuation; sentence-ends writes a full stop where a sentence ended. "
            "Repeat for several. The guarantee lists each.",
            hidden=True,
            rich_help_panel=options.MORE,
        ),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(
            help="Leave this kind of token out. Repeat for several.",
            hidden=True,
            rich_help_panel=options.MORE,
        ),
    ] = None,
    keep_order: Annotated[
        bool,
        typer.Option(
            "--keep-order",
            help="Write the rows in the order of the file (default: in random order, unless the "
            "column of the ids is copied).",
            hidden=True,
            rich_help_panel=options.MORE,
        ),
    ] = False,
    person_budget: Annotated[
        float | None,
        typer.Option(
            help="Largest total loss of a person, over all releases; every text must then name "
            "its person.",
            hidden=True,
            rich_help_panel=options.MORE,
        ),
    ] = None,
    processes: Annotated[
        int | None,
        typer.Option(
            help="Draw in so many processes: slower to start, faster on many processors.",
            hidden=True,
            rich_help_panel=options.MORE,
        ),
    ] = None,
    help_all: HelpAll = False,
) -> None:
    """Replace the words in a file of texts with random ones, under a privacy guarantee.

    The mechanism is staircase unless --mechanism names another. With --pool FILE each text is
    replaced by a whole public text instead. Only the texts and the columns that --keep-column names
    are written.

    Example: inkblur privatize reviews.csv -o blurred.csv --strength medium --keep-column stars
    """
    from inkblur.files.formats import is_folder
    from inkblur.files.release import privatize_file
    from inkblur.release import Limits
    from inkblur.rng import keyed_rng, secure_rng

    described = {
        "strength": strength,
        "epsilon": epsilon,
        "mechanism": mechanism,
        "pool": pool,
        "columns": column,
        "keep_columns": keep_column,
        "keep_order": keep_order or None,
        "id_column": id,
        "person_column": person,
        "length": int(length) if length is not None and length.isdecimal() else length,
        "keep": keep,
        "drop": drop,
    }
    release = _described(spec, settings, described)
    counting: dict[str, Any] = {
        "rng": secure_rng() if key_file is None else keyed_rng(read_key_file(key_file)),
        "ledger": {None: True, "none": False}.get(ledger, ledger),
        "limits": Limits(budget, person_budget),
    }
    if is_folder(input):
        if output == "-":
            raise typer.BadParameter("a folder needs a folder to write: give --output")
        if report is not None or processes is not None:
            raise typer.BadParameter("--report and --processes are for a single file")
        _folder(input, output, release, **counting)
        return
    with _told_if_written(output), progress("privatizing", "words") as bar:
        summary = privatize_file(
            input,
            output,
            release,
            report=report,
            workers=processes,
            processes=processes is not None,
            untouched=[path for path in (key_file, spec) if path is not None],
            **counting,
            on_progress=lambda done, total, words: bar.show(done, total, counted=words),
            on_expectation=lambda sentence: talk.print(escape(sentence)),
        )
    _print_summary(summary)


def read_key_file(file: Path) -> bytes:
    """A key, with a warning where others can read it."""
    from inkblur.rng import read_key, readable_by_others

    key = read_key(file)
    if readable_by_others(file):
        talk.print(
            f"[bold yellow]warning:[/] others can read the key file {escape(str(file))}, and "
            "whoever has the key can undo the noise: chmod 600 it"
        )
    return key


def _described(
    file: Path | None, settings: list[str] | None, described: dict[str, Any]
) -> ReleaseSpec:
    from inkblur.errors import InputError
    from inkblur.spec import read_spec

    if file is None:
        return options.release_spec(settings, **described)
    if settings or any(value is not None for value in described.values()):
        raise typer.BadParameter(
            "--spec describes the whole release: leave out the other options that describe it"
        )
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise InputError(f"cannot read the spec {file}: {reason}") from None
    return read_spec(text)


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


def _folder(source: str, target: str, spec: ReleaseSpec, **counting: Any) -> None:
    from inkblur.files.folder import privatize_folder

    with progress("privatizing", "files") as bar:
        try:
            summary = privatize_folder(
                source,
                target,
                spec,
                **counting,
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
