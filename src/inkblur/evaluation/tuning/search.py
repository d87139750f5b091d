"""Choosing metric and mechanism for a target on public texts, and judging the choice once.

Every candidate is measured on the validation part. The one the target prefers is then measured on
the held-out part, which took no part in the choice: the best of many looks better than it is, and
the two figures side by side show by how much.

The attackers are the adaptive and the static one. The analyst learned from true public texts and
is asked about released ones: the texts that taught the metric are public and could not be released.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.evaluation.plan import Plan
from inkblur.evaluation.results import STATIC
from inkblur.evaluation.tuning.adapted_grid import Candidate, Metrics
from inkblur.evaluation.tuning.four_way_split import FourWaySplit, TextShare
from inkblur.evaluation.tuning.target import Aim, Target, frontier
from inkblur.evaluation.tuning.trials import Trial, Trials, bound

_FORMS = ("raw", "content")


class Judgment(Enum):
    """What held-out texts say of a target."""

    MET = "met"
    OPEN = "met, but the interval reaches beyond"  # other texts like these may not meet it
    MISSED = "not met"


@dataclass(frozen=True, slots=True)
class Search:
    """What was searched, what was chosen, and what the held-out part says of it."""

    target: Target
    before: Trial  # the validation part's texts as they are
    trials: tuple[Trial, ...]  # on the validation part, in the order of the grid
    held_out: Trial | None  # the chosen candidate; None where none meets the target
    held_out_before: Trial | None
    looks: int  # candidates that were ever measured on the held-out part, in this folder

    @property
    def best(self) -> Trial | None:
        """The trial that was chosen."""
        return self.target.best(self.trials)

    @property
    def nearest(self) -> Trial:
        """The trial that meets the target, or else misses it by least."""
        return self.best or self.target.nearest(self.trials)

    @property
    def frontier(self) -> tuple[Trial, ...]:
        """Trials that no other beats in both measures, by rising attack."""
        return frontier(self.trials)

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why the utility may mean nothing on a part of the texts, in sentences."""
        parts = (self.before, self.held_out_before)
        return tuple(part.doubt for part in parts if part is not None and part.doubt)

    @property
    def judgment(self) -> Judgment | None:
        """Whether the choice meets the target on the held-out part too; None without a choice.

        An attack is judged by its 95 % interval too; the utility has none.
        """
        if self.held_out is None:
            return None
        if self.target.missed_by(self.held_out):
            return Judgment.MISSED
        high = self.held_out.attack_between[1]
        attack = self.target.aim is Aim.ATTACK
        return Judgment.OPEN if attack and high > self.target.bound else Judgment.MET

    def to_json(self) -> dict[str, Any]:
        """A JSON object; the same data, plan and seed give the same."""
        front = self.frontier
        return {
            "target": str(self.target),
            "best": self.best.to_json() if self.best is not None else None,
            "nearest": self.nearest.to_json(),
            "held_out": self.held_out.to_json() if self.held_out is not None else None,
            "judgment": self.judgment.value if self.judgment is not None else None,
            "held_out_looks": self.looks,
            "utility_of_guessing": self.before.utility_of_guessing,
            "before": {
                "validation": self.before.to_json(),
                "held_out": self.held_out_before.to_json() if self.held_out_before else None,
            },
            "trials": [{**trial.to_json(), "frontier": trial in front} for trial in self.trials],
        }


def search(
    parts: FourWaySplit,
    base: Embedding,
    candidates: Sequence[Candidate],
    target: Target,
    plan: Plan,
    folder: Path,
    *,
    on_trial: Callable[[str, int, int], None] = lambda name, done, total: None,
) -> Search:
    """Measure every candidate on validation texts, choose, and judge the choice on held-out ones.

    The plan's analysts are not used. `folder` keeps results; `on_trial` is called before each one.
    """
    _check(candidates, plan)
    candidates = bound(candidates, base)
    datasets = {TextShare.VALIDATION: parts.validation, TextShare.HELD_OUT: parts.held_out}
    plan = replace(plan, analysts=(STATIC,))
    work = Trials(datasets, base, plan, folder, metrics=Metrics(base, parts))
    for part in datasets:  # refused before hours of work where nothing can be judged on it
        work.measured(part, None)
    total = len(candidates) + 1
    trials = []
    for done, candidate in enumerate(candidates):
        on_trial(candidate.name, done, total)
        trials.append(work.measured(TextShare.VALIDATION, candidate))
    best = target.best(trials)
    held_out = None
    if best is not None and best.candidate is not None:
        on_trial(f"{best.name}, held out", len(candidates), total)
        held_out = work.measured(TextShare.HELD_OUT, best.candidate)
    return Search(
        target,
        work.measured(TextShare.VALIDATION, None),
        tuple(trials),
        held_out,
        work.measured(TextShare.HELD_OUT, None) if held_out is not None else None,
        work.candidates_of(TextShare.HELD_OUT),
    )


def _check(candidates: Sequence[Candidate], plan: Plan) -> None:
    if not candidates:
        raise ParameterError("no setting to measure")
    if not plan.attacks or not plan.models:
        raise ParameterError("a target weighs attack and utility: name an attack and a classifier")
    if plan.form not in _FORMS or plan.redact:
        # Shortened further, a text could become one that the metric was learned from.
        raise ParameterError("a target takes texts as raw or content, with nothing redacted")
