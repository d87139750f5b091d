"""Choosing the event that tells two inputs apart best."""

from __future__ import annotations

import numpy as np

from inkblur.evaluation.measures.intervals import log_ratio_lower
from inkblur.types import Array

_MOST_THRESHOLDS = 1_000  # tried; more change nothing but the time


def best_threshold(scores: Array, against: Array, alpha: float) -> tuple[float, float]:
    """The t for which {score >= t} promises the largest log-ratio, and what it promises.

    The promise counts on the very draws that choose, so it is no bound; fresh draws must confirm
    it.
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
