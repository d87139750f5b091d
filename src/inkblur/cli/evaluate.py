"""`inkblur evaluate`: attack the author, score what is left, and write one page about it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inkblur.cli import options, texts
from inkblur.cli.console import AsJson, output_option, plain_errors, print_report, progress, talk
from inkblur.cli.console import data as out
from inkblur.spec import MECHANISM

if TYPE_CHECKING:
    from inkblur.embeddings.table import Embedding
    from inkblur.evaluation.results import Evaluation
    from inkblur.spec import ReleaseSpec


@options.release_options(
    *("mechanism", "epsilon", "release", "length", "morphology", "embedding", "vocabulary"),
    *("unit", "pool", "keep_meaning", "encoder"),
    usual={"mechanism": MECHANISM},
    lists=("mechanism", "epsilon", "length", "morphology", "keep_meaning"),
    several=True,
)
def evaluate(
    data: texts.Data,
    text_column: texts.TextColumn = "text",
    author_column: texts.AuthorColumn = None,
    label_column: texts.LabelOption = None,
    split_column: texts.SplitColumn = None,
    secret_column: Annotated[
        str | None,
        typer.Option(
            help="Column with a label that the release should hide; an attacker tries to infer it."
        ),
    ] = None,
    public: Annotated[
        str | None,
        typer.Option(
            help="Public texts, in a file with the same text column, for the reading attack to "
            "learn word order from. Never the protected texts."
        ),
    ] = None,
    read_texts: Annotated[
        int, typer.Option(help="Test texts that the reading attack reads; 0 for none.")
    ] = 40,
    judge: Annotated[
        str | None,
        typer.Option(
            help="With --pool: word vectors, or the folder of a sentence transformer, that had no "
            "part in the release, to judge how much meaning it keeps."
        ),
    ] = None,
    test_share: texts.TestShare = 0.3,
    attacks: texts.Attacks = texts.USUAL_ATTACKS,
    scenarios: texts.Scenarios = "all",
    models: texts.Models = texts.USUAL_MODELS,
    repeats: Annotated[int, typer.Option(help="Repetitions; two or more give intervals.")] = 3,
    confidence: Annotated[float, typer.Option(help="Confidence of the intervals.")] = 0.95,
    output: Annotated[
        Path | None, output_option("Directory for evaluation.html and evaluation.json.")
    ] = None,
    as_json: AsJson = False,
    seed: Annotated[int, typer.Option(help="The same seed gives the same report.")] = 1,
    *,
    given: options.Given,
) -> None:
    """Measure how private and how useful releases of these texts would be.

    Attacks try to identify authors, and classifiers labels, before and after the release. Every
    combination of the given values is measured. Without --epsilon, the staircase runs at
    strong, medium and light, another mechanism where a fifth, half and three quarters of the words
    stay unchanged. The draws are seeded, so never publish what is drawn here.

    Example: inkblur evaluate posts.csv --author-column user --label-column topic -e 5,10,20 -o out
    """
    with plain_errors():
        from inkblur.evaluation.evaluate import evaluate as measured
        from inkblur.evaluation.plan import Plan

        plan = Plan(
            seed=seed,
            attacks=texts.listed(attacks) if author_column is not None else (),
            scenarios=texts.listed(scenarios),
            models=texts.listed(models) if label_column is not None else (),
            repeats=repeats,
            confidence=confidence,
            read_texts=read_texts,
        )
        if output is not None:
            from inkblur.evaluation.reports import html

            html.require_page_libraries()
            texts.make_folder(output)
        columns = texts.ChosenColumns(
            text_column, author_column, label_column, split_column, secret_column
        )
        dataset = texts.read_dataset(data, columns, test_share=test_share, seed=seed)
        table = given.table()
        settings = _settings(given, table)
        known = texts.read_columns(public, text_column, [])[0] if public is not None else []
        judging = None if judge is None else texts.judge(judge)
        with progress("evaluating", "steps") as bar:
            report = measured(
                dataset,
                table,
                settings,
                plan,
                public=known,
                judge=judging,
                on_step=lambda what, done, total: bar.show(done, total, what=what),
            )
        body = json.dumps(report.to_json(), indent=2, allow_nan=False) + "\n"
        # Written first: whoever reads what is printed may stop reading (`| head`).
        if output is not None:
            texts.write(output / "evaluation.json", body)
            texts.write(output / "evaluation.html", html.evaluation_page(report))
        if as_json:
            typer.echo(body, nl=False)
        else:
            _print(report)
        if output is not None:
            talk.print(
                f"wrote evaluation.html and evaluation.json into {output}; do not publish them"
            )


def _settings(given: options.Given, table: Embedding) -> list[ReleaseSpec]:
    """Every mechanism at every epsilon; a wrong value is refused before the work."""
    from inkblur.mechanisms.strengths import usual_epsilons

    if given.pooled:
        return given.settings()
    made = given.settings([1.0])
    if "epsilon" not in given.fields:
        made = [
            spec.varied(epsilon=epsilon)
            for spec in made
            for epsilon in usual_epsilons(spec.mechanism, table, **spec.parameters)
        ]
    for spec in made:
        spec.mechanism_on(table)
    return made


def _print(report: Evaluation) -> None:
    from rich.markup import escape

    from inkblur.evaluation.reports import tables

    for line in report.answers():  # first: what a data owner asked for
        out.print(escape(line))
    print_report(
        tables.glance_table(report),
        *tables.attack_tables(report),
        *tables.disclosure_tables(report),
        tables.label_table(report),
        tables.meaning_table(report),
    )
    for result in report.settings:
        if result.guarantee is not None and not result.guarantee.private:
            out.print(f"{escape(result.name)}: {escape(result.guarantee.sentence())}")
    if report.repeats > 1:
        talk.print("Means are shown; their confidence intervals are in the report (-o or --json).")
    for note in report.notes:
        talk.print(escape(note))
