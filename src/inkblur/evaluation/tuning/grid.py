"""Choosing parameters: measure a grid of settings, then choose by one of the papers' criteria.

    least-survival   least N_w among the settings that keep enough utility (Mahalanobis paper)
    most-utility     most utility among the settings that are private enough
    largest-gap      largest smallest gap beta_U - beta_A over all scenarios (SynTF, section 4.2)

beta_U, the utility, is what is left of the analyst's F1: the best classifier of released texts
after, divided by the best one before. beta_A is what is left of an attack: its F1 after divided by
its F1 before, for the stronger of the adaptive and the static attacker. Private enough means that
words survive at most so many of 100 runs, or that no attack names more than such a share of the
authors, or both.

Each setting's result is a line of a file as soon as it is known, and depends on nothing but the
data, the plan and the setting. A run that was killed goes on where it stopped and ends the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from inkblur.embeddings.table import Embedding
from inkblur.errors import InputError, ParameterError
from inkblur.evaluation.dataset import Dataset
from inkblur.evaluation.evaluate import Plan, PreparedEvaluation
from inkblur.evaluation.measures.statistics import RUNS, privacy_statistics
from inkblur.evaluation.releasers import PoolReleaser, TextReleaser, VectorReleaser, releaser
from inkblur.evaluation.results import ADAPTIVE, STATIC, SettingResult, relative
from inkblur.files.checkpoint import Checkpoint
from inkblur.mechanisms.catalogue import find
from inkblur.rng import seeded_rng
from inkblur.spec import ReleaseSpec
from inkblur.types import choose, whole

FILE = "tune.jsonl"


class Criterion(Enum):
    """What makes a setting the best."""

    LEAST_SURVIVAL = "least-survival"
    MOST_UTILITY = "most-utility"
    LARGEST_GAP = "largest-gap"


@dataclass(frozen=True, slots=True)
class AttackLeft:
    """What one attack still reaches in one scenario, by the stronger attacker."""

    attack: str
    scenario: str
    accuracy: float
    left: float | None  # F1 after / F1 before; None where it reached nothing before


@dataclass(frozen=True, slots=True)
class Trial:
    """One setting, measured."""

    setting: ReleaseSpec
    survival: float  # mean N_w, of 100 runs; of a pool, for a text that stands in it
    f1: float | None  # the best classifier's, on released texts
    utility: float | None  # that, divided by the best one's before
    attacks: tuple[AttackLeft, ...]

    @property
    def worst(self) -> float | None:
        """The largest share of authors that any attack names."""
        return max((a.accuracy for a in self.attacks), default=None)

    @property
    def attack_left(self) -> float | None:
        """beta_A in the scenario where it is largest."""
        return max((a.left for a in self.attacks if a.left is not None), default=None)

    @property
    def gap(self) -> float | None:
        """The smallest gap between what the analyst and what an attacker keeps."""
        left = self.attack_left
        return self.utility - left if left is not None and self.utility is not None else None

    def to_json(self) -> dict[str, Any]:
        """A JSON object; :meth:`from_json` reads it back."""
        return {
            "setting": self.setting.to_json(),
            "survival": self.survival,
            "f1": self.f1,
            "utility": self.utility,
            "attacks": [asdict(attack) for attack in self.attacks],
            "worst_attack": self.worst,
            "gap": self.gap,
        }

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Trial:
        """The trial that :meth:`to_json` wrote."""
        return cls(
            ReleaseSpec.from_json(body["setting"]),
            body["survival"],
            body["f1"],
            body["utility"],
            tuple(AttackLeft(**attack) for attack in body["attacks"]),
        )


@dataclass(frozen=True, slots=True)
class Goal:
    """A criterion with its floors."""

    criterion: Criterion
    utility_floor: float | None = None  # beta_U at least, for least-survival
    most_survival: float | None = None  # N_w at most, of 100 runs, for most-utility
    most_attack: float | None = None  # share of authors named at most, for most-utility

    def __post_init__(self) -> None:
        floor, privacy = self.utility_floor, (self.most_survival, self.most_attack)
        if (self.criterion is Criterion.LEAST_SURVIVAL) != (floor is not None):
            raise ParameterError("least-survival, and only it, needs a utility floor, such as 0.8")
        wants = self.criterion is Criterion.MOST_UTILITY
        if wants != any(limit is not None for limit in privacy):
            raise ParameterError(
                "most-utility, and only it, needs a privacy floor: words survive at most N of 100 "
                "runs, or attacks name at most a share of the authors"
            )

    def allows(self, trial: Trial) -> bool:
        """Whether a setting meets the floors."""
        if self.criterion is Criterion.LEAST_SURVIVAL:
            return (trial.utility or 0.0) >= (self.utility_floor or 0.0)
        if self.most_survival is not None and trial.survival > self.most_survival:
            return False
        return self.most_attack is None or (trial.worst or 0.0) <= self.most_attack

    def rank(self, trial: Trial) -> tuple[float, float]:
        """The better, the larger; what decides between equals comes second."""
        utility = trial.utility or 0.0
        if self.criterion is Criterion.LEAST_SURVIVAL:
            return -trial.survival, utility
        if self.criterion is Criterion.MOST_UTILITY:
            return utility, -trial.survival
        return trial.gap if trial.gap is not None else float("-inf"), -trial.survival

    def best(self, trials: Sequence[Trial]) -> Trial | None:
        """The best setting that meets the floors; the first of equals; None where none does."""
        allowed = [trial for trial in trials if self.allows(trial)]
        return max(allowed, key=self.rank, default=None)


def refuse_unproved(settings: Sequence[ReleaseSpec]) -> None:
    """Raise where a mechanism proves nothing: no setting of it can be advised."""
    for setting in settings:
        if not find(setting.mechanism).private:
            raise ParameterError(
                f"{setting.mechanism} has no guarantee, so no setting of it can be recommended; "
                "`inkblur evaluate` measures it"
            )


def tune(
    data: Dataset,
    embedding: Embedding,
    settings: Sequence[ReleaseSpec],
    plan: Plan,
    folder: Path,
    *,
    words: int = 200,
    on_trial: Callable[[ReleaseSpec, int, int], None] = lambda setting, done, total: None,
) -> tuple[Trial, ...]:
    """Measure every setting, in order; what `folder` holds already is not measured again.

    `words` of the vocabulary are sampled for N_w. `on_trial` hears of every setting before it is
    measured, with how many are done.
    """
    whole(words, "words")
    refuse_unproved(settings)
    settings = [_checked(setting, embedding) for setting in settings]
    checkpoint = Checkpoint(folder / FILE, fingerprint([data], embedding, plan, words=words))
    known = _trials(checkpoint)
    bench: PreparedEvaluation | None = None
    before: SettingResult | None = None
    for done, setting in enumerate(settings):
        on_trial(setting, done, len(settings))
        if setting in known:
            continue
        if bench is None or before is None:
            bench = PreparedEvaluation(data, embedding, plan)
            before = bench.baseline()
        trial = _tried(setting, bench, before, words)
        checkpoint.add(trial.to_json())
        known[setting] = trial
    return tuple(known[setting] for setting in settings)


def _checked(setting: ReleaseSpec, embedding: Embedding) -> ReleaseSpec:
    """The setting, a wrong value refused before hours of work; a pool is bound by its content."""
    if setting.pool is not None:
        pool = setting.pool_privatizer(embedding).mechanism.pool
        return setting.varied(pool_sha256=pool.sha256)
    setting.mechanism_on(embedding)
    return setting


def _tried(
    setting: ReleaseSpec, bench: PreparedEvaluation, before: SettingResult, words: int
) -> Trial:
    release = releaser(setting, bench.embedding)
    found = bench.measure(release, promise=False)
    after = max((u.f1.mean for u in found.utility if u.analyst == ADAPTIVE), default=None)
    old = max((u.f1.mean for u in before.utility), default=None)
    utility = relative(after, old) if after is not None and old is not None else None
    survival = _survival(release, words, bench.plan.seed)
    return Trial(setting, survival, after, utility, _left(found, before))


def _survival(
    release: TextReleaser | PoolReleaser | VectorReleaser, words: int, seed: int
) -> float:
    """Mean N_w; for a pool, how often a text that stands in it comes out as itself."""
    if isinstance(release, PoolReleaser):
        return RUNS * release.mechanism.likeliest
    statistics = privacy_statistics(
        release.mechanism,
        rng=seeded_rng(seed),
        words=min(words, len(release.mechanism.vocabulary)),
        runs=RUNS,
    )
    return statistics.survival.mean


def _left(found: SettingResult, before: SettingResult) -> tuple[AttackLeft, ...]:
    rows = []
    for base in before.attacks:
        both = [found.attack(base.attack, base.scenario, kind) for kind in (ADAPTIVE, STATIC)]
        present = [attack for attack in both if attack is not None]
        rows.append(
            AttackLeft(
                base.attack,
                base.scenario,
                max(attack.accuracy.mean for attack in present),
                relative(max(attack.f1.mean for attack in present), base.f1.mean),
            )
        )
    return tuple(rows)


def fingerprint(
    datasets: Sequence[Dataset], embedding: Embedding, plan: Plan, **others: Any
) -> dict[str, Any]:
    """What every result depends on besides its setting; a checkpoint begins with it."""
    digest = hashlib.sha256()
    for part in (part for data in datasets for part in (data.train, data.test)):
        rows = [part.texts, part.authors.tolist(), part.labels]
        digest.update(json.dumps(rows).encode("utf-8"))
    measured = {**asdict(plan), "examples": 0}  # examples are not part of a trial
    digest.update(json.dumps([measured, others, embedding.sha256]).encode("utf-8"))
    return {"run": digest.hexdigest()}


def _trials(checkpoint: Checkpoint) -> dict[ReleaseSpec, Trial]:
    try:
        trials = [Trial.from_json(row) for row in checkpoint.rows]
    except (KeyError, TypeError, ParameterError):
        raise InputError(
            f"{checkpoint.file} has a line that is not a result; choose another folder"
        ) from None
    return {trial.setting: trial for trial in trials}


def make_goal(
    criterion: str | Criterion,
    *,
    utility_floor: float | None = None,
    most_survival: float | None = None,
    most_attack: float | None = None,
) -> Goal:
    """A goal from plain values."""
    chosen = choose(Criterion, criterion, "criterion")
    return Goal(chosen, utility_floor, most_survival, most_attack)
