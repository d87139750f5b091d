"""Which word is nearer to which, the same on every machine.

Vectors are rounded to whole numbers of length 4096 at most. By Cauchy-Schwarz every partial sum of
a scalar product then stays within 2^24 in size, whatever the order of summation, and float32 holds
such whole numbers exactly. So a float32 matrix product of any library, on any number of threads,
gives the exact products, and nearness is a comparison of whole numbers; ties go by id. Rounding
moves a cosine by about 0.0001.

Choosing tau and the power of frequency for an epsilon, from public data alone.

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
import math
from collections.abc import Iterator
from enum import Enum
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from inkblur.cache import keep_value, kept_value
from inkblur.embeddings.table import Embedding, PublicCounts
from inkblur.mechanisms.staircase.units import WordUnits, heights, word_units
from inkblur.types import Array, Ids, Vectors

Keys = NDArray[np.int32]  # the larger, the nearer

LONGEST = 4096  # its square is 2^24: float32 holds all whole numbers up to there
_FINE = 15  # bits of the largest coordinate in a first rounding, in which squares are exact
_SHORT = 3  # bits by which a row may fall short of that

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


class Nearness(Enum):
    """What makes one word nearer than another."""

    COSINE = "cosine"
    EUCLIDEAN = "euclidean"


class Grid:
    """The public vectors as whole numbers, and nearness between them."""

    def __init__(self, embedding: Embedding, nearness: Nearness) -> None:
        self._vectors = embedding.vectors
        self.nearness = nearness

    def __len__(self) -> int:
        """How many words."""
        return len(self._vectors)

    @cached_property
    def points(self) -> Vectors:
        """Whole numbers as float32, (words, dimension); no row is longer than 4096."""
        out = np.empty(self._vectors.shape, dtype=np.float32)
        # Every operation below is one that IEEE 754 rounds in one way only, number by number.
        longest = LONGEST - 1 - math.isqrt(self._vectors.shape[1])  # rounding adds at most that
        together = self.nearness is Nearness.EUCLIDEAN
        most = max(int(_squares(block).max()) for block in self._fine()) if together else 0
        for start, block in zip(range(0, len(out), _ROWS), self._fine(), strict=True):
            squares = np.float64(most) if together else _squares(block).astype(np.float64)[:, None]
            scaled = block * float(longest) / np.maximum(np.sqrt(squares), 1.0)
            out[start : start + _ROWS] = np.rint(scaled)
        return out

    def _fine(self) -> Iterator[NDArray[np.int64]]:
        """The vectors as whole numbers of one scale; for angles, very short rows have their own."""
        exponent = _FINE - math.frexp(float(np.abs(self._vectors).max()))[1]
        for start in range(0, len(self._vectors), _ROWS):
            block = self._vectors[start : start + _ROWS].astype(np.float64)
            own = _FINE - np.frexp(np.abs(block).max(axis=1, keepdims=True))[1]
            apart = (self.nearness is Nearness.COSINE) & (own > exponent + _SHORT)
            yield np.rint(np.ldexp(block, np.where(apart, own, exponent))).astype(np.int64)

    @cached_property
    def handicaps(self) -> Keys:
        """What is taken from twice the product: |y|^2 for distances, nothing for angles."""
        none = self.nearness is Nearness.COSINE
        return np.zeros(len(self), dtype=np.int32) if none else self._squared.astype(np.int32)

    @cached_property
    def _squared(self) -> NDArray[np.int64]:
        blocks = range(0, len(self), _ROWS)
        squares = [_squares(self.points[s : s + _ROWS].astype(np.int64)) for s in blocks]
        return np.concatenate(squares)

    def products(self, ids: Ids) -> Vectors:
        """Exact scalar products of these words with all words, (ids, words)."""
        return self.points[ids] @ self.points.T

    def cosines(self, ids: Ids) -> Array:
        """Cosines between these words and all words, to about 0.0001, the same everywhere."""
        if self.nearness is not Nearness.COSINE:
            raise ValueError("a grid of distances has no cosines")
        lengths = np.sqrt(np.maximum(self._squared, 1).astype(np.float64))
        cosines: Array = self.products(ids) / (lengths[ids][:, None] * lengths)
        return cosines

    def keys(self, ids: Ids) -> Keys:
        """Nearness to these words, (ids, words): 2 x.y - |y|^2, which falls with |x - y|."""
        return 2 * self.products(ids).astype(np.int32) - self.handicaps

    def order(self, word: int, keys: Keys) -> Ids:
        """All words by nearness to `word`, itself first, ties by id; `keys` is its row."""
        falling = np.argsort(-keys, kind="stable")
        return np.concatenate([[word], falling[falling != word]])


_ROWS = 4096
_FIRST = 2048  # nearest words that are looked at first


def _squares(block: NDArray[np.int64]) -> NDArray[np.int64]:
    squares: NDArray[np.int64] = np.einsum("ij,ij->i", block, block)
    return squares


def near_words(keys: Keys, word: int, units: WordUnits, near: int) -> Ids:
    """The near set of `word`: its words by nearness, until they own `near` units.

    `keys` is nearness to `word`: the larger, the nearer. Of equally near words `word` itself comes
    first, then they go by id.
    """
    words = len(units)
    count = min(_FIRST, words)
    while True:
        edge = np.partition(keys, words - count)[words - count]
        nearest = np.flatnonzero(keys >= edge)  # with all that tie with the last of them
        if count == words or units[nearest].sum() >= near:
            break
        count = min(4 * count, words)
    # One number for nearness and id: all differ, so any way of sorting gives one order.
    ranked = keys[nearest].astype(np.int64) * (words + 1) + (words - 1 - nearest)
    ranked[nearest == word] += word + 1  # the largest of its ties
    nearest = nearest[np.argsort(-ranked)]
    reached = np.cumsum(units[nearest])
    return nearest[: int(np.searchsorted(reached, near)) + 1]


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
