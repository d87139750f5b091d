"""How fast is the nearest word found, beside NumPy and faiss, and is it the right one?

All take turns on the same vectors and queries in one process, so a busy machine slows them alike:
trust the ratios. `--clock cpu` counts the processor time of all threads. Trust ratios to faiss only
where its kernels know the processor (set OPENBLAS_CORETYPE).

    python -m benchmarks --embedding GLOVE.ink --words 28596 --words 400000 --repeat 9
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count, islice

import numpy as np
from numpy.typing import NDArray

from benchmarks.peak_memory import peak_of
from inkblur import Embedding, load_embedding
from inkblur.mechanisms.laplace import Laplace
from reproduction.arrays import Array, Ids

NearestSearch = Callable[[Array], Ids]
BASELINE, ENGINE, FAISS = "NumPy product + argmax", "inkblur engine", "faiss IndexFlatL2"
_TILE = 2048  # words that NumPy compares at a time


def searches(table: Embedding, device: str, threads: int | None) -> dict[str, NearestSearch]:
    """Every way to find the nearest word that can run here; the baseline comes first."""
    mechanism = Laplace(table, epsilon=1.0)
    mechanism.search_on(device, threads=threads)
    found: dict[str, NearestSearch] = {
        BASELINE: lambda queries: numpy_product(table.vectors, queries),
        ENGINE: mechanism.engine.nearest,
    }
    try:
        import faiss
    except ImportError:
        return found
    index = faiss.IndexFlatL2(table.dimension)
    index.add(np.ascontiguousarray(table.vectors))
    found[FAISS] = lambda queries: index.search(queries.astype(np.float32), 1)[1][:, 0]
    return found


def numpy_product(vectors: NDArray[np.float32], queries: Array) -> Ids:
    """One float32 product a tile of words, half norms, argmax."""
    half = (np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64) / 2).astype(np.float32)
    points = queries.astype(np.float32)
    best = np.full(len(points), -np.inf, dtype=np.float32)
    ids = np.zeros(len(points), dtype=np.int64)
    for start in range(0, len(vectors), _TILE):
        scores = points @ vectors[start : start + _TILE].T - half[start : start + _TILE]
        top = scores.argmax(axis=1)
        value = np.take_along_axis(scores, top[:, None], axis=1)[:, 0]
        better = value > best
        best[better], ids[better] = value[better], top[better] + start
    return ids


def seconds_of(
    found: dict[str, NearestSearch], queries: Array, repeat: int, clock: Callable[[], float]
) -> dict[str, list[float]]:
    """Seconds of each turn; the first round only warms up."""
    seconds: dict[str, list[float]] = {name: [] for name in found}
    for turn in range(repeat + 1):
        for name, search in found.items():
            began = clock()
            search(queries)
            if turn:
                seconds[name].append(max(clock() - began, 1e-9))
    return seconds


def agreement(vectors: NDArray[np.float32], search: NearestSearch, queries: Array) -> float:
    """The share of answers that are the float64 nearest word."""
    words = vectors.astype(np.float64)
    half = np.einsum("ij,ij->i", words, words) / 2
    parts = [queries[start : start + 100] for start in range(0, len(queries), 100)]
    right = [search(p) == (p @ words.T - half).argmax(axis=1) for p in parts]
    return float(np.concatenate(right).mean())


def grown(table: Embedding, words: int) -> Embedding:
    """The first words of the table; beyond its end, noisy copies of them under made-up names."""
    size = len(table)
    if words <= size:
        return Embedding(table.words[:words], table.vectors[:words], name=table.name)
    rng = np.random.default_rng(0)
    copies = table.vectors[rng.integers(0, size, words - size)]
    copies += 0.3 * np.std(table.vectors) * rng.standard_normal(copies.shape, np.float32)
    fresh = islice((w for w in map("grown{}".format, count()) if w not in table), words - size)
    return Embedding((*table.words, *fresh), np.vstack([table.vectors, copies]), name="grown")


def noisy(
    vectors: NDArray[np.float32], epsilon: float, count: int, rng: np.random.Generator
) -> Array:
    """Queries of the n-dimensional Laplace mechanism; not for publishing, so NumPy may draw."""
    dimension = vectors.shape[1]
    noise = rng.standard_normal((count, dimension))
    noise *= rng.gamma(dimension, 1 / epsilon, (count, 1)) / np.linalg.norm(
        noise, axis=1, keepdims=True
    )
    return np.add(vectors[rng.integers(0, len(vectors), count)], noise, dtype=np.float64)


def main(given: Sequence[str] | None = None) -> None:
    """Read the options, measure, print a line for each contender and size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--embedding", help="bundled if not given")
    parser.add_argument("--words", type=int, action="append", help="several times for several")
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--epsilon", type=float, default=10.0)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--check", type=int, default=1000, help="answers beside float64's")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda")
    parser.add_argument("--threads", type=int)
    options = parser.parse_args(given)
    clock = time.perf_counter if options.clock == "wall" else time.process_time
    whole = load_embedding(options.embedding) if options.embedding else load_embedding()
    rng = np.random.default_rng()
    for words in options.words or [len(whole)]:
        table = grown(whole, words)
        queries = noisy(table.vectors, options.epsilon, options.batch, rng)
        checked = noisy(table.vectors, options.epsilon, options.check, rng)
        found = searches(table, options.device, options.threads)
        memory = {name: peak_of(partial(search, queries))[1] for name, search in found.items()}
        seconds = seconds_of(found, queries, options.repeat, clock)
        for name, search in found.items():
            rates = sorted(len(queries) / taken for taken in seconds[name])
            ratios = [a / b for a, b in zip(seconds[BASELINE], seconds[name], strict=True)]
            share = agreement(table.vectors, search, checked) if options.check else float("nan")
            print(
                f"{words:,} words, {name}: {statistics.median(rates):,.0f} words/s ({rates[0]:,.0f}"
                f" to {rates[-1]:,.0f}), ratio {statistics.median(ratios):.3g} ({min(ratios):.3g} "
                f"to {max(ratios):.3g}), {(memory[name] or 0) / 1e6:,.0f} MB, {share:.3%} exact",
                flush=True,
            )


if __name__ == "__main__":
    main()
