"""Which word is nearer to which, the same on every machine.

Vectors are rounded to whole numbers of length 4096 at most. By Cauchy-Schwarz every partial sum of
a scalar product then stays within 2^24 in size, whatever the order of summation, and float32 holds
such whole numbers exactly. So a float32 matrix product of any library, on any number of threads,
gives the exact products, and nearness is a comparison of whole numbers; ties go by id. Rounding
moves a cosine by about 0.0001.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from enum import Enum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from inkblur.embeddings.table import Embedding
from inkblur.mechanisms.staircase.units import WordUnits
from inkblur.types import Array, Ids, Vectors

Keys = NDArray[np.int32]  # the larger, the nearer

LONGEST = 4096  # its square is 2^24: float32 holds all whole numbers up to there
_FINE = 15  # bits of the largest coordinate in a first rounding, in which squares are exact
_SHORT = 3  # bits by which a row may fall short of that


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
