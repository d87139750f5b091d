"""From one repetition after the other to means with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from inkblur.evaluation.attacks.base import Attribution, AuthorAnswers
from inkblur.evaluation.measures.bootstrap import over_repeated_texts, over_texts
from inkblur.evaluation.measures.meaning import Meaning
from inkblur.evaluation.measures.utility import LabelAnswers, Scores
from inkblur.evaluation.results import (
    STATIC,
    AttackResult,
    Interval,
    MeaningResult,
    UtilityResult,
)


@dataclass(frozen=True, slots=True)
class Attacked:
    """One attack in one repetition."""

    name: str
    scenario: str
    kind: str
    found: AuthorAnswers

    @property
    def counts(self) -> Attribution:
        """How many texts were attacked, and with what success."""
        return self.found.counts


def attacks_before(
    attacks: Sequence[Attacked], confidence: float, seed: int
) -> tuple[AttackResult, ...]:
    """Attacks on the true texts: one repetition, intervals over the test texts."""
    return tuple(joined_attacks([attacks], confidence, seed))


def scores_before(
    said: Sequence[LabelAnswers], confidence: float, seed: int
) -> tuple[UtilityResult, ...]:
    """Classifiers on the true texts: one repetition, intervals over the test texts."""
    joined = joined_scores([[one.scores() for one in said]], [STATIC] * len(said), confidence)
    results = []
    for one, result in zip(said, joined, strict=True):
        spread = over_texts(one.truth, one.answers, confidence=confidence, seed=seed)
        results.append(
            replace(
                result,
                accuracy=spread["accuracy"],
                precision=spread["precision"],
                recall=spread["recall"],
                f1=spread["f1"],
            )
        )
    return tuple(results)


def joined_attacks(
    repeats: Sequence[Sequence[Attacked]], confidence: float, seed: int
) -> list[AttackResult]:
    """The same attack in every repetition, as one result: means over repetitions, with intervals
    over the test texts.
    """
    joined = []
    for same in zip(*repeats, strict=True):
        first = same[0]
        spread = over_repeated_texts(
            first.found.truth, [one.found.answers for one in same], confidence=confidence, seed=seed
        )
        joined.append(
            AttackResult(
                first.name,
                first.scenario,
                first.kind,
                spread["accuracy"],
                spread["f1"],
                first.counts.chance,
                first.counts.authors,
                first.counts.known,
                first.counts.unknown,
                first.counts.strangers,
            )
        )
    return joined


def joined_scores(
    repeats: Sequence[Sequence[Scores]], analysts: Sequence[str], confidence: float
) -> list[UtilityResult]:
    """The same classifier in every repetition, as one result."""
    joined = []
    for analyst, *same in zip(analysts, *repeats, strict=True):
        first = same[0]
        joined.append(
            UtilityResult(
                first.model,
                analyst,
                Interval.of([one.accuracy for one in same], confidence).share(),
                Interval.of([one.precision for one in same], confidence).share(),
                Interval.of([one.recall for one in same], confidence).share(),
                Interval.of([one.f1 for one in same], confidence).share(),
                first.trained,
                first.tested,
                first.labels,
                first.unseen,
            )
        )
    return joined


def joined_meanings(meanings: Sequence[Meaning], confidence: float) -> MeaningResult | None:
    """The movement in every repetition, as one result; None where nothing could be compared."""
    if not meanings:
        return None
    return MeaningResult(
        Interval.of([m.earth_movers for m in meanings], confidence),
        Interval.of([m.cosine for m in meanings], confidence),
        meanings[0].compared,
        meanings[0].left_out,
    )
