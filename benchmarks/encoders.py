"""Which encoder places texts better: means of the bundled word vectors, or a sentence transformer?

    python -m benchmarks.encoders FOLDER LEE [sms|tweets]...

FOLDER holds the transformer, such as all-MiniLM-L6-v2. LEE holds `lee.cor` and
`similarities0-1.txt`: 50 news texts of 45 to 126 words, and how alike people found each two of them
(Lee, Pincombe and Welsh 2005); gensim's package has them in gensim/test/test_data. Rank
correlations with people's judgments of those texts and of pairs of words; then, for each corpus,
70 % of it as the pool: how often the public classifier of the pool is right, cross-fitted, and how
often the nearest other text of the pool has the same label and what its mean cosine is by GloVe,
which has no part in either. Chosen on pools alone; then the label told from released texts, as in
benchmarks/pools.py. A JSON line a result.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

import inkblur
from benchmarks.pools import halves, labels, means
from reproduction.corpora import data_folder, disaster_tweets, sms_spam

CORPORA = {"sms": (sms_spam, 3), "tweets": (disaster_tweets, 2)}  # and epsilon


def shown(**values: Any) -> None:
    """Print a result."""
    print(json.dumps(values), flush=True)


def similarity(name: str, encoder: Any, lee: Path) -> None:
    """Correlations with people's judgments of words, and of texts."""
    for path in sorted((data_folder() / "word-similarity").glob("*.t*")):
        rows = [line.split("\t") for line in path.read_text("utf-8").splitlines()]
        pairs = [row for row in rows if len(row) >= 3 and _number(row[2]) is not None]
        sides = [_directions(encoder, [row[side] for row in pairs]) for side in (0, 1)]
        known = sides[0].any(axis=1) & sides[1].any(axis=1)
        judged = np.array([float(row[2]) for row in pairs])[known]
        _correlated(name, path.stem, (sides[0] * sides[1]).sum(axis=1)[known], judged)
    texts = (lee / "lee.cor").read_text("latin-1").splitlines()
    upper = np.triu_indices(len(texts), 1)
    judged = np.loadtxt(lee / "similarities0-1.txt")[upper]
    for centered in (False, True):  # as in a pool: what all texts have in common taken away
        points = _directions(encoder, texts)
        if centered:
            points -= points.mean(axis=0)
            points /= np.linalg.norm(points, axis=1, keepdims=True)
        called = "lee, centered" if centered else "lee"
        _correlated(name, called, (points @ points.T)[upper], judged)


def _directions(encoder: Any, texts: list[str]) -> Any:
    sums = encoder.sums(texts).astype(float)
    return sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)


def _correlated(name: str, pairs: str, cosines: Any, judged: Any) -> None:
    shown(
        encoder=name, pairs=pairs, known=len(judged),
        spearman=round(float(spearmanr(cosines, judged).statistic), 3),
        pearson=round(float(np.corrcoef(cosines, judged)[0, 1]), 3),
    )  # fmt: skip


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _of_words() -> Any:
    """What encodes by words, from a pool that does."""
    table = inkblur.load_embedding()
    texts = [f"the {word} of the house" for word in table.words[:100]]
    return inkblur.PoolStaircase(inkblur.build_pool(texts, table), table, epsilon=1.0).encoder


def neighbors(name: str, corpus: str, encoder: Any) -> None:
    """The public classifier, and the nearest text."""
    public, public_labels = halves(CORPORA[corpus][0](), 0.7)[0]
    began = time.process_time()
    pool = inkblur.build_pool(
        public, inkblur.load_embedding(), labels=public_labels, encoder=encoder, name=corpus
    )
    points = pool.points.astype(np.float32)
    near = points @ points.T
    np.fill_diagonal(near, -np.inf)
    nearest = near.argmax(axis=1)
    judge = means(list(pool.texts))
    shown(
        encoder=name, pool=corpus, texts=len(pool), classifier=round(pool.accuracy, 3),
        nearest_has_the_label=round(float((pool.labels[nearest] == pool.labels).mean()), 3),
        cosine_of_the_nearest=round(float((judge * judge[nearest]).sum(axis=1).mean()), 3),
        processor_seconds=round(time.process_time() - began),
    )  # fmt: skip


def main(folder: str, lee: str, chosen: list[str]) -> None:
    """Compare both encoders."""
    transformer = inkblur.TransformerEncoder(folder)
    similarity("words", _of_words(), Path(lee))
    similarity("transformer", transformer, Path(lee))
    for corpus in chosen or CORPORA:
        neighbors("words", corpus, None)
        neighbors("transformer", corpus, transformer)
    for corpus in chosen or CORPORA:
        read, epsilon = CORPORA[corpus]
        labels(corpus, halves(read(), 0.7), [(1, epsilon)], macro=True, encoder=transformer)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
