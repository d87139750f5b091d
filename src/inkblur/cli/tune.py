"""`inkblur tune`: measure settings, choose one for a target, and judge it on other texts."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inkblur.cli import options, texts
from inkblur.cli.console import AsJson, output_option, plain_errors, print_report, progress, talk
from inkblur.errors import InkblurError, ParameterError
from inkblur.spec import MECHANISM

if TYPE_CHECKING:
    from inkblur.spec import ReleaseSpec


@options.release_options(
    *("mechanism", "epsilon", "length", "morphology", "release", "embedding", "vocabulary"),
    *("unit", "pool", "keep_meaning", "encoder"),
    usual={"mechanism": MECHANISM},
    lists=("epsilon", "length", "morphology", "keep_meaning"),
    several=True,
)
def tune(
    data: texts.Data,
    target: Annotated[
        str,
        typer.Option(
            help="'attack<=0.2': most utility where the strongest attack identifies at most 20 % "
            "of the authors. 'utility>=0.8': least attack where 80 % of the utility is left."
        ),
    ],
    text_column: texts.TextColumn = "text",
    author_column: texts.AuthorColumn = None,
    label_column: texts.LabelOption = None,
    split_column: texts.SplitColumn = None,
    test_share: texts.TestShare = 0.3,
    attacks: texts.Attacks = texts.USUAL_ATTACKS,
    models: texts.Models = texts.USUAL_MODELS,
    repeats: Annotated[int, typer.Option(help="Repetitions of every setting.")] = 3,
    output: Annotated[Path | None, output_option("Directory for tune.html and tune.json.")] = None,
    as_json: AsJson = False,
    seed: Annotated[int, typer.Option(help="The same seed gives the same results.")] = 1,
    *,
    given: options.Given,
) -> None:
    """Find the setting with the best balance of privacy and usefulness.

    Every combination of the given values is measured, as `inkblur evaluate` does, on one half of
    the test texts; the choice is judged on the other half. Exits with code 1 where no setting meets
    the target, or none is worth a release: labels found no better than by guessing, or than from
    the public texts of the pool alone.

    Example: inkblur tune posts.csv --author-column user --label-column topic -m mahalanobis
    -e 20,40 --lambda 0,1 --target "attack<=0.2" -o tuned
    """
    with plain_errors():
        from inkblur.evaluation.plan import Plan
        from inkblur.evaluation.reports import html, tables
        from inkblur.evaluation.tune import Target
        from inkblur.evaluation.tune import tune as tuned
        from inkblur.files.summary import described

        wanted = Target.parse(target)
        if author_column is None or label_column is None:
            raise ParameterError(
                "a target weighs attack and utility: add --author-column and --label-column"
            )
        plan = Plan(
            seed=seed,
            attacks=texts.listed(attacks),
            models=texts.listed(models),
            repeats=repeats,
        )
        specs = given.settings()
        columns = texts.ChosenColumns(text_column, author_column, label_column, split_column)
        dataset = texts.read_dataset(data, columns, test_share=test_share, seed=seed)
        table = given.table()
        if output is not None:
            html.require_page_libraries()
            texts.make_folder(output)
        with progress("tuning", "steps") as bar:
            found = tuned(
                dataset,
                table,
                specs,
                wanted,
                plan,
                on_step=lambda what, done, total: bar.show(done, total, what=what),
            )
        best = found.chosen
        command = None if best is None else _release(best.spec, text_column, given)
        body = {"seed": seed, **found.to_json(), "command": command}
        text = json.dumps(body, indent=2, allow_nan=False) + "\n"
        if output is not None:
            texts.write(output / "tune.json", text)
            page = html.tuning_page(
                found,
                facts=dataset.facts,
                embedding=described(table),
                plan=plan,
                commands=[] if command is None else [command],
            )
            texts.write(output / "tune.html", page)
        if as_json:
            typer.echo(text, nl=False)
        else:
            print_report(tables.tuning_table(found))
        if output is not None:
            talk.print(f"wrote tune.html and tune.json into {output}", markup=False)
        if command is None:
            raise InkblurError(" ".join(found.sentences()))
        for sentence in found.sentences():
            talk.print(sentence, markup=False)
        talk.print(f"To release with it: {command}", markup=False)


def _release(spec: ReleaseSpec, column: str, given: options.Given) -> str:
    """What to type to release private texts with the chosen setting."""
    words = ["inkblur", "privatize", "private.csv", "-o", "blurred.csv"]
    words += ["--column", column] if column != "text" else []
    words += options.typed(spec)
    embedding = given.fields.get("embedding")
    return shlex.join([*words, *(["--embedding", embedding] if embedding is not None else [])])
