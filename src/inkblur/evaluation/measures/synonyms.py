"""Where one word goes under a mechanism: its likeliest replacements, its chance to stay."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from inkblur.evaluation.measures.intervals import checked_confidence, clopper_pearson
from inkblur.mechanisms.base import WordMechanism
from inkblur.rng import Rng
from inkblur.types import NULL_ID, whole


@dataclass(frozen=True, slots=True)
class Chance:
    """A probability; where it was estimated, with the ends of its confidence interval."""

    probability: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Replacement:
    """A word that can come out, and how often it does."""

    word: str
    chance: Chance


@dataclass(frozen=True, slots=True)
class Portrait:
    """What a mechanism does to one word. Computed from public data alone."""

    word: str
    known: bool  # False: it enters as the null word
    mechanism: str
    replacements: tuple[Replacement, ...]  # likeliest first
    survival: Chance | None  # chance to come out unchanged; None for an unknown word
    entropy: float  # bits; where estimated, from the drawn frequencies, which makes it too small
    draws: int | None  # None: everything is exact
    confidence: float | None  # of each interval by itself

    @property
    def exact(self) -> bool:
        """Whether the numbers are computed rather than estimated."""
        return self.draws is None

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        return {**asdict(self), "exact": self.exact}


def portrait(
    mechanism: WordMechanism,
    word: str,
    rng: Rng,
    *,
    top: int = 10,
    draws: int = 10_000,
    confidence: float = 0.95,
) -> Portrait:
    """The distribution of `word`: exact where the mechanism can say, else from `draws` draws.

    An estimated chance carries its Clopper-Pearson interval: each covers the true one with
    probability `confidence` at least.
    """
    whole(top, "top")
    whole(draws, "draws")
    level = checked_confidence(confidence)
    source = int(mechanism.ids([word])[0])
    found = mechanism.distribution(word, rng, draws=draws)
    shares = found.probabilities
    likeliest = np.argsort(-shares, kind="stable")[:top]

    def chance(id: int) -> Chance:
        share = float(shares[id])
        if found.draws is None:
            return Chance(share, share, share)
        return Chance(share, *clopper_pearson(round(share * found.draws), found.draws, level))

    positive = shares[shares > 0]
    return Portrait(
        word=word,
        known=source != NULL_ID,
        mechanism=mechanism.name,
        replacements=tuple(
            Replacement(mechanism.vocabulary[i], chance(i))
            for i in likeliest.tolist()
            if shares[i] > 0
        ),
        survival=chance(source) if source != NULL_ID else None,
        entropy=max(0.0, -float((positive * np.log(positive)).sum()) / math.log(2)),
        draws=found.draws,
        confidence=None if found.exact else level,
    )
