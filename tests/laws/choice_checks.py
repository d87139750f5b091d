"""Does a mechanism that states its probabilities draw by them, and do they keep the bound?

Such a mechanism (`exponential`, `staircase`) adds no noise: it
knows P(output | input) exactly. So its claim falls into two halves that can be checked each by
itself, in any vocabulary:

* what it states keeps the claim: the largest log-ratio of stated probabilities is at most epsilon;
* what it draws is what it states. Outputs are turned into normals by their stated probabilities:
  with outputs ordered from the likeliest, u = P(before y) + v P(y) with v uniform is uniform
  exactly if y was drawn with those probabilities, and its normal quantile is tested as noise is.
  Against probabilities P^s / sum P^s of another temperature s the likelihood ratio is the most
  powerful test there is: epsilon taken s times is just that. A mean of likelihood ratios exceeds
  1/a with probability at most a (Markov's inequality), however few the draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp, ndtri

from inkblur.mechanisms.base import DiscreteMechanism
from inkblur.rng import Rng
from inkblur.types import NULL_ID, Array, Ids
from tests.laws.normality import Checked, LawCheck, normality_checks

_WORDS = 48  # input words, the null word among them
_TEMPERATURES = (0.25, 0.5, 0.8, 1.25, 2.0, 4.0)
_ROUNDING = 1e-9  # relative: what float64 may add to a log-ratio


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceChecked(Checked):
    """What was found about a mechanism that states its probabilities."""

    stated_loss: float  # largest log-ratio of the stated probabilities, over these inputs


def check_choice(
    mechanism: DiscreteMechanism, *, rng: Rng, draws: int = 20_000, confidence: float = 0.99
) -> ChoiceChecked:
    """Test draws against stated probabilities, and these against the claimed bound."""
    order = rng.child("choice audit", "words").permutation(len(mechanism.vocabulary))
    words = np.concatenate([np.sort(order[: _WORDS - 1]), [NULL_ID]]).astype(np.int64)
    return check_draws(
        mechanism.probabilities(words),
        lambda which: mechanism.replace(
            words[which], rng.child("choice audit", "draws", mechanism.spec)
        ),
        rng=rng,
        draws=draws,
        confidence=confidence,
        bound=mechanism.guarantee.epsilon,
    )


def check_draws(
    stated: Array,
    draw: Callable[[Ids], Ids],
    *,
    rng: Rng,
    draws: int,
    confidence: float,
    bound: float,
) -> ChoiceChecked:
    """Any choice: `stated` is P(output | input), (inputs, outputs); `draw` maps rows to outputs."""
    # Each input twice in a row: draws that neighbors share show where the inputs are the same.
    which = np.resize(np.repeat(np.arange(len(stated)), 2), draws)
    out = draw(which)
    spread = rng.child("choice audit", "spread").rows(draws, 1)[:, 0]
    with np.errstate(divide="ignore"):  # a word that never comes out
        logs = np.log(stated)
    laws = (
        *normality_checks(_normals(stated, which, out, spread)[:, None]),
        LawCheck("another temperature", _temperature(logs, which, out)),
    )
    loss = _largest_loss(logs)
    finding = f"the stated probabilities lose {loss:.4g}, more than the claimed {bound:g}"
    return ChoiceChecked(
        confidence=confidence,
        laws=laws,
        findings=(finding,) if loss > bound * (1 + _ROUNDING) else (),
        stated_loss=loss,
    )


def _largest_loss(logs: Array) -> float:
    """The largest log-ratio of an output; one that never comes out, whatever enters, loses none."""
    some = logs[:, logs.max(axis=0) > -np.inf]
    return float((some.max(axis=0) - some.min(axis=0)).max())


def _normals(stated: Array, which: Ids, out: Ids, spread: Array) -> Array:
    normals = np.empty(len(out))
    for row in range(len(stated)):
        here = np.flatnonzero(which == row)
        order = np.argsort(-stated[row], kind="stable")
        ends = np.empty(len(order))
        ends[order] = np.cumsum(stated[row][order])
        ranks = ends[out[here]] - stated[row][out[here]] * spread[here]
        normals[here] = ndtri(np.clip(ranks, 1e-16, 1 - 1e-16))
    return normals


def _temperature(logs: Array, which: Ids, out: Ids) -> float:
    """One over the mean likelihood ratio against every temperature: a p-value, by Markov."""
    chances = logs[which, out]
    ratios = []
    for power in _TEMPERATURES:
        totals = logsumexp(power * logs, axis=1)
        # Not power * chances - chances: an output stated to be impossible is evidence, not NaN.
        ratios.append(float(((power - 1) * chances - totals[which]).sum()))
    evidence = float(logsumexp(ratios)) - np.log(len(ratios))
    return float(np.exp(-max(evidence, 0.0)))
