"""`inkblur embeddings adapt`: word vectors whose metric knows a task."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from inkblur.cli.console import plain_errors, talk


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
    text_column: Annotated[str, typer.Option(help="Column that holds the text.")] = "text",
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
        from inkblur.adaptation.adapt import adapt_embedding
        from inkblur.cli.texts import read_columns
        from inkblur.embeddings.loading import check_dest, load_embedding
        from inkblur.embeddings.store import write_store
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
