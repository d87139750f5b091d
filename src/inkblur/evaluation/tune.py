"""Settings measured by `evaluate`, chosen for a target on one half of the test texts, and judged on
the other half, which took no part in the choice: the best of many looks better than it is.

    attack<=0.2     most utility, where the strongest attack names the authors of at most 20 % of
                    the texts
    utility>=0.8    least attack, where at least 80 % of the utility is left

The attack is the share of texts whose author is named by the strongest attack tried, static or
adaptive. The utility is the F1 of the best classifier of labels that studied released texts,
divided by the best one's on the texts as they are. No setting is chosen whose labels are found no
better than by guessing, or that teaches no more about true texts than the public ones alone do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.evaluation.dataset import Dataset, halves
from inkblur.evaluation.evaluate import OnStep, PreparedEvaluation
from inkblur.evaluation.plan import Plan
from inkblur.evaluation.releasers import releaser
from inkblur.evaluation.results import BOTH, PUBLIC, RELEASED, TRUE, Measurement, SettingResult
from inkblur.evaluation.usefulness import LabeledTexts
from inkblur.mechanisms.catalogue import find
from inkblur.spec import ReleaseSpec

_TARGET = re.compile(r"\s*(attack\s*<=|utility\s*>=)\s*([0-9]*\.?[0-9]+)\s*")


@dataclass(frozen=True, slots=True)
class Target:
    """A bound on attack or on utility; the other is to be as good as it can be."""

    what: str  # attack or utility
    bound: float

    @classmethod
    def parse(cls, text: str) -> Target:
        """The target as it is written on the command line.

        >>> Target.parse("attack<=0.2")
        Target(what='attack', bound=0.2)
        """
        match = _TARGET.fullmatch(text)
        if match is None:
            raise ParameterError(
                f"cannot read the target {text!r}; write 'attack<=0.2' or 'utility>=0.8', in "
                "quotes, because the shell takes < and > for itself"
            )
        what, bound = match[1].rstrip("<=> \t"), float(match[2])
        if not (0 <= bound < 1 if what == "attack" else 0 < bound <= 1):
            raise ParameterError(
                f"{text} bounds nothing: an attack is a share below 1, and a utility a share above "
                "0 and at most 1"
            )
        return cls(what, bound)

    def __str__(self) -> str:
        return f"{self.what}{'<=' if self.what == 'attack' else '>='}{self.bound:g}"

    def missed_by(self, trial: Trial) -> float:
        """How far beyond the bound, 0 where it is met (a mean's rounding is no miss)."""
        attack, utility = trial.attack.accuracy.mean, trial.utility
        over = attack - self.bound if self.what == "attack" else self.bound - utility
        return max(0.0, round(over, 12))

    def best(self, trials: Sequence[Trial]) -> Trial | None:
        """The best that meets the bound and is worth a release; the first of equals."""
        allowed = [trial for trial in trials if not self.missed_by(trial) and not trial.worthless]
        return max(allowed, key=self._rank, default=None)

    def nearest(self, trials: Sequence[Trial]) -> Trial:
        """The one that misses the bound by least."""
        return min(trials, key=lambda t: (self.missed_by(t), *(-rank for rank in self._rank(t))))

    def _rank(self, trial: Trial) -> tuple[float, float]:
        attack = -trial.attack.accuracy.mean
        return (attack, trial.utility) if self.what == "utility" else (trial.utility, attack)


@dataclass(frozen=True, slots=True)
class Trial:
    """What `evaluate` found of one setting on one half of the test texts."""

    spec: ReleaseSpec
    result: SettingResult
    before: SettingResult

    @property
    def attack(self) -> Measurement:
        """The attack that names most authors, by the stronger attacker."""
        return max(self.result.attacks, key=lambda attack: attack.accuracy.mean)

    @property
    def score(self) -> Measurement:
        """The best classifier of released texts that studied released ones."""
        return _best(self.result, RELEASED)

    @property
    def utility(self) -> float:
        """What is left of the labels' F1."""
        return self.score.accuracy.mean / _best(self.before, TRUE).accuracy.mean

    def taught(self, studied: str) -> Measurement | None:
        """The labels of *true* texts, by who studied the release, the public texts or both."""
        return self.result.score(studied, TRUE)

    @property
    def worthless(self) -> str:
        """Why this setting is not worth a release; empty where nothing says so."""
        if self.score.above_chance <= 0:
            f1 = self.score.accuracy.mean
            return f"below guessing (F1 {f1:.3f}, guessing {self.score.chance:.3f})"
        alone, release = (self.taught(studied) for studied in (PUBLIC, RELEASED))
        if alone and release and release.accuracy.mean <= alone.accuracy.mean:
            return (
                f"below the public texts alone (F1 {release.accuracy.mean:.3f}, alone "
                f"{alone.accuracy.mean:.3f})"
            )
        return ""

    def to_json(self) -> dict[str, Any]:
        """A JSON object: no text, no name."""
        taught = (self.taught(studied) for studied in (PUBLIC, RELEASED, BOTH))
        return {
            "setting": self.spec.to_json(),
            "name": self.spec.name,
            "attack": self.attack.to_json(),
            "labels": self.score.to_json(),
            "taught": [each.to_json() for each in taught if each is not None],
            "utility": self.utility,
            "worthless": self.worthless,
        }


@dataclass(frozen=True, slots=True)
class Tuning:
    """Every setting on the half that chooses, and the choice on the half that judges."""

    target: Target
    trials: tuple[Trial, ...]
    best: Trial | None  # on the choosing half; None where no setting meets the target
    judged: Trial | None  # the same setting on the other half

    @property
    def refused(self) -> str:
        """Why the judging half takes the choice back; empty where it stands."""
        if self.judged is None:
            return ""
        f1, guessing = self.judged.score.accuracy, self.judged.score.chance or 0.0
        if f1.low is not None and f1.low <= guessing:
            between = f"F1 {f1.low:.3f} to {f1.high:.3f}, guessing {guessing:.3f}"
            return f"not surely above guessing ({between})"
        return self.judged.worthless

    @property
    def chosen(self) -> Trial | None:
        """The setting that was chosen, as the texts that chose it show it."""
        return None if self.refused else self.best

    @property
    def met(self) -> bool:
        """Whether the choice meets the target on the judging half too."""
        return self.judged is not None and not self.target.missed_by(self.judged)

    def sentences(self) -> tuple[str, ...]:
        """What was found, for a person to read."""
        if self.best is None or self.judged is None:
            nearest = self.target.nearest(self.trials)
            why = f" ({nearest.worthless})" if nearest.worthless else ""
            return (
                f"No setting meets {self.target} and is worth a release. The nearest is "
                f"{nearest.spec.name}: {_figures(nearest)}{why}.",
            )
        lines = (
            f"On the texts that chose it, {self.best.spec.name} has {_figures(self.best)}.",
            f"On the other half, which took no part in the choice: {_figures(self.judged)}.",
        )
        if self.refused:
            return (*lines, f"So no setting is chosen: there it is {self.refused}.")
        attack = self.judged.attack.accuracy
        between = ""
        if attack.low is not None:
            between = f" (on other texts like these {attack.low:.0%} to {attack.high:.0%})"
        verdict = "is met" if self.met else "is not met; aim for more than you need"
        return (
            *lines,
            f"The attack there is {attack.mean:.1%}{between}.",
            f"There {self.target} {verdict}.",
        )

    def to_json(self) -> dict[str, Any]:
        """A JSON object; the same data, plan and seed give the same."""
        return {
            "target": str(self.target),
            "chosen": self.chosen.to_json() if self.chosen is not None else None,
            "judged": self.judged.to_json() if self.judged is not None else None,
            "met": self.met,
            "refused": self.refused,
            "trials": [trial.to_json() for trial in self.trials],
        }


def tune(
    data: Dataset,
    embedding: Embedding,
    specs: Sequence[ReleaseSpec],
    target: Target,
    plan: Plan,
    *,
    public: Sequence[str] = (),
    public_labels: Sequence[str | None] = (),
    on_step: OnStep = lambda what, done, total: None,
) -> Tuning:
    """Evaluate every setting on half of the test texts, choose, and judge the choice on the rest.

    What the plan says about meaning, examples and reading is left out: nothing is chosen by it.
    `public` texts with labels like those of the data show what has to be beaten.
    """
    if not plan.attacks or not plan.models or not (data.has_authors and data.has_labels):
        raise ParameterError(
            "a target weighs attack and utility: give authors and labels, an attack and a "
            "classifier"
        )
    for spec in specs:
        if not find(spec.mechanism).private:
            raise ParameterError(
                f"{spec.mechanism} has no guarantee, so no setting of it can be recommended; "
                "`inkblur evaluate` measures it"
            )
    plan = replace(plan, meaning_texts=0, examples=0, read_texts=0)
    releases = [releaser(spec, embedding) for spec in specs]  # a wrong value is refused here
    taught = LabeledTexts(public, public_labels) if public_labels else None
    halved = [PreparedEvaluation(half, embedding, plan, taught) for half in halves(data, plan.seed)]
    befores = [_checked(half.baseline()) for half in halved]  # before hours of work

    def measured(half: int, place: int) -> Trial:
        release = releases[place]
        on_step(release.name, len(specs) if half else place, len(specs) + 1)
        result = halved[half].measure(release)
        if not result.attacks or result.score(RELEASED, RELEASED) is None:
            raise ParameterError(
                f"none of the attacks or none of the classifiers can be tried on {release.name}, "
                "so nothing says how private and how useful it is; add svm to both"
            )
        return Trial(specs[place], result, befores[half])

    trials = [measured(0, place) for place in range(len(specs))]
    best = target.best(trials)
    judged = measured(1, trials.index(best)) if best is not None else None
    return Tuning(target, tuple(trials), best, judged)


def _checked(before: SettingResult) -> SettingResult:
    """The texts as they are, refused where nobody finds their labels: no release can keep them."""
    best = _best(before, TRUE)
    if best.above_chance <= 0:
        raise ParameterError(
            "on the original texts, the best classifier finds labels no better than guessing (F1 "
            f"{best.accuracy.mean:.3f}, guessing {best.chance:.3f}), so no release can keep them; "
            "give more labeled texts"
        )
    return before


def _best(result: SettingResult, texts: str) -> Measurement:
    """The best classifier of these texts that studied others like them."""
    found = result.score(texts, texts)
    assert found is not None  # `tune` refuses what has no labels and no classifier
    return found


def _figures(trial: Trial) -> str:
    attack, score = trial.attack, trial.score
    return (
        f"attack {attack.accuracy.mean:.1%} (guessing: {attack.chance:.1%}), F1 "
        f"{score.accuracy.mean:.3f} (guessing: {score.chance:.3f}), utility left "
        f"{trial.utility:.1%}"
    )
