"""Linking: are two released texts by the same hand? The attacker knows none of the authors.

Pairs of texts are ranked by the cosine of their rows (words and character n-grams, weighted on the
released texts themselves), and the area under the curve says how often a pair by one author ranks
above a pair by two: 1/2 is chance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from inkblur.errors import ParameterError
from inkblur.evaluation.attacks.base import checked_authors
from inkblur.evaluation.attacks.svm import WordsAndNgrams
from inkblur.evaluation.measures.intervals import statistic_over_texts
from inkblur.evaluation.results import Interval, Measurement
from inkblur.evaluation.target import Target
from inkblur.types import Array, Ids

_COMPARED = 500  # texts


def similarities(texts: Sequence[str]) -> Array:
    """Cosines between all texts, (texts, texts)."""
    rows = WordsAndNgrams().fit_transform(list(texts))
    product = (rows @ rows.T).toarray().astype(np.float64)
    length = np.sqrt(np.maximum(np.diagonal(product), 1e-12))
    return np.asarray(product / length[:, None] / length[None, :])


def linking(texts: Sequence[str], authors: ArrayLike, *, confidence: float, seed: int) -> Interval:
    """The area under the curve over pairs of released texts, with an interval over texts.

    >>> texts = ["indeed a boat", "indeed a fish", "perhaps a boat", "perhaps a fish"]
    >>> linking(texts, [0, 0, 1, 1], confidence=0.95, seed=1).mean
    1.0
    """
    numbers = checked_authors(texts, authors)
    left, right = np.triu_indices(len(texts), 1)
    same = numbers[left] == numbers[right]
    if not same.any() or same.all():
        raise ParameterError(
            "linking needs two texts of one author, and texts of at least two authors"
        )
    ranks = np.unique(similarities(texts)[left, right], return_inverse=True)[1]

    def area(rows: Ids) -> float:
        # A pair counts as often as both its texts were drawn; a text is no pair with itself.
        times = np.bincount(rows, minlength=len(texts))
        pairs = times[left] * times[right]
        return auc(np.bincount(ranks, pairs * same), np.bincount(ranks, pairs * ~same))

    return statistic_over_texts(area, len(texts), confidence=confidence, seed=seed)


def auc(higher: ArrayLike, lower: ArrayLike) -> float:
    """The chance that a pair of the first kind ranks above one of the second; ties count half.

    Given are the numbers of pairs of either kind at each rank, lowest first.

    >>> auc(np.array([0, 1, 0, 1]), np.array([1, 1, 0, 0]))
    0.875
    """
    ours, theirs = np.asarray(higher, np.float64), np.asarray(lower, np.float64)
    below = np.cumsum(theirs) - theirs / 2
    pairs = ours.sum() * theirs.sum()
    return float(ours @ below / pairs) if pairs else math.nan


def measure_linking(target: Target) -> Iterator[Measurement]:
    """The area for a sample of the test texts."""
    what = "area under the curve: pairs of texts by one author against pairs by two"
    if not target.data.has_authors:
        yield Measurement("linking", "", what, reason="no text has an author")
        return
    authors, texts = target.data.test.authors, target.released_test.texts
    known = [row for row in target.order if authors[row] >= 0 and texts[row]]
    rows = sorted(known[:_COMPARED])
    plan = target.plan
    try:
        area = linking(
            [texts[row] for row in rows], authors[rows], confidence=plan.confidence, seed=plan.seed
        )
    except ParameterError:
        reason = "too few texts of one author with words"
        yield Measurement("linking", "", what, reason=reason)
    else:
        yield Measurement("linking", "", what, value=area, chance=0.5)
