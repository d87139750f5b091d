"""Choosing epsilons by their measured risk: what `light`, `medium` and `strong` stand for.

For each strength the largest epsilon is chosen at which the risk on one half of the authors, on the
worst collection, is well below what the strength allows; the other half then judges it. What the
judging half says is what is reported, also where it is more than the strength allows.

The choice looks at attacks on words alone: how long a text is shows at every epsilon, and only a
fixed length hides it. What is reported counts the attacks on lengths as well, beside what is left
where lengths are hidden.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.evaluation.dataset import copies_together
from inkblur.evaluation.risk import (
    ON_LENGTHS,
    AttackRisk,
    Attempt,
    AuthorTexts,
    attempts,
    strongest,
)
from inkblur.mechanisms.calibration import calibrate
from inkblur.rng import seeded_rng
from inkblur.spec import ReleaseSpec
from inkblur.types import Ids, Strength

CHOOSING, JUDGING = 0, 1  # halves
# The choosing half must stay this far below the level: the judging half scatters around it.
MARGIN = 0.8
_STEPS = 16  # epsilons in the search
# Of the epsilon at which half of the vocabulary survives: on the bundled table every strength that
# was found lies well between, the staircase's strong lowest.
_SPREAD = (0.03, 1.3)

ByCollection = Mapping[str, Sequence[Attempt]]


@dataclass(frozen=True, slots=True)
class SettingRisk:
    """All attempts on one setting, and on the texts as they are, by collection."""

    parameters: Mapping[str, Any]
    tried: ByCollection
    untouched: ByCollection

    def risks(
        self, half: int, words: int | None = None, *, hidden: bool = False
    ) -> dict[str, AttackRisk]:
        """What the strongest attack reached on each collection; if lengths are `hidden`, the
        strongest of those that look at words alone.
        """
        return {
            name: strongest(_part(every, half, words, hidden)) for name, every in self.tried.items()
        }

    def worst(self, half: int) -> float:
        """The largest risk of any collection by which a strength is chosen: lengths are hidden."""
        return max(found.risk for found in self.risks(half, hidden=True).values())

    def to_json(self) -> dict[str, Any]:
        """What is stored of a strength: the figures of the half that judged it."""
        judged, hidden = self.risks(JUDGING), self.risks(JUDGING, hidden=True)
        chosen = self.risks(CHOOSING, hidden=True)
        before = {name: strongest(_part(each, JUDGING)) for name, each in self.untouched.items()}
        return {
            "epsilon": self.parameters["epsilon"],
            "parameters": dict(self.parameters),
            **_shares(judged, before),
            "lengths_hidden": _shares(hidden, before),
            "collections": {
                name: {
                    **judged[name].to_json(),
                    "lengths_hidden": hidden[name].to_json(),
                    "choosing_half": round(chosen[name].risk, 4),
                    "untouched": before[name].to_json(),
                }
                for name in judged
            },
        }


def _shares(risks: Mapping[str, AttackRisk], before: Mapping[str, AttackRisk]) -> dict[str, float]:
    """Of texts whose author is named on the worst collection: released, as written, by guessing."""
    worst = max(risks, key=lambda name: risks[name].risk)
    return {
        "named": round(risks[worst].accuracy, 4),
        "untouched": round(before[worst].accuracy, 4),
        "guessing": round(risks[worst].chance, 4),
    }


def _part(
    every: Sequence[Attempt], half: int, words: int | None = None, hidden: bool = False
) -> list[Attempt]:
    return [
        each
        for each in every
        if each.half == half and each.words == words and not (hidden and each.attack in ON_LENGTHS)
    ]


def chosen(settings: Mapping[float, SettingRisk]) -> dict[Strength, SettingRisk]:
    """The setting of each strength among measured ones, by epsilon; not every strength has one.

    All smaller epsilons that were measured must qualify as well, so that a lucky draw is not
    chosen. A setting has one name: that of the strongest strength it reaches.
    """
    found: dict[Strength, SettingRisk] = {}
    for strength in reversed(Strength):
        best = None
        for epsilon in sorted(settings):
            if settings[epsilon].worst(CHOOSING) > MARGIN * strength.most_risk:
                break
            best = settings[epsilon]
        if best is not None and best not in found.values():
            found[strength] = best
    return {strength: found[strength] for strength in Strength if strength in found}


def search_strengths(
    texts: AuthorTexts,
    spec: ReleaseSpec,
    table: Embedding,
    *,
    seed: int = 1,
    on_step: Callable[[float], None] = lambda epsilon: None,
) -> dict[Strength, SettingRisk]:
    """Measure a mechanism on a table until each strength has its epsilon, by bisection.

    `spec` names the mechanism and its parameters; its own epsilon is not used.
    """
    own: dict[str, Any] = dict(spec.parameters)
    center = calibrate(spec.mechanism, table, survival=0.5, **own)
    rising = [float(f"{each:.3g}") for each in center * np.geomspace(*_SPREAD, _STEPS)]
    untouched = attempts(texts, None, table, seeded_rng(seed), seed=seed)
    measured: dict[float, SettingRisk] = {}

    def worst(epsilon: float) -> float:
        if epsilon not in measured:
            on_step(epsilon)
            blur = spec.varied(epsilon=epsilon, strength=None).privatizer(table)
            rng = seeded_rng(seed).child("strengths", f"{epsilon:g}")
            tried = attempts(texts, blur, table, rng, seed=seed)
            measured[epsilon] = SettingRisk(
                blur.mechanism.parameters, {"own": tried}, {"own": untouched}
            )
        return measured[epsilon].worst(CHOOSING)

    def first_above(limit: float, start: int) -> int:
        """The place of the first epsilon above the limit, from a place where no smaller one is."""
        known = (p for p in range(start, _STEPS) if rising[p] in measured)
        end = next((p for p in known if worst(rising[p]) > limit), _STEPS)
        return bisect_left(rising, True, start, end, key=lambda epsilon: worst(epsilon) > limit)

    place = 0
    for strength in reversed(Strength):
        place = first_above(MARGIN * strength.most_risk, place)
    return chosen(measured)


def author_texts(texts: Sequence[str], authors: Ids, *, seed: int = 1) -> AuthorTexts:
    """Half of each author's texts known and half attacked; authors with one text are left out.

    Copies of a text count as one and stay together.
    """
    by_author: dict[int, list[int]] = {}
    for row in seeded_rng(seed).child("known or attacked").permutation(len(texts)).tolist():
        if authors[row] >= 0 and texts[row].strip():
            by_author.setdefault(int(authors[row]), []).append(row)
    known: list[int] = []
    attacked: list[int] = []
    for _, rows in sorted(by_author.items()):
        units = copies_together(rows, texts)
        if len(units) > 1:
            half = len(units) // 2
            known += [row for unit in units[:half] for row in unit]
            attacked += [row for unit in units[half:] for row in unit]
    if not known:
        raise ParameterError(
            "no author has two different texts that are not empty: nothing to attack"
        )
    return AuthorTexts(
        tuple(texts[row] for row in known),
        authors[known],
        tuple(texts[row] for row in attacked),
        authors[attacked],
    )
