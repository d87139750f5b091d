"""Measure what the staircase reaches, job by job, and judge it against its targets.

    OMP_NUM_THREADS=1 INKBLUR_DATA=... python -m reproduction.staircase work.jsonl --workers 16

Finished jobs are kept in the file: the same command goes on where it stopped. `--minutes` ends the
measuring in time; `--judge` only prints the tables.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from inkblur import load_embedding
from inkblur.evaluation import Checkpoint
from reproduction.staircase.collections import ANALYSTS, ATTACKS, JOINED, TASK, Collection, load
from reproduction.staircase.forked import ForkedJobs, in_turn, parser, say, wanted
from reproduction.staircase.jobs import StaircaseJob, grid
from reproduction.staircase.judge import report
from reproduction.staircase.matching import matched
from reproduction.staircase.measure import measured, names, studied, taught

# Filled before the processes are forked, which inherit them.
_loaded: dict[str, Collection] = {}
_matches: dict[str, float] = {}  # epsilons of equal cosine


def main() -> None:
    """Parse, measure, judge."""
    arguments = parser(__doc__)
    arguments.add_argument("--draws", type=int, help="releases of each setting at equal cosine")
    options = arguments.parse_args()
    end = time.monotonic() + 60 * options.minutes
    work = Checkpoint(options.file, {"what": "staircase", "sizes": options.sizes})
    if not options.judge:
        chosen = [job for job in grid(options.draws) if wanted(job.key, options.only)]
        _measure(ForkedJobs(work, options.workers, end), chosen, options.sizes)
    print(report(work.rows))


def _measure(forked: ForkedJobs, jobs: list[StaircaseJob], sizes: float) -> None:
    work = forked.work
    done = {row["key"] for row in work.rows}
    if "names" not in done:
        work.add({"key": "names", **names(load_embedding())})
    left = [job for job in jobs if job.key not in done]
    if not left:
        return
    used = {job.collection for job in left}
    _loaded.update(load(used, sizes))
    say(f"collections are read; {len(left)} jobs")
    _prepare(work, sorted({JOINED if name == TASK else name for name in used}), forked.workers)
    say("untouched texts are measured")
    if _match(forked, left):
        forked.run({job.key: partial(measured, job, _loaded, _matches) for job in left})


def _prepare(work: Checkpoint, names: list[str], workers: int) -> None:
    """Models that learned from true texts, and what they reach there."""
    tasks = [(name, "attack", attack) for name in names for attack in ATTACKS]
    tasks += [
        (name, "analyst", kind) for name in names if _loaded[name].topics for kind in ANALYSTS
    ]
    untouched: dict[str, dict[str, Any]] = {}
    for name in names:
        authors = _loaded[name].attacked.authors
        assert authors is not None
        untouched[name] = {
            "key": f"untouched {name}",
            "row": "untouched",
            "collection": name,
            "authors": authors.tolist(),
        }
    prepared = in_turn(_prepared, tasks, workers)
    for (name, role, which), (model, right) in zip(tasks, prepared, strict=True):
        held = _loaded[name]
        models, part = (held.attacks, "right") if role == "attack" else (held.analysts, "topic")
        models[which] = model
        untouched[name].setdefault(part, {})[which] = right
    if TASK in _loaded:  # the same texts over another table
        _loaded[TASK].attacks = _loaded[JOINED].attacks
        _loaded[TASK].analysts = _loaded[JOINED].analysts
    known = {row["key"] for row in work.rows}
    for row in untouched.values():
        if row["key"] not in known:
            work.add(row)


def _match(forked: ForkedJobs, jobs: list[StaircaseJob]) -> bool:
    """Find the epsilons at which other mechanisms keep as much of words as the staircase."""
    wanted = {job.match: job for job in jobs if job.as_staircase is not None}
    done = {row["key"] for row in forked.work.rows}
    missing = {key: job for key, job in wanted.items() if key not in done}
    in_time = forked.run(
        {key: partial(matched, job, _loaded[job.collection]) for key, job in missing.items()}
    )
    rows = forked.work.rows
    _matches.update((row["key"], row["epsilon"]) for row in rows if row["row"] == "match")
    return in_time


def _prepared(task: tuple[str, str, str]) -> tuple[Any, str]:
    name, role, which = task
    return (studied if role == "attack" else taught)(_loaded[name], which)


if __name__ == "__main__":
    main()
