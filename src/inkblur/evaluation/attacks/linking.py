"""Linking: are two released texts by the same hand? The attacker knows none of the authors.

Pairs of texts are ranked by the cosine of their rows (words and character n-grams, weighted on the
released texts themselves), and the area under the curve says how often a pair by one author ranks
above a pair by two: 1/2 is chance.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from inkblur.errors import ParameterError
from inkblur.evaluation.attacks.base import checked_authors
from inkblur.evaluation.attacks.views import View, WordsAndNgrams
from inkblur.evaluation.measures.bootstrap import statistic_over_texts
from inkblur.evaluation.results import Interval
from inkblur.types import Array, Ids

MOST_TEXTS = 2_000  # 2 million pairs


def similarities(texts: Sequence[str], view: View | None = None) -> Array:
    """Cosines between all texts, (texts, texts)."""
    rows = (view if view is not None else WordsAndNgrams()).fit_transform(list(texts))
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
    if len(texts) > MOST_TEXTS:
        raise ParameterError(
            f"linking compares at most {MOST_TEXTS:,} texts, got {len(texts):,}: give a sample"
        )
    together = numbers[:, None] == numbers[None, :]
    apart = ~together
    np.fill_diagonal(together, False)
    if not together.any() or not apart.any():
        raise ParameterError(
            "linking needs two texts of one author, and texts of at least two authors"
        )
    near = similarities(texts)

    def area(rows: Ids) -> float:
        chosen = np.unique(rows)  # a text drawn twice is not a pair with itself
        block = np.ix_(chosen, chosen)
        return auc(near[block][together[block]], near[block][apart[block]])

    return statistic_over_texts(area, len(texts), confidence=confidence, seed=seed)


def auc(higher: Array, lower: Array) -> float:
    """The chance that a number of the first kind exceeds one of the second; ties count half.

    >>> auc(np.array([3.0, 1.0]), np.array([1.0, 0.0]))
    0.875
    """
    if not len(higher) or not len(lower):
        return 0.5
    ordered = np.sort(lower)
    below = np.searchsorted(ordered, higher, "left") + np.searchsorted(ordered, higher, "right")
    return float(below.mean() / 2 / len(lower))
