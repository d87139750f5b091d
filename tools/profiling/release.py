"""What limits a whole release on many processors or a GPU: search, noise, or everything else?

    PYTHONPATH=src:. python tools/profiling/release.py EMBEDDING.ink --words 28596 400000
    PYTHONPATH=src:. python tools/profiling/release.py EMBEDDING.ink --words 28596 --device cpu

For each size of vocabulary, in words a second: the engine alone from host memory to host memory;
the noise alone on one thread; noise and search together, in large batches and in blocks as large
as a file's batches; the file alone (read, tokenize, write
back, with nothing drawn) on one thread; and `privatize` file to file, with several numbers of
workers, as threads and as processes: the whole, and its second half, when every process has long
begun. The text is random words of the vocabulary, each as frequent as its rank says (Zipf), 50 a
line. Run it with OPENBLAS_NUM_THREADS=1: a thread a worker is enough.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.speed import grown, noisy
from inkblur.documents.privatizer import Privatizer
from inkblur.embeddings import load_embedding
from inkblur.embeddings.store import write_store
from inkblur.embeddings.table import Embedding
from inkblur.files.run import run
from inkblur.files.sink import open_sink
from inkblur.files.source import open_source
from inkblur.files.worker_pool import WorkerCopy
from inkblur.mechanisms.nearest.engine import Device, Engine, backend_on
from inkblur.mechanisms.perturbation import Mahalanobis
from inkblur.rng import Rows, secure_rng
from inkblur.spec import ReleaseSpec
from inkblur.types import Ids

EPSILON = 10.0
LINE = 50  # words a line


class _Unchanged(Mahalanobis):
    """Everything but noise and search."""

    def replace(self, ids: Ids, rng: Rows) -> Ids:
        return ids


def rate(words: int, work: Callable[[], Any], repeat: int = 3) -> float:
    """Words a second, the median of a few turns after one that warms up."""
    work()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return words / statistics.median(times)


def write_text(table: Embedding, words: int, path: Path) -> None:
    """Random words that a text can hold as one word, the first of the table the most frequent."""
    known = np.array([word for word in table.words if word.isalpha() and word.islower()])
    shares = np.cumsum(1 / np.arange(1, len(known) + 1))
    places = np.random.default_rng(1).random((words // LINE, LINE)) * shares[-1]
    picks = np.searchsorted(shares, places)
    with path.open("w", encoding="utf-8") as file:
        file.writelines(" ".join(known[line]) + "\n" for line in picks)


def opened(store: Path, device: str, threads: int | None) -> Privatizer:
    """A release of the vocabulary in a file, in this process or in another."""
    table = load_embedding(store)
    engine = Engine(table, backend_on(Device(device), threads=threads))
    return Privatizer(Mahalanobis(table, epsilon=EPSILON, lam=0.5, engine=engine))


def measure(
    store: Path, options: argparse.Namespace, folder: Path
) -> Iterator[tuple[str, float | list[int]]]:
    """Everything about one vocabulary: what was measured, words a second."""
    blur = opened(store, options.device, None)
    mechanism = blur.mechanism
    assert isinstance(mechanism, Mahalanobis)
    table, engine = mechanism.embedding, mechanism.engine
    queries = noisy(table.vectors, EPSILON, 4 * engine.block, np.random.default_rng(0))
    block = queries[:12_000]  # about what one batch of a file holds
    centers = table.centers(np.arange(8192) % len(table))
    noise, rng = mechanism.noise, secure_rng()
    yield "engine", rate(len(queries), lambda: engine.nearest(queries), 7)
    yield "engine in blocks of 12,000", rate(len(block), lambda: engine.nearest(block), 7)
    parts = [centers[start : start + 1024] for start in range(0, 8192, 1024)]
    yield "noise, one thread", rate(8192, lambda: [noise.around(part, rng) for part in parts])
    ids = np.random.default_rng(2).integers(0, len(table), 4 * engine.block)
    some = ids[: len(block)]
    yield "noise and search", rate(len(ids), lambda: mechanism.replace(ids, rng), 7)
    yield (
        "noise and search in blocks of 12,000",
        rate(len(some), lambda: mechanism.replace(some, rng), 7),
    )
    text = folder / "text.txt"
    write_text(table, options.tokens, text)

    def release(with_: Privatizer, workers: int, processes: bool = False) -> list[int]:
        each = 1 if options.device == "cpu" else None  # threads of a process's search
        spec = ReleaseSpec("mahalanobis", EPSILON, embedding=str(store))
        made = spec.resolved(table, mechanism)
        copies = WorkerCopy(made, Device(options.device), each) if processes else None
        began, seen = time.perf_counter(), [(0, 0.0)]

        def written(words: int, documents: int) -> None:
            seen.append((words, time.perf_counter() - began))

        with open_source(text) as source, open_sink(folder / "out.txt", source) as sink:
            run(
                source,
                sink,
                with_,
                secure_rng(),
                workers=workers,
                copies=copies,
                on_batch=written,
            )
        last, half = seen[-1], seen[len(seen) // 2]
        return [round(last[0] / last[1]), round((last[0] - half[0]) / (last[1] - half[1]))]

    silent = Privatizer(_Unchanged(table, epsilon=EPSILON, lam=0.5, engine=engine))
    yield "file alone, one worker", release(silent, 1)
    for workers in options.threads:
        yield f"privatize, {workers} threads", release(blur, workers)
    for workers in options.processes:
        yield f"privatize, {workers} processes", release(blur, workers, processes=True)


def main() -> None:
    """Measure and print a JSON line for each figure."""
    parser = argparse.ArgumentParser(description="what limits a whole release")
    parser.add_argument("embedding", type=Path)
    parser.add_argument("--words", type=int, nargs="*", default=[28596, 400_000])
    parser.add_argument("--tokens", type=int, default=5_000_000)
    parser.add_argument("--threads", type=int, nargs="*", default=[8])
    parser.add_argument("--processes", type=int, nargs="*", default=[4, 8, 16])
    parser.add_argument("--device", default="cuda", choices=["cpu", "cuda"])
    options = parser.parse_args()
    table = load_embedding(options.embedding)
    for words in options.words:
        with TemporaryDirectory() as name:
            folder = Path(name)
            write_store(folder / "grown.ink", grown(table, words))
            for what, found in measure(folder / "grown.ink", options, folder):
                print(json.dumps({"vocabulary": words, what: found}), flush=True)


if __name__ == "__main__":
    main()
