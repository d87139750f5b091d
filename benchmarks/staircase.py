"""How fast is the staircase: draws, near sets of all words, file to file, memory?

Each figure is the median of --repeat turns with the least and the most, all in one run, beside the
same draws by the exponential mechanism, so that a busy machine shows. Words are Zipf's.

    python benchmarks/staircase.py --epsilon 8
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import inkblur
from benchmarks.peak_memory import peak_of
from inkblur.mechanisms.staircase import Staircase
from reproduction.arrays import Ids

_DRAWS = 2_000_000
_LINE = 50  # words a line of the file
_DISTINCT = 20_000


def main() -> None:
    """Read the options, measure, print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--epsilon", type=float, default=8.0)
    parser.add_argument("--tau", type=float)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--words", type=int, default=2 * _DRAWS, help="of the file")
    options = parser.parse_args()
    table = inkblur.load_embedding()
    rng = np.random.default_rng(1)
    shares = 1 / np.arange(1, _DISTINCT + 1)
    ids = rng.choice(_DISTINCT, _DRAWS, p=shares / shares.sum())
    mechanism = Staircase(table, epsilon=options.epsilon, tau=options.tau, cache=None)
    (_, building), memory = peak_of(lambda: _timed(mechanism.prepare))
    other = inkblur.make_mechanism("exponential", table, epsilon=20.0)
    few = ids[: _DRAWS // 20]
    other.replace(few, inkblur.seeded_rng(1))
    rates, ratios = [], []
    for seed in range(options.repeat):
        rates.append(_rate(mechanism.replace, ids, seed))
        ratios.append(rates[-1] / _rate(other.replace, few, seed))
    file = np.resize(ids, options.words)
    files = [_file_to_file(table, file, options.epsilon) for _ in range(options.repeat + 1)][1:]
    body = {
        "words": len(table),
        "load_average": os.getloadavg()[0],
        "parameters": mechanism.parameters,
        "all_sets_seconds": round(building, 1),
        "held_mb": round(mechanism.nbytes / 1e6),
        "peak_mb": None if memory is None else round(memory / 1e6),
        "draws_a_second": _spread(rates),
        "to_exponential": _spread(ratios),
        "file_words_a_second": _spread(files),
    }
    print(json.dumps(body, indent=2))


def _timed(work: Callable[[], object]) -> tuple[object, float]:
    began = time.perf_counter()
    return work(), time.perf_counter() - began


def _rate(replace: Callable[[Ids, inkblur.Rng], object], ids: Ids, seed: int) -> float:
    stream = inkblur.seeded_rng(seed)
    return len(ids) / _timed(lambda: replace(ids, stream))[1]


def _file_to_file(table: inkblur.Embedding, ids: Ids, epsilon: float) -> float:
    """Words a second through `privatize_file`, one text a line, the sets known."""
    words = [table.words[i] for i in ids.tolist()]
    with TemporaryDirectory() as folder:
        source, target = Path(folder) / "texts.txt", Path(folder) / "blurred.txt"
        lines = (" ".join(words[i : i + _LINE]) for i in range(0, len(words), _LINE))
        source.write_text("\n".join(lines) + "\n", encoding="utf-8")
        spec = inkblur.ReleaseSpec("staircase", epsilon, names="blur")
        _, seconds = _timed(lambda: inkblur.privatize_file(source, target, spec, ledger=False))
    return len(ids) / seconds


def _spread(values: list[float]) -> list[float]:
    """Median, least and most, to three digits."""
    found = (statistics.median(values), min(values), max(values))
    return [float(f"{value:.3g}") for value in found]


if __name__ == "__main__":
    main()
