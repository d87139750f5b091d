"""How fast is exact nearest-word search on a GPU, and is it exact?

One call measures the device's ceilings, compares with a float64 brute force at several epsilons,
and times the engine beside a plain float32 product + maximum:

    PYTHONPATH=src python tools/profiling/gpu.py --json gpu.json
    PYTHONPATH=src python tools/profiling/gpu.py --words 400000 --check 0      timing alone

Vectors are synthetic, with the lengths of GloVe (about 6.5, spread like its own, 300 dimensions),
or with --vectors FILE.npy those of a file and, beyond its end, noisy copies of them. Queries are
words plus n-dimensional Laplace noise. "words/s" is `Gpu.nearest` from host memory to host memory:
the copy into pinned memory, the upload and the download are inside. The baseline has its queries
on the device already. Medians of --repeat runs; times of single steps come from CUDA events.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from inkblur.mechanisms.nearest.canonical import Float32s, Float64s, distances
from inkblur.mechanisms.nearest.gpu.backend import Gpu
from inkblur.types import Ids

DIMENSION = 300
STEPS = ("prepare", "scan", "keep", "sift", "rescore", "choose", "collect", "refine", "settle")


def median_ms(work: Callable[[], Any], repeat: int = 7) -> float:
    """Milliseconds on the device, by events, after two warm-ups."""
    times: list[float] = []
    for turn in range(repeat + 2):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        start.record()
        work()
        stop.record()
        torch.cuda.synchronize()
        if turn >= 2:
            times.append(start.elapsed_time(stop))
    return statistics.median(times)


def ceilings() -> dict[str, float]:
    """What this device does at best: copies, uploads and large products of random numbers."""
    out: dict[str, float] = {}
    big = torch.empty(1 << 31, dtype=torch.int8, device="cuda").random_(-127, 127)
    other = torch.empty_like(big)
    out["copy, read + written, TB/s"] = 2 * len(big) / median_ms(lambda: other.copy_(big)) / 1e9
    host = torch.zeros(1 << 28, dtype=torch.uint8).pin_memory()
    there = torch.empty(1 << 28, dtype=torch.uint8, device="cuda")
    out["pinned upload, GB/s"] = (1 << 28) / median_ms(lambda: there.copy_(host, True)) / 1e6
    size = 8192
    for name, dtype in (("float32", torch.float32), ("float16", torch.float16)):
        left, right = (torch.randn(size, size, device="cuda").to(dtype) for _ in range(2))
        out[f"{name} product, TFLOP/s"] = 2 * size**3 / median_ms(lambda: left @ right.T) / 1e9  # noqa: B023
    left, right = (
        torch.randint(-127, 128, (size, size), device="cuda", dtype=torch.int8) for _ in range(2)
    )
    rate = 2 * size**3 / median_ms(lambda: torch._int_mm(left, right.T)) / 1e9
    out["int8 product (cuBLAS), TOP/s"] = rate
    return out


def table(words: int, path: Path | None) -> Float32s:
    """GloVe-like vectors, made on the device."""
    torch.manual_seed(words)
    out = np.empty((words, DIMENSION), dtype=np.float32)
    stored = torch.from_numpy(np.load(path).astype(np.float32)).cuda() if path else None
    for start in range(0, words, 1 << 17):
        rows = min(1 << 17, words - start)
        made = torch.randn(rows, DIMENSION, device="cuda")
        if stored is None:
            spread = torch.exp(0.3 * torch.randn(DIMENSION, device="cuda").sin())
            length = 6.5 * torch.exp(0.125 * torch.randn(rows, 1, device="cuda"))
            made = made * spread
            made *= length / made.norm(dim=1, keepdim=True)
            made += 0.05
        else:
            ids = torch.arange(start, start + rows, device="cuda")
            copies = ids >= len(stored)
            ids[copies] = torch.randint(len(stored), (int(copies.sum()),), device="cuda")
            made = stored[ids] + 0.1 * made * copies[:, None]
        out[start : start + rows] = made.cpu().numpy()
    return out


def noisy(vectors: Float32s, epsilon: float, batch: int) -> Float64s:
    """Queries of the n-dimensional Laplace mechanism."""
    n = vectors.shape[1]
    noise = torch.randn(batch, n, dtype=torch.float64, device="cuda")
    gamma = np.random.default_rng(batch).gamma(n, 1 / epsilon, (batch, 1))
    noise *= torch.from_numpy(gamma).cuda() / noise.norm(dim=1, keepdim=True)
    ids = np.random.default_rng(int(epsilon * 7)).integers(0, len(vectors), batch)
    queries: Float64s = vectors[ids] + noise.cpu().numpy()
    return queries


def brute_force(vectors: Float32s, queries: Float64s) -> Ids:
    """argmax of q.v - |v|^2/2 in float64 on the device, block by block."""
    best = torch.full((len(queries),), -torch.inf, dtype=torch.float64, device="cuda")
    ids = torch.zeros(len(queries), dtype=torch.int64, device="cuda")
    points = torch.from_numpy(queries).cuda()
    for first in range(0, len(vectors), 1 << 15):
        words = torch.from_numpy(vectors[first : first + (1 << 15)]).cuda().double()
        half = words.square().sum(dim=1) / 2
        for start in range(0, len(queries), 1 << 14):
            part = slice(start, start + (1 << 14))
            value, where = torch.addmm(half, points[part], words.T, beta=-1).max(dim=1)
            better = value > best[part]
            best[part] = torch.where(better, value, best[part])
            ids[part] = torch.where(better, where + first, ids[part])
    out: Ids = ids.cpu().numpy()
    return out


def disagreements(vectors: Float32s, queries: Float64s, got: Ids, want: Ids) -> tuple[int, int]:
    """How many ids are worse than the brute force's, and how many differ and are not worse.

    The brute force's own rounding decides near-ties, so differing ids are compared canonically.
    """
    rows = np.flatnonzero(got != want)
    mine = distances(vectors, queries, got[rows], rows)
    other = distances(vectors, queries, want[rows], rows)
    worse = int(((mine > other) | ((mine == other) & (got[rows] > want[rows]))).sum())
    return worse, len(rows) - worse


def product_and_maximum(vectors: Float32s, queries: Float64s, repeat: int) -> float:
    """Words/s of torch's float32 product + maximum, queries and vectors on the device."""
    torch.backends.cuda.matmul.allow_tf32 = False
    words = torch.from_numpy(vectors).cuda()
    half = words.square().sum(dim=1) / 2
    batch = min(len(queries), max(256, (1 << 32) // len(vectors) // 256 * 256))
    points = torch.from_numpy(queries[:batch]).cuda().float()
    time_ms = median_ms(lambda: torch.addmm(half, points, words.T, beta=-1).max(1), repeat)
    return batch / time_ms * 1e3


def step_times(engine: Gpu, queries: Float64s) -> dict[str, float]:
    """Milliseconds of each step for one full batch, and what survives a step."""
    block = queries[: engine.batch]
    engine.nearest(block)
    slot, words = engine._slots[0], engine._words
    batch, work, steps = slot.batch, slot.work, engine._steps
    count = len(block)
    engine._search(slot, count)  # the whole block, also where its lists overflowed
    pairs, near, near64 = int(work.pairs[0]), work.near[:count], work.near64[:count]
    out = {
        "batch": count,
        "panels left a query": pairs / count,
        "queries left to float64, share": float((near > 1).double().mean()),
        "queries left to the host, share": float((near64 > 1).double().mean()),
    }
    out["words left a query"] = int(work.kept[0]) / count
    for name in STEPS:

        def one(name: str = name) -> None:
            if name == "keep":
                work.pairs.zero_()
            if name == "sift":
                work.kept.zero_()
            if name == "collect":
                work.unsure.zero_()
            getattr(steps, name)(words, batch, work)

        out[name] = median_ms(one)
    operations = 2 * count * len(words.codes) * words.codes.shape[1]
    out["scan, TOP/s"] = operations / out["scan"] / 1e9
    out["all, on the device"] = median_ms(lambda: engine._search(slot, count))
    return out


def rates(engine: Gpu, queries: Float64s, repeat: int) -> list[float]:
    """Words/s from host memory to host memory."""
    engine.nearest(queries)
    out = []
    for _ in range(repeat):
        start = time.perf_counter()
        engine.nearest(queries)
        out.append(len(queries) / (time.perf_counter() - start))
    return out


def measure(words: int, path: Path | None, options: argparse.Namespace) -> dict[str, Any]:
    """Everything about one size of vocabulary."""
    start = time.perf_counter()
    vectors = table(words, path)
    made = time.perf_counter() - start
    engine = Gpu(batch=options.batch)
    torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    engine.put(vectors)
    out: dict[str, Any] = {"words": words, "vectors": path.name if path else "synthetic"}
    out["made in s"], out["put in s"] = made, time.perf_counter() - start
    if words <= options.check_words:
        checked, worse, other = 0, 0, 0
        for epsilon in options.epsilons if options.check else []:
            queries = noisy(vectors, epsilon, options.check // len(options.epsilons))
            counts = disagreements(
                vectors, queries, engine.nearest(queries), brute_force(vectors, queries)
            )
            checked, worse, other = checked + len(queries), worse + counts[0], other + counts[1]
        out["checked"], out["wrong"], out["brute force wrong"] = checked, worse, other
    queries = noisy(vectors, options.epsilon, max(4 * engine.batch, options.queries))
    out["steps"] = step_times(engine, queries)
    speeds = rates(engine, queries, options.repeat)
    out["words/s"] = statistics.median(speeds)
    out["words/s, least and most"] = [min(speeds), max(speeds)]
    for size in (2048, 8192):
        out[f"words/s in blocks of {size}"] = statistics.median(
            rates(engine, queries[:size], 3 * options.repeat)
        )
    out["device memory, GB"] = torch.cuda.max_memory_allocated() / 1e9
    out["float32 product + maximum, words/s"] = product_and_maximum(
        vectors, queries, options.repeat
    )
    out["ratio"] = out["words/s"] / out["float32 product + maximum, words/s"]
    return out


def main() -> None:
    """Measure, print a table, and write JSON if asked."""
    parser = argparse.ArgumentParser(description="exact nearest words on a GPU: rate and agreement")
    parser.add_argument("--words", type=int, nargs="*", default=[28596, 400_000, 3_000_000])
    parser.add_argument("--vectors", type=Path, help="float vectors, .npy (words, 300)")
    parser.add_argument("--epsilon", type=float, default=10.0, help="of the timed queries")
    parser.add_argument("--epsilons", type=float, nargs="*", default=[1, 2, 5, 10, 20, 40])
    parser.add_argument("--check", type=int, default=120_000, help="queries compared, 0: none")
    parser.add_argument("--check-words", type=int, default=1 << 40, help="check up to this size")
    parser.add_argument("--queries", type=int, default=131_072, help="timed, at least")
    parser.add_argument("--batch", type=int, default=16_384)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found: dict[str, Any] = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    found["ceilings"] = ceilings()
    print(json.dumps(found, indent=1), flush=True)
    found["sizes"] = []
    for words in options.words:
        result = measure(words, options.vectors, options)
        found["sizes"].append(result)
        print(json.dumps(result), flush=True)
        if options.json:
            options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
