"""One draw of the staircase whose base is new at every position: what a language model expects.

The base may depend on everything public and on every word that was released before, never on a true
word: units c_t(y) with the same sum M at every position. The near set of x is the nearest words, in
an order that is as public as the base, until their units *of this position* are exactly T. Then the
weights

    b c_t(y) + (a - b) s_x(y)

sum to 2^bits for every x, as they do for a fixed base (see `units`), and between any two words the
loss of this draw is log(a / b) <= epsilon, whatever was released before. Draws one after the other
compose: N words of a text lose N epsilon (adaptive composition; `docs/fluent.md` has the proof).

The model gives each word y a whole number of parts p(y), 0 for most. From these follow

- how many units y owns: those of its public frequency, delta of all, and a share of the others in
  proportion to p(y);
- how much y is lifted in the order around a true word: `fit` times log2(1 + p(y)), in cosines. So
  a word that fits the sentence counts as near although others are a little nearer.

All arithmetic is in whole numbers, the same on every machine: the random bits of a position are
bound to its parts alone, so equal parts must mean equal draws.
"""

from __future__ import annotations

from decimal import Context, Decimal
from functools import lru_cache

import numpy as np

from inkblur.embeddings.table import PublicCounts
from inkblur.errors import ParameterError
from inkblur.mechanisms.staircase.expectation import SCALE, Small
from inkblur.mechanisms.staircase.nearness import LONGEST, Keys, near_words
from inkblur.mechanisms.staircase.units import Steps, WordUnits, safe_for_null, word_units
from inkblur.types import fraction, inner_fraction

# Chosen by benchmarks/fluent_search.py, on public sentences apart from those that are judged.
DELTA = 0.1  # the share that follows frequency alone, so that no word is out of reach
FIT = 0.03  # cosine that a word gains when it is expected twice as much

_DIGITS = Context(prec=30)
_COSINE = Decimal(2 * LONGEST**2)  # that of two equal unit vectors, as `nearness` counts


class Bases:
    """Makes the bases of a table's words."""

    def __init__(
        self, steps: Steps, counts: PublicCounts | None, words: int, *, delta: float, fit: float
    ) -> None:
        self.delta, self.fit = inner_fraction(delta, "delta"), fraction(fit, "fit")
        self.steps = steps
        common = max(words, round(steps.units * self.delta))
        self.followed = steps.units - common  # units that follow the model
        if self.followed < SCALE + words or not safe_for_null(steps, 1):
            raise ParameterError(
                f"tau {float(steps.tau):g} and delta {delta:g} leave too few units for a language "
                "model: choose a larger epsilon, or a tau and a delta farther from 0 and 1"
            )
        self.frequencies = word_units(counts, words, 1.0, common)
        self.lifts = lifts_of(self.fit)

    def units(self, words: Small, parts: Small) -> WordUnits:
        """Units of all words from what the model expects, (words,); M in all."""
        total = int(parts.sum())
        if total <= 0 or (parts < 0).any() or total > self.followed:
            raise ValueError("what a language model expects must be whole parts, in all above 0")
        units = self.frequencies.copy()
        units[words] += parts.astype(np.int64) * (self.followed // total)
        units[0] += self.steps.units - int(units.sum())  # what the division leaves over
        return units

    def order(self, keys: Keys, word: int, words: Small, parts: Small) -> Keys:
        """A row of nearness to `word`, which is nearest itself, with expected words lifted."""
        keys = keys.copy()
        keys[word] = keys.max()
        keys[words] += self.lifts[parts]
        return keys


@lru_cache(maxsize=8)
def lifts_of(fit: float) -> Keys:
    """fit log2(1 + p) for each number of parts p, in units of nearness, (SCALE + 1,)."""
    unit = _DIGITS.divide(_DIGITS.multiply(Decimal(fit), _COSINE), _DIGITS.ln(Decimal(2)))
    lifts = [_DIGITS.multiply(unit, _DIGITS.ln(Decimal(1 + parts))) for parts in range(SCALE + 1)]
    return np.array([int(lift) for lift in lifts], dtype=np.int32)


def owner_of(near: int | None, unit: int, base: WordUnits, word: int, keys: Keys) -> int:
    """The word that owns a unit: of the `near` units nearest to `word`, counted by nearness, or
    with None of all units, counted by id.
    """
    if near is None:
        return int(np.searchsorted(np.cumsum(base), unit, side="right"))
    words, shares = near_words(keys, word, base, near)
    return int(words[np.searchsorted(np.cumsum(shares), unit, side="right")])
