"""Weighted choice that loses no word: cumulative sums from the smallest weight up, twice.

A word is drawn with probability x_w / (x_1 + ... + x_V) by the inverse of a cumulative sum. Done
carelessly that breaks pure differential privacy: in float64 the sum 1 + 1e-17 is 1, so a word of
small weight behind one of large weight gets an interval of length zero and can never come out, from
this input, while it can from others. And 52 random bits cannot hit an interval shorter than 2^-52.
So here

* weights are added in rising order. Then the sum before item i is at most n x_i, its interval is
  never lost, and the interval's length is x_i within a factor 1 +- n 2^-53;
* a draw has two steps: first a block of :data:`BLOCK` words that follow each other in the
  vocabulary, by the sums of the blocks' weights, and then a word of that block. So an input word is
  known by a sum a block, and a draw costs the ratings of one block. Each step has random numbers of
  its own: a share of the whole and a share of a block are right each by itself, whatever the last
  digits of the other, and a small word in a heavy block is hit as often as it should;
* inside a block the order need not be perfect: words are sorted by rating into 256 bands. Inside a
  band weights differ by a factor of at most r = exp(kappa / 255), which enters the error bound and
  nothing else. (kappa is epsilon / (2 sensitivity): weights are exp(kappa (rating - 1)).)
* each position has as many 52-bit digits as the smallest possible probability needs, and 40 bits
  more (:func:`digits`): two a step up to epsilon 66 at 40,000 words, three at 100.

:func:`rounding` adds all of this up to a bound on how much any log-ratio of *drawn* probabilities
can exceed the ideal one: about 2e-11 for 40,000 words at epsilon 100. The guarantee includes it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from inkblur.types import Array

MOST_KAPPA = 300.0  # exp(-300) and its product with a uniform number stay normal float64 numbers
BLOCK = 64  # words; at most 256, and a multiple of every vector register
_BANDS = 255
_SPARE_BITS = 40
_DIGIT_BITS = 52
_DIGIT = 2.0**_DIGIT_BITS


def blocks_in(words: int) -> int:
    """How many blocks a vocabulary has; the last one may be shorter."""
    return -(-words // BLOCK)


def digits(kappa: float, words: int) -> int:
    """How many uniforms a choice among `words`, or blocks of them, takes: digits of 52 bits.

    The smallest probability is at least exp(-kappa) / V; an interval that long on a grid of 2^-b
    holds the right number of points within 1, so its probability is right within a factor
    1 +- V exp(kappa) / 2^b.
    """
    bits = kappa / math.log(2) + math.log2(words) + _SPARE_BITS
    return max(2, math.ceil(bits / _DIGIT_BITS))


def rounding(kappa: float, words: int) -> float:
    """How much a drawn log-ratio can exceed the ideal one, and the computed bound fall short of it.

    With u = 2^-53, n blocks, m words in a block and r = exp(kappa / 255), a drawn log-probability,
    of the block and then of the word, is within

        u (n + m r)         the intervals' lengths: their additions were rounded
        7 u (n + m r)       both ends of each: the uniform number, its product with the total
        u (n + 3 m)         the totals: a block's sum (over all blocks' as well), then its words'
        (8.4 kappa + 36) u  exponents and exp (within 4 units in the last place), in both steps
        2 2^-40             the grids of the two uniform numbers

    of the ideal one. The evaluation of the bound adds (V + 4.2 kappa + 31) u. A ratio has two of
    each, and a tenth more pays for products of errors.
    """
    ratio = math.exp(kappa / _BANDS)
    steps = blocks_in(words) * 9 + BLOCK * (8 * ratio + 3) + words + 13 * kappa + 70
    return 2.2 * (2.0**-53 * steps + 2 * 2.0**-_SPARE_BITS)


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


def block_sums(ratings: Array, kappa: float) -> tuple[Array, NDArray[np.int32]]:
    """A row of ratings by blocks: rising cumulative sums, and which block each step is."""
    sums = np.add.reduceat(weights(ratings, kappa), np.arange(0, len(ratings), BLOCK))
    order = np.argsort(sums, kind="stable")
    return np.cumsum(sums[order]), order.astype(np.int32)


def word_sums(ratings: Array, kappa: float) -> tuple[Array, NDArray[np.uint8]]:
    """Inside blocks, (blocks, BLOCK): rising cumulative sums, and which of its words each step is.

    A short block is filled up with ratings of -1: weight 0, an empty interval, wherever it stands.
    """
    values = weights(ratings, kappa)
    short = np.flatnonzero(ratings[:, -1] < 0)
    values[short] *= ratings[short] >= 0
    # Band and place in one number: all differ, so every sorting algorithm gives the same order.
    order = (ratings * _BANDS).astype(np.int16).view(np.uint16)
    order <<= 8
    order |= np.arange(BLOCK, dtype=np.uint16)
    order.sort(axis=1)
    order &= 255
    firsts = np.arange(0, values.size, BLOCK)[:, None]
    return np.cumsum(values.ravel()[firsts + order], axis=1), order.astype(np.uint8)


def locate(
    sums: Array, order: NDArray[np.integer], rows: NDArray[np.integer], where: Array
) -> NDArray[np.int64]:
    """What is found at positions in (0, 1]: position i in row `rows[i]` of cumulative sums.

    Step i owns [sums[i - 1], sums[i]), and a position that rounds to 1 is in the last interval
    that is not empty. A binary search for all positions at once: how many sums are not above each.
    """
    flat, last = sums.reshape(-1), sums.shape[1] - 1
    first = rows.astype(np.int64) * sums.shape[1]
    top = flat[first + last]
    target = np.minimum(where * top, np.nextafter(top, 0.0))
    passed = np.zeros(len(where), dtype=np.int64)
    for bit in range(last.bit_length() - 1, -1, -1):
        probe = np.minimum(passed + (1 << bit), last)
        np.copyto(passed, probe, where=flat[first + probe - 1] <= target)
    found: NDArray[np.int64] = order.reshape(-1)[first + passed].astype(np.int64)
    return found
