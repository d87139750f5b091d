"""What does decoding by cosine cost, up to the 3 million words that the thesis decodes over?

    python benchmarks/cosine_decoding.py [--words 65205 300000 3000000] [--queries 1000]

The thesis (section 4.2, mechanism 2) adds Laplace noise to each component of a word's vector and
takes the word of the largest cosine. On unit vectors that is the nearest word, so Inkblur's exact
search serves; beside it stands the plain way, one product with the whole table. GloVe's words come
from INKBLUR_DATA; larger tables are made up: each further row is a random mixture of two GloVe
rows, so the table has GloVe's directions but is denser. Every table has a process of its own, which
needs about 4 KB of memory a word. A JSON line a result; `agree` is the share of queries for which
cosine and Euclidean distance (what Inkblur's `component-laplace` decodes by) give the same word.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
from numpy.typing import NDArray

import inkblur
from benchmarks.peak_memory import peak_of
from inkblur.evaluation import Device, Engine, Ids, backend_on
from reproduction.datasets import Datasets

SCALE = 0.5 / 2.927  # of the Laplace noise: the thesis's largest, as a share of its mean norm
FloatTable = NDArray[np.float32]
_BLOCK = 50_000  # rows of the table in one product


def made(words: int, rng: np.random.Generator) -> FloatTable:
    """GloVe's rows, then mixtures of two of them."""
    glove = Datasets().glove.vectors
    table = np.empty((words, glove.shape[1]), np.float32)
    own = min(words, len(glove))
    table[:own] = glove[:own]
    for start in range(own, words, _BLOCK):
        stop = min(start + _BLOCK, words)
        share = rng.random((stop - start, 1), dtype=np.float32)
        first, second = (glove[rng.integers(len(glove), size=stop - start)] for _ in range(2))
        table[start:stop] = share * first + (1 - share) * second
    return table


def by_product(unit: FloatTable, queries: FloatTable) -> Ids:
    """The row of the largest cosine, a block of the table at a time."""
    best = np.full(len(queries), -np.inf, np.float32)
    found = np.zeros(len(queries), np.int64)
    for start in range(0, len(unit), _BLOCK):
        cosines = queries @ unit[start : start + _BLOCK].T
        here = cosines.argmax(axis=1)
        value = cosines[np.arange(len(queries)), here]
        better = value > best
        best[better], found[better] = value[better], here[better] + start
    return found


def measured(words: int, count: int) -> dict[str, float | int | None]:
    """One table, both ways."""
    rng = np.random.default_rng(1)
    table = made(words, rng)
    names = [f"w{row}" for row in range(words)]
    scale = SCALE * float(np.linalg.norm(table[:65_205], axis=1).mean())
    rows = rng.integers(words, size=count)
    noisy = table[rows] + rng.laplace(0.0, scale, (count, table.shape[1]))
    plain = Engine(inkblur.Embedding(names, table, name="made up"), backend_on(Device.CPU))
    by_distance = plain.nearest(noisy)
    del plain
    table /= np.linalg.norm(table, axis=1, keepdims=True)
    noisy /= np.linalg.norm(noisy, axis=1, keepdims=True)
    began = time.perf_counter()
    engine, held = peak_of(
        lambda: Engine(inkblur.Embedding(names, table, name="made up"), backend_on(Device.CPU))
    )
    prepared = time.perf_counter()
    exact = engine.nearest(noisy)
    searched = time.perf_counter()
    del engine
    single = noisy.astype(np.float32)
    multiplied = time.perf_counter()
    product = by_product(table, single)
    return {
        "words": words,
        "queries": count,
        "engine seconds to prepare": round(prepared - began, 1),
        "engine bytes": held,
        "engine ms a query": round(1e3 * (searched - prepared) / count, 3),
        "product ms a query": round(1e3 * (time.perf_counter() - multiplied) / count, 3),
        "both the same word": float((exact == product).mean()),
        "unchanged": float((exact == rows).mean()),
        "agree": float((exact == by_distance).mean()),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--words", type=int, nargs="+", default=[65_205, 300_000, 3_000_000])
    parser.add_argument("--queries", type=int, default=1_000)
    options = parser.parse_args(arguments)
    for words in options.words:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            found = pool.submit(measured, words, options.queries).result()
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
