"""`inkblur tune`: measure a grid of settings and choose one; a killed run continues."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from inkblur.cli import options, texts
from inkblur.cli.console import AsJson, output_option, plain_errors, print_report, talk
from inkblur.errors import InkblurError, ParameterError
from inkblur.spec import MECHANISM
from inkblur.types import counted


@options.release_options(
    *("mechanism", "epsilon", "length", "morphology", "release", "embedding", "vocabulary"),
    *("unit", "pool", "keep_meaning", "encoder"),
    usual={"mechanism": MECHANISM},
    lists=("epsilon", "length", "morphology", "keep_meaning"),
    several=True,
)
def tune(
    data: texts.Data,
    output: Annotated[
        Path, output_option("Directory for tune.html and tune.json; run again to resume.")
    ],
    text_column: texts.TextColumn = "text",
    author_column: texts.AuthorColumn = None,
    label_column: texts.LabelOption = None,
    split_column: texts.SplitColumn = None,
    test_share: texts.TestShare = 0.3,
    target: Annotated[
        str | None,
        typer.Option(
            help="'attack<=0.2' or 'utility>=0.8': choose on public texts, check on held-out ones."
        ),
    ] = None,
    authors: Annotated[
        str | None,
        typer.Option(help="With --target: public texts with authors, if DATA has none."),
    ] = None,
    alpha: Annotated[
        str | None,
        typer.Option(
            help="With --target: weights of the word vectors beside label profiles, such as "
            "0.05,0.1."
        ),
    ] = None,
    smoothing: Annotated[
        str | None,
        typer.Option(help="With --target: smoothings of the label profiles, such as 1,10."),
    ] = None,
    criterion: Annotated[
        str | None,
        typer.Option(help="least-survival, most-utility or largest-gap (default: largest-gap)."),
    ] = None,
    utility_floor: Annotated[
        float | None, typer.Option(help="For least-survival: share of the F1 to keep, such as 0.8.")
    ] = None,
    most_survival: Annotated[
        float | None,
        typer.Option(help="For most-utility: words survive at most this many of 100 runs."),
    ] = None,
    most_attack: Annotated[
        float | None,
        typer.Option(
            help="For most-utility: attacks identify the authors of at most this share of texts."
        ),
    ] = None,
    attacks: texts.Attacks = texts.USUAL_ATTACKS,
    scenarios: texts.Scenarios = "all",
    models: texts.Models = texts.USUAL_MODELS,
    form: texts.FormOption = "raw",
    redact: texts.Redact = False,
    repeats: Annotated[int, typer.Option(help="Repetitions of every setting.")] = 3,
    words: Annotated[int, typer.Option(help="Words to measure survival on.")] = 200,
    as_json: AsJson = False,
    seed: Annotated[int, typer.Option(help="The same seed gives the same results.")] = 1,
    *,
    given: options.Given,
) -> None:
    """Find the setting with the best balance of privacy and usefulness.

    Every combination of the given values is measured. Results are saved as they come: run the same
    command again to resume.

    With --target, DATA is public labeled text and --authors is public text by known authors. The
    setting is chosen on one part of them and checked on another. With --alpha or --smoothing, the
    word vectors are adapted to the labels, as `inkblur embeddings adapt` does (beta stays 3:
    scaling alpha and beta together is the same as scaling epsilon).

    Example: inkblur tune posts.csv --author-column user --label-column topic -m mahalanobis
    -e 20,40 --lambda 0,1 --criterion most-utility --most-attack 0.2 -o tuned

    Example: inkblur tune topics.csv --label-column topic --authors authors.csv --author-column user
    --target "attack<=0.2" --alpha 0.05,0.1 --smoothing 1,10 -m laplace -e 4,8,16 -o tuned
    """
    with plain_errors():
        from inkblur.evaluation.plan import Plan
        from inkblur.evaluation.reports import html, tuning_page
        from inkblur.evaluation.tuning.criterion import Criterion, Goal
        from inkblur.evaluation.tuning.criterion import tune as tuned
        from inkblur.evaluation.tuning.trials import FILE, refuse_unproved
        from inkblur.files.summary import described
        from inkblur.types import choose

        floors = {
            "--criterion": criterion,
            "--utility-floor": utility_floor,
            "--most-survival": most_survival,
            "--most-attack": most_attack,
        }
        if target is None:
            of_targets = {"--authors": authors, "--alpha": alpha, "--smoothing": smoothing}
            options.refuse_given(of_targets, "{} can only be used with --target")
        else:
            options.refuse_given(floors, "{} and --target are two different goals: give only one")
            options.refuse_given(
                {"--split-column": split_column},
                "{} cannot be used with --target, which splits the texts itself",
            )
            options.refuse_given(
                {"--pool": given.fields.get("pool")},
                "{} cannot be used with --target: a pool learns its labels by itself; choose by "
                "--criterion",
            )
            options.refuse_given(
                {"--vocabulary": given.fields.get("vocabulary")},
                "{} cannot be used with --target: limit the word vectors first, with `inkblur "
                "embeddings import`",
            )
        goal = Goal(
            choose(Criterion, criterion or Criterion.LARGEST_GAP, "criterion"),
            utility_floor,
            most_survival,
            most_attack,
        )
        if label_column is None:
            raise ParameterError("tuning measures utility: add --label-column")
        attacked = goal.criterion is Criterion.LARGEST_GAP or most_attack is not None
        if attacked and author_column is None:
            raise ParameterError("this criterion measures attacks: add --author-column")
        plan = Plan(
            seed=seed,
            attacks=texts.listed(attacks) if author_column is not None else (),
            scenarios=texts.listed(scenarios),
            models=texts.listed(models),
            repeats=repeats,
            form=form,
            redact=redact,
        )
        settings = given.settings()
        refuse_unproved(settings)
        columns = texts.ChosenColumns(text_column, author_column, label_column, split_column)
        if target is not None:
            from inkblur.cli import tune_target

            tune_target.run(
                tune_target.Request(
                    labeled=data,
                    authored=authors,
                    columns=columns,
                    target=target,
                    alphas=texts.numbers(alpha, "--alpha"),
                    smoothings=texts.numbers(smoothing, "--smoothing"),
                    settings=settings,
                    plan=plan,
                    test_share=test_share,
                    embedding=given.fields.get("embedding"),
                    output=output,
                    as_json=as_json,
                )
            )
            return
        dataset = texts.read_dataset(data, columns, test_share=test_share, seed=seed)
        table = given.table()
        html.require_page_libraries()
        texts.make_folder(output)
        with texts.kept_progress(len(settings), output / FILE) as show:
            trials = tuned(dataset, table, settings, plan, output, words=words, on_trial=show)
        best = goal.best(trials)
        found = {
            "seed": seed,
            **asdict(goal),
            "criterion": goal.criterion.value,
            "best": None if best is None else best.to_json(),
            "utility_of_guessing": trials[0].utility_of_guessing,
            "trials": [trial.to_json() for trial in trials],
        }
        body = json.dumps(found, indent=2, allow_nan=False) + "\n"
        texts.write(output / "tune.json", body)
        texts.write(
            output / "tune.html",
            tuning_page.tuning_page(
                goal, trials, facts=dataset.facts, embedding=described(table), plan=plan
            ),
        )
        if as_json:
            typer.echo(body, nl=False)
        else:
            print_report(tuning_page.trials_table(goal, trials))
        if trials[0].doubt:
            talk.print(trials[0].doubt, markup=False)
        if best is None:
            raise InkblurError(
                f"of {counted(len(trials), 'setting')} none meets the floor; widen the grid or "
                "lower it"
            )
        talk.print(f"[green]best:[/] {best.name}; wrote tune.html, tune.json into {output}")
        if len(trials) > 1:
            talk.print(tuning_page.CHOSEN_BY)
