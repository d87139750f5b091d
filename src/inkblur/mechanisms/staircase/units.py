"""The staircase in whole numbers: units of words, heights of the two steps, and exact draws.

Word y owns c(y) >= 1 units, M in all. Every input x marks exactly T of them, s_x(y) of word y, and
output y has the weight

    b c(y) + (a - b) s_x(y),    a / b <= e^epsilon,    0 <= s_x(y) <= c(y).

All weights of one input sum to b M + (a - b) T. M and T are chosen so that this is 2^64: then 64
random bits draw a word with exactly its weight, and rounding adds nothing to the loss.

The bits are a whole number r below 2^64 = (a - b) T + b M. Below (a - b) T it falls on one of the
T near units, above on one of all M: so a unit near x is drawn by (a - b) + b = a values of r, any
other by b. The null word's near set would be an equal share of every word; then both parts are
draws from q, and one draw from all M units takes their place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from inkblur.embeddings.table import PublicCounts
from inkblur.errors import ParameterError
from inkblur.rng import Bits
from inkblur.types import NULL_ID, Ids, fraction

WordUnits = NDArray[np.int64]  # units by word

# Of the ratio a / b: it is below e^epsilon by less than one part in 2^PRECISION.
PRECISION = 20
# No ratio is above e^MOST_EPSILON, whatever epsilon is: M, which is about 2^64 / (a tau), moves in
# steps of a - b, and must be many of them.
MOST_EPSILON = 18.0
_DIGITS = Context(prec=40, rounding=ROUND_FLOOR)
_HALF = np.uint64(32)
_LOWER = np.uint64(0xFFFFFFFF)
_ROOT_BITS = 30  # after the binary point of a frequency's power


def heights(epsilon: float, precision: int = PRECISION) -> tuple[int, int]:
    """a and b: b a power of two, at least 2, and a / b at most e^epsilon and nearly that."""
    # `exp` rounds to the nearest decimal, so the one before that is below e^epsilon.
    ratio = max(Decimal(1), _DIGITS.next_minus(_DIGITS.exp(Decimal(min(epsilon, MOST_EPSILON)))))
    # b M is below 2^64, so with b = 1 the M units could be more than 64 bits with a sign count.
    low = 1 << max(1, precision - int(ratio).bit_length() + 1)
    return int(_DIGITS.multiply(Decimal(low), ratio)), low


@dataclass(frozen=True, slots=True)
class Steps:
    """Two heights and two masses, all whole: `low` M + (`high` - `low`) T = 2^`bits`.

    >>> steps = Steps.fit(epsilon=8.0, tau=0.002, words=50_000)
    >>> steps.low * steps.units + (steps.high - steps.low) * steps.near == 2**64
    True
    >>> round(math.log(steps.high / steps.low), 5), round(steps.near / steps.units, 5)
    (8.0, 0.002)
    """

    high: int  # a
    low: int  # b, a power of two
    near: int  # T: units that each input marks
    units: int  # M
    bits: int = 64

    @classmethod
    def fit(
        cls,
        *,
        epsilon: float,
        tau: float,
        words: int,
        parts: int = 1,
        bits: int = 64,
        precision: int = PRECISION,
    ) -> Steps:
        """The steps of this height with a share of nearly `tau` of all units near each word.

        b = 2^j divides T, say T = b t, so that the sum is 2^bits for M = 2^(bits - j) - (a - b) t.
        M is a multiple of `parts`, so that as many labels can own equally many units.
        """
        highest, low = heights(epsilon, precision)
        all_groups = (1 << bits) // low
        share = Fraction(tau)
        # Where a - b shares a factor with `parts`, M may miss every multiple: the next a does not.
        for high in range(highest, low - 1, -1):
            step = high - low
            wanted = max(1, round(all_groups * share / (low + step * share)))
            nearest = sorted(
                range(max(1, wanted - parts), wanted + parts), key=lambda t: abs(t - wanted)
            )
            groups = next((t for t in nearest if (all_groups - step * t) % parts == 0), None)
            if groups is not None:
                break
        else:
            raise ParameterError(f"epsilon {epsilon:g} is too small for {parts:,} equal parts")
        units = all_groups - step * groups
        steps = cls(high, low, low * groups, units, bits)
        if not words <= units or not steps.near < units:
            raise ParameterError(
                f"tau {tau:g} is too large at epsilon {epsilon:g} for a choice among {words:,}: "
                f"{bits} random bits do not suffice; choose a smaller tau or epsilon"
            )
        return steps

    @property
    def step(self) -> int:
        """a - b: what a marked unit weighs more than another."""
        return self.high - self.low

    @property
    def tau(self) -> Fraction:
        """T / M: the share of all units that each input marks."""
        return Fraction(self.near, self.units)


def word_units(counts: PublicCounts | None, words: int, power: float, units: int) -> WordUnits:
    """`units` divided among the words in proportion to count^power, at least one each.

    Only whole numbers are used, so every machine divides alike; the few units that rounding leaves
    over go to the first words.

    >>> word_units(np.array([8, 4, 1]), 3, 1.0, 100).tolist()
    [61, 31, 8]
    >>> word_units(None, 3, 1.0, 100).tolist()
    [34, 33, 33]
    """
    shares = [1] * words if counts is None else _powers(counts, power)
    total = sum(shares)
    owned = [1 + (units - words) * share // total for share in shares]
    for word in range(units - sum(owned)):  # fewer than there are words
        owned[word] += 1
    return np.array(owned, dtype=np.int64)


def _powers(counts: PublicCounts, power: float) -> list[int]:
    """count^power, up to one constant, as whole numbers: square roots of whole numbers are exact,
    and powers are sixteenths.
    """
    if power == 1.0:
        return [int(count) for count in counts]
    sixteenths = checked_power(power)
    known: dict[int, int] = {}
    for count in set(counts.tolist()):
        root = int(count) ** sixteenths << (16 * _ROOT_BITS)
        for _ in range(4):
            root = math.isqrt(root)
        known[count] = root
    return [known[count] for count in counts.tolist()]


def checked_power(power: float) -> int:
    """A power of frequency in sixteenths, or a clear error."""
    sixteenths = 16 * fraction(power, "frequency_power")
    if sixteenths != int(sixteenths):
        raise ParameterError(
            f"frequency_power must be a whole number of sixteenths, so that units are exact; "
            f"nearest to {power:g} is {round(sixteenths) / 16:g}"
        )
    return int(sixteenths)


def safe_for_null(steps: Steps, fewest: int) -> bool:
    """Whether the null word's law lies between the two steps for words of `fewest` units or more.

    64 bits draw a word of c units from M with a weight of c 2^64 / M, give or take less than 1, so
    it suffices that b c + 1 <= c 2^64 / M <= a c - 1; and 2^64 / M = b + (a - b) T / M.
    """
    extra = fewest * steps.step
    if extra == 0:  # both steps are one: 2^64 / M is b itself
        return True
    return extra * steps.near >= steps.units and extra * (steps.units - steps.near) >= steps.units


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
            # r draws a unit below `end` where r M < end 2^bits.
            total, units = 1 << steps.bits, steps.units
            below = [0, *(-(-end * total // units) for end in self.ends.tolist())]
            return np.array([b - a for a, b in pairwise(below)], dtype=np.uint64)
        owned, shares = self.sets.units.view(np.uint64), self.sets.shares(word).view(np.uint64)
        return owned * np.uint64(steps.low) + shares * np.uint64(steps.step)


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
