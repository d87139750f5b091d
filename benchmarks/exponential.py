"""What does a token of the exponential mechanism cost, new words and known ones?

Processor time, so that other work on the machine counts little; medians of --repeat turns with
fresh random numbers, after the turns in which words become known.

    OPENBLAS_NUM_THREADS=1 python benchmarks/exponential.py
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import time
from collections.abc import Callable

import numpy as np

import inkblur


def main() -> None:
    """Read the options, measure, print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--epsilon", type=float, default=20.0)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    table = inkblur.load_embedding()
    rng = np.random.default_rng(1)
    shares = 1 / np.arange(1, 8001)
    texts = {
        "12,000 tokens, 8,000 words (Zipf)": rng.choice(8000, 12_000, p=shares / shares.sum()),
        "290,000 tokens, 700 words": rng.integers(0, 700, 290_000),
    }
    body: dict[str, object] = {"words": len(table), "load_average": os.getloadavg()[0]}
    for name, ids in texts.items():
        mechanism = inkblur.Exponential(table, epsilon=options.epsilon)
        turns = [_microseconds(mechanism.replace, ids, seed) for seed in range(options.repeat + 2)]
        body[name] = {
            "distinct": len(np.unique(ids)),
            "first_us": round(turns[0], 1),
            "known_us": round(statistics.median(turns[2:]), 2),
            "known_us_range": [round(min(turns[2:]), 2), round(max(turns[2:]), 2)],
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        }
    print(json.dumps(body, indent=2))


def _microseconds(
    replace: Callable[[inkblur.types.Ids, inkblur.rng.Rng], object],
    ids: inkblur.types.Ids,
    seed: int,
) -> float:
    stream = inkblur.seeded_rng(seed)
    began = time.process_time()
    replace(ids, stream)
    return (time.process_time() - began) / len(ids) * 1e6


if __name__ == "__main__":
    main()
