"""`inkblur embeddings`: list what is there, look at one, import one, adapt one to a task."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inkblur.cli.console import AsJson, plain_errors, progress, talk
from inkblur.cli.texts import TextColumn, read_columns
from inkblur.types import counted

if TYPE_CHECKING:
    from inkblur.embeddings.store import Progress

app = typer.Typer(
    no_args_is_help=True,
    help="List, describe, import and adapt word vectors.",
    epilog="Example: inkblur embeddings import glove.6B.300d.txt glove.ink --limit 100000",
)

_FORMATS = "ink, glove, word2vec, fasttext, word2vec-binary or npy"
FormatOption = Annotated[
    str | None, typer.Option("--format", help=f"{_FORMATS} (default: detected from the content).")
]


@app.command("list", epilog="Example: inkblur embeddings list vectors/ --json")
def list_command(
    directory: Annotated[Path, typer.Argument(help="Directory to search for .ink files.")] = Path(),
    as_json: AsJson = False,
) -> None:
    """List the bundled embedding and the .ink files in a directory.

    Pass a name from the first column to --embedding or load_embedding().
    """
    from inkblur.embeddings.loading import available
    from inkblur.embeddings.store import load_embedding
    from inkblur.errors import EmbeddingError

    with plain_errors():
        rows, problems = [], []
        for name in available(directory):
            try:
                table = load_embedding(name)
            except EmbeddingError as error:
                problems.append(str(error))
                continue
            rows.append({"name": name, "words": len(table), "dimension": table.dimension})
        if as_json:
            typer.echo(json.dumps(rows, ensure_ascii=False))
        elif rows:
            width = max(len(str(row["name"])) for row in rows)
            typer.echo(f"{'name':{width}}  {'words':>9}  dimension")
            for row in rows:
                typer.echo(f"{row['name']:{width}}  {row['words']:>9,}  {row['dimension']:>9}")
        for problem in problems:
            talk.print(f"left out: {problem}", markup=False)


@app.command("info", epilog="Example: inkblur embeddings info glove.ink --verify")
def info_command(
    source: Annotated[
        str | None,
        typer.Argument(help="A name from `inkblur embeddings list`, or a file (default: bundled)."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--verify", help="Recompute the fingerprint and compare.")
    ] = False,
    format: FormatOption = None,
    as_json: AsJson = False,
) -> None:
    "Describe an embedding: size, fingerprint, vector lengths, provenance."
    from inkblur.embeddings.store import load_embedding

    with plain_errors():
        with _bar("reading") as on_progress:
            embedding = load_embedding(source, format=format, on_progress=on_progress)
        if check:
            embedding.verify()
        facts = embedding.summary()
        if as_json:
            typer.echo(json.dumps({**facts, "verified": check}, ensure_ascii=False))
            return
        typer.echo(f"name        {embedding.name}")
        typer.echo(f"words       {len(embedding):,}")
        typer.echo(f"dimension   {embedding.dimension}")
        typer.echo(f"norm        mean {facts['norm_mean']:.3f}, sd {facts['norm_sd']:.3f}")
        typer.echo(f"sha256      {embedding.sha256}{' (verified)' if check else ''}")
        for adaptation in embedding.adaptations:
            for line in adaptation.lines():
                typer.echo(f"adapted     {line}")
        for key, value in embedding.provenance.items():
            if key == "adapted":
                continue  # printed above, in words
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            typer.echo(f"provenance  {key}: {shown}")


@app.command(
    "import",
    epilog="Example: inkblur embeddings import glove.6B.300d.txt glove.ink --vocabulary words.txt",
)
def import_command(
    source: Annotated[str, typer.Argument(metavar="SRC", help="The file to read.")],
    dest: Annotated[Path, typer.Argument(metavar="DEST", help="The .ink file to write.")],
    limit: Annotated[
        int | None, typer.Option(help="Read only this many words, from the start of the file.")
    ] = None,
    vocabulary: Annotated[
        Path | None, typer.Option(help="Keep only the words of this public list, one per line.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the embedding (default: the file's name).")
    ] = None,
    frequencies: Annotated[
        Path | None,
        typer.Option(
            help="Public word frequencies: lines of `word count`, or words alone, most common "
            "first."
        ),
    ] = None,
    format: FormatOption = None,
) -> None:
    """Convert a file of word vectors to an .ink file, which opens instantly.

    Reads word2vec text and binary, GloVe and fastText .vec, plain or as .gz.

    Reads .npy with a word list beside it: X.npy with X.vocab.txt, X.words.txt or X.txt.

    The vocabulary must be public: never one taken from the texts to be protected.
    """
    from inkblur.embeddings.loading import import_embedding

    with plain_errors():
        with _bar("importing") as on_progress:
            table = import_embedding(
                source,
                dest,
                limit=limit,
                vocabulary=vocabulary,
                format=format,
                name=name,
                frequencies=frequencies,
                on_progress=on_progress,
            )
        counts = table.provenance
        duplicates = counted(counts.get("duplicates_dropped", 0), "duplicate")
        talk.print(
            f"{dest}: {len(table):,} words x {table.dimension}, {duplicates} dropped, mean norm "
            f"{table.summary()['norm_mean']:.3f}",
            markup=False,
        )
        if not_utf8 := counts.get("not_utf8_skipped", 0):
            words = counted(not_utf8, "word that is not UTF-8 was", "words that are not UTF-8 were")
            talk.print(f"{words} left out", markup=False)


@app.command()
def adapt(
    base: Annotated[
        str,
        typer.Argument(
            help="A name from `inkblur embeddings list`, such as bundled, or a file of word "
            "vectors."
        ),
    ],
    corpus: Annotated[
        str,
        typer.Option(
            help="Public labeled texts: .csv, .tsv, .jsonl or .parquet, one text per row."
        ),
    ],
    label_column: Annotated[
        list[str],
        typer.Option(help="Column with the topic or class of each text; repeat for several."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The .ink file to write.")],
    text_column: TextColumn = "text",
    alpha: Annotated[
        float | None,
        typer.Option(
            help="Weight of the word vectors, above 0 (default: gives them a mean length of 0.65)."
        ),
    ] = None,
    beta: Annotated[float, typer.Option(help="Weight of the label profiles, above 0.")] = 3.0,
    smoothing: Annotated[
        float,
        typer.Option(
            help="Pseudo-texts per label added to the counts of every word, so that rare words "
            "say little."
        ),
    ] = 10.0,
    name: Annotated[
        str | None,
        typer.Option(
            help="Name of the new embedding (default: built from the base and the columns)."
        ),
    ] = None,
) -> None:
    """Adapt word vectors to a task: add what each word says about public labels.

    A mechanism run on the result blurs these labels less than everything else, and its guarantee
    says so. The corpus must be public: its own texts cannot be protected with the result.

    Example: inkblur embeddings adapt bundled --corpus public.csv --label-column topic -o topic.ink
    """
    with plain_errors():
        from inkblur.embeddings.adaptation import adapt_embedding
        from inkblur.embeddings.loading import check_dest
        from inkblur.embeddings.store import load_embedding, write_store
        from inkblur.errors import InputError

        check_dest(output, base)
        columns = list(dict.fromkeys(label_column))
        if text_column in columns:
            raise InputError(f"{text_column!r} is the text column: it cannot be the label as well")
        table = load_embedding(base)
        with talk.status("learning label profiles"):
            texts, labels = read_columns(corpus, text_column, columns)
            adapted = adapt_embedding(
                table, texts, labels, alpha=alpha, beta=beta, smoothing=smoothing, name=name
            )
        write_store(output, adapted)
        talk.print(f"{output}: {len(adapted):,} words x {adapted.dimension}", markup=False)
        for line in adapted.adaptations[-1].lines():
            talk.print(line, markup=False)


@contextmanager
def _bar(what: str) -> Iterator[Progress]:
    """A bar over the bytes of the file, with megabytes a second."""
    with progress(what, "MB") as bar:
        yield lambda done, total: bar.show(done, total, counted=done / 1e6)
