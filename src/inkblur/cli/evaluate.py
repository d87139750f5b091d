"""`inkblur evaluate` and `inkblur tune`: attack releases, score what is left, choose one."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inkblur.cli import options
from inkblur.cli.console import WRITTEN, AsJson, print_report, progress, talk
from inkblur.cli.console import data as out
from inkblur.errors import InkblurError, InputError, OutputError, ParameterError

if TYPE_CHECKING:
    from inkblur.evaluation.dataset import Dataset
    from inkblur.evaluation.measures.meaning import Judge
    from inkblur.evaluation.results import Evaluation

_BATCH = (1 << 14, 1 << 26)  # records and characters that are read at a time
USUAL_MODELS = ("logistic",)  # classifiers of labels
_SEED = 1  # of splits, attacks and draws: the same command gives the same report

Data = Annotated[
    str, typer.Argument(help="A .csv, .tsv, .jsonl or .parquet file with one text per row.")
]
Author = Annotated[
    str | None,
    typer.Option(
        "--person", help="Column with the author of each text. Reports only number authors."
    ),
]
Public = Annotated[
    str | None,
    typer.Option(
        help="Public texts, in a file with the same columns: word order for the reading attack, "
        "and, where it has the labels, what a release has to beat. Never the protected texts."
    ),
]
Repeats = Annotated[int, typer.Option(help="Repetitions; two or more give intervals.")]


def evaluate(
    data: Data,
    column: options.Column = "text",
    person: Author = None,
    label: options.Label = None,
    strength: options.Strengths = None,
    epsilon: options.Epsilons = None,
    mechanism: options.Mechanisms = None,
    pool: options.Pool = None,
    settings: options.Sets = None,
    secret: Annotated[
        str | None,
        typer.Option(
            help="Column with a label that the release should hide; an attacker tries to infer it."
        ),
    ] = None,
    public: Public = None,
    judge: Annotated[
        str | None,
        typer.Option(
            help="With --pool: word vectors, or the folder of a sentence transformer, that had no "
            "part in the release, to judge how much meaning it keeps."
        ),
    ] = None,
    attacks: Annotated[
        str | None,
        typer.Option(help="Attacks to run, with commas between (default: the usual ones)."),
    ] = None,
    repeats: Repeats = 3,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Directory for evaluation.html and evaluation.json.", **WRITTEN
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure how private and how useful releases of these texts would be.

    Attacks try to identify authors, and classifiers labels, before and after the release. Every
    combination of the given values is measured. Without --epsilon, the staircase runs at
    strong, medium and light, another mechanism where a fifth, half and three quarters of the words
    stay unchanged. The draws are seeded, so never publish what is drawn here.

    Example: inkblur evaluate posts.csv --person user --label topic -e 5,10,20 -o out
    """
    from inkblur.evaluation.attacks.catalogue import USUAL
    from inkblur.evaluation.evaluate import evaluate as measured
    from inkblur.evaluation.plan import Plan

    named = USUAL if attacks is None else tuple(each.strip() for each in attacks.split(","))
    plan = Plan(
        seed=_SEED,
        attacks=named if person is not None else (),
        models=USUAL_MODELS if label is not None else (),
        repeats=repeats,
    )
    if output is not None:
        from inkblur.evaluation.reports import html

        html.require_page_libraries()
        make_folder(output)
    dataset = _read_dataset(data, column, person, label, secret)
    specs = options.release_specs(
        settings, strength=strength, epsilon=epsilon, mechanism=mechanism, pool=pool
    )
    table = specs[0].table()
    for spec in specs:  # a wrong value is refused before the work
        spec.privatizer(table)
    known, labels = _read_public(public, column, label)
    with progress("evaluating", "steps") as bar:
        report = measured(
            dataset,
            table,
            specs,
            plan,
            public=known,
            public_labels=labels,
            judge=None if judge is None else _judge(judge),
            on_step=lambda what, done, total: bar.show(done, total, what=what),
        )
    body = json.dumps(report.to_json(), indent=2, allow_nan=False) + "\n"
    # Written first: whoever reads what is printed may stop reading (`| head`).
    if output is not None:
        write_private(output / "evaluation.json", body)
        write_private(output / "evaluation.html", html.evaluation_page(report))
    if as_json:
        typer.echo(body, nl=False)
    else:
        _print(report)
    if output is not None:
        talk.print(f"wrote evaluation.html and evaluation.json into {output}; do not publish them")


