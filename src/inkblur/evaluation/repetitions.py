"""Repetitions joined: means with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inkblur.evaluation.attacks.base import DONT_KNOW, Attribution
from inkblur.evaluation.measures.bootstrap import over_repeated_texts
from inkblur.evaluation.results import AUTHOR, Measurement


@dataclass(frozen=True, slots=True)
class Attacked:
    """One attack in one repetition."""

    scenario: str
    kind: str
    found: Attribution


def joined_attacks(
    repeats: Sequence[Sequence[Attacked]], confidence: float, seed: int
) -> list[Measurement]:
    """One result for each attack: means over repetitions, intervals over the texts."""
    joined = []
    for same in zip(*repeats, strict=True):
        first, found = same[0], same[0].found
        spread = over_repeated_texts(
            found.truth,
            [one.found.answers for one in same],
            confidence=confidence,
            seed=seed,
            no_answer=DONT_KNOW,
        )
        joined.append(
            Measurement(
                AUTHOR,
                found.attack,
                first.scenario,
                first.kind,
                value=spread["accuracy"],
                chance=found.chance,
                f1=spread["f1"],
                authors=found.authors,
                known=found.known,
                attacked=found.unknown,
                strangers=found.strangers,
            )
        )
    return joined
