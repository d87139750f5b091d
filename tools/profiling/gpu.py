"""Is the nearest-word search on a GPU exact, and as fast as that of another commit?

    python tools/profiling/gpu.py OLD_SRC NEW_SRC --json gpu.json
    python tools/profiling/gpu.py OLD_SRC NEW_SRC --words 400000 --draw-words 0     search alone

Each of the two trees (the folder that holds `inkblur`) is measured in a process of its own; the two
take turns in every round, so what counts is the ratio, its median and spread over the rounds. The
plain way, a float32 product and maximum on the device, is timed between them: it is not exact.

Vectors are made on the device, with the lengths of GloVe (about 6.5, spread like its own, 300
dimensions); queries are words plus n-dimensional Laplace noise. Search: words a second from host
memory to host memory, the copy into pinned memory, the upload and the download inside. Draws: whole
`mahalanobis` draws, noise and search, by several threads of one process. Every id is compared with
a float64 brute force on the device, and some with the search on the processor.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

DIMENSION = 300
BLOCK = 16_384  # words a call of a draw
Ids = npt.NDArray[np.int64]


def made_vectors(words: int, device: str) -> npt.NDArray[np.float32]:
    """GloVe-like vectors; the same in every process."""
    torch.manual_seed(words)
    out = np.empty((words, DIMENSION), dtype=np.float32)
    for start in range(0, words, 1 << 17):
        rows = min(1 << 17, words - start)
        spread = torch.exp(0.3 * torch.randn(DIMENSION, device=device).sin())
        length = 6.5 * torch.exp(0.125 * torch.randn(rows, 1, device=device))
        block = torch.randn(rows, DIMENSION, device=device) * spread
        block *= length / block.norm(dim=1, keepdim=True)
        out[start : start + rows] = (block + 0.05).cpu().numpy()
    return out


def noisy(
    vectors: npt.NDArray[np.float32], epsilon: float, count: int, device: str
) -> npt.NDArray[np.float64]:
    """Queries of the n-dimensional Laplace mechanism; not for publishing."""
    torch.manual_seed(count)
    rng = np.random.default_rng(int(epsilon * 7))
    noise = torch.randn(count, DIMENSION, dtype=torch.float64, device=device)
    gamma = rng.gamma(DIMENSION, 1 / epsilon, (count, 1))
    noise *= torch.from_numpy(gamma).to(device) / noise.norm(dim=1, keepdim=True)
    queries: npt.NDArray[np.float64] = noise.cpu().numpy()
    queries += vectors[rng.integers(0, len(vectors), count)]
    return queries


class Worker:
    """One tree: it answers commands, a JSON line each."""

    def __init__(self, device: str) -> None:
        from inkblur.mechanisms.nearest.engine import Device, backend_on

        self.device = device
        if device == "cuda":
            self.backend: Any = backend_on(Device.CUDA)
        else:  # this script's own test: plain torch
            name = "inkblur.mechanisms.nearest.gpu"
            try:  # where it was in earlier commits
                found = importlib.import_module(f"{name}.backend")
            except ImportError:
                found = importlib.import_module(name)
            self.backend = found.Gpu(device=device, batch=64)

    def put(self, words: int, epsilon: float, queries: int) -> float:
        """Take made vectors; the seconds it took."""
        self.vectors = made_vectors(words, self.device)
        self.queries = noisy(self.vectors, epsilon, queries, self.device)
        start = time.perf_counter()
        self.backend.put(self.vectors)
        return time.perf_counter() - start

    def search(self) -> float:
        """Seconds of one search."""
        start = time.perf_counter()
        self.backend.nearest(self.queries)
        return time.perf_counter() - start

    def check(self, epsilon: float, count: int, on_processor: int) -> dict[str, int]:
        """Ids compared and those that are wrong: with the brute force, and with the processor."""
        queries = noisy(self.vectors, epsilon, count, self.device)
        ids = self.backend.nearest(queries)
        wrong = worse(self.vectors, queries, ids, brute_force(self.vectors, queries, self.device))
        found = {"compared": count, "wrong": wrong, "on the processor": on_processor}
        if on_processor:
            from inkblur.mechanisms.nearest.engine import Device, backend_on

            plain = backend_on(Device.CPU)
            plain.put(self.vectors)
            differ = plain.nearest(queries[:on_processor]) != ids[:on_processor]
            found["unlike the processor"] = int(differ.sum())
        return found

    def prepare_draws(self, epsilon: float, tokens: int) -> float:
        """Make a mechanism over the vocabulary."""
        from inkblur.embeddings.table import Embedding
        from inkblur.mechanisms.nearest.engine import Engine
        from inkblur.mechanisms.perturbation import Mahalanobis

        names = [f"w{i}" for i in range(len(self.vectors))]
        table = Embedding(names, self.vectors, name="made")
        engine = Engine(table, self.backend)
        self.mechanism = Mahalanobis(table, epsilon=epsilon, lam=0.5, engine=engine)
        self.ids = np.random.default_rng(1).integers(0, len(table), tokens)
        return 0.0

    def draw(self, threads: int) -> float:
        """Seconds of drawing all tokens."""
        from inkblur.rng import keyed_rng

        rng = keyed_rng(bytes(range(32)))
        parts = [self.ids[start : start + BLOCK] for start in range(0, len(self.ids), BLOCK)]
        start = time.perf_counter()
        with ThreadPoolExecutor(threads) as pool:
            drawn = pool.map(
                lambda part: self.mechanism.replace(part[1], rng.child(str(part[0]))),
                enumerate(parts),
            )
            self.drawn = np.concatenate(list(drawn))
        return time.perf_counter() - start

    def words_drawn(self) -> list[int]:
        """What the last draw gave."""
        ids: list[int] = self.drawn[:100_000].tolist()
        return ids


def brute_force(
    vectors: npt.NDArray[np.float32], queries: npt.NDArray[np.float64], device: str
) -> Ids:
    """argmax of q.v - |v|^2/2 in float64 on the device, block by block."""
    best = torch.full((len(queries),), -torch.inf, dtype=torch.float64, device=device)
    ids = torch.zeros(len(queries), dtype=torch.int64, device=device)
    points = torch.from_numpy(queries).to(device)
    for first in range(0, len(vectors), 1 << 15):
        words = torch.from_numpy(vectors[first : first + (1 << 15)]).to(device).double()
        half = words.square().sum(dim=1) / 2
        for start in range(0, len(queries), 1 << 14):
            part = slice(start, start + (1 << 14))
            value, where = torch.addmm(half, points[part], words.T, beta=-1).max(dim=1)
            better = value > best[part]
            best[part] = torch.where(better, value, best[part])
            ids[part] = torch.where(better, where + first, ids[part])
    out: Ids = ids.cpu().numpy()
    return out


def worse(
    vectors: npt.NDArray[np.float32], queries: npt.NDArray[np.float64], ids: Ids, other: Ids
) -> int:
    """How many ids are not the canonical ones: the brute force's own rounding decides near-ties, so
    ids that differ from its are compared canonically.
    """
    from inkblur.mechanisms.nearest.canonical import distances

    rows = np.flatnonzero(ids != other)
    mine = distances(vectors, queries, ids[rows], rows)
    theirs = distances(vectors, queries, other[rows], rows)
    return int(((mine > theirs) | ((mine == theirs) & (ids[rows] > other[rows]))).sum())


def product_and_maximum(words: int, epsilon: float, repeat: int, device: str) -> float:
    """Words/s of torch's float32 product + maximum, queries and vectors on the device."""
    vectors = made_vectors(words, device)
    there = torch.from_numpy(vectors).to(device)
    half = there.square().sum(dim=1) / 2
    batch = max(256, min(BLOCK, (1 << 32) // words // 256 * 256))
    points = torch.from_numpy(noisy(vectors, epsilon, batch, device)).to(device).float()
    times = []
    for _ in range(repeat + 2):
        start = time.perf_counter()
        torch.addmm(half, points, there.T, beta=-1).max(1)[1].cpu()
        times.append(time.perf_counter() - start)
    return batch / statistics.median(times[2:])


def work(device: str) -> None:
    """Answer commands until there are no more."""
    worker = Worker(device)
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        print(json.dumps(getattr(worker, name)(*arguments)), file=answers, flush=True)


class Tree:
    """A worker process over one tree."""

    def __init__(self, source: Path, device: str) -> None:
        paths = [str(source.resolve()), os.environ.get("PYTHONPATH", "")]
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--work", device],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        )

    def __call__(self, name: str, *arguments: Any) -> Any:
        """A command's answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps([name, *arguments]), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"a worker ended in {name}")
        return json.loads(line)


def race(
    trees: dict[str, Tree], words: int, command: list[Any], repeat: int
) -> dict[str, dict[str, float]]:
    """Words a second of each tree, and the ratio of the new one's to the old one's, by rounds."""
    rates: dict[str, list[float]] = {name: [] for name in trees}
    for turn in range(repeat + 1):
        for name, tree in trees.items():
            seconds = tree(*command)
            if turn:  # the first round only warms up
                rates[name].append(words / seconds)
    rates["ratio"] = [new / old for new, old in zip(rates["new"], rates["old"], strict=True)]
    return {
        name: {"median": statistics.median(found), "least": min(found), "most": max(found)}
        for name, found in rates.items()
    }


def main() -> None:
    """Measure, print a JSON line for each figure, and write them all."""
    parser = argparse.ArgumentParser(description="exact nearest words on a GPU: old and new commit")
    parser.add_argument("old", type=Path, help="folder that holds inkblur")
    parser.add_argument("new", type=Path)
    parser.add_argument("--words", type=int, nargs="*", default=[28_596, 400_000, 3_000_000])
    parser.add_argument("--queries", type=int, default=131_072, help="timed at a time")
    parser.add_argument("--epsilon", type=float, default=10.0, help="of the timed queries")
    parser.add_argument("--epsilons", type=float, nargs="*", default=[1, 2, 5, 10, 20, 40])
    parser.add_argument("--check", type=int, default=20_000, help="queries compared each, 0: none")
    parser.add_argument("--on-processor", type=int, default=500, help="of them on the processor")
    parser.add_argument("--draw-words", type=int, default=400_000, help="draws up to this many")
    parser.add_argument("--tokens", type=int, default=262_144, help="words of a draw")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 8, 16])
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--device", default="cuda", help="cpu tries this script")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    device, everything = options.device, []
    trees = {"old": Tree(options.old, device), "new": Tree(options.new, device)}

    def say(words: int, what: str, found: Any) -> None:
        everything.append({"words": words, what: found})
        print(json.dumps(everything[-1]), flush=True)

    def both(call: Callable[[Tree], Any]) -> dict[str, Any]:
        return {name: call(tree) for name, tree in trees.items()}

    for words in options.words:
        asked = ("put", words, options.epsilon, options.queries)
        say(words, "put, seconds", both(lambda tree: tree(*asked)))  # noqa: B023
        say(words, "search", race(trees, options.queries, ["search"], options.repeat))
        say(
            words,
            "float32 product and maximum, not exact",
            product_and_maximum(words, options.epsilon, options.repeat, device),
        )
        for epsilon in options.epsilons if options.check else []:
            few = options.on_processor if epsilon == options.epsilon else 0
            checked = ("check", epsilon, options.check, few)
            say(words, f"epsilon {epsilon:g}", both(lambda tree: tree(*checked)))  # noqa: B023
        if words > options.draw_words:
            continue
        both(lambda tree: tree("prepare_draws", options.epsilon, options.tokens))
        for threads in options.threads:
            found = race(trees, options.tokens, ["draw", threads], options.repeat)
            say(words, f"mahalanobis draws, {threads} threads", found)
        drawn = both(lambda tree: tree("words_drawn"))
        differ = sum(a != b for a, b in zip(drawn["old"], drawn["new"], strict=True))
        say(words, f"words of {len(drawn['old'])} that differ under one key", differ)
    if options.json:
        options.json.write_text(json.dumps(everything, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(sys.argv[2])
    else:
        main()
