"""Which base reads best at the frequency base's content cosine?

    INKBLUR_DATA=... python benchmarks/fluent_search.py OUT.jsonl --deltas .1,.4 --fits 0,.015

tries every delta and fit with every factor of the frequency base's tau, on sentences of every
second test text, which `benchmarks/fluent.py` does not judge. One JSON object a trial: content
words' cosine, and the ratio of perplexities by trigrams, means over three collections.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import inkblur
from benchmarks.fluency_judges import trigram_logs
from benchmarks.fluent import (
    COLLECTIONS,
    SETTINGS,
    Setting,
    cosines,
    drawn,
    perplexity,
    searched_sentences,
)
from inkblur.evaluation import Ids, Trigrams, entering_ids, unigram


class Searched:
    """The sentences that are searched on, collection by collection, and their judge."""

    def __init__(self, table: inkblur.Embedding, count: int) -> None:
        splits = {name: load() for name, load in COLLECTIONS.items()}
        public = [entering_ids(text, table) for s in splits.values() for text in s.train.texts]
        self.table, self.trigrams = table, Trigrams(public, unigram(table, public))
        self.before: list[Ids] = []
        self.parts: list[slice] = []
        for split in splits.values():
            texts = searched_sentences(split.test.texts, count)
            self.parts.append(slice(len(self.before), len(self.before) + len(texts)))
            self.before += [entering_ids(text, table) for text in texts]

    def figures(self, setting: Setting) -> dict[str, float]:
        """Means over collections, of perplexities the geometric one."""
        after = drawn(setting.mechanism(self.table), self.before, 1)
        return {
            "cosine": self._mean(after, content=True),
            "cosine_all_words": self._mean(after, content=False),
            "perplexity": float(np.exp(np.mean([self._log(after[part]) for part in self.parts]))),
        }

    def _mean(self, after: Sequence[Ids], *, content: bool) -> float:
        return float(
            np.mean(
                [
                    cosines(self.table, self.before[part], after[part], content=content)
                    for part in self.parts
                ]
            )
        )

    def _log(self, after: Sequence[Ids]) -> float:
        return float(np.log(perplexity([trigram_logs(self.trigrams, text) for text in after])))


def _numbers(listed: str) -> list[float]:
    return [float(number) for number in listed.split(",")]


def main() -> None:
    """Try, and write as it goes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--model", default="", help="a causal model's folder or .gguf file")
    parser.add_argument("--deltas", default="0.1,0.2,0.4,0.6")
    parser.add_argument("--fits", default="0,0.01,0.015,0.02")
    parser.add_argument("--factors", default="0.5,1,1.5", help="of the frequency base's tau")
    parser.add_argument("--epsilons", default="8,6.5,5")
    parser.add_argument("--sentences", type=int, default=100, help="of each collection")
    options = parser.parse_args()
    searched = Searched(inkblur.load_embedding(), options.sentences)
    with options.output.open("a", encoding="utf-8") as stream:

        def write(setting: Setting, body: dict[str, Any]) -> None:
            line = json.dumps({**setting.facts(), **body})
            print(line, flush=True)
            stream.write(line + "\n")
            stream.flush()

        for epsilon, tau in SETTINGS:
            if epsilon not in _numbers(options.epsilons):
                continue
            plain = Setting("frequency", epsilon, tau)
            reference = searched.figures(plain)
            write(plain, reference)
            for delta, fit, factor in product(
                _numbers(options.deltas), _numbers(options.fits), _numbers(options.factors)
            ):
                tried = Setting("lm", epsilon, tau * factor, options.model, (delta, fit))
                found = searched.figures(tried)
                ratio = found["perplexity"] / reference["perplexity"]
                lost = reference["cosine"] - found["cosine"]
                write(tried, {**found, "ratio": ratio, "cosine_lost": lost})


if __name__ == "__main__":
    main()
