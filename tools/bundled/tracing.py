"""How often a released text is traced to its original, for every strength of the bundled table.

    INKBLUR_DATA=... python tools/bundled/tracing.py measure tracing.jsonl --workers 16
    python tools/bundled/tracing.py show tracing.jsonl

100 texts of C50, two an author; the attacker holds all originals, knows the channel, and sees the
first 5, 10, 25, 50 or 100 words of one release.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import kept_lines  # before NumPy
import numpy as np

import inkblur
from inkblur.evaluation.attacks.channel import channel_of
from inkblur.evaluation.attacks.singling_out import single_out_by_channel
from inkblur.evaluation.measures.bootstrap import share_over_texts
from inkblur.mechanisms import CATALOGUE
from inkblur.mechanisms.strengths import measured_strengths
from reproduction.corpora import reuters_c50

SEED = 20_261_117
WORDS = (5, 10, 25, 50, 100)
Job = tuple[str, float, str]  # mechanism, epsilon, strength


def jobs(mechanisms: Sequence[str]) -> list[Job]:
    """Every strength that these mechanisms have."""
    table = inkblur.load_embedding()
    return [
        (name, found.epsilon, strength.value)
        for name in mechanisms
        for strength, found in measured_strengths(name, table).items()
    ]


def measured(job: Job) -> dict[str, Any]:
    """Shares of the texts that are traced, by the number of words seen."""
    name, epsilon, _ = job
    table = inkblur.load_embedding()
    blur = inkblur.ReleaseSpec(name, epsilon).privatizer(table)
    mechanism = blur.mechanism
    rng = inkblur.seeded_rng(SEED).child(name, f"{epsilon:g}")
    texts = reuters_c50().test.first_of_each_author(2).texts
    truth = [blur.ids(text)[: max(WORDS)] for text in texts]
    drawn = mechanism.replace(np.concatenate(truth), rng.child("drawn"))
    outs = np.split(drawn, np.cumsum([len(ids) for ids in truth])[:-1])
    channel = channel_of(mechanism, rng.child("channel"))
    traced = {}
    for words in WORDS:
        hits = single_out_by_channel(channel, truth, [out[:words] for out in outs])
        share = share_over_texts(
            hits.astype(np.int64), np.ones(len(hits), np.int64), confidence=0.95, seed=SEED
        )
        assert share is not None
        traced[words] = (share.mean, share.low, share.high)
    return {"texts": len(texts), "traced": traced}


def measure(options: argparse.Namespace) -> None:
    """Measure what is missing."""
    kept_lines.measure(options.results, jobs(options.mechanisms), options.workers, measured)


def show(options: argparse.Namespace) -> None:
    """The table of docs/evaluation.md."""
    print("| release |", " | ".join(f"{words} words" for words in WORDS), "|")
    print("|---|" + "---:|" * len(WORDS))
    for line in kept_lines.lines(options.results):
        name, epsilon, strength = line["job"]
        cells = [
            f"{mean:.0%} ({low:.0%} to {high:.0%})" for mean, low, high in line["traced"].values()
        ]
        print(f"| {name} {epsilon:g} ({strength}) |", " | ".join(cells), "|")


def main() -> None:
    """Parse and run."""
    command, first = kept_lines.command(__doc__, measure, show=show)
    first.add_argument("--mechanisms", nargs="+", default=list(CATALOGUE), choices=CATALOGUE)
    kept_lines.run(command)


if __name__ == "__main__":
    main()
