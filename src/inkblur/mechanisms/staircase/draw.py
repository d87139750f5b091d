"""One word from 64 random bits, each with exactly its weight.

The bits are a whole number r below 2^64 = (a - b) T + b M. Below (a - b) T it falls on one of the
T near units, above on one of all M: so a unit near x is drawn by (a - b) + b = a values of r, any
other by b. The null word's near set would be an equal share of every word; then both parts are
draws from q, and one draw from all M units takes their place.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from inkblur.mechanisms.staircase.units import Steps, WordUnits
from inkblur.rng import Bits
from inkblur.types import NULL_ID, Ids

_HALF = np.uint64(32)
_LOWER = np.uint64(0xFFFFFFFF)


class NearUnits(Protocol):
    """Which T units each input marks, of the units that the outputs own."""

    units: WordUnits  # by output, (outputs,)

    def at(self, ids: Ids, places: WordUnits) -> Ids:
        """The output that owns unit `places[i]` (below T) of those that `ids[i]` marks."""

    def shares(self, word: int) -> WordUnits:
        """How many units of each output this input marks, (outputs,). They sum to T."""


class Draw:
    """Words from random bits; the sets of the words that enter must be there."""

    def __init__(self, steps: Steps, sets: NearUnits) -> None:
        self.steps, self.sets = steps, sets
        self.ends = np.cumsum(sets.units)  # a word's units end here, in order of ids

    def words(self, ids: Ids, bits: Bits) -> Ids:
        """The words that these bits draw for these ids, one number of 64 bits each."""
        steps = self.steps
        spare = np.uint64(64 - steps.bits)
        numbers = bits >> spare
        null = ids == NULL_ID
        cut = np.uint64(steps.step * steps.near)
        near = (numbers < cut) & ~null
        far = ~near
        units = numbers - cut  # wraps around where it is not used
        units >>= np.uint64(steps.low.bit_length() - 1)
        units[null] = high_half(numbers[null] << spare, steps.units)
        units[near] = numbers[near] // np.uint64(max(1, steps.step))  # none is near where it is 0
        units = units.view(np.int64)
        out = np.empty(len(ids), dtype=np.int64)
        out[far] = np.searchsorted(self.ends, units[far], side="right")
        out[near] = self.sets.at(ids[near], units[near])
        return out

    def weights(self, word: int) -> NDArray[np.uint64]:
        """How many of the 2^bits numbers draw each word for this one, (words,)."""
        steps = self.steps
        if word == NULL_ID:
            return self._null_weights()
        units, shares = self.sets.units.view(np.uint64), self.sets.shares(word).view(np.uint64)
        return units * np.uint64(steps.low) + shares * np.uint64(steps.step)

    def _null_weights(self) -> NDArray[np.uint64]:
        # r draws a unit below `end` where r M < end 2^bits.
        total, units = 1 << self.steps.bits, self.steps.units
        below = [0, *(-(-end * total // units) for end in self.ends.tolist())]
        weights = [after - before for before, after in pairwise(below)]
        return np.array(weights, dtype=np.uint64)


def high_half(numbers: Bits, factor: int) -> Bits:
    """The upper 64 of the 128 bits of each product, in four products of halves.

    >>> high_half(np.array([2**63, 2**64 - 1], dtype=np.uint64), 10).tolist()
    [5, 9]
    """
    upper, lower = numbers >> _HALF, numbers & _LOWER
    top, bottom = np.uint64(factor >> 32), np.uint64(factor & 0xFFFFFFFF)
    middle = upper * bottom + ((lower * bottom) >> _HALF)
    carry = ((middle & _LOWER) + lower * top) >> _HALF
    product: Bits = upper * top + (middle >> _HALF) + carry
    return product
