"""`inkblur privatize`: a file of texts in, the same file with its words replaced out."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from inkblur.cli import options
from inkblur.cli.console import plain_errors, progress, talk
from inkblur.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from inkblur.documents.privatizer import Privatizer
    from inkblur.documents.tf_vector import SyntheticVectors
    from inkblur.documents.vectoriser import Vectoriser
    from inkblur.embeddings import Embedding
    from inkblur.files import Sink, Source
    from inkblur.files.run_vectors import VectorSummary
    from inkblur.files.summary import Summary
    from inkblur.files.worker_pool import Make
    from inkblur.mechanisms.base import WordMechanism
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
    mechanism: Annotated[
        str | None,
        typer.Option(
            "--mechanism",
            "-m",
            help="A name from `inkblur mechanisms`; mahalanobis, or exponential for tf.",
        ),
    ] = None,
    epsilon: options.Epsilon = None,
    strength: options.StrengthName = None,
    level: Annotated[
        float | None, typer.Option(help="With --radius: this much loss within that distance.")
    ] = None,
    radius: Annotated[
        float | None, typer.Option(help="See --level; epsilon = level / radius.")
    ] = None,
    lam: options.Lambda = None,
    bigram: options.Bigram = None,
    bounding: options.BoundingName = None,
    release: Annotated[str, typer.Option(help="sequence, bag or tf.")] = "sequence",
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
    morphology: Annotated[
        str | None, typer.Option(help="tf: lemma, lower or as-is; lower if not given.")
    ] = None,
    reference: Annotated[
        Path | None, typer.Option(help="tf: a public corpus, one text a line, for the vocabulary.")
    ] = None,
    weighting: Annotated[
        str | None, typer.Option(help="tf: tf or tf-idf (which needs --reference).")
    ] = None,
    wordnet: Annotated[
        bool, typer.Option("--wordnet", help="tf: add WordNet's synonyms to the vocabulary.")
    ] = False,
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
    workers: Annotated[
        int | None,
        typer.Option(
            help="Batches in flight, a processor each, 2 to 8 if not given (all processors with "
            "--processes); never changes the output."
        ),
    ] = None,
    processes: Annotated[
        bool,
        typer.Option(
            "--processes",
            help="A process for each worker: starts slower, then faster on many processors; "
            "never changes the output.",
        ),
    ] = False,
    device: options.DeviceName = "auto",
    threads: options.Threads = None,
    accept_no_guarantee: options.AcceptNoGuarantee = False,
) -> None:
    """Replace the words of a file of texts by noisy neighbours, under a privacy guarantee.

    Example: inkblur privatize reviews.csv -o blurred.csv --strength medium --report report.json
    """
    with plain_errors():
        from inkblur.documents import Privatizer, TokenPolicies
        from inkblur.files import Format, open_sink, open_source
        from inkblur.mechanisms import Perturbation
        from inkblur.types import ReleaseKind, choose, whole

        in_flight = _in_flight(processes) if workers is None else whole(workers, "workers")
        kind = choose(ReleaseKind, release, "release")
        name = mechanism or ("exponential" if kind is ReleaseKind.TF else "mahalanobis")
        own = options.own_options(
            name, lam=lam, bigram=bigram, bounding=bounding, accept=accept_no_guarantee
        )
        rng = options.rng_from(key_file, seed)
        _refuse_private_ingredients(
            input, {"--embedding": embedding, "--vocabulary": vocabulary, "--reference": reference}
        )
        given = choose(Format, format, "format") if format is not None else None
        searching = device != "auto" or threads is not None
        policies = TokenPolicies.of(keep=keep or (), drop=drop or ())
        if report is not None:
            others = (input, output, key_file, vocabulary, embedding, reference)
            _check_writable(report, [Path(path) for path in others if path not in (None, "-")])

        def made(table: Embedding) -> WordMechanism:
            return options.mechanism_from(
                name, table, own, epsilon=epsilon, strength=strength, level=level, radius=radius
            )

        summary: Summary | VectorSummary
        with open_source(
            input, column=column, id_column=id_column, encoding=encoding, format=given
        ) as source:
            table = options.embedding_from(embedding, vocabulary)
            if kind is ReleaseKind.TF:
                if keep or drop or searching or processes or workers is not None:
                    raise ParameterError(
                        "a tf release drops all but words and searches nothing: leave out --keep, "
                        "--drop, --device, --threads, --workers and --processes"
                    )
                vectoriser = _vectoriser(table, morphology, weighting, reference, wordnet)
                vectors = _synthetic(vectoriser, made, length)
                summary = _run_vectors(source, output, vectors, rng)
            else:
                if morphology or weighting or reference or wordnet:
                    raise ParameterError(
                        "--morphology, --weighting, --reference, --wordnet belong to --release tf"
                    )
                replacing = made(table)
                if searching and not isinstance(replacing, Perturbation):
                    raise ParameterError(f"{name} searches nothing: leave out --device, --threads")
                lifted = partial(Privatizer, release=kind, policies=policies, length=length)
                if processes:
                    own["epsilon"] = replacing.parameters["epsilon"]
                    search = _each_search(device, threads)
                    copies = partial(_copy, embedding, vocabulary, search, name, own, lifted)
                else:
                    options.serve(table, device, threads)
                    copies = None
                sink = open_sink(output, source, format=given if output == "-" else None)
                summary = _run(source, sink, lifted(replacing), rng, in_flight, copies)
        if report is not None:
            _write_report(report, summary)
        _tell(summary)


def _in_flight(processes: bool) -> int:
    """Batches at a time: noise is drawn on a thread each. Beyond 8 they wait for each other."""
    from inkblur.mechanisms.nearest.cpu.native import processors

    return processors() if processes else min(max(2, processors()), 8)


def _each_search(device: str, threads: int | None) -> tuple[str, int | None]:
    """Where each of many processes searches: the GPU if there is one, else on one thread."""
    from inkblur.mechanisms.nearest.engine import Device
    from inkblur.mechanisms.nearest.gpu import backend as gpu
    from inkblur.types import choose

    chosen = choose(Device, device, "device")
    if chosen is Device.CUDA or (chosen is Device.AUTO and threads is None and gpu.available()):
        return "cuda", threads
    return "cpu", 1 if threads is None else threads


def _copy(
    embedding: str | None,
    vocabulary: Path | None,
    search: tuple[str, int | None],
    mechanism: str,
    own: dict[str, Any],
    lifted: Callable[[WordMechanism], Privatizer],
) -> Privatizer:
    """The same privatizer again, made in another process."""
    from inkblur.mechanisms import Perturbation, make_mechanism

    table = options.embedding_from(embedding, vocabulary)
    made = make_mechanism(mechanism, table, **own)
    if isinstance(made, Perturbation):
        options.serve(table, *search)
    return lifted(made)


def _run(
    source: Source, sink: Sink, blur: Privatizer, rng: Rng, workers: int, copies: Make | None
) -> Summary:
    import time

    from inkblur.files.run import run

    with sink, progress("words") as bar:
        task = bar.add_task("privatizing", total=source.bytes_total, rate="")
        began = time.monotonic()

        def show(words: int, documents: int) -> None:
            rate = words / max(time.monotonic() - began, 1e-9)
            bar.update(task, completed=source.bytes_read(), rate=f"{rate:,.0f}")

        return run(source, sink, blur, rng, workers=workers, copies=copies, on_batch=show)


def _vectoriser(
    table: Embedding,
    morphology: str | None,
    weighting: str | None,
    reference: Path | None,
    wordnet: bool,
) -> Vectoriser:
    """The tf release's vocabulary: the embedding's or a public corpus's, never the input's."""
    from inkblur.documents.vectoriser import Vectoriser
    from inkblur.files import open_source

    texts = None
    if reference is not None:
        with open_source(reference) as corpus:
            texts = [text for batch in corpus.batches(4096, 1 << 20) for text in batch.texts]
    return Vectoriser(
        table,
        morphology=morphology or "lower",
        weighting=weighting or "tf",
        reference=texts,
        synonyms=wordnet,
    )


def _synthetic(
    vectoriser: Vectoriser, made: Callable[[Embedding], WordMechanism], length: int | None
) -> SyntheticVectors:
    from inkblur.documents.tf_vector import SyntheticVectors
    from inkblur.mechanisms.exponential import Exponential

    if length is None:
        raise ParameterError("a tf release needs --length: how many terms every vector holds")
    mechanism = made(vectoriser.embedding)
    if not isinstance(mechanism, Exponential):
        raise ParameterError(f"a tf release needs --mechanism exponential, not {mechanism.name}")
    return SyntheticVectors(mechanism, vectoriser, length)


def _run_vectors(source: Source, output: str, vectors: SyntheticVectors, rng: Rng) -> VectorSummary:
    from inkblur.files.run_vectors import run_vectors

    with talk.status("drawing synthetic vectors"):
        return run_vectors(source, output, vectors, rng)


def _refuse_private_ingredients(input: str, ingredients: dict[str, str | Path | None]) -> None:
    """The vocabulary and the vectors must be public: the protected file itself is neither."""
    from inkblur.errors import PrivateCalibration

    for name, path in ingredients.items():
        # os.path: before Python 3.12 Path.exists raises where a name is too long.
        if path is None or input == "-":
            continue
        if not (os.path.exists(path) and os.path.exists(input)):  # noqa: PTH110
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


def _check_writable(report: Path, others: list[Path]) -> None:
    from inkblur.errors import OutputError

    for other in others:
        if report.resolve() == other.resolve():
            raise OutputError(f"the report would overwrite {other}; choose another name")
    folder = report.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK) or report.is_dir():
        raise OutputError(f"cannot write the report {report}: check that its folder exists")


def _write_report(report: Path, summary: Summary | VectorSummary) -> None:
    from inkblur.atomic_file import PRIVATE, write_atomically

    body = json.dumps(summary.to_json(), indent=2, allow_nan=False) + "\n"
    write_atomically(report, body, mode=PRIVATE)  # it counts what the true texts hold


def _tell(summary: Summary | VectorSummary) -> None:
    for line in summary.lines():
        talk.print(escape(line))
    colour = "green" if summary.guarantee.private else "bold red"
    talk.print(f"[{colour}]guarantee:[/] {escape(summary.guarantee.sentence())}")
    for line in summary.guarantee.lines():
        talk.print(f"  - {escape(line)}")
    if summary.guarantee.private:
        for sentence in summary.worth():
            talk.print(escape(sentence))
