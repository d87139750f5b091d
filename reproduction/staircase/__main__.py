"""Measure what the staircase reaches, job by job, and judge it against its targets.

    OMP_NUM_THREADS=1 INKBLUR_DATA=... python -m reproduction.staircase work.jsonl --workers 16

Finished jobs are kept in the file: the same command goes on where it stopped. `--minutes` ends the
measuring in time; `--judge` only prints the tables.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from inkblur import load_embedding
from inkblur.evaluation import Checkpoint
from reproduction.staircase.collections import ANALYSTS, ATTACKS, JOINED, TASK, Collection, load
from reproduction.staircase.jobs import StaircaseJob, grid
from reproduction.staircase.judge import report
from reproduction.staircase.matching import matched
from reproduction.staircase.measure import measured, names, studied, taught

# Filled before the processes are forked, which inherit them.
_loaded: dict[str, Collection] = {}
_matches: dict[str, float] = {}  # epsilons of equal cosine


def main() -> None:
    """Parse, measure, judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="finished jobs, JSON lines")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--minutes", type=float, default=600.0)
    parser.add_argument("--sizes", type=float, default=1.0, help="share of the texts, for a trial")
    parser.add_argument("--draws", type=int, help="releases of each setting at equal cosine")
    parser.add_argument("--only", default="", help="jobs whose key holds one of these, split by |")
    parser.add_argument("--judge", action="store_true", help="print the tables and end")
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes
    work = Checkpoint(options.file, {"what": "staircase", "sizes": options.sizes})
    if not options.judge:
        chosen = [
            job for job in grid(options.draws) if any(o in job.key for o in options.only.split("|"))
        ]
        _measure(work, chosen, options.workers, options.sizes, end)
    print(report(work.rows))


def _measure(
    work: Checkpoint, jobs: list[StaircaseJob], workers: int, sizes: float, end: float
) -> None:
    done = {row["key"] for row in work.rows}
    if "names" not in done:
        work.add({"key": "names", **names(load_embedding())})
    left = [job for job in jobs if job.key not in done]
    if not left:
        return
    used = {job.collection for job in left}
    _loaded.update(load(used, sizes))
    _say(f"collections are read; {len(left)} jobs")
    _prepare(work, sorted({JOINED if name == TASK else name for name in used}), workers)
    _say("untouched texts are measured")
    _match(work, left, workers)
    _say("cosines are matched")
    with _pool(workers) as pool:
        results = pool.imap_unordered(_one, left)
        for _ in left:
            try:
                row = results.next(timeout=max(0.1, end - time.monotonic()))
            except multiprocessing.TimeoutError:
                _say("out of time: the other jobs are left for the next run")
                pool.terminate()
                return
            if "failed" in row:
                _say(row["failed"])
            else:
                work.add(row)
                _say(f"{row['seconds']:.0f} s  {row['key']}")


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
    with _pool(workers) as pool:
        for (name, role, which), (model, right) in zip(
            tasks, pool.imap(_prepared, tasks), strict=True
        ):
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


def _match(work: Checkpoint, jobs: list[StaircaseJob], workers: int) -> None:
    """The epsilons at which other mechanisms keep as much of words as the staircase."""
    _matches.update((row["key"], row["epsilon"]) for row in work.rows if row["row"] == "match")
    wanted = {job.match: job for job in jobs if job.as_staircase is not None}
    left = [job for key, job in wanted.items() if key not in _matches]
    with _pool(workers) as pool:
        for row in pool.imap_unordered(_matched, left):
            work.add(row)
            _matches[row["key"]] = row["epsilon"]
            _say(f"epsilon {row['epsilon']:g}  {row['key']}")


def _pool(workers: int) -> Any:
    """Forked, so that processes share the collections and the models; no thread runs by now."""
    context = multiprocessing.get_context("fork")
    return context.Pool(workers, _on_one_core, (context.Value("i", 0),))


def _on_one_core(count: Any) -> None:
    with count.get_lock():
        number = count.value
        count.value += 1
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[number % len(cores)]})


def _prepared(task: tuple[str, str, str]) -> tuple[Any, str]:
    name, role, which = task
    return (studied if role == "attack" else taught)(_loaded[name], which)


def _matched(job: StaircaseJob) -> dict[str, Any]:
    return {"key": job.match, **matched(job, _loaded[job.collection])}


def _one(job: StaircaseJob) -> dict[str, Any]:
    try:
        return {"key": job.key, **measured(job, _loaded, _matches)}
    except Exception:  # one job that fails must not cost the others
        return {"failed": f"{job.key}\n{traceback.format_exc()}"}


def _say(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
