"""What should the SVM attack see of a text? Words, n-grams of characters, or both.

    INKBLUR_DATA=... python tools/bundled/views.py measure results.jsonl --workers 2
    python tools/bundled/views.py show results.jsonl

Every second author (even numbers) of C50, with 20 known and 20 attacked texts each, and of
english-novels; texts as they are and released by mahalanobis 66 (`--release`), one release.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import kept_lines  # before NumPy
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_union

import inkblur
from inkblur.evaluation.attacks.svm import LinearSvm
from inkblur.evaluation.attacks.views import SparseRows, View, Words, WordsAndNgrams
from inkblur.evaluation.measures.training import narrow
from inkblur.evaluation.measures.words import words_of
from inkblur.types import Record
from reproduction.corpora import Corpus, english_novels, reuters_c50

SEED = 20_261_116
RELEASE = ("mahalanobis", "66")
NGRAMS = 200_000  # the commonest, as in `WordsAndNgrams`


class Blocks:
    """Blocks of tf-idf weights side by side, each scaled to length 1."""

    def __init__(self, *blocks: TfidfVectorizer, weights: Sequence[float] = ()) -> None:
        self._blocks = make_union(*blocks)
        if weights:
            names = [name for name, _ in self._blocks.transformer_list]
            self._blocks.set_params(transformer_weights=dict(zip(names, weights, strict=True)))

    def fit_transform(self, texts: Sequence[str]) -> SparseRows:
        """Rows of the known texts."""
        return narrow(self._blocks.fit_transform(texts).tocsr())

    def transform(self, texts: Sequence[str]) -> SparseRows:
        """Rows of other texts."""
        return narrow(self._blocks.transform(texts).tocsr())


def words(*, logarithm: bool = True, idf: bool = True) -> TfidfVectorizer:
    """The block of `Words`."""
    return TfidfVectorizer(analyzer=words_of, sublinear_tf=logarithm, use_idf=idf, dtype=np.float32)


def ngrams(
    shortest: int, longest: int, *, logarithm: bool = True, idf: bool = True
) -> TfidfVectorizer:
    """The other block of `WordsAndNgrams`."""
    return TfidfVectorizer(
        use_idf=idf,
        analyzer="char",
        ngram_range=(shortest, longest),
        lowercase=False,
        sublinear_tf=logarithm,
        max_features=NGRAMS,
        dtype=np.float32,
    )


VIEWS: dict[str, Callable[[], View]] = {
    "words": Words,
    "words, 3-grams": lambda: WordsAndNgrams(n=3),
    "words, 4-grams": WordsAndNgrams,
    "words, 3- to 5-grams": lambda: Blocks(words(), ngrams(3, 5)),
    "words, 4-grams, plain counts": lambda: Blocks(
        words(logarithm=False), ngrams(4, 4, logarithm=False)
    ),
    "words, 4-grams, plain counts, no idf": lambda: Blocks(
        words(logarithm=False, idf=False), ngrams(4, 4, logarithm=False, idf=False)
    ),
    "words, 4-grams of half the weight": lambda: Blocks(words(), ngrams(4, 4), weights=(1.0, 0.5)),
    "4-grams": lambda: Blocks(ngrams(4, 4)),
}
COLLECTIONS = ("c50", "novels")


def even(corpus: Corpus) -> Corpus:
    """The texts of every second author."""
    assert corpus.authors is not None
    return corpus.rows(np.flatnonzero(corpus.authors % 2 == 0).tolist())


def measured(job: tuple[str, str, str]) -> dict[str, Any]:
    """Shares named of the texts as they are, and of released ones by both attackers."""
    split = reuters_c50() if job[0] == "c50" else english_novels()
    known, attacked = even(split.train), even(split.test)
    if job[0] == "c50":
        known, attacked = known.first_of_each_author(20), attacked.first_of_each_author(20)
    assert known.authors is not None
    assert attacked.authors is not None
    blur = inkblur.ReleaseSpec(job[1], float(job[2])).privatizer(inkblur.load_embedding())

    def released(corpus: Corpus, part: str) -> tuple[str, ...]:
        records = [Record(str(row), text) for row, text in enumerate(corpus.texts)]
        return blur.release_batch(records, inkblur.seeded_rng(SEED).child(job[0], part)).texts

    studied, out = released(known, "known"), released(attacked, "attacked")
    named = {}
    for name, view in VIEWS.items():
        static = LinearSvm(seed=1, view=view()).fit(known.texts, known.authors)
        adaptive = LinearSvm(seed=1, view=view()).fit(studied, known.authors)
        named[name] = [
            float(np.mean(attack.predict(texts) == attacked.authors))
            for attack, texts in ((static, attacked.texts), (static, out), (adaptive, out))
        ]
    return {"texts": len(out), "named": named}


def measure(options: argparse.Namespace) -> None:
    """Measure what is missing."""
    jobs = [(collection, *options.release) for collection in options.collections]
    kept_lines.measure(options.results, jobs, options.workers, measured)


def show(options: argparse.Namespace) -> None:
    """A table for each collection."""
    for line in kept_lines.lines(options.results):
        print("|", *line["job"], f"{line['texts']} texts | untouched | static | adaptive |")
        for view, shares in line["named"].items():
            print(f"| {view} |", " | ".join(f"{share:.3f}" for share in shares), "|")


def main() -> None:
    """Parse and run."""
    command, first = kept_lines.command(__doc__, measure, show=show)
    first.add_argument("--collections", nargs="+", default=list(COLLECTIONS), choices=COLLECTIONS)
    first.add_argument("--release", nargs=2, default=RELEASE, metavar=("MECHANISM", "EPSILON"))
    kept_lines.run(command)


if __name__ == "__main__":
    main()
