"""`inkblur pool`: build a pool of public texts, look at one."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inkblur.cli.console import AsJson, output_option, plain_errors, talk
from inkblur.cli.texts import TextColumn, read_columns

if TYPE_CHECKING:
    from inkblur.pools import Pool

_FOLDS = 5
_STUDIED = 20_000  # texts

app = typer.Typer(
    no_args_is_help=True,
    help="Build and describe pools: public texts that take the place of private ones.",
    epilog="Example: inkblur pool build public.csv -o public.pool --label-column topic",
)


@app.command("build", epilog="Example: inkblur pool build posts.csv -o posts.pool --license CC0")
def build_command(
    public: Annotated[
        str, typer.Argument(help="Public texts: .txt, .csv, .tsv, .jsonl or .parquet.")
    ],
    output: Annotated[Path, output_option("The .pool file to write.")],
    text_column: TextColumn = "text",
    label_column: Annotated[
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
    name: Annotated[
        str | None, typer.Option(help="Name of the pool (default: the file's name).")
    ] = None,
    exact: Annotated[
        bool,
        typer.Option(
            "--exact",
            help="Compare all texts with each other: slow for large pools without a GPU.",
        ),
    ] = False,
    encoder: Annotated[
        str | None,
        typer.Option(
            help="Folder of a sentence transformer to encode with (needs the extra `encoder`)."
        ),
    ] = None,
    embedding: Annotated[
        str | None, typer.Option(help="A file of word vectors to encode with (default: bundled).")
    ] = None,
) -> None:
    """Make a pool of public texts: cleaned, encoded, and stored in one file.

    The texts must be public, and must not be the ones to protect: every text that a release writes
    is one of them, word for word. Their own authors are not protected.
    """
    with plain_errors():
        from inkblur.embeddings.store import load_embedding
        from inkblur.files.release import file_sha256, refuse_overwriting
        from inkblur.pools.building import build_pool
        from inkblur.pools.encoder import TransformerEncoder
        from inkblur.pools.pool import write_pool

        refuse_overwriting("pool", output, [public, *([embedding] if embedding else ())])
        columns = list(dict.fromkeys(label_column or ()))
        with talk.status("building"):
            texts, found = read_columns(public, text_column, columns)
            together = list(zip(*(found[column] for column in columns), strict=True))
            kept = [row for row in range(len(texts)) if not columns or None not in together[row]]
            placed = None if encoder is None else TransformerEncoder(encoder)
            built = build_pool(
                [texts[row] for row in kept],
                load_embedding(embedding),
                labels=[" / ".join(map(str, together[row])) for row in kept] if columns else None,
                name=name or Path(public).name,
                license=license,
                identifiers=identifiers,
                exact=exact,
                encoder=placed,
                source={
                    "source": Path(public).name,
                    "sha256": file_sha256(Path(public)),
                    "label_columns": columns,
                    "without_label": len(texts) - len(kept),
                },
            )
            write_pool(output, built)
        _tell(output)
        if built.labeled:
            with talk.status("trying what the pool teaches"):
                talk.print(_taught(built), markup=False)


def _taught(pool: Pool) -> str:
    """How well a classifier names the pool's labels when it has studied its other texts."""
    from inkblur.evaluation.measures.utility import UtilityClassifier, label_answers, rates

    rows = random.Random(0).sample(range(len(pool)), min(_STUDIED, len(pool)))
    texts = [pool.texts[row] for row in rows]
    labels = [pool.label_names[pool.labels[row]] for row in rows]
    truth: list[str] = []
    answers: list[str] = []
    for fold in range(_FOLDS):
        rest = [i for i in range(len(rows)) if i % _FOLDS != fold]
        found = label_answers(
            [texts[i] for i in rest],
            [labels[i] for i in rest],
            texts[fold::_FOLDS],
            labels[fold::_FOLDS],
            model=UtilityClassifier.LOGISTIC,
            seed=0,
        )
        truth += found.truth
        answers += found.answers
    commonest = max(sorted(set(truth)), key=truth.count)
    guessed = rates(truth, [commonest] * len(truth)).f1
    return (
        f"What the pool itself teaches: macro F1 {rates(truth, answers).f1:.3f} on texts of its "
        f"own that were left out (logistic regression, {_FOLDS} parts; guessing: {guessed:.3f}). "
        "A release that is to teach these labels has to beat that, or the public texts alone serve "
        "better."
    )


@app.command("info", epilog="Example: inkblur pool info public.pool --json")
def info_command(
    file: Annotated[Path, typer.Argument(help="A .pool file.")],
    as_json: AsJson = False,
) -> None:
    """Describe a pool: size, labels, license, what was left out, fingerprint."""
    with plain_errors():
        if as_json:
            from inkblur.pools.pool import open_pool

            typer.echo(json.dumps(open_pool(file).facts(), ensure_ascii=False))
        else:
            _tell(file, data=True)


def _tell(file: Path, *, data: bool = False) -> None:
    from inkblur.pools.pool import open_pool

    for key, value in open_pool(file).facts().items():
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        line = f"{key.replace('_', ' '):20}{shown}"
        typer.echo(line, err=not data)
