"""What an engine costs: the same rows by the bare Arrow function and by an engine, 1 and 2 workers.

    python -m benchmarks.engines polars ray spark --rows 40000

Start-up is the time until the first 100 rows are released, session and tables included.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from inkblur import ReleaseSpec
from inkblur.arrow import KEY_FILE, plan_release

BATCH = 10_000  # rows
SENTENCE = "the doctor was angry about a cold soup and my late train in a rainy town"
WORDS = SENTENCE.split()
SPEC = ReleaseSpec("staircase", 8.0, id_column="id")


def rows(count: int, words: int = 20) -> pa.Table:
    """Texts of `words` words each."""
    texts = [" ".join(WORDS[(i * k + k) % len(WORDS)] for k in range(words)) for i in range(count)]
    return pa.table({"id": pa.array(range(count), pa.int64()), "text": texts})


def main(given: list[str] | None = None) -> None:
    """Measure, and print one line for each engine and number of workers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engines", nargs="*", help="spark, ray")
    parser.add_argument("--rows", type=int, default=40_000)
    options = parser.parse_args(given)
    with tempfile.TemporaryDirectory() as folder:
        key = Path(folder, "key")
        key.write_bytes(os.urandom(32))
        key.chmod(0o600)
        os.environ[KEY_FILE] = str(key)
        table = rows(options.rows)
        began = time.perf_counter()
        plan = plan_release(SPEC)
        plan(table.slice(0, 100).to_batches()[0])
        first = time.perf_counter() - began
        began = time.perf_counter()
        for batch in table.to_batches(BATCH):
            plan(batch)
        bare = options.rows / (time.perf_counter() - began)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"bare function: {bare:,.0f} rows/s, first rows {first:.1f} s, {memory:,.0f} MiB")
        for name in options.engines:
            for workers in (1, 2):
                start, rate = {"spark": spark, "ray": by_ray}[name](table, workers)
                lost = 1 - rate / (bare * workers)
                print(
                    f"{name}, {workers} workers: {rate:,.0f} rows/s, {lost:.0%} below the bare "
                    f"function on as many, first rows {start:.1f} s",
                    flush=True,
                )


def _timed(
    begin: Callable[[], Any], release: Callable[[pa.Table], int], table: pa.Table
) -> tuple[float, float]:
    """Seconds until the first rows are out, and rows a second beyond what every run costs: starting
    workers and looking at ids is paid once, however many rows there are.
    """
    few = table.slice(0, 100)
    began = time.perf_counter()
    begin()
    release(few)
    start = time.perf_counter() - began
    seconds = []
    for part in (few, table):
        began = time.perf_counter()
        release(part)
        seconds.append(time.perf_counter() - began)
    return start, (len(table) - len(few)) / (seconds[1] - seconds[0])


def spark(table: pa.Table, workers: int) -> tuple[float, float]:
    """Local mode, a thread and a Python process for each worker."""
    from pyspark.sql import SparkSession

    from inkblur.engines.spark import privatize

    os.environ["PYSPARK_PYTHON"] = sys.executable
    built = SparkSession.builder.master(f"local[{workers}]").config("spark.ui.enabled", "false")
    built = built.config("spark.sql.execution.arrow.maxRecordsPerBatch", str(BATCH))
    sessions: list[Any] = []

    def released(part: pa.Table) -> int:
        frame = sessions[0].createDataFrame(part).repartition(workers)
        return int(privatize(frame, SPEC, ledger=False).toArrow().num_rows)

    timed = _timed(lambda: sessions.append(built.getOrCreate()), released, table)
    sessions[0].stop()
    return timed


def by_ray(table: pa.Table, workers: int) -> tuple[float, float]:
    """An actor for each worker, on this machine."""
    import ray

    from inkblur.engines.ray import privatize

    def begin() -> None:
        ray.init(num_cpus=workers + 1, include_dashboard=False, log_to_driver=False)

    def released(part: pa.Table) -> int:
        pieces = [part.slice(i, BATCH) for i in range(0, len(part), BATCH)]
        out = privatize(ray.data.from_arrow(pieces), SPEC, workers=workers, ledger=False)
        return sum(len(batch) for batch in ray.get(out.to_arrow_refs()))

    timed = _timed(begin, released, table)
    ray.shutdown()
    return timed


if __name__ == "__main__":
    main()
