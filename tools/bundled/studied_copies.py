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
    percentile_interval,
    resample_counts,
)
from inkblur.evaluation.results import ADAPTIVE
from inkblur.evaluation.risk import (
    Attempt,
    AuthorTexts,
    Scores,
    adaptive_scores,
    answers,
    released_texts,
    static_scores,
    strongest,
)

SEED = 20_261_116
COPIES = (1, 2, 4)
KNOWN = (50, 10)  # texts an author
EPSILONS = (3.5, 8.0)  # of the staircase
Job = tuple[float, int]  # epsilon, known texts


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
    """Every attack, by the number of copies studied."""
    epsilon, known = job
    table = inkblur.load_embedding()
    blur = inkblur.ReleaseSpec("staircase", epsilon).privatizer(table)
    texts = first_known(author_texts("c50"), known)
    halves = texts.halves()
    found: dict[int, list[Scores]] = {copies: [] for copies in COPIES}
    for number, half in enumerate(halves):
        rng = inkblur.seeded_rng(SEED).child(f"{epsilon:g}", str(known), str(number))
        released = released_texts(half.attacked, blur, rng.child("attacked"))
        static = static_scores(half, released, blur, table, rng, 1)
        for copies in COPIES:
            adaptive = adaptive_scores(half, released, blur, rng, 1, copies)
            found[copies].append(static | adaptive)
    return {
        str(copies): [each.to_json() for each in answers(halves, scores, [None])]
        for copies, scores in found.items()
    }


def measure(options: argparse.Namespace) -> None:
    """Measure what is missing."""
    jobs = [(epsilon, known) for known in options.known for epsilon in options.epsilons]
    kept_lines.measure(options.results, jobs, options.workers, measured)


def show(options: argparse.Namespace) -> None:
    """By half: the strongest attack, then the strongest adaptive SVM; what copies add to each."""
    for line in kept_lines.lines(options.results):
        epsilon, known = line["job"]
        for half in (0, 1):
            for copies in COPIES:
                cells = [f"staircase {epsilon:g}, {known} known, half {half}, {copies} copies"]
                for adaptive in (False, True):
                    one, more = (
                        [
                            Attempt.from_json(each)
                            for each in line[str(count)]
                            if each["half"] == half and adaptive <= (each["kind"] == ADAPTIVE)
                        ]
                        for count in (1, copies)
                    )
                    best = strongest(more)
                    span = f"{best.risk:.3f} ({best.low:.3f} to {best.high:.3f})"
                    cells += [f"{best.attack} {best.kind} {span}", f"more by {gain(more, one)}"]
                print("|", " | ".join(cells), "|")


def gain(more: list[Attempt], one: list[Attempt]) -> str:
    """By how much the strongest of `more` names more than that of `one`, over the same authors."""
    best = [max((each.by_author for each in tried), key=np.mean) for tried in (more, one)]
    shares = best[0] - best[1]
    times = resample_counts(10_000, len(shares), inkblur.seeded_rng(1))
    low, high = percentile_interval(times @ shares / len(shares), units=len(shares))
    return f"{shares.mean():+.3f} ({low:+.3f} to {high:+.3f})"


def main() -> None:
    """Parse and run."""
    command, first = kept_lines.command(__doc__, measure, show=show)
    first.add_argument("--known", nargs="+", type=int, default=list(KNOWN))
    first.add_argument("--epsilons", nargs="+", type=float, default=list(EPSILONS))
    kept_lines.run(command)


if __name__ == "__main__":
    main()
