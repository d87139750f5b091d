"""Which base reads best at the frequency base's content cosine? Searched, and chosen by a rule.

    INKBLUR_DATA=... python benchmarks/fluent_search.py first.jsonl --seconds 200 --sentences 64
    python benchmarks/fluent_search.py --rank first.jsonl --best 8 --output best.json
    INKBLUR_DATA=... python benchmarks/fluent_search.py second.jsonl --shapes best.json \\
        --sentences 200 --seed 2
    python benchmarks/fluent_search.py --rank second.jsonl --output choice.json

The first command tries shapes (delta, fit, trust, prompt) in a fixed random order until its time is
over, each with four taus at each epsilon; `--part 1/4` takes every fourth, to run four side by
side. The third command tries the best ones again, on more sentences and with other random numbers.

All sentences are of every second test text; `benchmarks/fluent.py` judges on the others. The rule:
at each epsilon, a shape's loss is the smallest over tau of

    log(perplexity / that of the frequency base) + 40 max(0, missing cosine),

perplexities by trigrams and content words' cosines being means over three collections. Cosine is
missing below the frequency base's + 0.005; between two taus that were tried everything is taken to
be linear in log tau. The shape with the smallest mean loss over the three epsilons is chosen.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np

import inkblur
from benchmarks.fluency_judges import trigram_logs
from benchmarks.fluent_data import (
    COLLECTIONS,
    TAUS,
    Choice,
    Setting,
    Shape,
    cosines,
    drawn,
    perplexity,
    searched_sentences,
)
from inkblur.evaluation import Ids, Trigrams, entering_ids, unigram

DELTAS = (0.02, 0.05, 0.1, 0.2, 0.4)
FITS = (0.005, 0.01, 0.015, 0.02, 0.03)
TRUSTS = (0.35, 0.5, 0.65, 0.8, 1.0)
STORY = (
    "The old man had lived there for years. Nobody knew what he wanted, and he never said. It was "
    "late when the others came back from the city."
)
REPORT = (
    "The company said on Monday that it would sell part of its business. Officials in the capital "
    "did not comment on the report."
)
PROMPTS = ("", STORY, f"{REPORT} {STORY}")
FACTORS = (0.35, 0.7, 1.2, 2.0)  # of the frequency base's tau
MARGIN = 0.005  # of cosine
PENALTY = 40.0  # for each unit of missing cosine


def all_shapes() -> list[Shape]:
    """Every combination, in a fixed random order."""
    found = [Shape(*each) for each in product(DELTAS, FITS, TRUSTS, PROMPTS)]
    random.Random(19).shuffle(found)
    return found


class Searched:
    """The sentences that are searched on, collection by collection, and their judge."""

    def __init__(self, table: inkblur.Embedding, count: int, seed: int) -> None:
        splits = {name: load() for name, load in COLLECTIONS.items()}
        public = [entering_ids(text, table) for s in splits.values() for text in s.train.texts]
        self.table, self.trigrams = table, Trigrams(public, unigram(table, public))
        self.seed = seed
        self.before: list[Ids] = []
        self.parts: list[slice] = []
        for split in splits.values():
            texts = searched_sentences(split.test.texts, count)
            self.parts.append(slice(len(self.before), len(self.before) + len(texts)))
            self.before += [entering_ids(text, table) for text in texts]

    def figures(self, setting: Setting) -> dict[str, float]:
        """Means over collections."""
        after = drawn(setting.mechanism(self.table), self.before, self.seed)
        pairs = [(self.before[part], after[part]) for part in self.parts]
        logs = [
            math.log(perplexity([trigram_logs(self.trigrams, text) for text in out]))
            for _, out in pairs
        ]
        return {
            "cosine": float(np.mean([cosines(self.table, *pair) for pair in pairs])),
            "log_perplexity": float(np.mean(logs)),
        }


def best_tau(points: Sequence[tuple[float, float, float]], target: float) -> tuple[float, float]:
    """The smallest loss and its tau, from (tau, cosine, log ratio), linear in log tau between.

    >>> points = [(0.001, 0.4, -0.5), (0.004, 0.3, -1.5)]
    >>> loss, tau = best_tau(points, 0.35)
    >>> round(loss, 3), round(tau, 5)
    (-1.0, 0.002)
    """
    taus, cosine, ratio = (np.array(each) for each in zip(*sorted(points), strict=True))
    logs = np.log(taus)
    fine = np.concatenate([np.linspace(a, b, 41) for a, b in pairwise(logs)])
    missing = np.maximum(0.0, target - np.interp(fine, logs, cosine))
    losses = np.interp(fine, logs, ratio) + PENALTY * missing
    best = int(losses.argmin())
    return float(losses[best]), float(np.exp(fine[best]))


def ranked(lines: Iterable[dict[str, Any]]) -> list[tuple[float, Choice]]:
    """Mean losses of shapes that were tried at every epsilon, smallest first, with their taus."""
    reference: dict[float, dict[str, float]] = {}
    tried: defaultdict[Shape, defaultdict[float, list[dict[str, float]]]]
    tried = defaultdict(lambda: defaultdict(list))
    for line in lines:
        if line["base"] == "frequency":
            reference[line["epsilon"]] = line
        else:
            tried[Shape(**line["shape"])][line["epsilon"]].append(line)
    out = []
    for shape, by_epsilon in tried.items():
        if any(len(by_epsilon[epsilon]) < len(FACTORS) for epsilon in TAUS):
            continue
        losses, taus = [], {}
        for epsilon in TAUS:
            plain = reference[epsilon]
            points = [
                (each["tau"], each["cosine"], each["log_perplexity"] - plain["log_perplexity"])
                for each in by_epsilon[epsilon]
            ]
            loss, tau = best_tau(points, plain["cosine"] + MARGIN)
            losses.append(loss)
            taus[epsilon] = float(f"{tau:.2g}")
        out.append((float(np.mean(losses)), Choice(shape, taus)))
    return sorted(out, key=lambda each: each[0])


def search(options: argparse.Namespace) -> None:
    """Try, and write as it goes."""
    began = time.monotonic()
    searched = Searched(inkblur.load_embedding(), options.sentences, options.seed)
    if options.shapes:
        shapes = [Shape(**each) for each in json.loads(options.shapes.read_text("utf-8"))]
    else:
        shapes = all_shapes()
    first, every = map(int, options.part.split("/"))
    with options.trials.open("a", encoding="utf-8") as stream:

        def write(setting: Setting) -> None:
            line = json.dumps({**setting.facts(), **searched.figures(setting)})
            stream.write(line + "\n")
            stream.flush()

        for epsilon, tau in TAUS.items():
            write(Setting(epsilon, tau))
        for shape in shapes[first::every]:
            if time.monotonic() - began > options.seconds:
                break
            for (epsilon, tau), factor in product(TAUS.items(), FACTORS):
                write(Setting(epsilon, tau * factor, shape, options.model))


def choose(options: argparse.Namespace) -> None:
    """Apply the rule to what was tried."""
    lines = [json.loads(line) for path in options.rank for line in path.open(encoding="utf-8")]
    found = ranked(lines)
    for loss, choice in found[: options.best]:
        print(f"{loss:.3f}", json.dumps(asdict(choice.shape)), choice.taus)
    print(f"{len(found)} shapes tried")
    if options.best > 1:
        shapes = [asdict(choice.shape) for _, choice in found[: options.best]]
        options.output.write_text(json.dumps(shapes), encoding="utf-8")
    else:
        options.output.write_text(found[0][1].written(), encoding="utf-8")


def main() -> None:
    """Parse, then search or choose."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trials", type=Path, nargs="?", help="a file for what is tried")
    parser.add_argument("--model", default="", help="a causal model's folder or .gguf file")
    parser.add_argument("--part", default="0/1", help="of the shapes: which, of how many")
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--sentences", type=int, default=64, help="of each collection")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shapes", type=Path, help="try these instead of all")
    parser.add_argument("--rank", type=Path, nargs="+", help="files of trials, to choose from")
    parser.add_argument("--best", type=int, default=1, help="how many shapes to choose")
    parser.add_argument("--output", type=Path, help="a file for what is chosen")
    options = parser.parse_args()
    if options.rank:
        choose(options)
    else:
        search(options)


if __name__ == "__main__":
    main()
