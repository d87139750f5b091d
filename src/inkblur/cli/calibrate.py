"""`inkblur calibrate`: epsilons with a measured risk, or with a wanted survival of words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from inkblur.cli import options, texts
from inkblur.cli.console import AsJson, data, plain_errors, progress, talk
from inkblur.spec import MECHANISM
from inkblur.types import counted

if TYPE_CHECKING:
    from inkblur.embeddings.table import Embedding
    from inkblur.mechanisms.catalogue import Entry


@options.release_options("mechanism", "embedding", "vocabulary", usual={"mechanism": MECHANISM})
def calibrate(
    authors: Annotated[
        Path | None,
        typer.Option(
            help="Public texts with their authors (.csv, .jsonl or .parquet), on which to measure "
            "light, medium and strong."
        ),
    ] = None,
    text_column: texts.TextColumn = "text",
    author_column: Annotated[str, typer.Option(help="Column that holds the author.")] = "author",
    survival: Annotated[
        float | None,
        typer.Option(help="Find the epsilon at which words stay unchanged with this probability."),
    ] = None,
    references: Annotated[
        Path | None,
        typer.Option(
            help="Public documents, one per line: also print the largest distance between any two, "
            "for --radius."
        ),
    ] = None,
    length: Annotated[int, typer.Option(help="With --references: words per document.")] = 50,
    as_json: AsJson = False,
    *,
    given: options.Given,
) -> None:
    """Find the epsilon for a measured risk, or for a share of words that stay unchanged.

    With --authors, attacks on these public texts decide which epsilons are light, medium and
    strong for this mechanism and these word vectors. The result is stored, and --strength works
    with them from then on. It takes at least 4 authors with several texts each, and a few minutes
    for 1,000 texts.

    Example: inkblur calibrate --authors public.csv --embedding vectors.ink

    Example: inkblur calibrate --mechanism laplace --survival 0.4
    """
    with plain_errors():
        from inkblur.mechanisms.catalogue import find

        if (authors is None) == (survival is None):
            raise typer.BadParameter("use --authors FILE or --survival P")
        entry = find(given.fields["mechanism"])
        own = given.own(entry)
        table = given.table()
        result: dict[str, Any] = {"mechanism": entry.key(own), "embedding": table.sha256}
        if authors is not None:
            result |= _by_risk(entry, own, table, str(authors), (text_column, author_column))
        elif survival is not None:
            result |= _by_survival(entry, own, table, survival)
        if references is not None:
            from inkblur.documents.privatizer import radius_covering
            from inkblur.files.source import texts_of_file
            from inkblur.mechanisms import make_mechanism

            word = make_mechanism(entry.name, table, epsilon=1.0, **own)
            result["radius"] = radius_covering(texts_of_file(references), word, length=length)
            result["length"] = length
        if as_json:
            data.print_json(json.dumps(result))
        else:
            _print(result)


def _by_risk(
    entry: Entry, own: dict[str, Any], table: Embedding, path: str, columns: tuple[str, str]
) -> dict[str, Any]:
    from inkblur.evaluation.attacks.base import number_authors
    from inkblur.evaluation.strengths import author_texts, search_strengths
    from inkblur.mechanisms.strengths import keep_strengths
    from inkblur.spec import ReleaseSpec

    text, author = columns
    public, found = texts.read_columns(path, text, [author])
    spec = ReleaseSpec(entry.name, 1.0, parameters=own)
    with progress("measuring", "settings") as bar:
        measured = search_strengths(
            author_texts(public, number_authors(found[author])),
            spec,
            table,
            on_step=lambda epsilon: bar.show(bar.done + 1, what=f"attacking epsilon {epsilon:g}"),
        )
    strengths = {strength.value: setting.to_json() for strength, setting in measured.items()}
    kept = keep_strengths(table, entry.key(own), strengths)
    talk.print(f"kept in {kept}", markup=False)
    return {"strengths": strengths}


def _by_survival(
    entry: Entry, own: dict[str, Any], table: Embedding, survival: float
) -> dict[str, Any]:
    from inkblur.mechanisms import calibration

    if table.adaptations:
        talk.print(f"warning: {table.name} is adapted: {calibration.UNEVEN}", markup=False)
    return {
        "words_sampled": min(calibration.SAMPLE, len(table)),
        "survival": survival,
        "epsilon": calibration.calibrate(entry.name, table, survival=survival, **own),
    }


def _print(result: dict[str, Any]) -> None:
    from inkblur.types import Strength

    if "survival" in result:
        data.print(f"survival {result['survival']:.2f}  epsilon {result['epsilon']:g}")
        talk.print(f"measured on {counted(result['words_sampled'], 'word')}")
    for strength in Strength:
        found = result.get("strengths", {strength.value: None}).get(strength.value)
        if found is not None:
            (risk,) = found["collections"].values()
            data.print(
                f"{strength.value:>8}  epsilon {found['epsilon']:g}  authors identified "
                f"{found['named']:.0%} ({risk['attack']}; original texts: "
                f"{found['untouched']:.0%}), above chance {risk['risk']:.0%} "
                f"({risk['low']:.0%} to {risk['high']:.0%}); with lengths hidden: "
                f"{risk['lengths_hidden']['risk']:.0%}"
            )
        elif "strengths" in result:
            data.print(f"{strength.value:>8}  none of the settings tried is {strength.value}")
    if "radius" in result:
        from inkblur.guarantees import rounded_up

        data.print(f"  radius  {rounded_up(result['radius'])} covers every pair of the references")
