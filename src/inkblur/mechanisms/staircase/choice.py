"""Choosing tau and the power of frequency for an epsilon, from public data alone.

What is maximized is the expected cosine between a word of running text and what replaces it,

    E cos = (A + (e^epsilon - 1) tau m(tau)) / (1 + (e^epsilon - 1) tau),

where words x occur with their public frequencies, A is the mean cosine of x and a word drawn from
q, and m(tau) that of x and a word drawn from q within S_x. Neither knows epsilon, so one
profile of a table serves them all. Words of a sample stand for the text.

Only operations that IEEE 754 rounds in one way are used, in a fixed order: a choice is part of the
spec that a release's noise is bound to, so it has to be the same on every machine.
"""

from __future__ import annotations

import hashlib
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


# By power: A, and m(tau) for each of TAUS.
Profile = dict[float, tuple[float, list[float]]]


def choose_tau(
    embedding: Embedding,
    nearness: Nearness,
    epsilon: float,
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
    profile = _remembered(embedding, nearness, POWERS if power is None else (power,), folder)
    places = range(len(TAUS))
    if tau is not None:  # judged by the nearest that was looked at
        places = range(_nearest(tau), _nearest(tau) + 1)
    high, low = heights(epsilon)

    def expected_cosine(power: float, place: int) -> float:
        anywhere, inside = profile[power]
        lift = (high - low) / low * TAUS[place]
        return (anywhere + lift * inside[place]) / (1 + lift)

    _, minus_power, minus_place = max(
        (expected_cosine(p, i), -p, -i) for p in profile for i in places
    )
    return TAUS[-minus_place] if tau is None else tau, -minus_power


def _nearest(tau: float) -> int:
    return min(range(len(TAUS)), key=lambda i: abs(TAUS[i] - tau) / (TAUS[i] + tau))


def profile(embedding: Embedding, nearness: Nearness, powers: tuple[float, ...]) -> Profile:
    """How a table's expected cosines depend on the power of frequency and on tau."""
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
        rows = zip(
            batch.tolist(),
            weights[start:].tolist(),
            order.keys(batch),
            cosine.cosines(batch),
            strict=False,
        )
        for word, weight, keys, cosines in rows:
            by_nearness = order.order(word, keys)
            similar = cosines[by_nearness]
            for power in powers:
                everything, within = _means(shares[power][by_nearness], similar)
                whole[power] += weight * everything
                near[power] += weight * within
    return {power: (whole[power], near[power].tolist()) for power in powers}


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
            value = [[p, *means] for p, means in profile(embedding, nearness, powers).items()]
            if folder is not None and len(embedding) > _SMALL:
                keep_value(folder, key, value)
        _profiles[key] = {power: (anywhere, inside) for power, anywhere, inside in value}
    return _profiles[key]
