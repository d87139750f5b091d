"""Does a mechanism that states its probabilities draw by them, and do they keep the bound?

Such a mechanism (`exponential`, `staircase`, the staircase over a pool of texts) adds no noise: it
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

from inkblur.errors import ParameterError
from inkblur.evaluation.audit.normality import InsideAudit, LawCheck, normality_checks
from inkblur.evaluation.measures.intervals import checked_confidence
from inkblur.guarantees import rounded_up
from inkblur.mechanisms.base import DiscreteMechanism
from inkblur.pools.privatizer import PoolPrivatizer
from inkblur.rng import Rng
from inkblur.types import NULL_ID, Array, Ids, Record, whole

_WORDS = 48  # input words, the null word among them; of a pool, texts and an empty one
_CELLS = 1 << 23  # of the table of a pool's stated probabilities, at most
_TEMPERATURES = (0.25, 0.5, 0.8, 1.25, 2.0, 4.0)
_ROUNDING = 1e-9  # relative: what float64 may add to a log-ratio


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceAudit(InsideAudit):
    """What was found about a mechanism that states its probabilities."""

    words: int  # inputs looked at: words, or texts where those are drawn
    stated_loss: float  # largest log-ratio of the stated probabilities, over these words
    bound: float  # claimed
    unit: str = "words"

    @property
    def findings(self) -> tuple[str, ...]:
        """What contradicts the claim, a line each; empty where nothing does."""
        lines = [
            f"{self.unit} are not drawn with the stated probabilities: {law.name} "
            f"(p = {law.p_value:.2g})"
            for law in self.failed_laws
        ]
        if self.stated_loss > self.bound * (1 + _ROUNDING):
            lines.append(
                f"the stated probabilities lose {self.stated_loss:.4g}, more than the claimed "
                f"{rounded_up(self.bound)}"
            )
        return tuple(lines)

    def verdict(self) -> str:
        """One sentence, where nothing contradicts the claim."""
        return (
            f"Inside: the probabilities stated for {self.words:,} {self.unit} keep the bound, and "
            f"{self.draws:,} draws fit them."
        )


def audit_choice(
    mechanism: DiscreteMechanism, *, rng: Rng, draws: int = 20_000, confidence: float = 0.99
) -> ChoiceAudit:
    """Test draws against stated probabilities, and these against the claimed bound."""
    if not mechanism.guarantee.private:
        raise ParameterError(f"{mechanism.name} has no guarantee to audit")
    order = rng.child("choice audit", "words").permutation(len(mechanism.vocabulary))
    words = np.concatenate([np.sort(order[: _WORDS - 1]), [NULL_ID]]).astype(np.int64)
    return audit_draws(
        mechanism.probabilities(words),
        lambda which: mechanism.replace(
            words[which], rng.child("choice audit", "draws", mechanism.spec)
        ),
        rng=rng,
        draws=draws,
        confidence=confidence,
        bound=mechanism.guarantee.epsilon,
    )


def audit_pool(
    blur: PoolPrivatizer, *, rng: Rng, draws: int = 20_000, confidence: float = 0.99
) -> ChoiceAudit:
    """The same for a pool, some of whose own texts (and an empty one) stand for private ones.

    The whole release of a text is drawn: encoding, keyed stream, 64 bits, search. The stated
    probabilities are computed another way, by marking every unit of the pool.
    """
    mechanism = blur.mechanism
    pool = mechanism.pool
    inputs = min(_WORDS, _CELLS // len(pool), len(pool)) - 1
    if inputs < 1:
        raise ParameterError(f"a pool of {len(pool):,} texts is too large to audit at once")
    order = rng.child("pool audit", "texts").permutation(len(pool))
    texts = [*(pool.texts[row] for row in np.sort(order[:inputs]).tolist()), ""]
    encoded = mechanism.encode(texts)
    stated = np.stack([mechanism.weights(encoded, row) for row in range(len(texts))]) / 2.0**64
    places = {text: place for place, text in enumerate(pool.texts)}
    one_draw = PoolPrivatizer(mechanism)

    def draw(which: Ids) -> Ids:
        records = [Record(str(place), texts[row]) for place, row in enumerate(which.tolist())]
        drawn = one_draw.release_batch(records, rng.child("pool audit", "draws"))
        return np.array([places[text] for text in drawn.texts], dtype=np.int64)

    return audit_draws(
        stated,
        draw,
        rng=rng,
        draws=draws,
        confidence=confidence,
        bound=mechanism.guarantee.epsilon,
        unit="texts",
    )


def audit_draws(
    stated: Array,
    draw: Callable[[Ids], Ids],
    *,
    rng: Rng,
    draws: int,
    confidence: float,
    bound: float,
    unit: str = "words",
) -> ChoiceAudit:
    """Any choice: `stated` is P(output | input), (inputs, outputs); `draw` maps rows to outputs."""
    draws, confidence = whole(draws, "draws"), checked_confidence(confidence)
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
    return ChoiceAudit(
        words=len(stated),
        draws=draws,
        confidence=confidence,
        laws=laws,
        stated_loss=_largest_loss(logs),
        bound=bound,
        unit=unit,
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
