"""SynTF's "less insightful" parameters: the output length, and synonyms in the vocabulary.

Section 4.3: "Increasing the output length will help increase both tasks' performance, however, the
gain becomes less for larger output lengths. Moreover, the inclusion of additional synonyms in the
vocabulary did not provide any benefit."
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from reproduction.newsgroups import SCENARIOS
from reproduction.result import Claim
from reproduction.syntf.gaps import (
    STRONGEST,
    Resampled,
    attack_left,
    in_every,
    over_postings,
    smallest_gap,
    utility_left,
)
from reproduction.syntf.published import LENGTHS
from reproduction.syntf.resampling import RunScores, ScoreView
from reproduction.syntf.study import SIMILAR

NO_BENEFIT = -0.02  # a gain of the smallest gap up to this size is none


def mean_attack_left(found: RunScores, before: RunScores) -> Resampled:
    """What is left of the attacker's F1, mean of the four scenarios."""
    left = [attack_left(found, before, scenario, STRONGEST) for scenario in SCENARIOS]
    return np.mean(left, axis=0)


def length_claims(
    by_length: Mapping[int, Sequence[RunScores]], before: RunScores, resampled: ScoreView
) -> tuple[Claim, ...]:
    """Judged on runs of the paper's parameters at each of its lengths; none where one is missing
    (a quick look has one length).
    """
    if not all(by_length.get(length) for length in LENGTHS):
        return ()
    together = [
        dict(zip(map(str, LENGTHS), found, strict=True))
        for found in zip(*(by_length[length] for length in LENGTHS), strict=True)
    ]

    def left(look: ScoreView, run: RunScores, task: str) -> list[Resampled]:
        if task == "analyst":
            return [utility_left(look(run[str(n)]), look(before), STRONGEST) for n in LENGTHS]
        return [mean_attack_left(look(run[str(n)]), look(before)) for n in LENGTHS]

    def helps(look: ScoreView, run: RunScores, task: str) -> Resampled:
        short, _, long = left(look, run, task)
        return long - short

    def saturates(look: ScoreView, run: RunScores, task: str) -> Resampled:
        short, middle, long = left(look, run, task)
        return (middle - short) - (long - middle)

    tasks = ("analyst", "attacker")
    kept = "relative F1 (the attacker's: mean of the four scenarios)"
    short, middle, long = LENGTHS
    return (
        Claim(
            "longer-vectors-help-both",
            "A longer output helps both the analyst and the attacker.",
            "SynTF, section 4.3 (Impact of Parameters)",
            f"{kept} at length {long} minus that at {short}, for the task that decides",
            in_every(helps, together, resampled, tasks),
            0.0,
        ),
        Claim(
            "length-saturates",
            "The gain from a longer output becomes less for larger lengths.",
            "SynTF, section 4.3 (Impact of Parameters)",
            f"gain in {kept} from {short} to {middle} minus the gain from {middle} to {long}, for "
            "the task that decides",
            in_every(saturates, together, resampled, tasks),
            0.0,
        ),
    )


def similar_claim(
    ours: Sequence[RunScores],
    similar: Sequence[RunScores],
    before: RunScores,
    resampled: ScoreView,
) -> Claim:
    """Judged on runs with and without the additional words."""
    pairs = [{"without": a, "with": b} for a, b in zip(ours, similar, strict=True)]

    def gained(look: ScoreView, pair: RunScores) -> Resampled:
        with_, without = (smallest_gap(look(pair[s]), look(before)) for s in ("with", "without"))
        return without - with_

    return Claim(
        "synonyms-bring-nothing",
        "Additional synonyms in the vocabulary bring no benefit.",
        "SynTF, section 4.3 (Impact of Parameters)",
        f"smallest gap without additional words minus that with the {SIMILAR} words of GloVe that "
        f"are nearest to each (they stand in for WordNet's synonyms); {-NO_BENEFIT:g} of relative "
        "F1 counts as no benefit",
        over_postings(gained, pairs, resampled),
        NO_BENEFIT,
    )
