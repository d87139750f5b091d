"""How often does Koppel's attack name the author, and how long does it take?

    INKBLUR_DATA=... python benchmarks/koppel_attack.py [--seeds 3] [--all-weightings]

Reuters C50: all 50 training texts of an author joined, the first 10 test texts of each in file-name
order. PAN 2018: all known texts of an author joined, all unknown texts. Closed world.
"""

from __future__ import annotations

import argparse
import os
import time

import numpy as np

from inkblur.evaluation import Koppel, NgramWeighting, Similarity, attribute
from reproduction.corpora import Corpus, pan18, reuters_c50

# What a plain implementation reached: cosine, Ruzicka.
FLOORS = {"reuters-c50": (0.65, 0.68), "pan18-2": (0.71, 0.67), "pan18-1": (0.27, 0.32)}


def corpora() -> dict[str, tuple[Corpus, Corpus]]:
    """Known and unknown texts of each corpus."""
    c50 = reuters_c50()
    first, second = pan18(1), pan18(2)
    return {
        "reuters-c50": (c50.train, c50.test.first_of_each_author(10)),
        "pan18-2": (second.train, second.test),
        "pan18-1": (first.train, first.test),
    }


def main() -> None:
    """Print a line a corpus and similarity."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1, help="draws of the halves to average")
    parser.add_argument("--all-weightings", action="store_true")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores; seconds include cutting n-grams, fit and prediction")
    print(
        "corpus       similarity  weighting    accuracy (least)  floor  texts x authors  wall  cpu"
    )
    for name, (known, unknown) in corpora().items():
        for similarity, floor in zip(Similarity, FLOORS[name], strict=True):
            chosen = list(NgramWeighting) if options.all_weightings else [None]
            for weighting in chosen:
                scores, walls, cpus = [], [], []
                for seed in range(options.seeds):
                    assert known.authors is not None
                    assert unknown.authors is not None
                    attack = Koppel(seed=seed, similarity=similarity, weighting=weighting)
                    start, cpu = time.perf_counter(), time.process_time()
                    attack.fit(known.texts, known.authors)
                    result = attribute(attack, unknown.texts, unknown.authors, known=known.authors)
                    walls.append(time.perf_counter() - start)
                    cpus.append(time.process_time() - cpu)
                    scores.append(result.accuracy)
                print(
                    f"{name:12} {similarity.value:11} {attack.weighting.value:12} "
                    f"{np.mean(scores):.3f} ({min(scores):.3f})     {floor:.2f}   "
                    f"{result.unknown:>4} x {result.authors:<10} "
                    f"{min(walls):6.2f} {min(cpus):6.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
