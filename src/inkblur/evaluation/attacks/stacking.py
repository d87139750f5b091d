"""Stacking: one attacker who hears several attacks and trusts each as much as it has earned.

Every attack gives each suspect a score. Brought to mean 0 and deviation 1 within a text, these
are added with one weight per attack, and the chance of a suspect is the softmax of the sum. The
weights are those of largest likelihood for texts of *other* authors, so the author that is attacked
takes no part in choosing them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inkblur.types import Array, Ids

FEWEST = 5  # authors that weights are learned from
_PENALTY = 1e-3  # on squared weights: two attacks that always agree share their weight


def standardized(scores: Array) -> Array:
    """Scores (texts, suspects) with mean 0 and deviation 1 in each text; 0 where all equal."""
    centered = scores - scores.mean(axis=1, keepdims=True)
    spread = centered.std(axis=1, keepdims=True)
    even: Array = np.divide(centered, spread, out=np.zeros_like(centered), where=spread > 1e-12)
    return even


def stacking_weights(scores: Sequence[Array], truth: Ids) -> Array:
    """One weight per attack, at least 0, from texts whose authors are known.

    `scores` holds one (texts, suspects) per attack, `truth` the column of each text's author.
    """
    from scipy.optimize import minimize
    from scipy.special import softmax

    table = np.stack([standardized(each) for each in scores], axis=-1)  # (texts, suspects, k)
    rows = np.arange(len(truth))

    def loss(weights: Array) -> tuple[float, Array]:
        chances = softmax(table @ weights, axis=1)
        value = -np.log(np.maximum(chances[rows, truth], 1e-300)).mean()
        slope = np.einsum("tc,tck->k", chances, table) - table[rows, truth].sum(axis=0)
        return (
            float(value + _PENALTY * weights @ weights),
            slope / len(rows) + 2 * _PENALTY * weights,
        )

    start = np.full(table.shape[-1], 1.0)
    bounds = [(0.0, None)] * len(start)
    found: Array = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B").x
    return found


def stacked_across(scores: Sequence[Array], truth: Ids) -> Array | None:
    """Each text stacked with weights that the texts of other authors taught, (texts, suspects).

    Every second author serves the others, so no text has a say in the weights of its own author.
    None where fewer than `FEWEST` authors could teach.
    """
    authors = np.unique(truth)
    if len(scores) < 2 or len(authors) < 2 * FEWEST:
        return None
    first = np.isin(truth, authors[::2])
    out = np.empty_like(scores[0])
    for here in (first, ~first):
        weights = stacking_weights([each[~here] for each in scores], truth[~here])
        out[here] = stacked([each[here] for each in scores], weights)
    return out


def stacked(scores: Sequence[Array], weights: Array) -> Array:
    """The weighted sum of standardized scores, (texts, suspects)."""
    total: Array = sum(
        (weight * standardized(each) for weight, each in zip(weights, scores, strict=True)),
        np.zeros_like(scores[0]),
    )
    return total
