"""`inkblur pool` and `inkblur embeddings`: what public texts and word vectors are made into."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from inkblur.cli import options
from inkblur.cli.console import WRITTEN, AsJson, Command, progress, talk
from inkblur.cli.evaluate import read_columns
from inkblur.types import counted

pool = typer.Typer(
    no_args_is_help=True,
    help="Build and describe pools: public texts that take the place of private ones.",
    epilog="Example: inkblur pool build public.csv -o public.pool --label topic",
)
embeddings = typer.Typer(
    no_args_is_help=True,
    help="List, describe, import and adapt word vectors.",
    epilog="Example: inkblur embeddings import glove.6B.300d.txt glove.ink --limit 100000",
)
_of_pools = partial(pool.command, cls=Command)
_of_vectors = partial(embeddings.command, cls=Command)


@_of_pools("build")
def build_pool_file(
    public: Annotated[
        str, typer.Argument(help="Public texts: .txt, .csv, .tsv, .jsonl or .parquet.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The .pool file to write.", **WRITTEN)
    ],
    column: options.Column = "text",
    label: Annotated[
        list[str] | None,
        typer.Option(help="Column with the label that a release should keep; repeat for several."),
    ] = None,
    identifiers: Annotated[
        str,
        typer.Option(
            help="What to do about addresses, long numbers and names: mask them, drop the texts "
            "that have any, or keep them."
        ),
    ] = "mask",
    license: Annotated[
        str, typer.Option(help="License of the texts; the reports of releases repeat it.")
    ] = "",
    encoder: Annotated[
        str | None,
        typer.Option(
            help="What to encode with: a file of word vectors, or the folder of a sentence "
            "transformer (default: the bundled word vectors)."
        ),
    ] = None,
) -> None:
    """Make a pool of public texts: cleaned, encoded, and stored in one file.

    The texts must be public, and must not be the ones to protect: every text that a release writes
    is one of them, word for word. Their own authors are not protected.

    Example: inkblur pool build posts.csv -o posts.pool --license CC0
    """
    from inkblur.embeddings.store import load_embedding
    from inkblur.evaluation.usefulness import what_it_teaches
    from inkblur.files.release import file_sha256, refuse_overwriting
    from inkblur.pools.building import build_pool
    from inkblur.pools.encoder import TransformerEncoder
    from inkblur.pools.pool import write_pool

    refuse_overwriting("pool", output, [public, *([encoder] if encoder else ())])
    transformer = encoder is not None and Path(encoder).is_dir()
    columns = list(dict.fromkeys(label or ()))
    with talk.status("building"):
        texts, found = read_columns(public, column, columns)
        together = list(zip(*(found[name] for name in columns), strict=True))
        kept = [row for row in range(len(texts)) if not columns or None not in together[row]]
        built = build_pool(
            [texts[row] for row in kept],
            load_embedding(None if transformer else encoder),
            labels=[" / ".join(map(str, together[row])) for row in kept] if columns else None,
            name=Path(public).name,
            license=license,
            identifiers=identifiers,
            encoder=TransformerEncoder(str(encoder)) if transformer else None,
            source={
                "source": Path(public).name,
                "sha256": file_sha256(Path(public)),
                "label_columns": columns,
                "without_label": len(texts) - len(kept),
            },
        )
        write_pool(output, built)
    _describe_pool(output, to_log=True)
    if built.labeled:
        with talk.status("trying what the pool teaches"):
            talk.print(what_it_teaches(built), markup=False)


@_of_pools("info")
def pool_info(file: Annotated[Path, typer.Argument(help="A .pool file.")]) -> None:
    """Describe a pool: size, labels, license, what was left out, fingerprint.

    Example: inkblur pool info public.pool
    """
    _describe_pool(file)


def _describe_pool(file: Path, *, to_log: bool = False) -> None:
    from inkblur.pools.pool import open_pool

    for key, value in open_pool(file).facts().items():
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        typer.echo(f"{key.replace('_', ' '):20}{shown}", err=to_log)


@_of_vectors("list")
def list_tables(
    directory: Annotated[Path, typer.Argument(help="Directory to search for .ink files.")] = Path(),
) -> None:
    """List the bundled embedding and the .ink files in a directory.

    Example: inkblur embeddings list vectors/
    """
    from inkblur.embeddings.loading import available
    from inkblur.embeddings.store import load_embedding
    from inkblur.errors import EmbeddingError

    names = available(directory)
    width = max(map(len, names))
    typer.echo(f"{'name':{width}}  {'words':>9}  dimension")
    for name in names:
        try:
            table = load_embedding(name)
        except EmbeddingError as error:
            talk.print(f"left out: {error}", markup=False)
        else:
            typer.echo(f"{name:{width}}  {len(table):>9,}  {table.dimension:>9}")


@_of_vectors("info")
def describe_table(
    source: Annotated[
        str | None,
        typer.Argument(help="A name from `inkblur embeddings list`, or a file (default: bundled)."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Describe an embedding: size, fingerprint (computed anew), vector lengths, provenance.

    Example: inkblur embeddings info glove.ink
    """
    from inkblur.embeddings.store import load_embedding

    with progress("reading", "MB") as bar:
        table = load_embedding(
            source, on_progress=lambda done, total: bar.show(done, total, counted=done / 1e6)
        )
    table.verify()
    facts = table.summary()
    if as_json:
        typer.echo(json.dumps(facts, ensure_ascii=False))
        return
    typer.echo(f"name        {table.name}")
    typer.echo(f"words       {len(table):,}")
    typer.echo(f"dimension   {table.dimension}")
    typer.echo(f"norm        mean {facts['norm_mean']:.3f}, sd {facts['norm_sd']:.3f}")
    typer.echo(f"sha256      {table.sha256}")
    for adaptation in table.adaptations:
        for line in adaptation.lines():
            typer.echo(f"adapted     {line}")
    for key, value in table.provenance.items():
        if key != "adapted":  # printed above, in words
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            typer.echo(f"provenance  {key}: {shown}")


