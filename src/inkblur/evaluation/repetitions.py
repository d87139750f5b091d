"""Repetitions joined: means with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inkblur.evaluation.attacks.base import DONT_KNOW, Attribution
from inkblur.evaluation.measures.bootstrap import over_repeated_texts
from inkblur.evaluation.measures.meaning import Meaning
from inkblur.evaluation.measures.utility import LabelAnswers
from inkblur.evaluation.results import (
    AUTHOR,
    Interval,
    MeaningResult,
    Measurement,
    UtilityResult,
)

Scored = tuple[str, LabelAnswers]  # by an analyst: adaptive or static


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


def joined_scores(
    repeats: Sequence[Sequence[Scored]], confidence: float, seed: int
) -> list[UtilityResult]:
    """One result for each classifier: means over repetitions, intervals over the texts."""
    joined = []
    for same in zip(*repeats, strict=True):
        analyst, first = same[0]
        answers = [one.answers for _, one in same]
        spread = over_repeated_texts(first.truth, answers, confidence=confidence, seed=seed)
        joined.append(
            UtilityResult(
                model=first.model,
                analyst=analyst,
                **spread,
                trained=first.trained,
                tested=len(first.truth),
                labels=first.labels,
                unseen=first.unseen,
            )
        )
    return joined


def joined_meanings(meanings: Sequence[Meaning], confidence: float) -> MeaningResult | None:
    """How far texts moved, as one result; None where nothing could be compared."""
    if not meanings:
        return None
    return MeaningResult(
        Interval.of([m.earth_movers for m in meanings], confidence),
        Interval.of([m.cosine for m in meanings], confidence),
        meanings[0].compared,
        meanings[0].left_out,
    )
