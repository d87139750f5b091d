"""What does an engine cost: the same rows by the bare Arrow function and by an engine?

    python -m benchmarks.engines                # every engine, 400,000 rows
    python -m benchmarks.engines spark ray --workers 2 --rows 600000

Everything reads parquet files and writes parquet files, batches of 10,000 rows, without a ledger.
Each measurement has a process of its own. Start-up is the time until the first 100 rows are
written, session and tables included. Rows a second are those of a second run over all rows, beyond
what a run of 100 rows takes: looking at ids and starting tasks is paid once a run, and in the first
run over all rows Java compiles what it will need (`warming`, paid once an executor).

What an engine of so many workers loses is counted against as many processes that run the bare
function side by side and share nothing: processors that share a cache or a core slow each other
down, engine or not. The bare function is measured first and last, so that a busy machine shows.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from inkblur import ReleaseSpec
from inkblur.arrow import KEY_FILE, ReleasePlan, plan_release

BATCH = 10_000  # rows
SENTENCE = "the doctor was angry about a cold soup and my late train in a rainy town"
WORDS = SENTENCE.split()
SPEC = ReleaseSpec("staircase", 8.0, id_column="id", keep_columns=("id",))

FolderRun = Callable[[Path, Path], None]  # from a folder of parquet files to another


def main(given: list[str] | None = None) -> None:
    """Measure in processes of their own; one line for each engine and number of workers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("engines", nargs="*", default=[name for name in ENGINES if name != "bare"])
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--words", type=int, default=20, help="of each text")
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--inside", metavar="FOLDER", help=argparse.SUPPRESS)
    options = parser.parse_args(given)
    if options.inside:
        print(json.dumps(measure(options.engines[0], options.workers[0], Path(options.inside))))
        return
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        _write(folder / "few", 100, options.words)
        _write(folder / "rows", options.rows, options.words)
        (folder / "key").write_bytes(os.urandom(32))
        (folder / "key").chmod(0o600)
        print(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors", flush=True)
        counts = sorted({1, *options.workers})
        bare = {workers: _shown("bare", workers, folder, None) for workers in counts}
        for name in options.engines:
            for workers in options.workers:
                _shown(name, workers, folder, bare[workers])
        for workers in counts:
            _shown("bare", workers, folder, bare[workers])


def _shown(
    name: str, workers: int, folder: Path, bare: dict[str, float] | None
) -> dict[str, float] | None:
    command = [sys.executable, "-m", "benchmarks.engines", name, "--workers", str(workers)]
    environment = {**os.environ, KEY_FILE: str(folder / "key")}
    done = subprocess.run(
        [*command, "--inside", str(folder)], env=environment, capture_output=True, text=True
    )
    if done.returncode:
        print(f"{name}, {workers} workers: failed\n{done.stderr[-2000:]}", flush=True)
        return None
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    lost = "" if bare is None else f", {1 - found['rate'] / bare['rate']:.0%} lost by the clock"
    print(
        f"{name}, {workers} workers: {found['rate']:,.0f} rows/s{lost}; first rows "
        f"{found['start']:.1f} s, every run {found['again']:.1f} s, warming "
        f"{found['warming']:.1f} s",
        flush=True,
    )
    return found


def measure(name: str, workers: int, folder: Path) -> dict[str, float]:
    """Start-up, what every run costs, and rows a second beyond that."""
    with ExitStack() as stack:
        start = time.perf_counter()
        run = ENGINES[name](workers, stack)
        seconds: list[float] = []
        for part in ("few", "few", "rows", "rows"):
            out = folder / "out"
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir()
            began = time.perf_counter() if seconds else start
            run(folder / part, out)
            seconds.append(time.perf_counter() - began)
            expected, written = (pq.ParquetDataset(f).read(["id"]) for f in (folder / part, out))
            assert len(written) == len(expected), (name, len(written))
        rows = len(expected) - 100
    return {
        "start": seconds[0],
        "again": seconds[1],
        "warming": seconds[2] - seconds[3],
        "rate": rows / (seconds[3] - seconds[1]),
    }


def _write(folder: Path, count: int, words: int) -> None:
    """Rows in files of five batches."""
    folder.mkdir()
    size = 5 * BATCH
    for start in range(0, count, size):
        ids = range(start, min(count, start + size))
        texts = [" ".join(WORDS[(i * k + k) % len(WORDS)] for k in range(words)) for i in ids]
        table = pa.table({"id": pa.array(ids, pa.int64()), "text": texts})
        pq.write_table(table, folder / f"{start:012}.parquet", row_group_size=BATCH)


def _bare(workers: int, stack: ExitStack) -> FolderRun:
    """The function itself: in this process, or in processes that take turns with the files."""
    if workers == 1:

        def run_here(source: Path, target: Path) -> None:
            for file in sorted(source.iterdir()):
                _bare_file(file, target)

        return run_here
    context = multiprocessing.get_context("spawn")
    pool = stack.enter_context(ProcessPoolExecutor(workers, mp_context=context))

    def run(source: Path, target: Path) -> None:
        files = sorted(source.iterdir())
        list(pool.map(_bare_file, files, [target] * len(files)))

    return run


def _bare_file(file: Path, target: Path) -> None:
    plan = _plan()
    with pq.ParquetFile(file) as read:
        batches = map(plan, read.iter_batches(BATCH))
        first = next(batches)
        with pq.ParquetWriter(target / file.name, first.schema) as writer:
            writer.write_batch(first)
            for batch in batches:
                writer.write_batch(batch)


@cache
def _plan() -> ReleasePlan:
    return plan_release(SPEC)


def _spark(workers: int, stack: ExitStack) -> FolderRun:
    """Local mode, a thread and a Python process for each worker."""
    from pyspark.sql import SparkSession

    from inkblur.engines.spark import privatize

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master(f"local[{workers}]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", str(BATCH))
        .config("spark.sql.shuffle.partitions", str(workers))
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    stack.callback(session.stop)

    def run(source: Path, target: Path) -> None:
        frame = session.read.parquet(str(source))
        privatize(frame, SPEC, ledger=False).write.mode("overwrite").parquet(str(target))

    return run


def _ray(workers: int, stack: ExitStack) -> FolderRun:
    """An actor for each worker, on this machine."""
    import ray

    from inkblur.engines.ray import privatize

    os.environ.setdefault("RAY_worker_niceness", "0")  # 15, if Ray may choose
    ray.init(num_cpus=workers + 1, include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    stack.callback(ray.shutdown)

    def run(source: Path, target: Path) -> None:
        data = ray.data.read_parquet(str(source))
        privatize(data, SPEC, workers=workers, batch_size=BATCH, ledger=False).write_parquet(
            str(target)
        )

    return run


ENGINES: dict[str, Callable[[int, ExitStack], FolderRun]] = {
    "bare": _bare,
    "spark": _spark,
    "ray": _ray,
}


if __name__ == "__main__":
    main()