@_of_vectors("import")
def import_table(
    source: Annotated[str, typer.Argument(metavar="SRC", help="The file to read.")],
    dest: Annotated[Path, typer.Argument(metavar="DEST", help="The .ink file to write.")],
    limit: Annotated[
        int | None, typer.Option(help="Read only this many words, from the start of the file.")
    ] = None,
    vocabulary: Annotated[
        Path | None, typer.Option(help="Keep only the words of this public list, one per line.")
    ] = None,
    frequencies: Annotated[
        Path | None,
        typer.Option(
            help="Public word frequencies: lines of `word count`, or words alone, most common "
            "first."
        ),
    ] = None,
) -> None:
    """Convert a file of word vectors to an .ink file, which opens instantly.

    Reads word2vec text and binary, GloVe and fastText .vec, plain or as .gz, and .npy with a word
    list beside it: X.npy with X.vocab.txt, X.words.txt or X.txt.

    The vocabulary must be public: never one taken from the texts to be protected.

    Example: inkblur embeddings import glove.6B.300d.txt glove.ink --vocabulary words.txt
    """
    from inkblur.embeddings.loading import check_dest
    from inkblur.embeddings.store import load_embedding, write_store

    check_dest(dest, source)
    with progress("importing", "MB") as bar:
        table = load_embedding(
            source,
            limit=limit,
            vocabulary=vocabulary,
            frequencies=frequencies,
            on_progress=lambda read, total: bar.show(read, total, counted=read / 1e6),
        )
    write_store(dest, table)
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


@_of_vectors()
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
    label: Annotated[
        list[str],
        typer.Option(help="Column with the topic or class of each text; repeat for several."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The .ink file to write.")],
    column: options.Column = "text",
) -> None:
    """Adapt word vectors to a task: add what each word says about public labels.

    A mechanism run on the result blurs these labels less than everything else, and its guarantee
    says so. The corpus must be public: its own texts cannot be protected with the result.

    Example: inkblur embeddings adapt bundled --corpus public.csv --label topic -o topic.ink
    """
    from inkblur.embeddings.adaptation import adapt_embedding
    from inkblur.embeddings.loading import check_dest
    from inkblur.embeddings.store import load_embedding, write_store
    from inkblur.errors import InputError

    check_dest(output, base)
    columns = list(dict.fromkeys(label))
    if column in columns:
        raise InputError(f"{column!r} is the text column: it cannot be the label as well")
    table = load_embedding(base)
    with talk.status("learning label profiles"):
        texts, labels = read_columns(corpus, column, columns)
        adapted = adapt_embedding(table, texts, labels)
    write_store(output, adapted)
    talk.print(f"{output}: {len(adapted):,} words x {adapted.dimension}", markup=False)
    for line in adapted.adaptations[-1].lines():
        talk.print(line, markup=False)
