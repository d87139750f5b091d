"""How fast is exact nearest-word search, and is it exact?

All contenders take turns on the same vectors and queries in one process, so a busy machine slows
them alike; what counts is the ratio of medians. Queries are words plus n-dimensional Laplace noise.

    python benchmarks/nearest.py --words 28596 --epsilon 10
    python benchmarks/nearest.py --words 400000 --batch 1024
    python benchmarks/nearest.py --check 100000 --epsilon 1 5 10 20 40
    python benchmarks/nearest.py --words 400000 --memory

On a machine that others load as well, one thread and the processor's own clock tell more:

    OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 python benchmarks/nearest.py --threads 1 --clock cpu

Vectors: --vectors FILE.npy, by default GloVe in the folder INKBLUR_DATA; more words than the file
holds are made by adding noise to copies.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from inkblur.nearest import native
from inkblur.nearest.canonical import Float32s, Float64s, Ids, exhaustive
from inkblur.nearest.reference import Reference

Search = Callable[[Float64s], Ids]


def table(path: Path, words: int) -> Float32s:
    """The first words of the file; beyond its end, noisy copies of them."""
    stored = np.load(path, mmap_mode="r")
    if words <= len(stored):
        return np.ascontiguousarray(stored[:words], dtype=np.float32)
    rng = np.random.default_rng(0)
    out = np.empty((words, stored.shape[1]), dtype=np.float32)
    out[: len(stored)] = stored
    for start in range(len(stored), words, 4096):
        stop = min(start + 4096, words)
        out[start:stop] = stored[rng.integers(0, len(stored), stop - start)]
        out[start:stop] += 0.1 * rng.standard_normal((stop - start, stored.shape[1]), np.float32)
    return out


def noisy(vectors: Float32s, epsilon: float, batch: int, rng: np.random.Generator) -> Float64s:
    """Queries of the n-dimensional Laplace mechanism."""
    dimension = vectors.shape[1]
    noise = rng.standard_normal((batch, dimension))
    noise *= rng.gamma(dimension, 1 / epsilon, (batch, 1)) / np.linalg.norm(
        noise, axis=1, keepdims=True
    )
    return np.add(vectors[rng.integers(0, len(vectors), batch)], noise, dtype=np.float64)


def numpy_product(vectors: Float32s, batch: int) -> Search:
    """The usual way: one float32 product into a preallocated matrix, half norms, argmax."""
    half = (np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64) / 2).astype(np.float32)
    scores = np.empty((batch, len(vectors)), dtype=np.float32)

    def search(queries: Float64s) -> Ids:
        np.matmul(queries.astype(np.float32), vectors.T, out=scores)
        np.subtract(scores, half, out=scores)
        ids: Ids = np.argmax(scores, axis=1)
        return ids

    return search


def numpy_tiled(vectors: Float32s, batch: int) -> Search:
    """The same in tiles of 1024 queries x 2048 words, half norms as one more dimension."""
    half = (np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64) / 2).astype(np.float32)
    longer = np.concatenate([vectors, -half[:, None]], axis=1)
    scores = np.empty((1024, 2048), dtype=np.float32)

    def search(queries: Float64s) -> Ids:
        points = np.ones((len(queries), longer.shape[1]), dtype=np.float32)
        points[:, :-1] = queries
        out = np.empty(len(queries), dtype=np.int64)
        for first in range(0, len(points), 1024):
            part = points[first : first + 1024]
            rows = np.arange(len(part))
            best = np.full(len(part), -np.inf, dtype=np.float32)
            ids = np.zeros(len(part), dtype=np.int64)
            for start in range(0, len(longer), 2048):
                words = longer[start : start + 2048]
                tile = scores.ravel()[: len(part) * len(words)].reshape(len(part), len(words))
                np.matmul(part, words.T, out=tile)
                top = tile.argmax(axis=1)
                value = tile[rows, top]
                better = value > best
                best[better] = value[better]
                ids[better] = top[better] + start
            out[first : first + 1024] = ids
        return out

    return search


def faiss_flat(vectors: Float32s) -> Search | None:
    """IndexFlatL2, float32, where faiss is installed."""
    try:
        import faiss
    except ImportError:
        return None
    index = faiss.IndexFlatL2(vectors.shape[1])
    index.add(vectors)

    def search(queries: Float64s) -> Ids:
        ids: Ids = index.search(queries.astype(np.float32), 1)[1][:, 0]
        return ids

    return search


def contenders(
    vectors: Float32s, batch: int, only: list[str], threads: int | None
) -> dict[str, Search]:
    """Everything that can run here, by name."""
    makers: dict[str, Callable[[], Search | None]] = {}
    if batch * len(vectors) <= 1 << 28:
        makers["numpy product + argmax"] = lambda: numpy_product(vectors, batch)
    makers["numpy tiled"] = lambda: numpy_tiled(vectors, batch)
    makers["faiss IndexFlatL2"] = lambda: faiss_flat(vectors)
    makers["reference"] = lambda: ready(Reference(), vectors)
    for path in native.paths():
        if path != "portable":
            makers[f"native {path}"] = partial(ready_path, path, threads, vectors)
    made = {k: make() for k, make in makers.items() if not only or any(o in k for o in only)}
    return {name: search for name, search in made.items() if search is not None}


def ready(backend: Reference | native.Native, vectors: Float32s) -> Search:
    """A backend with its vocabulary in place."""
    backend.put(vectors)
    return backend.nearest


def ready_path(path: str, threads: int | None, vectors: Float32s) -> Search:
    """The native engine on one instruction-set path."""
    return ready(native.Native(path=path, threads=threads), vectors)


def race(
    searches: dict[str, Search], queries: Float64s, repeat: int, clock: Callable[[], float]
) -> dict[str, dict[str, float]]:
    """Words per second of each, taking turns; the first round only warms up."""
    seconds: dict[str, list[float]] = {name: [] for name in searches}
    for turn in range(repeat + 1):
        for name, search in searches.items():
            start = clock()
            search(queries)
            if turn:
                seconds[name].append(clock() - start)
    base = statistics.median(next(iter(seconds.values())))
    return {
        name: {
            "words_per_second": len(queries) / statistics.median(taken),
            "fastest": len(queries) / min(taken),
            "slowest": len(queries) / max(taken),
            "ratio": base / statistics.median(taken),
        }
        for name, taken in seconds.items()
    }


def disagreements(vectors: Float32s, search: Search, queries: Float64s) -> int:
    """Answers that differ from the float64 product's argmin, unless the canonical value sides."""
    wide = vectors.astype(np.float64)
    half = np.einsum("ij,ij->i", wide, wide) / 2
    wrong = 0
    for start in range(0, len(queries), 1000):
        part = queries[start : start + 1000]
        ids, plain = search(part), np.argmax(part @ wide.T - half, axis=1)
        differ = np.flatnonzero(ids != plain)
        wrong += int((ids[differ] != exhaustive(vectors, part[differ])).sum())
    return wrong


