"""Jobs in forked processes, each kept in a file as it ends, until the time is up.

Both experiments of this room are run so: `python -m reproduction.staircase` and
`python -m reproduction.staircase.variants`.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inkblur.evaluation import Checkpoint

_tasks: dict[str, Callable[[], Mapping[str, Any]]] = {}  # inherited by the forked processes


def parser(description: str | None) -> argparse.ArgumentParser:
    """The options that both commands have."""
    common = argparse.ArgumentParser(description=description)
    common.add_argument("file", type=Path, help="finished jobs, JSON lines")
    common.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    common.add_argument("--minutes", type=float, default=600.0, help="ends the measuring in time")
    common.add_argument("--sizes", type=float, default=1.0, help="share of the texts, for a trial")
    common.add_argument("--only", default="", help="jobs whose key holds one of these, split by |")
    common.add_argument("--judge", action="store_true", help="print the tables and end")
    return common


def wanted(key: str, only: str) -> bool:
    """Whether `--only` asks for the job of this key.

    >>> wanted("laplace on C50", "PAN|C50"), wanted("laplace on C50", "PAN"), wanted("any", "")
    (True, False, True)
    """
    return any(part in key for part in only.split("|"))


@dataclass(slots=True)
class ForkedJobs:
    """Runs jobs and adds their rows to the file of finished work.

    Whatever the jobs need must be loaded before: the processes are forked and share it. No thread
    may run by then.
    """

    work: Checkpoint
    workers: int
    end: float  # on the monotonic clock

    def run(self, tasks: Mapping[str, Callable[[], Mapping[str, Any]]]) -> bool:
        """Add a row for every task, by key, as it ends; False where the time was up before."""
        if not tasks:
            return True
        _tasks.update(tasks)
        with forked(self.workers) as pool:
            results = pool.imap_unordered(_one, list(tasks))
            for _ in tasks:
                try:
                    row = results.next(timeout=max(0.1, self.end - time.monotonic()))
                except multiprocessing.TimeoutError:
                    say("out of time: the other jobs are left for the next run")
                    pool.terminate()
                    return False
                if "failed" in row:
                    say(row["failed"])
                else:
                    self.work.add(row)
                    say(f"{row['seconds']:.0f} s  {row['key']}")
        return True


def in_turn(function: Callable[[Any], Any], tasks: Sequence[Any], workers: int) -> Iterable[Any]:
    """Results of all tasks in their order."""
    with forked(workers) as pool:
        yield from pool.imap(function, tasks)


def forked(workers: int) -> Any:
    """Processes that share what is loaded, each on a core of its own."""
    context = multiprocessing.get_context("fork")
    return context.Pool(workers, _on_one_core, (context.Value("i", 0),))


def _on_one_core(count: Any) -> None:
    with count.get_lock():
        number = count.value
        count.value += 1
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[number % len(cores)]})


def _one(key: str) -> dict[str, Any]:
    began = time.perf_counter()
    try:
        row = _tasks[key]()
    except Exception:  # one job that fails must not cost the others
        return {"failed": f"{key}\n{traceback.format_exc()}"}
    return {"key": key, **row, "seconds": round(time.perf_counter() - began, 1)}


def say(line: str) -> None:
    """A line with the time, for whoever watches."""
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)
