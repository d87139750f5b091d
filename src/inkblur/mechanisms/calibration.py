"""Choosing epsilon: by level and radius, or by how likely a word is to survive."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from typing import Any

from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError, Unreachable
from inkblur.mechanisms.base import WordMechanism
from inkblur.mechanisms.catalogue import find, make_mechanism
from inkblur.rng import seeded_rng
from inkblur.types import Ids, Strength, positive

# words drawn evenly from the vocabulary: the survival rate's standard error is at most 0.008
SAMPLE = 4_000
_SEED = 20_260_000  # public: calibration looks at the public vocabulary alone
UNEVEN = (
    "words that occur in texts have large label profiles and survive far more often than words "
    "drawn evenly from the vocabulary, which this is calibrated on; give `epsilon=`: "
    "`inkblur tune --target` finds one"
)
_STORED = "strengths.json"  # for the bundled embedding, written by tools/bundled/strengths.py


def epsilon_from_level(level: float, radius: float) -> float:
    """l-privacy within radius r: epsilon = l / r (thesis, section 4.1.3).

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

    For vector noise the same uniforms serve every epsilon tried. A word's cell of nearest points is
    convex and holds its vector, so a draw that survives at one epsilon survives at every larger
    one: the measured rate rises with epsilon and bisection is exact for the sample.
    """
    if not 0 < survival < 1:
        raise ParameterError(f"survival must lie between 0 and 1, exclusive, got {survival}")
    ids = _sampled_ids(len(embedding), sample) if words is None else words

    def rate(epsilon: float, size: int) -> float:
        mechanism = make_mechanism(name, embedding, epsilon=epsilon, **options)
        return survival_rate(mechanism, ids[:size])

    return _bisect(rate, survival, len(ids))


def survival_rate(mechanism: WordMechanism, words: Ids | None = None) -> float:
    """The chance that one of these words (default: an even public sample) comes out unchanged."""
    ids = _sampled_ids(len(mechanism.vocabulary), SAMPLE) if words is None else words
    return mechanism.survival(ids, seeded_rng(_SEED).child("calibrate"))


def epsilon_for(strength: Strength, name: str, embedding: Embedding, **options: Any) -> float:
    """The epsilon of a strength: stored for the bundled embedding, calibrated for others.

    Refused on an adapted embedding, where it would understate the risk: at "strong" a fifth of the
    vocabulary survives, but most words of a text.
    """
    if embedding.adaptations:
        raise ParameterError(f"no strength on {embedding.name}, which is adapted: {UNEVEN}")
    stored = _stored_strengths()
    if stored.get("sha256") == embedding.sha256:
        known = stored["epsilons"].get(find(name).key(options), {})
        if strength.value in known:
            return float(known[strength.value])
    return calibrate(name, embedding, survival=strength.survival, **options)


@dataclass(frozen=True, slots=True)
class Risk:
    """What the strongest attack tried made of a strength, on public test texts: a lower bound."""

    named: float  # share of the texts whose author was named
    untouched: float  # the same share where the texts are as they were written

    def sentence(self) -> str:
        """The line that stands beside a strength.

        >>> Risk(named=0.22, untouched=0.69).sentence()
        'on public test texts the strongest attack tried named 22% of the authors; untouched: 69%'
        """
        return (
            f"on public test texts the strongest attack tried named {self.named:.0%} of the "
            f"authors; untouched: {self.untouched:.0%}"
        )


def risk_of(strength: Strength, name: str, embedding: Embedding, **options: Any) -> Risk | None:
    """The risk measured for a strength of the bundled embedding; None where none was measured."""
    stored = _stored_strengths()
    if stored.get("sha256") != embedding.sha256:
        return None
    found = stored.get("risks", {}).get(find(name).key(options), {}).get(strength.value)
    return None if found is None else Risk(**found)


def strengths(name: str, embedding: Embedding, **options: Any) -> dict[str, float]:
    """The epsilons of the strengths that the mechanism can reach, calibrated now."""
    found: dict[str, float] = {}
    for strength in Strength:
        with suppress(Unreachable):  # an angle cut off at 90 degrees cannot be strong
            found[strength.value] = calibrate(
                name, embedding, survival=strength.survival, **options
            )
    return found


def _stored_strengths() -> dict[str, Any]:
    file = resources.files("inkblur.embeddings") / "data" / _STORED
    if not file.is_file():
        return {}
    stored: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return stored


def _sampled_ids(vocabulary: int, sample: int) -> Ids:
    """An even sample of the vocabulary, in random order, so that a part of it is even too."""
    return seeded_rng(_SEED).child("sample").permutation(vocabulary)[:sample]


def _bisect(rate: Callable[[float, int], float], wanted: float, sample: int) -> float:
    """The epsilon, to 3 digits, up to which `rate(epsilon, sample)` is at most `wanted`.

    A tenth of the sample finds the neighborhood, all of it the value, which is rounded down.
    """
    low = high = 1.0
    for size, precision in ((min(sample, max(400, sample // 10)), 1.1), (sample, 1.002)):
        low, high = low / precision, high * precision
        while rate(high, size) < wanted:
            low, high = high, high * 1.5
            if high > 1e9:
                raise Unreachable(f"no epsilon up to 1e9 lets {wanted:.0%} of the words survive")
        while rate(low, size) > wanted:
            low, high = low / 1.5, low
            if low < 1e-9:
                raise Unreachable(f"no epsilon down to 1e-9 lets only {wanted:.0%} survive")
        while high / low > precision:
            middle = math.sqrt(low * high)
            if rate(middle, size) < wanted:
                low = middle
            else:
                high = middle
    digit = 10.0 ** (math.floor(math.log10(low)) - 3)
    return float(f"{math.floor(low / digit) * digit:.4g}")
