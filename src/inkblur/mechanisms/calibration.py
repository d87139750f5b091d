"""Choosing epsilon: by level and radius, or by how likely a word is to survive."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from inkblur.embeddings.table import Embedding
from inkblur.errors import Unreachable
from inkblur.mechanisms.base import WordMechanism
from inkblur.mechanisms.catalogue import make_mechanism
from inkblur.rng import seeded_rng
from inkblur.types import Ids, inner_fraction, positive

# words drawn evenly from the vocabulary: the survival rate's standard error is at most 0.008
SAMPLE = 4_000
_SEED = 20_260_000  # public: calibration looks at the public vocabulary alone


def epsilon_from_level(level: float, radius: float) -> float:
    """l-privacy within radius r: epsilon = l / r (thesis, section 4.2).

    >>> epsilon_from_level(level=2.0, radius=4.0)
    0.5
    """
    return positive(level, "level") / positive(radius, "radius")


def calibrate(
    name: str,
    embedding: Embedding,
    *,
    survival: float,
    sample: int = SAMPLE,
    words: Ids | None = None,
    **options: Any,
) -> float:
    """The largest epsilon at which a word survives with probability `survival` at most: one drawn
    evenly from the vocabulary, or one of the `words` (public ids, in random order).

    The staircase's near sets shrink in steps as epsilon grows, and survival leaps at each of them:
    from 0.49 to 0.66 at epsilon 13.9 over the bundled table. Then the epsilon before the leap is
    given, which lets fewer words through.

    Words of the texts that a table was adapted to survive far more often than words drawn evenly
    from its vocabulary: give them as `words`.

    For vector noise the same uniforms serve every epsilon tried. A word's cell of nearest points is
    convex and holds its vector, so a draw that survives at one epsilon survives at every larger
    one: the measured rate rises with epsilon and bisection is exact for the sample.
    """
    inner_fraction(survival, "survival")
    ids = _sampled_ids(len(embedding), sample) if words is None else words

    def rate(epsilon: float, size: int) -> float:
        mechanism = make_mechanism(name, embedding, epsilon=epsilon, **options)
        return survival_rate(mechanism, ids[:size])

    most = make_mechanism(name, embedding, epsilon=1.0, **options).most_epsilon
    return _bisect(rate, survival, len(ids), most)


def survival_rate(mechanism: WordMechanism, words: Ids | None = None) -> float:
    """The chance that one of these words (default: an even public sample) comes out unchanged."""
    ids = _sampled_ids(len(mechanism.vocabulary), SAMPLE) if words is None else words
    return mechanism.survival(ids, seeded_rng(_SEED).child("calibrate"))


def _sampled_ids(vocabulary: int, sample: int) -> Ids:
    """An even sample of the vocabulary, in random order, so that a part of it is even too."""
    return seeded_rng(_SEED).child("sample").permutation(vocabulary)[:sample]


def _bisect(rate: Callable[[float, int], float], wanted: float, sample: int, most: float) -> float:
    """The epsilon, to 3 digits, up to which `rate(epsilon, sample)` is at most `wanted`.

    A tenth of the sample finds the neighborhood, all of it the value, which is rounded down.
    """
    low = high = 1.0
    for size, precision in ((min(sample, max(400, sample // 10)), 1.1), (sample, 1.002)):
        low, high = low / precision, min(high * precision, most)
        while rate(high, size) < wanted:
            if high >= most:
                raise Unreachable(
                    f"no epsilon up to {most:g} lets {100 * wanted:g}% of the words survive"
                )
            low, high = high, min(high * 1.5, most)
        while rate(low, size) > wanted:
            low, high = low / 1.5, low
            if low < 1e-9:
                raise Unreachable(f"no epsilon down to 1e-9 lets only {100 * wanted:g}% survive")
        while high / low > precision:
            middle = math.sqrt(low * high)
            if rate(middle, size) < wanted:
                low = middle
            else:
                high = middle
    digit = 10.0 ** (math.floor(math.log10(low)) - 3)
    return float(f"{math.floor(low / digit) * digit:.4g}")
