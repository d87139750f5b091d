"""How long do the privacy statistics of one setting take: 28,596 words x 100 runs?

A sample of the words is measured and the time of the whole vocabulary computed from it; --sample 0
measures everything. Noise, search and counting are all in it, as `inkblur audit` runs them.

    python benchmarks/privacy_statistics.py
    python benchmarks/privacy_statistics.py --words 28596 --sample 0 --epsilon 10 --lambda 1

Vectors: --vectors FILE.npy, by default GloVe in the folder INKBLUR_DATA.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
from pathlib import Path

import numpy as np

import inkblur
from inkblur.evaluation import privacy_statistics


def main() -> None:
    """Read the options, measure, print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    data = os.environ.get("INKBLUR_DATA", "")
    parser.add_argument("--vectors", type=Path, default=Path(data) / "vectors/glove-6b-300d.npy")
    parser.add_argument("--words", type=int, default=28_596)
    parser.add_argument("--sample", type=int, default=500, help="words measured; 0: all")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--epsilon", type=float, default=10.0)
    parser.add_argument("--lambda", type=float, default=1.0, dest="lam")
    options = parser.parse_args()
    vectors = np.load(options.vectors, mmap_mode="r")[: options.words]
    table = inkblur.Embedding([f"w{i}" for i in range(len(vectors))], vectors, name="benchmark")
    mechanism = inkblur.Mahalanobis(table, epsilon=options.epsilon, lam=options.lam)
    rng = inkblur.seeded_rng(1)
    privacy_statistics(mechanism, rng=rng, words=5, runs=5)  # builds what is built once
    began, cpu = time.perf_counter(), time.process_time()
    result = privacy_statistics(mechanism, rng=rng, words=options.sample or None, runs=options.runs)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    draws = len(result.words) * options.runs
    whole = len(table) * options.runs / draws
    body = {
        "search": type(mechanism.engine.backend).__name__,
        "vocabulary": len(table),
        "words_measured": len(result.words),
        "runs": options.runs,
        "mean_N_w": round(result.survival.mean, 2),
        "seconds": round(seconds, 1),
        "draws_per_second": round(draws / seconds),
        "draws_per_cpu_second": round(draws / cpu),
        "minutes_for_all": round(seconds * whole / 60, 1),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    print(json.dumps(body, indent=2))


if __name__ == "__main__":
    main()
