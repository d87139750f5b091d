"""Choosing among settings by one of the papers' criteria.

    least-survival   least N_w among the settings that keep enough utility (Mahalanobis paper)
    most-utility     most utility among the settings that are private enough
    largest-gap      largest smallest gap beta_U - beta_A over all scenarios (SynTF, section 4.2)

beta_U, the utility, is what is left of the analyst's F1; beta_A is what is left of an attack's, by
the stronger attacker. Private enough: words survive at most N of 100 runs, or no attack names the
authors of more than a share of the texts, or both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.evaluation.dataset import Dataset
from inkblur.evaluation.plan import Plan
from inkblur.evaluation.tuning.adapted_grid import Candidate
from inkblur.evaluation.tuning.four_way_split import TextShare
from inkblur.evaluation.tuning.trials import Trial, Trials, bound, refuse_unproved
from inkblur.spec import ReleaseSpec
from inkblur.types import whole


class Criterion(Enum):
    """What makes a setting the best."""

    LEAST_SURVIVAL = "least-survival"
    MOST_UTILITY = "most-utility"
    LARGEST_GAP = "largest-gap"


@dataclass(frozen=True, slots=True)
class Goal:
    """A criterion with its floors."""

    criterion: Criterion
    utility_floor: float | None = None  # beta_U at least, in (0, 1], for least-survival
    most_survival: float | None = None  # N_w at most, in [0, 100) of 100 runs, for most-utility
    most_attack: float | None = None  # share of texts whose author is named, in [0, 1), too

    def __post_init__(self) -> None:
        floor, privacy = self.utility_floor, (self.most_survival, self.most_attack)
        if (self.criterion is Criterion.LEAST_SURVIVAL) != (floor is not None):
            raise ParameterError("least-survival, and only it, needs a utility floor, such as 0.8")
        if floor is not None and not 0 < floor <= 1:  # 80 for 80 % would allow nothing
            raise ParameterError(
                f"`utility_floor=` is a share of the original utility, above 0 and at most 1, such "
                f"as 0.8; got {floor:g}"
            )
        # At its end or beyond (20 for 20 %), a limit would allow everything.
        for name, limit, unit, end, usual in (
            ("most_survival", self.most_survival, "a number of 100 runs", 100, "20"),
            ("most_attack", self.most_attack, "a share of the texts", 1, "0.2"),
        ):
            if limit is not None and not 0 <= limit < end:
                raise ParameterError(
                    f"`{name}=` is {unit}, at least 0 and below {end}, such as {usual}; got "
                    f"{limit:g}"
                )
        wants = self.criterion is Criterion.MOST_UTILITY
        if wants != any(limit is not None for limit in privacy):
            raise ParameterError(
                "most-utility, and only it, needs a privacy floor: words survive at most N of 100 "
                "runs, or attacks name the authors of at most a share of the texts"
            )

    def allows(self, trial: Trial) -> bool:
        """Whether a setting meets the floors; what was not measured meets none."""
        if self.criterion is Criterion.LEAST_SURVIVAL:
            return trial.utility >= (self.utility_floor or 0.0)
        if self.most_survival is not None and (
            trial.survival is None or trial.survival > self.most_survival
        ):
            return False
        if self.most_attack is None:
            return True
        return trial.strongest is not None and trial.attack <= self.most_attack

    def rank(self, trial: Trial) -> tuple[float, float]:
        """The better, the larger; what decides between equals comes second."""
        survival = trial.survival or 0.0
        if self.criterion is Criterion.LEAST_SURVIVAL:
            return -survival, trial.utility
        if self.criterion is Criterion.MOST_UTILITY:
            return trial.utility, -survival
        return trial.gap if trial.gap is not None else float("-inf"), -survival

    def best(self, trials: Sequence[Trial]) -> Trial | None:
        """The best setting that meets the floors; the first of equals; None where none does."""
        allowed = [trial for trial in trials if self.allows(trial)]
        return max(allowed, key=self.rank, default=None)


def tune(
    data: Dataset,
    embedding: Embedding,
    settings: Sequence[ReleaseSpec],
    plan: Plan,
    folder: Path,
    *,
    words: int = 200,
    on_trial: Callable[[str, int, int], None] = lambda name, done, total: None,
) -> tuple[Trial, ...]:
    """Measure every setting, in order; what `folder` holds already is not measured again.

    `words` of the vocabulary are sampled for N_w. `on_trial` is called before each setting.
    """
    whole(words, "words")
    refuse_unproved(settings)
    candidates = bound([Candidate(setting) for setting in settings], embedding)
    trials = Trials({TextShare.VALIDATION: data}, embedding, plan, folder, words=words)
    found = []
    for done, candidate in enumerate(candidates):
        on_trial(candidate.name, done, len(candidates))
        found.append(trials.measured(TextShare.VALIDATION, candidate))
    return tuple(found)
