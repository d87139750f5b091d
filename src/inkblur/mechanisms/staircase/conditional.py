"""One draw of the staircase whose base is new at every position.

The base may depend on everything public and on every word that was released before, never on a true
word: units c_t(y) with the same sum M at every position. The near set of x is the nearest words in
the table's fixed order until their units *of this position* are exactly T. Then the weights

    b c_t(y) + (a - b) s_x(y)

sum to 2^bits for every x, as they do for a fixed base (see `units`), and between any two words the
loss of this draw is log(a / b) <= epsilon, whatever was released before. Draws one after the other
compose: N words of a text lose N epsilon (adaptive composition; `docs/fluent.md` has the proof).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from inkblur.mechanisms.staircase.nearness import Keys
from inkblur.mechanisms.staircase.units import Steps
from inkblur.types import NULL_ID, Ids

Base = NDArray[np.int64]  # units by word, at one position

_FIRST = 256  # nearest words that are looked at first


def near_words(keys: Keys, word: int, base: Base, near: int) -> tuple[Ids, Base]:
    """The near set of `word`: its words by nearness, and how many units of each lie in it.

    `keys` is the row of the table's nearness for `word`: the larger, the nearer; ties go by id.
    """
    words = len(base)
    # One number for nearness and id: all differ, so any way of sorting gives one order.
    ranked = keys.astype(np.int64) * words + np.arange(words - 1, -1, -1)
    ranked[word] = np.iinfo(np.int64).max  # x itself comes first
    count = min(_FIRST, words)
    while True:
        nearest = np.argpartition(ranked, words - count)[words - count :]
        if base[nearest].sum() >= near:
            break
        count = min(2 * count, words)
    nearest = nearest[np.argsort(-ranked[nearest])]
    reached = np.cumsum(base[nearest])
    last = int(np.searchsorted(reached, near))
    inside = nearest[: last + 1]
    shares = base[inside].copy()
    shares[last] -= reached[last] - near
    return inside, shares


def weights(steps: Steps, base: Base, word: int, keys: Keys) -> list[int]:
    """How many of the 2^bits equally likely numbers draw each word for this one."""
    if word == NULL_ID:
        total = 1 << steps.bits
        ends = [0, *(-(-int(end) * total // steps.units) for end in np.cumsum(base))]
        return [after - before for before, after in pairwise(ends)]
    out = [steps.low * int(units) for units in base]
    for other, units in zip(*near_words(keys, word, base, steps.near), strict=True):
        out[int(other)] += steps.step * int(units)
    return out


def draw(steps: Steps, base: Base, word: int, keys: Keys, number: int) -> int:
    """The word that a random number below 2^bits draws for `word`, with exactly its weight."""
    cut = steps.step * steps.near
    if word != NULL_ID and number < cut:
        words, shares = near_words(keys, word, base, steps.near)
        place = number // steps.step
        return int(words[np.searchsorted(np.cumsum(shares), place, side="right")])
    place = number * steps.units >> steps.bits if word == NULL_ID else (number - cut) // steps.low
    return int(np.searchsorted(np.cumsum(base), place, side="right"))
