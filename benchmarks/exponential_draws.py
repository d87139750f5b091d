"""What does a token of the exponential mechanism cost, new words and known ones?

Processor time of all threads, so that other work on the machine counts little, and tokens a second
by the clock; medians of --repeat turns with fresh random numbers, after the turns in which words
become known.

    python benchmarks/exponential_draws.py
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
from inkblur.evaluation import Ids


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
        # What `privatize` draws at a time.
        "50,000 tokens, 8,000 words (Zipf)": rng.choice(8000, 50_000, p=shares / shares.sum()),
        "400,000 tokens, 8,000 words (Zipf)": rng.choice(8000, 400_000, p=shares / shares.sum()),
        "290,000 tokens, 700 words": rng.integers(0, 700, 290_000),
    }
    body: dict[str, object] = {"words": len(table), "load_average": os.getloadavg()[0]}
    for name, ids in texts.items():
        mechanism = inkblur.Exponential(table, epsilon=options.epsilon)
        turns = [_turn(mechanism.replace, ids, seed) for seed in range(options.repeat + 2)]
        body[name] = {
            "distinct": len(np.unique(ids)),
            "first_us": round(turns[0][0], 1),
            "known_us": _spread([busy for busy, _ in turns[2:]], 2),
            "known_tokens_a_second": _spread([len(ids) / clock for _, clock in turns[2:]], 0),
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        }
    print(json.dumps(body, indent=2))


def _turn(
    replace: Callable[[Ids, inkblur.Rng], object],
    ids: Ids,
    seed: int,
) -> tuple[float, float]:
    """Microseconds of the processor a token, and seconds by the clock."""
    stream = inkblur.seeded_rng(seed)
    began, busy = time.perf_counter(), time.process_time()
    replace(ids, stream)
    busy = time.process_time() - busy
    return busy / len(ids) * 1e6, time.perf_counter() - began


def _spread(values: list[float], digits: int) -> list[float]:
    """Median, least and most."""
    return [round(v, digits) for v in (statistics.median(values), min(values), max(values))]


if __name__ == "__main__":
    main()
