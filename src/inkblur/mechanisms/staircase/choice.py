"""Choosing tau and the power of frequency for an epsilon, from public data alone.

What is maximized is the expected cosine between a word of running text and what replaces it,

    E cos = (A + (e^epsilon - 1) tau m(tau)) / (1 + (e^epsilon - 1) tau),

where words x occur with their public frequencies, A is the mean cosine of x and a word drawn from
q, and m(tau) that of x and a word drawn from q within S_x. Neither knows epsilon, so one
:class:`Profile` of a table serves them all. Words of a sample stand for the text.

Only operations that IEEE 754 rounds in one way are used, in a fixed order: a choice is part of the
spec that a release's noise is bound to, so it has to be the same on every machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from inkblur.cache import keep_value, kept_value
from inkblur.embeddings.table import Embedding, PublicCounts
from inkblur.mechanisms.staircase.nearness import Grid, Nearness
from inkblur.mechanisms.staircase.units import heights, word_units
from inkblur.types import Array, Ids

POWERS = (0.0, 0.5, 1.0)
TAUS = tuple(
    float(f"{digits}e{exponent}")
    for exponent in range(-6, 0)
    for digits in (1, 1.5, 2, 3, 5, 7)
    if (digits, exponent) != (7, -1)
)
_SAMPLE = 512  # quantiles of running text
_NOMINAL = 1 << 50  # units in all while choosing
_BATCH = 32  # words of the sample that are compared with all words at a time, at most
_COSINES = 1 << 22  # such comparisons that are held at a time, at most
_SMALL = 4096  # words: faster computed than read from a file


@dataclass(frozen=True, slots=True)
class Profile:
    """How a table's expected cosines depend on the power of frequency and on tau."""

    anywhere: Mapping[float, float]  # A by power
    inside: Mapping[float, tuple[float, ...]]  # m(tau) by power, one for each of TAUS

    def similarity(self, epsilon: float, power: float, place: int) -> float:
        """The expected cosine at this epsilon, with `TAUS[place]`."""
        high, low = heights(epsilon)
        lift = (high - low) / low * TAUS[place]
        return (self.anywhere[power] + lift * self.inside[power][place]) / (1 + lift)

    def best(self, epsilon: float, *, tau: float | None = None) -> tuple[float, float]:
        """tau and the power with the largest expected cosine; a tau that is given stays."""
        places = range(len(TAUS)) if tau is None else [_nearest(tau)]
        found = [(self.similarity(epsilon, p, i), -p, -i) for p in self.inside for i in places]
        _, minus_power, minus_place = max(found)
        return TAUS[-minus_place] if tau is None else tau, -minus_power


def _nearest(tau: float) -> int:
    return min(range(len(TAUS)), key=lambda i: abs(TAUS[i] - tau) / (TAUS[i] + tau))


def profile(embedding: Embedding, nearness: Nearness, powers: tuple[float, ...]) -> Profile:
    """The profile of a table; the grids are made for it and dropped."""
    counts = embedding.counts
    order, cosine = Grid(embedding, nearness), Grid(embedding, Nearness.COSINE)
    words, weights = sample(counts, len(embedding))
    shares = {
        power: word_units(counts, len(embedding), power, _NOMINAL) / float(_NOMINAL)
        for power in powers
    }
    whole = dict.fromkeys(powers, 0.0)
    near = {power: np.zeros(len(TAUS)) for power in powers}
    step = max(1, min(_BATCH, _COSINES // len(embedding)))
    for start in range(0, len(words), step):
        batch = words[start : start + step]
        keys = order.keys(batch)
        cosines = cosine.cosines(batch)
        for row, (word, weight) in enumerate(
            zip(batch.tolist(), weights[start : start + step].tolist(), strict=True)
        ):
            by_nearness = order.order(word, keys[row])
            similar = cosines[row][by_nearness]
            for power in powers:
                q = shares[power][by_nearness]
                everything, within = _means(q, similar)
                whole[power] += weight * everything
                near[power] += weight * within
    return Profile(whole, {power: tuple(near[power].tolist()) for power in powers})


def _means(shares: Array, similar: Array) -> tuple[float, Array]:
    """The mean of `similar` under `shares`, and within the first tau of them for each of TAUS."""
    reached, summed = np.cumsum(shares), np.cumsum(shares * similar)
    taus = np.array(TAUS)
    end = np.minimum(np.searchsorted(reached, taus), len(shares) - 1)
    before = np.where(end > 0, reached[end - 1], 0.0)
    inside = np.where(end > 0, summed[end - 1], 0.0) + (taus - before) * similar[end]
    return float(summed[-1]), inside / taus


def sample(counts: PublicCounts | None, words: int) -> tuple[Ids, Array]:
    """Words at even steps through running text of the public frequencies, and their weights."""
    frequencies = np.ones(words, dtype=np.int64) if counts is None else counts
    reached = np.cumsum(frequencies)
    steps = min(_SAMPLE, words if counts is None else _SAMPLE)
    middles = [(2 * i + 1) * int(reached[-1]) // (2 * steps) for i in range(steps)]
    ids, times = np.unique(np.searchsorted(reached, middles, side="right"), return_counts=True)
    return ids.astype(np.int64), times / float(steps)


def chosen(
    embedding: Embedding,
    nearness: Nearness,
    epsilon: float,
    *,
    tau: float | None,
    power: float | None,
    folder: Path | None,
) -> tuple[float, float]:
    """tau and the power of frequency: the given ones, or else the best for this epsilon.

    Without counts every power is the uniform one, 0.
    """
    if embedding.counts is None:
        power = 0.0
    if tau is not None and power is not None:
        return tau, power
    powers = POWERS if power is None else (power,)
    found = _remembered(embedding, nearness, powers, folder)
    return found.best(epsilon, tau=tau)


_profiles: dict[str, Profile] = {}  # by what they were computed from


def _remembered(
    embedding: Embedding, nearness: Nearness, powers: tuple[float, ...], folder: Path | None
) -> Profile:
    counts = embedding.counts
    used = "none" if counts is None else hashlib.sha256(counts.astype("<i8").data).hexdigest()
    key = f"profile {embedding.sha256} counts={used} {nearness.value} {powers} {TAUS}"
    if key not in _profiles:
        value = kept_value(folder, key) if folder is not None else None
        if value is None:
            found = profile(embedding, nearness, powers)
            value = [[p, found.anywhere[p], list(found.inside[p])] for p in powers]
            if folder is not None and len(embedding) > _SMALL:
                keep_value(folder, key, value)
        _profiles[key] = Profile(
            {p: anywhere for p, anywhere, _ in value}, {p: tuple(near) for p, _, near in value}
        )
    return _profiles[key]
