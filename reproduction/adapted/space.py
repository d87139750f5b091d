"""The two metrics that are compared: word vectors alone, and adapted to a label."""

from __future__ import annotations

from inkblur import Embedding, adapt_embedding
from reproduction.context import Context
from reproduction.corpora import Corpus

PLAIN, ADAPTED = "word vectors", "adapted"
WORDS = 30_000  # the most frequent words of GloVe: what comes in and what can come out
ALPHA, BETA, SMOOTHING = (
    0.1,
    3.0,
    10.0,
)  # chosen on C50 and 20 Newsgroups: see benchmarks/adapted_metric.py


def plain(work: Context, words: int = WORDS) -> Embedding:
    """GloVe's most frequent words."""
    return work.datasets.glove.first(work.size(words, 1_000))


def adapted(work: Context, corpus: Corpus, label: str, words: int = WORDS) -> Embedding:
    """The same, adapted by the profiles that a labeled collection teaches."""
    return adapt_embedding(
        plain(work, words),
        corpus.texts,
        {label: corpus.labels or ()},
        alpha=ALPHA,
        beta=BETA,
        smoothing=SMOOTHING,
    )
