"""Mahalanobis paper, Appendix A, Table 5: sparse and dense words of the two collections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from inkblur import Embedding
from inkblur.evaluation import known_id, tokenize
from reproduction.arrays import Array
from reproduction.context import Context
from reproduction.datasets import collection_words
from reproduction.estimate import Estimate
from reproduction.result import Claim, Outcome, Reading

TABLE = "Table 5"
EXTREMES = 50  # the paper's number of sparsest and densest words
_BLOCK = 1024  # words whose distances to the vocabulary are held at a time
# d_max / d_min, d_:50 / d_-50:, p_:50 (share of records)
PUBLISHED = {"tweets": (35.28, 4.47, 0.001), "SMS": (8.92, 5.67, 0.004)}
MEASURES = ("d_max / d_min", "d_:50 / d_-50:", "p_:50")


def run(work: Context) -> Outcome:
    """The vectors of each collection's own words, in GloVe and in Google News word2vec."""
    readings, ratios = [], []
    for vectors in ("glove", "word2vec"):
        for data in ("tweets", "SMS"):
            found = work.step(f"{vectors}, {data}", _density, work, vectors, data)
            where = {"vectors": vectors, "data": data, "words": found["vocabulary"]}
            values = (found["extreme_ratio"], found["mean_ratio"], found["mean_share"])
            for measure, value, paper in zip(MEASURES, values, PUBLISHED[data], strict=True):
                if value is not None:
                    readings.append(Reading(TABLE, where, measure, Estimate.exact(value), paper))
            ratios.append(found["mean_ratio"])
    notes = (
        "The vocabulary is a collection's words that have a vector; the word2vec file at hand "
        "holds 7,895 words only, so its vocabularies are small.",
        "The paper's prose and table disagree on which extremes d_max and d_min are; here d_max "
        "belongs to the sparsest word and d_min to the densest.",
        "Everything is computed from all words of a vocabulary, so there are no intervals. A ratio "
        "that is infinite, because dense words share their vectors, is left out.",
    )
    return Outcome(tuple(readings), claims(ratios), notes=notes)


def claims(ratios: Sequence[float | None]) -> tuple[Claim, ...]:
    """About the mean ratio of each vocabulary; one without it says nothing either way."""
    known = [ratio for ratio in ratios if ratio is not None]
    if not known:
        return ()
    claim = Claim(
        "uneven-density",
        "Words in sparse regions are several times as far from their neighbors as words in dense "
        "ones.",
        "Mahalanobis paper, section 1 and Appendix A",
        f"smallest d_:50 / d_-50: of the {len(known)} vocabularies that have one (computed, not "
        "sampled). Threshold ours: 'several' is at least twice; the paper prints 4.47 and 5.67",
        Estimate.exact(min(known)),
        2.0,
    )
    return (claim,)


def _density(work: Context, vectors: str, data: str) -> dict[str, Any]:
    corpus = work.datasets.tweets if data == "tweets" else work.datasets.sms
    table = work.datasets.glove if vectors == "glove" else work.datasets.word2vec
    words = collection_words(corpus.texts)
    return density(table.restricted([w for w in words if w in table], origin=data), corpus.texts)


def density(table: Embedding, texts: Sequence[str], extremes: int = EXTREMES) -> dict[str, Any]:
    """Table 5 for one vocabulary. A word's d is the distance to the nearest *other* word: largest
    for the sparsest words. A ratio to words that share a vector, d = 0, is None.
    """
    distances = nearest_distances(table)
    order = np.argsort(distances, kind="stable")
    dense, sparse = distances[order[:extremes]], distances[order[::-1][:extremes]]
    holders = dict.fromkeys(order[::-1][:extremes].tolist(), 0)
    for text in texts:
        for word in {known_id(table, token.text) for token in tokenize(text)} & holders.keys():
            holders[word] += 1

    def ratio(large: float, small: float) -> float | None:
        return float(large / small) if small > 0 else None

    return {
        "vocabulary": len(table),
        "extreme_ratio": ratio(sparse[0], dense[0]),
        "mean_ratio": ratio(sparse.mean(), dense.mean()),
        "mean_share": sum(holders.values()) / (len(texts) * len(holders)),
    }


def nearest_distances(embedding: Embedding) -> Array:
    """Euclidean distance of every word to the nearest other word, (words,).

    The engine's search would find each word itself. Float64 products rank the others here; the
    winner's distance comes from the difference, because products lose the digits of a small one.
    """
    vectors = embedding.vectors.astype(np.float64) - embedding.null_vector
    halves = np.einsum("ij,ij->i", vectors, vectors) / 2
    distances = np.empty(len(vectors))
    for start in range(0, len(vectors), _BLOCK):
        block = vectors[start : start + _BLOCK]
        scores = block @ vectors.T
        scores -= halves  # larger is nearer: |a - b|^2 = |a|^2 - 2 score
        rows = np.arange(len(block))
        scores[rows, start + rows] = -np.inf
        nearest = np.argmax(scores, axis=1)
        gaps = embedding.vectors[start : start + _BLOCK].astype(np.float64)
        gaps -= embedding.vectors[nearest]
        distances[start : start + _BLOCK] = np.linalg.norm(gaps, axis=1)
    return distances
