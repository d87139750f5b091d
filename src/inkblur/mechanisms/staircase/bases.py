"""The base of one position, made from what a language model expects there.

The model gives each word y a whole number of parts p(y), 0 for most. From these follow

- how many units y owns: those of its public frequency, delta of all, and a share of the others in
  proportion to p(y);
- how much y is lifted in the order around a true word: `fit` times log2(1 + p(y)), in cosines. So
  a word that fits the sentence counts as near although others are a little nearer.

Both follow from public things and released words, so neither costs privacy. All arithmetic is in
whole numbers, the same on every machine: the random bits of a position are bound to its parts
alone, so equal parts must mean equal draws.
"""

from __future__ import annotations

from decimal import Context, Decimal
from functools import lru_cache

import numpy as np

from inkblur.embeddings.table import PublicCounts
from inkblur.errors import ParameterError
from inkblur.mechanisms.staircase.conditional import Base
from inkblur.mechanisms.staircase.expectation import SCALE, Small
from inkblur.mechanisms.staircase.nearness import LONGEST, Keys
from inkblur.mechanisms.staircase.units import Steps, safe_for_null, word_units
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
        inner_fraction(delta, "delta")
        fraction(fit, "fit")
        self.steps = steps
        common = max(words, round(steps.units * delta))
        self.followed = steps.units - common  # units that follow the model
        if self.followed < SCALE + words or not safe_for_null(steps, 1):
            raise ParameterError(
                f"tau {float(steps.tau):g} and delta {delta:g} leave too few units for a language "
                "model: choose a larger epsilon, or a tau and a delta farther from 0 and 1"
            )
        self.frequencies: Base = word_units(counts, words, 1.0, common)
        self.lifts = lifts_of(fit)

    def units(self, words: Small, parts: Small) -> Base:
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
