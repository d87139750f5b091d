"""What limits a whole release on a GPU: the search, the noise, or everything else?

    PYTHONPATH=src python benchmarks/gpu_release.py EMBEDDING.ink --words 28596 400000

For each size of vocabulary, in words a second: the engine alone from host memory to host memory;
the noise alone on one thread; the file alone (read, tokenise, write back, with nothing drawn) on
one thread; and `privatize` file to file, with several numbers of batches in flight. The text is
random words of the vocabulary, 50 a line. Run it with OPENBLAS_NUM_THREADS=1 as well: a thread for
each batch in flight is enough.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from inkblur.documents.privatizer import Privatizer
from inkblur.documents.run import run
from inkblur.embeddings import load_embedding
from inkblur.embeddings.table import Embedding
from inkblur.evaluation.speed import grown, noisy
from inkblur.io.sink import open_sink
from inkblur.io.source import open_source
from inkblur.mechanisms.perturbation import Mahalanobis
from inkblur.nearest.engine import Device, Engine, backend_on
from inkblur.rng import Rows, secure_rng
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
    """Random words that a text can hold as one word."""
    known = np.array([word for word in table.words if word.isalpha() and word.islower()])
    picks = np.random.default_rng(1).integers(0, len(known), (words // LINE, LINE))
    with path.open("w", encoding="utf-8") as file:
        file.writelines(" ".join(known[line]) + "\n" for line in picks)


def measure(table: Embedding, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Everything about one vocabulary."""
    engine = Engine(table, backend_on(Device(options.device)))
    mechanism = Mahalanobis(table, epsilon=EPSILON, lam=0.5, engine=engine)
    queries = noisy(table.vectors, EPSILON, 4 * engine.block, np.random.default_rng(0))
    block = queries[:12_000]  # about what one batch of a file holds
    centres = table.centres(np.arange(8192) % len(table))
    noise, rng = mechanism.noise, secure_rng()
    out: dict[str, Any] = {
        "words": len(table),
        "engine, words/s": rate(len(queries), lambda: engine.nearest(queries), 7),
        "engine in blocks of 12,000": rate(len(block), lambda: engine.nearest(block), 7),
        "noise, one thread": rate(
            8192,
            lambda: [noise.around(centres[s : s + 1024], rng) for s in range(0, 8192, 1024)],
        ),
    }
    text = folder / "text.txt"
    write_text(table, options.tokens, text)

    def release(with_: Mahalanobis, workers: int) -> float:
        blur = Privatizer(with_)
        with open_source(text) as source, open_sink(folder / "out.txt", source) as sink:
            return run(source, sink, blur, secure_rng(), workers=workers).words_per_second

    silent = _Unchanged(table, epsilon=EPSILON, lam=0.5, engine=engine)
    out["file alone, one worker"] = release(silent, 1)
    for workers in options.workers:
        out[f"privatize, {workers} workers"] = [
            round(release(mechanism, workers)) for _ in range(options.repeat)
        ]
    return out


def main() -> None:
    """Measure and print a JSON line for each size."""
    parser = argparse.ArgumentParser(description="what limits a whole release on a GPU")
    parser.add_argument("embedding", type=Path)
    parser.add_argument("--words", type=int, nargs="*", default=[28596, 400_000])
    parser.add_argument("--tokens", type=int, default=5_000_000)
    parser.add_argument("--workers", type=int, nargs="*", default=[2, 4, 8, 16])
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--device", default="cuda", choices=["cpu", "cuda"])
    options = parser.parse_args()
    table = load_embedding(str(options.embedding))
    for words in options.words:
        with TemporaryDirectory() as folder:
            found = measure(grown(table, words), options, Path(folder))
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
