"""The static attacks that know the channel beside each other, on texts that judge no strength.

    INKBLUR_DATA=... python tools/bundled/likelihoods.py measure results.jsonl --workers 4
    python tools/bundled/likelihoods.py show results.jsonl

Training parts only: of C50 12 known and 8 attacked texts of every second author ("even" chose the
constant of `likelihood-texts`, "odd" did not), of english-novels one novel known and one attacked.
Beside single texts stand two and five texts that are known to be by one hand. `svm-undone` takes
minutes a setting: `--attacks svm-undone --parts "C50, even" --epsilons 4` measures it.
"""

from __future__ import annotations

import argparse
from typing import Any

import kept_lines  # before NumPy
import numpy as np

import inkblur
from inkblur.evaluation.attacks.base import ScoringAttack
from inkblur.evaluation.attacks.catalogue import CHANNEL_ATTACKS
from inkblur.evaluation.attacks.channel import channel_of
from inkblur.evaluation.attacks.entering import entering
from inkblur.types import Record
from reproduction.corpora import Corpus, english_novels, reuters_c50

SEED = 20_261_118
TOGETHER = (1, 2, 5)
PARTS = {"C50, even": 0, "C50, odd": 1, "novels": None}
EPSILONS = (2.5, 4.0, 8.0)  # of the staircase
USUAL = ("likelihood", "likelihood-texts")
Job = tuple[str, float, str]  # part, epsilon, attack


def texts(part: str) -> tuple[Corpus, Corpus]:
    """Known and attacked texts."""
    parity = PARTS[part]
    whole = english_novels().train if parity is None else reuters_c50().train
    assert whole.authors is not None
    known, attacked = (15, 30) if parity is None else (12, 20)
    rows: tuple[list[int], list[int]] = ([], [])
    seen: dict[int, int] = {}
    for row, author in enumerate(whole.authors.tolist()):
        seen[author] = seen.get(author, 0) + 1
        if seen[author] <= attacked and (parity is None or author % 2 == parity):
            rows[seen[author] > known].append(row)
    return whole.rows(rows[0]), whole.rows(rows[1])


def measured(job: Job) -> dict[str, Any]:
    """Shares named by the attack, of single texts and of several together."""
    part, epsilon, name = job
    table = inkblur.load_embedding()
    known, attacked = texts(part)
    rng = inkblur.seeded_rng(SEED).child(part, f"{epsilon:g}")
    blur = inkblur.ReleaseSpec("staircase", epsilon).privatizer(table)
    records = [Record(str(row), text) for row, text in enumerate(attacked.texts)]
    out = blur.release_batch(records, rng.child("released")).texts
    channel = channel_of(blur.mechanism, rng.child("channel"))
    assert known.authors is not None
    assert attacked.authors is not None
    attack = CHANNEL_ATTACKS[name](channel, table, entering(blur), 1, False)
    assert isinstance(attack, ScoringAttack)
    attack.fit(known.texts, known.authors)
    scores = attack.scores(out)
    truth = np.searchsorted(attack.suspects, attacked.authors)
    shares = []
    for several in TOGETHER:
        hits = []
        for author in np.unique(truth):
            own = scores[truth == author]
            for start in range(0, len(own) - several + 1, several):
                hits.append(own[start : start + several].sum(axis=0).argmax() == author)
        shares.append(float(np.mean(hits)))
    return {"texts": len(out), "named": shares}


def measure(options: argparse.Namespace) -> None:
    """Measure what is missing."""
    jobs = [
        (part, epsilon, attack)
        for epsilon in options.epsilons
        for part in options.parts
        for attack in options.attacks
    ]
    kept_lines.measure(options.results, jobs, options.workers, measured)


def show(options: argparse.Namespace) -> None:
    """A line for each collection, epsilon and attack."""
    for line in kept_lines.lines(options.results):
        print(*line["job"], line["texts"], "texts; 1, 2, 5 together:", line["named"])


def main() -> None:
    """Parse and run."""
    command, first = kept_lines.command(__doc__, measure, show=show)
    first.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS)
    first.add_argument("--epsilons", nargs="+", type=float, default=list(EPSILONS))
    first.add_argument("--attacks", nargs="+", default=list(USUAL), choices=CHANNEL_ATTACKS)
    kept_lines.run(command)


if __name__ == "__main__":
    main()
