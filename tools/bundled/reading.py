"""What can be read of a release, for every mechanism at every strength of the bundled table.

    INKBLUR_DATA=... python tools/bundled/reading.py measure reading.jsonl --workers 16
    python tools/bundled/reading.py show reading.jsonl

60 texts of C50 are released; the reader knows the channel and how common words are (unigram), and
in a second reading which words follow which (trigrams), both from the training texts of C50, which
are public here. Each (mechanism, epsilon) is a line of the file; lines that are there already are
not measured again.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import Any

import kept_lines  # before NumPy
import numpy as np
from strengths import COMPARED

import inkblur
from inkblur.evaluation.attacks.channel import channel_of
from inkblur.evaluation.attacks.entering import entering_ids, unigram
from inkblur.evaluation.attacks.reading import (
    Reader,
    Trigrams,
    guessed,
    recovered,
    true_words,
    unchanged,
)
from inkblur.mechanisms.strengths import measured_strengths
from reproduction.corpora import reuters_c50

TEXTS = 60
SEED = 20_261_116
# What people try beyond the strengths; of component-laplace nothing.
BEYOND = {"staircase": (8.0,), "mahalanobis": (82.0,), "exponential": (22.9,), "laplace": (75.0,),
          "component-laplace": ()}  # fmt: skip
Job = tuple[str, float]


def measured(job: Job) -> dict[str, Any]:
    """One line of the file."""
    name, epsilon = job
    table = inkblur.load_embedding()
    split = reuters_c50()
    blur = inkblur.ReleaseSpec(name, epsilon).privatizer(table)
    mechanism = blur.mechanism
    rng = inkblur.seeded_rng(SEED).child(name, f"{epsilon:g}")
    rows = range(0, len(split.test.texts), len(split.test.texts) // TEXTS)
    texts = [split.test.texts[row] for row in rows][:TEXTS]
    truth = [true_words(text, blur) for text in texts]
    ids = np.concatenate([words.ids for words in truth])
    outs = mechanism.replace(ids, rng.child("read"))
    shown = np.split(outs, np.cumsum([len(words.ids) for words in truth])[:-1])
    public = [entering_ids(text, table) for text in split.train.texts[::2]]
    prior = unigram(table, public)
    reader = Reader(channel_of(mechanism, rng.child("channel")), prior)
    candidates = reader.candidates([each[:, None] for each in shown])
    readers = {}
    for kind, model in (("unigram", None), ("trigram", Trigrams(public, prior))):
        said = [guessed(found, model) for found in candidates]
        shares = recovered(truth, said, confidence=0.95, seed=1)
        readers[kind] = {name: share and asdict(share) for name, share in shares.items()}
    return {
        "as_it_stands": unchanged(truth, shown),
        "table": table.sha256,
        "parameters": dict(mechanism.parameters),
        "channel_error": reader.channel.error,
        "readers": readers,
    }


def measure(options: argparse.Namespace) -> None:
    """Measure what is missing."""
    strengths = measured_strengths("staircase", inkblur.load_embedding())
    compared = {**COMPARED, "staircase": tuple(each.epsilon for each in strengths.values())}
    jobs = [
        (name, epsilon)
        for name in options.mechanisms
        for epsilon in (*BEYOND[name], *compared[name])
    ]
    kept_lines.measure(options.results, jobs, options.workers, measured)


def show(options: argparse.Namespace) -> None:
    """The table of docs/evaluation.md."""
    found = kept_lines.lines(options.results)
    for line in sorted(found, key=lambda line: (line["job"][0], -line["job"][1])):
        for kind, read in line["readers"].items():
            print(line["job"], kind, json.dumps(read), line["channel_error"])


def main() -> None:
    """Parse and run."""
    command, first = kept_lines.command(__doc__, measure, show=show)
    first.add_argument("--mechanisms", nargs="+", default=list(BEYOND), choices=BEYOND)
    kept_lines.run(command)


if __name__ == "__main__":
    main()
