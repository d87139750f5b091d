"""Where to look: two words whose loss stands out, and the event that tells inputs apart best."""

from __future__ import annotations

import itertools

import numpy as np

from inkblur.evaluation.audit.claimed_metric import ClaimedMetric, word_bounds
from inkblur.evaluation.measures.intervals import log_ratio_lower
from inkblur.mechanisms.base import WordMechanism
from inkblur.rng import Rng
from inkblur.types import Array, Ids, Metric

_SMALL = 32  # vocabularies up to this size are searched pair by pair
_WORDS = 12  # sampled from larger ones
LOOKS = 2_000  # draws of each word that is tried
_BLOCK = 4096  # vocabulary words compared at a time
_ALPHA = 0.05  # only ranks pairs; no confidence is claimed from it
_MOST_THRESHOLDS = 1_000  # tried; more change nothing but the time


def likely_pair(mechanism: WordMechanism, rng: Rng, *, looks: int = LOOKS) -> tuple[str, str]:
    """The pair whose promised loss exceeds its bound by most, or falls short of it by least.

    Small vocabularies: all pairs. Larger ones: a dozen words, each with its nearest neighbor in
    the claimed metric, where the bound is smallest; in a discrete metric, each with each.
    """
    pairs = _pairs_to_try(mechanism, rng)
    draws = {
        id: mechanism.replace(np.full(looks, id, dtype=np.int64), rng.child("look", str(id)))
        for id in sorted({id for pair in pairs for id in pair})
    }
    lefts, rights = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
    bounds = word_bounds(mechanism, lefts, rights)
    bounds = np.where(np.isfinite(bounds), bounds, 0.0)  # nothing claimed: the largest loss wins
    promises = [
        _promise(draws[one], draws[other], len(mechanism.vocabulary)) for one, other in pairs
    ]
    best = pairs[int(np.argmax(np.array(promises) - bounds))]
    return mechanism.vocabulary[best[0]], mechanism.vocabulary[best[1]]


def best_threshold(scores: Array, against: Array, alpha: float) -> tuple[float, float]:
    """The t for which {score >= t} promises the largest log-ratio, and what it promises.

    The promise is made on the draws that chose t, so it is no bound until fresh ones confirm it.
    """
    thresholds = np.unique(np.concatenate([scores, against]))
    if len(thresholds) > _MOST_THRESHOLDS:
        places = np.linspace(0, len(thresholds) - 1, _MOST_THRESHOLDS).astype(np.int64)
        thresholds = thresholds[places]
    hits = len(scores) - np.searchsorted(np.sort(scores), thresholds)
    misses = len(against) - np.searchsorted(np.sort(against), thresholds)
    promises = log_ratio_lower(hits, misses, len(scores), len(against), alpha)
    best = int(np.argmax(promises))
    return float(thresholds[best]), float(promises[best])


def _promise(one: Ids, other: Ids, vocabulary: int) -> float:
    """The larger direction's promise: scores from half the looks, events from the others."""
    half = len(one) // 2
    counts = [np.bincount(side[:half], minlength=vocabulary) for side in (one, other)]
    scores = np.log((counts[0] + 0.5) / (counts[1] + 0.5))
    left, right = scores[one[half:]], scores[other[half:]]
    return max(best_threshold(left, right, _ALPHA)[1], best_threshold(-right, -left, _ALPHA)[1])


def _pairs_to_try(mechanism: WordMechanism, rng: Rng) -> list[tuple[int, int]]:
    size = len(mechanism.vocabulary)
    if size <= _SMALL:
        return list(itertools.combinations(range(size), 2))
    words = np.sort(rng.child("words").permutation(size)[:_WORDS])
    if mechanism.guarantee.metric in (Metric.DISCRETE, Metric.NONE):
        return list(itertools.combinations(words.tolist(), 2))
    neighbors = _nearest_others(mechanism, words)
    return sorted({(min(a, b), max(a, b)) for a, b in zip(words.tolist(), neighbors, strict=True)})


def _nearest_others(mechanism: WordMechanism, words: Ids) -> list[int]:
    claimed, size = ClaimedMetric(mechanism), len(mechanism.vocabulary)
    blocks = [np.arange(start, min(start + _BLOCK, size)) for start in range(0, size, _BLOCK)]
    nearest = []
    for word in words.tolist():
        parts = [claimed.between(np.full(len(block), word), block) for block in blocks]
        distances = np.concatenate(parts)
        distances[word] = np.inf
        nearest.append(int(np.argmin(distances)))
    return nearest