def tune(
    data: Data,
    target: Annotated[
        str,
        typer.Option(
            help="'attack<=0.2': most utility where the strongest attack identifies at most 20 % "
            "of the authors. 'utility>=0.8': least attack where 80 % of the utility is left."
        ),
    ],
    column: options.Column = "text",
    person: Author = None,
    label: options.Label = None,
    strength: options.Strengths = None,
    epsilon: options.Epsilons = None,
    mechanism: options.Mechanisms = None,
    pool: options.Pool = None,
    settings: options.Sets = None,
    public: Public = None,
    repeats: Repeats = 3,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Directory for tune.html and tune.json.", **WRITTEN),
    ] = None,
) -> None:
    """Find the setting with the best balance of privacy and usefulness.

    Every combination of the given values is measured, as `inkblur evaluate` does, on one half of
    the test texts; the choice is judged on the other half. Exits with code 1 where no setting meets
    the target, or none is worth a release: labels found no better than by guessing, or than from
    the public texts alone.

    Example: inkblur tune posts.csv --person user --label topic -m mahalanobis -e 20,40 --set
    lam=0,1 --target "attack<=0.2" -o tuned
    """
    from inkblur.evaluation.attacks.catalogue import USUAL
    from inkblur.evaluation.plan import Plan
    from inkblur.evaluation.reports import html, tables
    from inkblur.evaluation.tune import Target
    from inkblur.evaluation.tune import tune as tuned
    from inkblur.files.summary import described

    wanted = Target.parse(target)
    if person is None or label is None:
        raise ParameterError("a target weighs attack and utility: add --person and --label")
    plan = Plan(seed=_SEED, attacks=USUAL, repeats=repeats)
    specs = options.release_specs(
        settings, strength=strength, epsilon=epsilon, mechanism=mechanism, pool=pool
    )
    dataset = _read_dataset(data, column, person, label)
    table = specs[0].table()
    known, labels = _read_public(public, column, label)
    if output is not None:
        html.require_page_libraries()
        make_folder(output)
    with progress("tuning", "steps") as bar:
        found = tuned(
            dataset,
            table,
            specs,
            wanted,
            plan,
            public=known,
            public_labels=labels,
            on_step=lambda what, done, total: bar.show(done, total, what=what),
        )
    command = None
    if found.chosen is not None:
        words = options.typed(found.chosen.spec.varied(columns=(column,)))
        command = shlex.join(["inkblur", "privatize", "private.csv", "-o", "blurred.csv", *words])
    if output is not None:
        body = {"seed": _SEED, **found.to_json(), "command": command}
        text = json.dumps(body, indent=2, allow_nan=False) + "\n"
        write_private(output / "tune.json", text)
        page = html.tuning_page(
            found,
            facts=dataset.facts,
            embedding=described(table),
            plan=plan,
            commands=[] if command is None else [command],
        )
        write_private(output / "tune.html", page)
    print_report(tables.tuning_table(found))
    if output is not None:
        talk.print(f"wrote tune.html and tune.json into {output}", markup=False)
    if command is None:
        raise InkblurError(" ".join(found.sentences()))
    for sentence in found.sentences():
        talk.print(sentence, markup=False)
    talk.print(f"To release with it: {command}", markup=False)


