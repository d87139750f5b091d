"""`inkblur tune --target`: choose on public texts, judge on held-out ones, say what is next."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from inkblur.cli import options, texts
from inkblur.cli.console import print_report, talk
from inkblur.cli.options import written
from inkblur.types import counted

if TYPE_CHECKING:
    from inkblur.embeddings.table import Embedding
    from inkblur.evaluation.plan import Plan
    from inkblur.evaluation.tuning.adapted_grid import Candidate
    from inkblur.evaluation.tuning.four_way_split import FourWaySplit
    from inkblur.spec import ReleaseSpec

# What the form `content` takes out of a text, for `inkblur privatize` to take out as well.
_NO_CONTENT = ("stop-words", "numbers", "addresses")
TAUGHT = (
    "Learned from the whole file, the metric will know a little more about the labels than the one "
    "measured, which learned from a part of it."
)


@dataclass(frozen=True, slots=True)
class Request:
    """The options of a search, as they were given."""

    labeled: str
    authored: str | None  # None: the authors are in `labeled`
    columns: texts.ChosenColumns
    target: str
    alphas: Sequence[float]
    smoothings: Sequence[float]
    settings: Sequence[ReleaseSpec]
    plan: Plan
    test_share: float
    embedding: str | None
    output: Path
    as_json: bool


def run(request: Request) -> None:
    """Search, write the files, print the frontier; exit code 1 where the target is not met."""
    from inkblur.embeddings import load_embedding
    from inkblur.errors import InkblurError
    from inkblur.evaluation.reports import html, target_page
    from inkblur.evaluation.tuning.adapted_grid import BETA, adapted_grid
    from inkblur.evaluation.tuning.search import search
    from inkblur.evaluation.tuning.target import Target
    from inkblur.evaluation.tuning.trials import FILE
    from inkblur.files.summary import described

    target = Target.parse(request.target)
    table = load_embedding(request.embedding)
    candidates = adapted_grid(
        request.settings, table, alphas=request.alphas, smoothings=request.smoothings
    )
    parts = _parts(request, table)
    html.require_page_libraries()
    texts.make_folder(request.output)
    with texts.kept_progress(len(candidates) + 1, request.output / FILE) as show:
        found = search(
            parts, table, candidates, target, request.plan, request.output, on_trial=show
        )
    commands = next_commands(request, found.best.candidate) if found.best else ()
    body = {
        "seed": request.plan.seed,
        "repeats": request.plan.repeats,
        "form": request.plan.form,
        "embedding": described(table),
        "data": parts.to_json(),
        "beta": BETA,
        **found.to_json(),
        "commands": list(commands),
    }
    text = json.dumps(body, indent=2, allow_nan=False) + "\n"
    texts.write(request.output / "tune.json", text)
    texts.write(
        request.output / "tune.html",
        target_page.target_page(
            found, parts=parts, embedding=described(table), plan=request.plan, commands=commands
        ),
    )
    if request.as_json:
        typer.echo(text, nl=False)
    else:
        print_report(target_page.frontier_table(found), target_page.judged_table(found))
    talk.print(f"wrote tune.html, tune.json into {request.output}", markup=False)
    if parts.left_out:
        texts_in_two = counted(parts.left_out, "text is in two parts", "texts are in two parts")
        talk.print(f"{texts_in_two} and left out of the later one")
    for sentence in found.doubts:
        talk.print(sentence, markup=False)
    if found.best is None:
        raise InkblurError(
            f"of {counted(len(found.trials), 'setting')} none meets {target}; the nearest is "
            f"{found.nearest.name}, attack {found.nearest.attack:.3f} (guessing: "
            f"{found.nearest.chance:.3f}), utility left {found.nearest.utility:.3f}: widen the "
            "grid or lower the target"
        )
    talk.print(f"best: {found.best.name}", markup=False)
    for sentence in target_page.verdict(found):
        talk.print(sentence, markup=False)
    talk.print("Next (private.csv stands for the file to be protected):")
    for command in commands:
        talk.print(f"  {command}", markup=False)
    if len(commands) > 1:
        talk.print(TAUGHT)


def _parts(request: Request, table: Embedding) -> FourWaySplit:
    """The public texts of both files, split."""
    from inkblur.evaluation.tuning.four_way_split import PublicTexts, make_parts

    text, author, label = request.columns.text, request.columns.author, request.columns.label
    assert author is not None
    assert label is not None
    if request.authored is None:
        rows, found = texts.read_columns(request.labeled, text, [label, author])
        files = [PublicTexts(rows, found[author], found[label])]
    else:
        rows, found = texts.read_columns(request.labeled, text, [label])
        others, names = texts.read_columns(request.authored, text, [author])
        files = [PublicTexts(rows, labels=found[label]), PublicTexts(others, names[author])]
    return make_parts(
        files, test_share=request.test_share, seed=request.plan.seed, learned=table.corpus
    )


def next_commands(request: Request, candidate: Candidate | None) -> tuple[str, ...]:
    """What to type to release private texts as the chosen candidate does."""
    from inkblur.evaluation.tuning.adapted_grid import BETA

    assert candidate is not None
    commands, source = [], request.embedding
    if candidate.adapted is not None:
        source = str(request.output / "adapted.ink")
        adapt = ["inkblur", "embeddings", "adapt", request.embedding or "bundled"]
        adapt += ["--corpus", request.labeled, "--text-column", request.columns.text]
        adapt += ["--label-column", str(request.columns.label)]
        adapt += ["--alpha", written(candidate.adapted.alpha), "--beta", written(BETA)]
        adapt += ["--smoothing", written(candidate.adapted.smoothing), "-o", source]
        commands.append(shlex.join(adapt))
    setting = candidate.setting
    release = ["inkblur", "privatize", "private.csv", "-o", "blurred.csv"]
    release += ["--column", request.columns.text] if request.columns.text != "text" else []
    release += options.typed(setting)
    for name in _NO_CONTENT if request.plan.form == "content" else ():
        release += ["--drop", name]
    release += ["--embedding", source] if source is not None else []
    return (*commands, shlex.join(release))
