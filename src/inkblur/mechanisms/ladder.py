"""Weighted choice that loses no word: a cumulative sum that climbs from the smallest weight.

A word is drawn with probability x_w / (x_1 + ... + x_V) by the inverse of the cumulative sum. Done
carelessly that breaks pure differential privacy: in float64 the sum 1 + 1e-17 is 1, so a word of
small weight behind one of large weight gets an interval of length zero and can never come out, from
this input, while it can from others. And 52 random bits cannot hit an interval shorter than 2^-52.
So here

* weights are added in rising order. Then the sum before word i is at most V x_i, its interval is
  never lost, and the interval's length is x_i within a factor 1 +- V 2^-53;
* the order need not be perfect: words are sorted by rating into 256 bands (one pass of radix sort).
  Inside a band weights differ by a factor of at most r = exp(kappa / 255), which enters the error
  bound and nothing else. (kappa is epsilon / (2 sensitivity): weights are exp(kappa (rating - 1)).)
* the words that together have at most 2^-14 of the probability, the tail, are one step at the foot
  of the ladder. The few draws that fall there climb the tail's own ladder, built when it is needed;
* the uniform number has as many 52-bit digits as the smallest possible probability needs, and 40
  bits more (:func:`digits`): two up to epsilon 66 at 40,000 words, three at 100.

:func:`rounding` adds all of this up to a bound on how much any log-ratio of *drawn* probabilities
can exceed the ideal one: about 2e-10 for 40,000 words at epsilon 100. The guarantee includes it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inkblur.types import Array, Ids

MOST_KAPPA = 300.0  # exp(-300) and its product with a uniform number stay normal float64 numbers
_BANDS = 255
_SPARE_BITS = 40
_DIGIT_BITS = 52
_DIGIT = 2.0**_DIGIT_BITS
_TAIL = 2.0**-14  # the most of the probability that may be left to the tail


def digits(kappa: float, words: int) -> int:
    """How many uniforms one draw takes; each gives a digit of 52 bits.

    The smallest probability is at least exp(-kappa) / V; an interval that long on a grid of 2^-b
    holds the right number of points within 1, so its probability is right within a factor
    1 +- V exp(kappa) / 2^b.
    """
    bits = kappa / math.log(2) + math.log2(words) + _SPARE_BITS
    return max(2, math.ceil(bits / _DIGIT_BITS))


def rounding(kappa: float, words: int) -> float:
    """How much a drawn log-ratio can exceed the ideal one, and the computed bound fall short of it.

    With u = 2^-53, V words and r = exp(kappa / 255), a drawn log-probability is within

        u V r              an interval's length: its addition was rounded
        15 u V r           both its ends: the uniform number, its products with the totals
        3 u V              the totals: of all, of the tail as a step, of the tail as a ladder
        (4.2 kappa + 18) u exponents and exp (within 4 units in the last place), word and total
        2^-40              the grid of the uniform number

    of the ideal one. The evaluation of the bound adds (V + 4.2 kappa + 31) u. A ratio has two of
    each, and a tenth more pays for products of errors.
    """
    ratio = math.exp(kappa / _BANDS)
    steps = words * (16 * ratio + 4) + 9 * kappa + 60
    return 2.2 * (2.0**-53 * steps + 2.0**-_SPARE_BITS)


def positions(uniforms: Array) -> Array:
    """One number in (0, 1] a row, made of all uniforms of the row: (draws, digits) -> (draws,).

    Where the first digits are 0 the later ones count in full, because float64 keeps 53 bits
    wherever a number begins: so positions far under 2^-52 occur, as often as they should.
    """
    joined = np.full(len(uniforms), 0.5)
    for column in range(uniforms.shape[1] - 1, -1, -1):
        digit = np.floor(uniforms[:, column] * _DIGIT)
        joined += np.minimum(digit, _DIGIT - 1, out=digit)
        joined /= _DIGIT
    return joined


def weights(ratings: Array, kappa: float) -> Array:
    """exp(kappa (rating - 1)), in [exp(-kappa), 1]."""
    exponents = ratings - 1.0
    exponents *= kappa
    return np.exp(exponents, out=exponents)


@dataclass(frozen=True, slots=True)
class Ladder:
    """Part of a rising cumulative sum: `words[i]` owns [rungs[i - 1], rungs[i]), from i = 1 on.

    What lies below the first rung is left out: the tail, and in a stored ladder a little more.
    """

    rungs: Array
    words: NDArray[np.int32]  # words[0] stands for all that is left out: -1

    @classmethod
    def of(cls, ratings: Array, kappa: float) -> Ladder:
        """The ladder of a row of ratings in [0, 1], over its tail as one step."""
        values = weights(ratings, kappa)
        ids = np.flatnonzero(ratings >= tail_end(ratings, kappa))
        chosen = values[ids]
        values[ids] = 0.0
        return cls._climbing(ids, ratings[ids], chosen, float(values.sum()))

    @classmethod
    def tail(cls, ratings: Array, kappa: float) -> Ladder:
        """The ladder of the row's tail alone."""
        ids = np.flatnonzero(ratings < tail_end(ratings, kappa))
        return cls._climbing(ids, ratings[ids], weights(ratings[ids], kappa), 0.0)

    @classmethod
    def _climbing(cls, ids: Ids, ratings: Array, values: Array, foot: float) -> Ladder:
        order = np.argsort((ratings * _BANDS).astype(np.uint8), kind="stable")
        rungs = np.cumsum(np.concatenate([[foot], values[order]]))
        return cls(rungs, np.concatenate([[-1], ids[order]]).astype(np.int32))

    def head(self) -> Ladder:
        """The upper end, to be stored: it leaves out no more than a tail may hold."""
        cut = int(np.searchsorted(self.rungs, self.rungs[-1] * _TAIL, side="right")) - 1
        return Ladder(self.rungs[max(0, cut) :].copy(), self.words[max(0, cut) :].copy())

    @property
    def bytes(self) -> int:
        """Memory held."""
        return self.rungs.nbytes + self.words.nbytes

    def below(self, where: Array) -> NDArray[np.bool_]:
        """Which positions fall under the first rung, where :meth:`climb` has no answer."""
        below: NDArray[np.bool_] = where * self.rungs[-1] < self.rungs[0]
        return below

    def climb(self, where: Array) -> Ids:
        """The words at these positions in (0, 1]."""
        step = np.searchsorted(self.rungs, where * self.rungs[-1], side="right")
        # A position that rounds to 1 belongs to the last word.
        words: Ids = self.words[np.minimum(step, len(self.rungs) - 1)].astype(np.int64)
        return words


def tail_end(ratings: Array, kappa: float) -> float:
    """Words rated below this are the tail: V of them would still weigh 2^-14 of the best word."""
    return float(ratings.max()) - (math.log(len(ratings)) - math.log(_TAIL)) / kappa


def choose_words(ratings: Array, kappa: float, where: Array) -> tuple[Ids, Ladder]:
    """The words at these positions for a whole row of ratings, and the row's ladder."""
    ladder = Ladder.of(ratings, kappa)
    words = ladder.climb(where)
    below = ladder.below(where)
    if below.any():
        inside = where[below] * ladder.rungs[-1] / ladder.rungs[0]  # the position in the tail
        words[below] = Ladder.tail(ratings, kappa).climb(np.minimum(inside, 1.0))
    return words, ladder
