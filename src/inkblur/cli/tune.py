"""`inkblur tune`: measure a grid of settings and choose one; a killed run continues."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inkblur.cli import options, texts, tune_progress
from inkblur.cli.console import data as out
from inkblur.cli.console import plain_errors, talk

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from inkblur.evaluation.tuning.grid import Goal, Trial


@options.release_options(
    *("mechanism", "epsilon", "length", "morphology", "release", "embedding", "vocabulary"),
    usual={"mechanism": "mahalanobis"},
    lists=("epsilon", "length", "morphology"),
    several=True,
)
def tune(
    data: texts.Data,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="Directory for tune.html and tune.json; run again to go on."
        ),
    ],
    text_column: texts.TextColumn = "text",
    author_column: texts.AuthorColumn = None,
    label_column: texts.LabelOption = None,
    split_column: texts.SplitColumn = None,
    test_share: texts.TestShare = 0.3,
    target: Annotated[
        str | None,
        typer.Option(
            help="'attack<=0.2' or 'utility>=0.8': choose on public texts, judge on held-out ones."
        ),
    ] = None,
    authors: Annotated[
        str | None,
        typer.Option(help="--target: public texts with their authors, where DATA has none."),
    ] = None,
    alpha: Annotated[
        str | None,
        typer.Option(help="--target: weights of word vectors joined with label profiles."),
    ] = None,
    smoothing: Annotated[
        str | None, typer.Option(help="--target: smoothings of those profiles, as 1,10.")
    ] = None,
    criterion: Annotated[
        str | None, typer.Option(help="least-survival, most-utility or largest-gap (the default).")
    ] = None,
    utility_floor: Annotated[
        float | None, typer.Option(help="least-survival: share of the F1 to keep, such as 0.8.")
    ] = None,
    most_survival: Annotated[
        float | None, typer.Option(help="most-utility: words survive at most N of 100 runs.")
    ] = None,
    most_attack: Annotated[
        float | None, typer.Option(help="most-utility: attacks name at most this share of authors.")
    ] = None,
    attacks: Annotated[
        str, typer.Option(help="As for evaluate, with commas between.")
    ] = "svm,svm-words,koppel",
    scenarios: Annotated[
        str, typer.Option(help="Suspects: all, top-N, top-N-multi; with commas between.")
    ] = "all",
    models: Annotated[str, typer.Option(help="As for evaluate.")] = "naive-bayes,svm",
    form: Annotated[str, typer.Option(help="raw, content, or bow-N as in bow-200.")] = "raw",
    redact: Annotated[bool, typer.Option("--redact", help="Remove proper nouns first.")] = False,
    repeats: Annotated[int, typer.Option(help="Repetitions of every setting.")] = 3,
    words: Annotated[int, typer.Option(help="Words whose survival is measured.")] = 200,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    seed: Annotated[int, typer.Option(help="The same seed gives the same results.")] = 1,
    *,
    given: options.Given,
) -> None:
    """Find the setting that protects authors most for what it costs.

    Every combination of the values given is measured. Results are kept as they come, so the same
    command continues a run that was stopped.

    With --target, DATA is public labelled text and --authors public text by known authors. The
    setting is chosen on one part of them and measured again on a part that was held out. With
    --alpha or --smoothing the word vectors are joined with label profiles, as `inkblur embeddings
    adapt` does; its beta stays 3, because only alpha : beta and epsilon times their scale matter.

    Example: inkblur tune posts.csv --author-column user --label-column topic -e 20,40 --lambda 0,1
    --criterion most-utility --most-attack 0.2 -o tuned

    Example: inkblur tune topics.csv --label-column topic --authors authors.csv --author-column user
    --target "attack<=0.2" --alpha 0.05,0.1 --smoothing 1,10 -m laplace -e 4,8,16 -o tuned
    """
    with plain_errors():
        from inkblur.errors import InkblurError, ParameterError
        from inkblur.evaluation.evaluate import Plan
        from inkblur.evaluation.reports import html, tuning_page
        from inkblur.evaluation.tuning.grid import FILE, Criterion, make_goal, refuse_unproved
        from inkblur.evaluation.tuning.grid import tune as tuned
        from inkblur.files.summary import described

        floors = {
            "--criterion": criterion,
            "--utility-floor": utility_floor,
            "--most-survival": most_survival,
            "--most-attack": most_attack,
        }
        if target is None:
            joined = {"--authors": authors, "--alpha": alpha, "--smoothing": smoothing}
            _refuse(joined, "only with --target: {}")
        else:
            _refuse(floors, "{} and --target are two goals: give one of them")
            _refuse({"--split-column": split_column}, "{}: --target parts the texts itself")
            _refuse(
                {"--vocabulary": given.fields.get("vocabulary")},
                "{} and --target: narrow the word vectors first, `inkblur embeddings import`",
            )
        goal = make_goal(
            criterion or Criterion.LARGEST_GAP,
            utility_floor=utility_floor,
            most_survival=most_survival,
            most_attack=most_attack,
        )
        if label_column is None:
            raise ParameterError("tuning weighs utility: give --label-column")
        attacked = goal.criterion is Criterion.LARGEST_GAP or most_attack is not None
        if attacked and author_column is None:
            raise ParameterError("this goal weighs attacks: give --author-column")
        plan = Plan(
            seed=seed,
            attacks=texts.listed(attacks) if author_column is not None else (),
            scenarios=texts.listed(scenarios),
            models=texts.listed(models),
            repeats=repeats,
            form=form,
            redact=redact,
        )
        settings = given.grid(
            [given.fields["mechanism"]],
            ("epsilon", "length", "morphology"),
            release=given.fields.get("release", "sequence"),
        )
        refuse_unproved(settings)
        columns = texts.ChosenColumns(text_column, author_column, label_column, split_column)
        if target is not None:
            from inkblur.cli import tune_target

            tune_target.run(
                tune_target.Request(
                    labelled=data,
                    authored=authors,
                    columns=columns,
                    target=target,
                    alphas=texts.numbers(alpha, "--alpha") if alpha is not None else (),
                    smoothings=texts.numbers(smoothing, "--smoothing")
                    if smoothing is not None
                    else (),
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
        html.require_jinja()
        texts.make_folder(output)
        with tune_progress.shown(len(settings), output / FILE) as show:
            trials = tuned(
                dataset,
                table,
                settings,
                plan,
                output,
                words=words,
                on_trial=lambda setting, done, total: show(setting.name, done, total),
            )
        best = goal.best(trials)
        body = json.dumps(_body(goal, seed, trials, best), indent=2, allow_nan=False) + "\n"
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
            _print(trials, best)
        if best is None:
            raise InkblurError(
                f"none of the {len(trials)} settings meets the floor; widen the grid or lower it"
            )
        talk.print(f"[green]best:[/] {best.setting.name}; wrote tune.html, tune.json into {output}")


def _body(goal: Goal, seed: int, trials: Sequence[Trial], best: Trial | None) -> dict[str, object]:
    return {
        "seed": seed,
        "criterion": goal.criterion.value,
        "utility_floor": goal.utility_floor,
        "most_survival": goal.most_survival,
        "most_attack": goal.most_attack,
        "best": None if best is None else best.to_json(),
        "trials": [trial.to_json() for trial in trials],
    }


def _print(trials: Sequence[Trial], best: Trial | None) -> None:
    from rich.markup import escape
    from rich.table import Table

    grid = Table("setting", "N_w", "F1", "utility left", "worst attack", "gap")
    for trial in trials:
        shares = (trial.f1, trial.utility, trial.worst, trial.gap)
        cells = ["-" if share is None else f"{share:.3f}" for share in shares]
        name = f"{trial.setting.name}{' (best)' if trial is best else ''}"
        survival = f"{trial.survival:.1f}"
        grid.add_row(escape(name), survival, *cells, style="bold" if trial is best else None)
    out.print(grid)


def _refuse(given: Mapping[str, object | None], message: str) -> None:
    """Refuse options that were given; the message's {} names them."""
    from inkblur.errors import ParameterError

    names = [name for name, value in given.items() if value is not None]
    if names:
        raise ParameterError(message.format(" and ".join(names)))
