"""`inkblur privatize`: a file of texts in, the same file with its words replaced out."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from inkblur.cli import options
from inkblur.cli.console import plain_errors, progress, talk

if TYPE_CHECKING:
    from inkblur.documents.privatizer import Privatizer
    from inkblur.documents.run import Summary
    from inkblur.io import Format, Sink, Source
    from inkblur.rng import Rng


def privatize(
    input: Annotated[
        str, typer.Argument(help=".txt (a document a line), .csv, .tsv, .jsonl, .parquet, or -")
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", help="Where to; - is standard output.")
    ] = "-",
    column: Annotated[str, typer.Option(help="The column that holds the text.")] = "text",
    id_column: Annotated[
        str | None, typer.Option(help="A column that names each record; default: its position.")
    ] = None,
    mechanism: options.MechanismName = "mahalanobis",
    epsilon: options.Epsilon = None,
    strength: options.StrengthName = None,
    level: Annotated[
        float | None, typer.Option(help="With --radius: this much loss within that distance.")
    ] = None,
    radius: Annotated[
        float | None, typer.Option(help="See --level; epsilon = level / radius.")
    ] = None,
    lam: options.Lambda = None,
    release: Annotated[str, typer.Option(help="sequence or bag.")] = "sequence",
    length: Annotated[
        int | None, typer.Option(help="Cut or fill every text to this many words.")
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            help="Copy this class as it is: stop-words, unknown, numbers, addresses, punctuation, "
            "spaces, capitals. Each costs a line in the guarantee."
        ),
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Leave this class out.")] = None,
    embedding: options.EmbeddingSource = None,
    vocabulary: options.VocabularyFile = None,
    key_file: Annotated[
        Path | None, typer.Option(help="A secret key (`inkblur keygen`): repeats the same output.")
    ] = None,
    seed: options.Seed = None,
    report: Annotated[
        Path | None, typer.Option(help="Write what was done to this JSON file.")
    ] = None,
    encoding: Annotated[str, typer.Option(help="How the input's letters are stored.")] = "utf-8",
    format: Annotated[str | None, typer.Option(help="txt, csv, tsv, jsonl or parquet.")] = None,
    workers: Annotated[int, typer.Option(help="Batches in flight; never changes the output.")] = 2,
    accept_no_guarantee: options.AcceptNoGuarantee = False,
) -> None:
    """Replace the words of a file of texts by noisy neighbours, under a privacy guarantee.

    Example: inkblur privatize reviews.csv -o blurred.csv --strength medium --report report.json
    """
    with plain_errors():
        from inkblur.documents import Privatizer, TokenPolicies
        from inkblur.io import Format, open_sink, open_source
        from inkblur.types import choose, whole

        whole(workers, "workers")
        rng = options.rng_from(key_file, seed)
        _refuse_private_ingredients(input, embedding, vocabulary)
        given = choose(Format, format, "format") if format is not None else None
        policies = TokenPolicies.of(keep=keep or (), drop=drop or ())
        if report is not None:
            _check_writable(report)
        with open_source(
            input, column=column, id_column=id_column, encoding=encoding, format=given
        ) as source:
            table = options.embedding_from(embedding, vocabulary)
            word = options.mechanism_from(
                mechanism,
                table,
                options.noise_options(mechanism, lam, accept_no_guarantee),
                epsilon=epsilon,
                strength=strength,
                level=level,
                radius=radius,
            )
            blur = Privatizer(word, release=release, policies=policies, length=length)
            sink = open_sink(output, source, format=_output_format(output, given))
            summary = _run(source, sink, blur, rng, workers)
        if report is not None:
            _write_report(report, summary)
        _tell(summary)


def _output_format(output: str, given: Format | None) -> Format | None:
    return given if output == "-" else None


def _run(source: Source, sink: Sink, blur: Privatizer, rng: Rng, workers: int) -> Summary:
    import time

    from inkblur.documents.run import run

    with sink, progress("words") as bar:
        task = bar.add_task("privatizing", total=source.bytes_total, rate="")
        began = time.monotonic()

        def show(words: int, documents: int) -> None:
            rate = words / max(time.monotonic() - began, 1e-9)
            bar.update(task, completed=source.bytes_read(), rate=f"{rate:,.0f}")

        return run(source, sink, blur, rng, workers=workers, on_batch=show)


def _refuse_private_ingredients(input: str, embedding: str | None, vocabulary: Path | None) -> None:
    """The vocabulary and the vectors must be public: the protected file itself is neither."""
    from inkblur.errors import PrivateCalibration

    for name, path in (("--vocabulary", vocabulary), ("--embedding", embedding)):
        if path is None or input == "-" or not (Path(path).exists() and Path(input).exists()):
            continue
        if _same_content(Path(path), Path(input)):
            raise PrivateCalibration(
                f"{name} names the file being protected; a vocabulary made from it would leak its "
                "words. Use a public word list"
            )


def _same_content(left: Path, right: Path) -> bool:
    """The same file, or a copy of it."""
    from filecmp import cmp

    return left.samefile(right) or (left.is_file() and right.is_file() and cmp(left, right, False))


def _check_writable(report: Path) -> None:
    from inkblur.errors import OutputError

    folder = report.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK) or report.is_dir():
        raise OutputError(f"cannot write the report {report}: check that its folder exists")


def _write_report(report: Path, summary: Summary) -> None:
    from inkblur.errors import OutputError

    partial = report.with_name(report.name + ".partial")
    try:
        partial.write_text(json.dumps(summary.to_json(), indent=2) + "\n", encoding="utf-8")
        partial.replace(report)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise OutputError(f"cannot write the report {report}: {error.strerror}") from None


def _tell(summary: Summary) -> None:
    drawn, unchanged = summary.counts["drawn"], summary.counts["unchanged"]
    share = f" ({unchanged / drawn:.0%})" if drawn else ""
    talk.print(
        f"{summary.documents:,} texts, {drawn:,} words drawn, {unchanged:,} unchanged{share}, "
        f"{summary.empty:,} empty texts; {summary.seconds:.1f} s, "
        f"{summary.words_per_second:,.0f} words/s"
    )
    entered = summary.counts["null"]
    if entered:
        talk.print(f"{entered:,} unknown words, numbers and addresses entered as the null word")
    for name, count in summary.passed().items():
        if count:
            talk.print(f"[yellow]passed through unprotected:[/] {count:,} {name}")
    colour = "green" if summary.guarantee.private else "bold red"
    talk.print(f"[{colour}]guarantee:[/] {escape(summary.guarantee.sentence())}")
    if summary.guarantee.private:
        for sentence in summary.typical.sentences():
            talk.print(escape(sentence))