def _print(report: Evaluation) -> None:
    from rich.markup import escape

    from inkblur.evaluation.reports import html, tables

    for line in report.answers():  # first: what a data owner asked for
        out.print(escape(line))
    print_report(*(tables.measured_table(report, *each) for each in html.QUESTIONS.values()))
    for result in report.settings:
        if result.guarantee is not None and not result.guarantee.private:
            out.print(f"{escape(result.name)}: {escape(result.guarantee.sentence())}")
    if report.repeats > 1:
        talk.print("Means are shown; their confidence intervals are in the report (-o or --json).")
    for note in report.notes:
        talk.print(escape(note))


def _read_dataset(
    path: str, column: str, person: str | None, label: str | None, secret: str | None = None
) -> Dataset:
    """All records of a file, numbered and split. A null, blank or NaN author or label is
    missing.
    """
    from inkblur.evaluation.dataset import make_dataset

    others = list(dict.fromkeys(name for name in (person, label, secret) if name is not None))
    if not others:
        raise ParameterError("nothing to measure: add --person, --label or both")
    texts, found = read_columns(path, column, others)
    return make_dataset(
        texts,
        authors=None if person is None else found[person],
        labels=None if label is None else found[label],
        secrets=None if secret is None else found[secret],
        test_share=0.3,
        seed=_SEED,
    )


def _read_public(
    path: str | None, column: str, label: str | None
) -> tuple[list[str], list[str | None]]:
    """Public texts, and their labels where the file has the label's column."""
    if path is None:
        return [], []
    if label is not None:
        with suppress(InputError):
            texts, found = read_columns(path, column, [label])
            return texts, found[label]
    return read_columns(path, column, [])[0], []


def read_columns(
    path: str, text: str, others: list[str]
) -> tuple[list[str], dict[str, list[str | None]]]:
    """All texts of a file and the values beside them; null, blank and NaN ones are None."""
    from inkblur.files import Format, Layout, formats, open_source

    texts: list[str] = []
    found: dict[str, list[str | None]] = {name: [] for name in others}
    # Nothing is written here, so every column may be read.
    with open_source(path, Layout((text,), keep=None, option="--column")) as source:
        if others and source.format is Format.TXT:
            raise InputError(f"{path} has no columns for authors and labels; use csv or jsonl")
        names = source.names
        for name in others:
            if names is not None and name not in names:
                raise InputError(
                    f"{path} has no column {name!r} among {formats.listed(names)}; check its first "
                    "line"
                )
        for batch in source.batches(*_BATCH):
            texts += batch.texts
            for row in batch.columns.rows(batch.texts):
                for name in others:
                    found[name].append(_value(row, name))
    if not texts:
        raise InputError(f"{path} has no records")
    for name in others:
        if all(value is None for value in found[name]):
            raise InputError(
                f"the column {name!r} of {path} is empty in every record; choose another, or leave "
                "its option out"
            )
    return texts, found


def _value(row: Mapping[str, object], name: str) -> str | None:
    """The value as text. NaN, which libraries write where a number is missing, is none."""
    from inkblur.files.jsonlines import JsonNumber
    from inkblur.types import is_missing

    value = row.get(name)
    if is_missing(value) or (isinstance(value, JsonNumber) and value == "NaN"):
        return None
    return str(value).strip() or None


def _judge(source: str) -> Judge:
    from inkblur.embeddings.store import load_embedding
    from inkblur.evaluation.measures.meaning import WordMeans
    from inkblur.pools.encoder import TransformerEncoder

    if Path(source).is_dir():
        return TransformerEncoder(source)
    return WordMeans(load_embedding(source))


def make_folder(folder: Path) -> None:
    """Find out before the measuring whether the results can be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot make the directory {folder}: {error.strerror}") from None


def write_private(path: Path, text: str) -> None:
    """Write a file for its owner alone: evaluations show true texts and figures about them."""
    from inkblur.atomic_file import PRIVATE, write_atomically

    write_atomically(path, text, mode=PRIVATE)
