"""One draw of the staircase whose base is new at every position.

The base may depend on everything public and on every word that was released before, never on a true
word: units c_t(y) with the same sum M at every position. The near set of x is the nearest words, in
an order that is as public as the base, until their units *of this position* are exactly T. Then the
weights

    b c_t(y) + (a - b) s_x(y)

sum to 2^bits for every x, as they do for a fixed base (see `units`), and between any two words the
loss of this draw is log(a / b) <= epsilon, whatever was released before. Draws one after the other
compose: N words of a text lose N epsilon (adaptive composition; `docs/fluent.md` has the proof).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from inkblur.mechanisms.staircase.nearness import Keys
from inkblur.mechanisms.staircase.units import Steps
from inkblur.types import NULL_ID, Ids

Base = NDArray[np.int64]  # units by word, at one position
Number = int  # random, below 2^bits

_FIRST = 2048  # nearest words that are looked at first


def near_words(keys: Keys, word: int, base: Base, near: int) -> tuple[Ids, Base]:
    """The near set of `word`: its words by nearness, and how many units of each lie in it.

    `keys` is nearness to `word`: the larger, the nearer. Of equally near words `word` itself comes
    first, then they go by id.
    """
    words = len(base)
    count = min(_FIRST, words)
    while True:
        edge = np.partition(keys, words - count)[words - count]
        nearest = np.flatnonzero(keys >= edge)  # with all that tie with the last of them
        if base[nearest].sum() >= near:
            break
        count = min(4 * count, words)
    # One number for nearness and id: all differ, so any way of sorting gives one order.
    ranked = keys[nearest].astype(np.int64) * (words + 1) + (words - 1 - nearest)
    ranked[nearest == word] += word + 1  # the largest of its ties
    nearest = nearest[np.argsort(-ranked)]
    reached = np.cumsum(base[nearest])
    last = int(np.searchsorted(reached, near))
    inside = nearest[: last + 1]
    shares = base[inside].copy()
    shares[last] -= reached[last] - near
    return inside, shares


def place_of(steps: Steps, word: int, number: Number) -> tuple[bool, int]:
    """The unit that a random number below 2^bits chooses for `word`: whether it is one of the near
    set, counted by nearness, or one of all words; and which.
    """
    if word == NULL_ID:
        return False, number * steps.units >> steps.bits
    cut = steps.step * steps.near
    if number < cut:
        return True, number // steps.step
    return False, (number - cut) // steps.low


def draw(steps: Steps, base: Base, word: int, keys: Keys, number: Number) -> int:
    """The word that a random number below 2^bits draws for `word`, with exactly its weight."""
    near, unit = place_of(steps, word, number)
    if near:
        words, shares = near_words(keys, word, base, steps.near)
        return int(words[np.searchsorted(np.cumsum(shares), unit, side="right")])
    return int(np.searchsorted(np.cumsum(base), unit, side="right"))
