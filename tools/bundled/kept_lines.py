"""Jobs in processes of one thread each; every result is a line of a file as soon as it is there.

A run that was stopped goes on with the same command: jobs whose lines are there are not done again.
Import this before NumPy, whose threads are counted when it is loaded.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

Job = tuple[Any, ...]
Subcommand = Callable[[argparse.Namespace], None]


def lines(path: str | Path) -> list[dict[str, Any]]:
    """What the file holds; nothing where there is none yet."""
    if not Path(path).exists():
        return []
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def measure(
    path: str | Path, jobs: Sequence[Job], workers: int, measured: Callable[[Any], dict[str, Any]]
) -> None:
    """Add the line of every job that has none: the job, what `measured` returns, and seconds."""
    done = {tuple(line["job"]) for line in lines(path)}
    missing = [job for job in jobs if job not in done]
    print(f"{len(missing)} jobs, {workers} workers", flush=True)
    with (
        ProcessPoolExecutor(workers, get_context("spawn")) as pool,
        Path(path).open("a", encoding="utf-8") as out,
    ):
        running = {pool.submit(_timed, measured, job): job for job in missing}
        for future in as_completed(running):
            try:
                line = {"job": list(running[future]), **future.result()}
            except Exception as error:  # one job must not stop the others
                print(*running[future], "failed:", repr(error)[:300], flush=True)
                continue
            out.write(json.dumps(line) + "\n")
            out.flush()
            print(*line["job"], line["seconds"], "s", flush=True)


def _timed(measured: Callable[[Any], dict[str, Any]], job: Job) -> dict[str, Any]:
    began = time.monotonic()
    return {**measured(job), "seconds": round(time.monotonic() - began, 1)}


def command(
    description: str | None, measure: Subcommand, **others: Subcommand
) -> tuple[argparse.ArgumentParser, argparse.ArgumentParser]:
    """A command with `measure RESULTS --workers N` and `others`, each for RESULTS; and the first,
    for options of its own.
    """
    made = argparse.ArgumentParser(description=description)
    parts = made.add_subparsers(required=True)
    for name, run in {"measure": measure, **others}.items():
        part = parts.add_parser(name)
        part.add_argument("results")
        part.set_defaults(run=run)
    first = parts.choices["measure"]
    first.add_argument("--workers", type=int, default=1)
    return made, first


def run(made: argparse.ArgumentParser) -> None:
    """Run the subcommand that the command line names."""
    options = made.parse_args()
    options.run(options)
