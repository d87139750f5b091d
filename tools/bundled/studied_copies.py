"""Does an adaptive attacker gain by studying several releases of each known text?

    INKBLUR_DATA=... python tools/bundled/studied_copies.py measure results.jsonl --workers 2
    python tools/bundled/studied_copies.py show results.jsonl

The mechanism is public, so an attacker can release the texts that they know as often as they like.
C50 as `strengths.py` attacks it (two halves of 25 authors, ten attacked texts each), with all 50 or
the first ten of each author's texts known, at two epsilons of the staircase. The release that is
attacked and the first copy studied are the same whatever the number of copies.
"""

from __future__ import annotations

import argparse
from typing import Any

import kept_lines  # before NumPy
import numpy as np
from strengths import author_texts

import inkblur
from inkblur.evaluation.measures.bootstrap import (
    expanded_confidence,
    percentile_interval,
    resample_counts,
)
from inkblur.evaluation.results import ADAPTIVE
from inkblur.evaluation.risk import Attempt, AuthorTexts, attempts, strongest

SEED = 20_261_116
COPIES = (1, 2, 4)
KNOWN = (50, 10)  # texts an author
EPSILONS = (3.5, 8.0)  # of the staircase
Job = tuple[float, int, int]  # epsilon, known texts, copies


def first_known(texts: AuthorTexts, count: int) -> AuthorTexts:
    """The same with the first `count` known texts of each author."""
    rows = np.sort(
        np.concatenate(
            [np.flatnonzero(texts.known_authors == author)[:count] for author in texts.suspects]
        )
    )
    known = tuple(texts.known[row] for row in rows.tolist())
    return AuthorTexts(known, texts.known_authors[rows], texts.attacked, texts.attacked_authors)


def measured(job: Job) -> dict[str, Any]:
    """Every attack, with so many copies studied."""
    epsilon, known, copies = job
    table = inkblur.load_embedding()
    blur = inkblur.ReleaseSpec("staircase", epsilon).privatizer(table)
    texts = first_known(author_texts("c50"), known)
    rng = inkblur.seeded_rng(SEED).child(f"{epsilon:g}", str(known))
    tried = attempts(texts, blur, table, rng, studied=known * copies)
    return {"attempts": [each.to_json() for each in tried]}


def measure(options: argparse.Namespace) -> None:
    """Measure what is missing."""
    jobs = [(eps, known, copies) for known in KNOWN for eps in EPSILONS for copies in COPIES]
    kept_lines.measure(options.results, jobs, options.workers, measured)


def show(options: argparse.Namespace) -> None:
    """By half: the strongest attack and the strongest adaptive one; what copies add to each."""
    found: dict[Job, list[Attempt]] = {}
    for line in kept_lines.lines(options.results):
        found[tuple(line["job"])] = [Attempt.from_json(each) for each in line["attempts"]]
    for (epsilon, known, copies), tried in sorted(found.items()):
        for half in (0, 1):
            cells = [f"staircase {epsilon:g}", f"{known} known", f"{copies} copies", f"half {half}"]
            for kinds in ({ADAPTIVE, "both", "static"}, {ADAPTIVE}):
                own = _of(tried, half, kinds)
                best = strongest(own)
                span = f"{best.risk:.3f} ({best.low:.2f} to {best.high:.2f})"
                cells.append(f"{best.attack} {best.kind} {span}")
                one = found.get((epsilon, known, 1))
                if copies > 1 and one is not None:
                    cells.append("gain " + gain(own, _of(one, half, kinds)))
            print("|", " | ".join(cells), "|")


def _of(tried: list[Attempt], half: int, kinds: set[str]) -> list[Attempt]:
    return [each for each in tried if each.half == half and each.kind in kinds]


def gain(more: list[Attempt], one: list[Attempt]) -> str:
    """By how much the strongest of `more` names more than that of `one`, over the same authors."""
    best = [max((each.by_author for each in tried), key=np.mean) for tried in (more, one)]
    shares = best[0] - best[1]
    times = resample_counts(10_000, len(shares), inkblur.seeded_rng(1))
    level = expanded_confidence(0.95, len(shares))
    low, high = percentile_interval(times @ shares / len(shares), level)
    return f"{shares.mean():+.3f} ({low:+.3f} to {high:+.3f})"


def main() -> None:
    """Parse and run."""
    command, _ = kept_lines.command(__doc__, measure, show=show)
    kept_lines.run(command)


if __name__ == "__main__":
    main()