def main() -> None:
    """Read the options, run, print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    data = os.environ.get("INKBLUR_DATA", "")
    parser.add_argument("--vectors", type=Path, default=Path(data) / "vectors/glove-6b-300d.npy")
    parser.add_argument("--words", type=int, default=28596)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[10.0])
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--threads", type=int, help="of the native engine")
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall")
    parser.add_argument("--only", nargs="*", default=[], help="parts of contenders' names")
    parser.add_argument("--check", type=int, default=0, help="compare this many, not time")
    parser.add_argument("--memory", action="store_true", help="the engine's peak, nothing timed")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    vectors = table(options.vectors, options.words)
    rng = np.random.default_rng()
    rows: list[dict[str, object]] = []
    if options.memory:
        search = ready(native.Native() if native.available() else Reference(), vectors)
        search(noisy(vectors, options.epsilon[0], options.batch, rng))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        rows.append({"vectors_mb": vectors.nbytes / 1e6, "process_peak_mb": peak / 1e6})
    elif options.check:
        search = ready(native.Native() if native.available() else Reference(), vectors)
        for epsilon in options.epsilon:
            wrong = disagreements(vectors, search, noisy(vectors, epsilon, options.check, rng))
            rows.append({"epsilon": epsilon, "queries": options.check, "disagreements": wrong})
    else:
        searches = contenders(vectors, options.batch, options.only, options.threads)
        clock = time.process_time if options.clock == "cpu" else time.perf_counter
        for epsilon in options.epsilon:
            queries = noisy(vectors, epsilon, options.batch, rng)
            for name, result in race(searches, queries, options.repeat, clock).items():
                rows.append({"epsilon": epsilon, "search": name, **result})
    for row in rows:
        if options.json:
            print(json.dumps(row))
        else:
            print(
                "  ".join(
                    f"{k} {v:.5g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()
                )
            )
    sys.stdout.flush()


if __name__ == "__main__":
    main()
