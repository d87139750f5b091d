"""Success over the same texts before and after: shares, what is kept, and the relative fall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from inkblur.evaluation import Released
from reproduction.arrays import Array
from reproduction.estimate import Estimate
from reproduction.result import Reading, Where

HOLDS = 0.9  # of the baseline: what counts as "the topic holds"
# Means over the five forms of what Table 5.3 keeps at scale 0.5 (tests compute them again).
OWN_MEANS = "the thesis's Table 5.3 keeps 0.904 on Reuters and 0.715 on fan fiction"
Hits = Sequence[Sequence[int]]  # runs x texts, 1 where the answer was right


def by_text(hits: Hits) -> Array:
    """Each text's share of right answers over the runs, (texts,)."""
    shares: Array = np.asarray(hits, dtype=np.float64).mean(axis=0)
    return shares


def success(hits: Hits) -> Estimate:
    """The share of right answers; the interval is over texts, with the noise of the runs in it.

    >>> success([[1, 0], [1, 0]]).value
    0.5
    """
    shares = by_text(hits)
    if np.isin(shares, (0.0, 1.0)).all():  # counted; the bootstrap would trust 0 of 20 too much
        return Estimate.of_share(int(shares.sum()), len(shares))
    return Estimate.of_units(shares)


def relative_fall(before: Array, after: Array) -> Array:
    """1 - mean(after) / mean(before) as the mean of one number a text, for the bootstrap.

    The numbers are 1 - R - (after - R before) / mean(before) with R the ratio of means: their mean
    is 1 - R exactly, and their spread is that of the ratio to first order (the delta method), so
    the baseline's own uncertainty is in the interval.

    >>> float(relative_fall(np.array([1.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0])).mean())
    0.5
    """
    base = before.mean()
    ratio = after.mean() / base
    units: Array = 1.0 - ratio - (after - ratio * before) / base
    return units


def share_kept(before: Array, after: Array) -> Estimate | None:
    """mean(after) / mean(before); None where nothing was right before."""
    if not before.any():
        return None
    return Estimate.of_units(1.0 - relative_fall(before, after))


def fall_gap(rows: Sequence[tuple[Array, Array, Array, Array]]) -> Estimate:
    """How much more the first success falls than the second, in shares of each baseline.

    A row is one document form: first before, first after, second before, second after, each
    (texts,) over the same texts. Forms with an empty baseline have no relative fall and are left
    out; the mean over forms is taken text by text, so that a text counts once.
    """
    gaps = [
        relative_fall(first, first_after) - relative_fall(second, second_after)
        for first, first_after, second, second_after in rows
        if first.any() and second.any()
    ]
    return Estimate.of_units(np.mean(gaps, axis=0))


def mean_kept(rows: Sequence[tuple[Array, Array]]) -> Estimate:
    """The share of a success that is kept, mean over document forms as in :func:`fall_gap`.

    A row is one form: before and after, each (texts,) over the same texts.
    """
    kept = [1.0 - relative_fall(before, after) for before, after in rows if before.any()]
    return Estimate.of_units(np.mean(kept, axis=0))


def unchanged(table: str, where: Where, runs: Sequence[Mapping[str, Any]]) -> Reading | None:
    """The share of words that came out as they went in; each was drawn by itself, so counted."""
    words = sum(run["words"] for run in runs)
    if not words:
        return None
    kept = sum(run["unchanged"] for run in runs)
    return Reading(table, where, "words unchanged", Estimate.of_share(kept, words))


def counted(released: Released, texts: Sequence[str]) -> dict[str, int]:
    """Words of the texts, and how many of them came out unchanged."""
    words = sum(len(text.split()) for text in texts)
    return {"words": words, "unchanged": round(words * (released.unchanged or 0.0))}
