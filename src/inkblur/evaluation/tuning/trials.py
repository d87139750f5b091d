"""Measuring settings one by one: the engine of every kind of tuning.

Each result is written to a file as soon as it is known, and depends on the data, the plan and the
setting alone: a killed run continues where it stopped and ends the same, and a second run with more
settings or another goal measures only what is new.

The attack is the share of attacked texts whose author is named by the strongest attack tried,
whether the attacker studied true texts (static) or released ones (adaptive). The utility is the F1
of the best classifier of labels on released texts, divided by the best one's on true texts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from inkblur.embeddings.table import Embedding
from inkblur.errors import InputError, ParameterError
from inkblur.evaluation.dataset import Dataset
from inkblur.evaluation.evaluate import PreparedEvaluation
from inkblur.evaluation.measures.intervals import clopper_pearson
from inkblur.evaluation.measures.statistics import RUNS, privacy_statistics
from inkblur.evaluation.plan import Plan
from inkblur.evaluation.releasers import PoolReleaser, TextReleaser, VectorReleaser, releaser
from inkblur.evaluation.results import (
    AttackResult,
    SettingResult,
    UtilityResult,
    relative,
)
from inkblur.evaluation.tuning.adapted_grid import Candidate, Metrics
from inkblur.evaluation.tuning.four_way_split import TextShare
from inkblur.files.checkpoint import Checkpoint
from inkblur.mechanisms.catalogue import find
from inkblur.rng import seeded_rng
from inkblur.spec import ReleaseSpec

FILE = "tune.jsonl"


@dataclass(frozen=True, slots=True)
class AttackLeft:
    """What one attack still reaches in one scenario, by the stronger attacker."""

    attack: str
    scenario: str
    attacker: str
    suspects: int
    attacked: int  # texts
    accuracy: float  # share of the attacked texts whose author is named
    chance: float  # the same for guessing, without looking at any text
    f1: float
    left: float | None  # F1 after / F1 before; None where it reached nothing before


@dataclass(frozen=True, slots=True)
class Trial:
    """One candidate on one part of the texts; without a candidate, the texts as they are."""

    candidate: Candidate | None
    part: TextShare
    survival: float | None  # mean N_w, of 100 runs (of a pool: of a text in it); None: not measured
    f1: float  # of the best classifier of labels
    utility: float  # that, divided by the best one's on the texts as they are
    model: str  # which classifier that was
    scored: int  # texts
    labels: int  # that the analyst knows
    utility_of_guessing: float  # what a blind guess of the labels by their shares would keep
    attacks: tuple[AttackLeft, ...]
    doubt: str = ""  # why the utility may mean nothing, in a sentence; empty where it means much

    @property
    def name(self) -> str:
        """The candidate's name."""
        return self.candidate.name if self.candidate is not None else "original texts"

    @property
    def strongest(self) -> AttackLeft | None:
        """The attack that names most authors; None where none was tried."""
        return max(self.attacks, key=lambda attack: attack.accuracy, default=None)

    @property
    def attack(self) -> float:
        """Share of texts whose author the strongest attack names."""
        return self.strongest.accuracy if self.strongest is not None else 0.0

    @property
    def chance(self) -> float:
        """Share of the same texts whose author is named by guessing."""
        return self.strongest.chance if self.strongest is not None else 0.0

    @property
    def attack_between(self) -> tuple[float, float]:
        """95 % bounds on the attack for other texts like these (Clopper and Pearson, both sides).

        A mean over repetitions counts each text once, so the bounds are wide rather than narrow.
        """
        if self.strongest is None:
            return 0.0, 1.0
        attacked = self.strongest.attacked
        return clopper_pearson(self.strongest.accuracy * attacked, attacked, 0.95)

    @property
    def attack_left(self) -> float | None:
        """beta_A in the scenario where it is largest."""
        return max((a.left for a in self.attacks if a.left is not None), default=None)

    @property
    def gap(self) -> float | None:
        """The smallest gap between what the analyst and what an attacker keeps."""
        left = self.attack_left
        return self.utility - left if left is not None else None

    def to_json(self) -> dict[str, Any]:
        """A JSON object; :meth:`from_json` reads it back."""
        setting = self.candidate.to_json() if self.candidate is not None else None
        body = {**asdict(replace(self, candidate=None)), "part": self.part.value}
        del body["candidate"]
        derived = {
            "attack": self.attack if self.attacks else None,
            "chance": self.chance if self.attacks else None,
            "attack_between": list(self.attack_between) if self.attacks else None,
            "gap": self.gap,
        }
        return {"setting": setting, **body, **derived}

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Trial:
        """The trial that :meth:`to_json` wrote."""
        setting = body["setting"]
        own = {field.name: body[field.name] for field in fields(cls) if field.name in body}
        own["candidate"] = Candidate.from_json(setting) if setting is not None else None
        own["part"] = TextShare(body["part"])
        own["attacks"] = tuple(AttackLeft(**attack) for attack in body["attacks"])
        return cls(**own)


class Trials:
    """Measures what its file does not hold yet."""

    def __init__(
        self,
        datasets: Mapping[TextShare, Dataset],
        embedding: Embedding,
        plan: Plan,
        folder: Path,
        *,
        words: int = 0,  # of the vocabulary, sampled for N_w; 0: it is not measured
        metrics: Metrics | None = None,  # None: only settings on the embedding as it is
    ) -> None:
        self._datasets, self._embedding, self._words = datasets, embedding, words
        self._plan = replace(plan, meaning_texts=0, examples=0)  # not part of a trial
        self._metrics = metrics
        taught = metrics.taught if metrics is not None else 0
        run = _fingerprint(datasets, embedding, self._plan, words=words, taught=taught)
        self._checkpoint = Checkpoint(folder / FILE, run)
        try:
            rows = [Trial.from_json(row) for row in self._checkpoint.rows]
        except (KeyError, TypeError, ValueError):
            raise InputError(
                f"{self._checkpoint.file} has a line that is not a result; choose another folder"
            ) from None
        self._known = {(row.part, row.candidate): row for row in rows}
        self._benches: dict[TextShare, PreparedEvaluation] = {}

    def candidates_of(self, part: TextShare) -> int:
        """How many candidates were ever measured on this part, in this folder."""
        return sum(known is part and candidate is not None for known, candidate in self._known)

    def measured(self, part: TextShare, candidate: Candidate | None) -> Trial:
        """The candidate on this part, measured now or before."""
        if (part, candidate) in self._known:
            return self._known[part, candidate]
        if part not in self._benches:
            self._benches[part] = PreparedEvaluation(
                self._datasets[part], self._embedding, self._plan
            )
        bench = self._benches[part]
        if candidate is None:
            found = self._summary(None, part, bench.baseline(), None, None)
        else:
            before = self.measured(part, None)
            table = self._embedding
            if self._metrics is not None:
                table = self._metrics.of(candidate.adapted)
            release = releaser(candidate.setting, table)
            result = bench.measure(release, promise=False)
            survival = _survival(release, self._words, self._plan.seed) if self._words else None
            found = self._summary(candidate, part, result, before, survival)
        self._checkpoint.add(found.to_json())
        self._known[part, candidate] = found
        return found

    def _summary(
        self,
        candidate: Candidate | None,
        part: TextShare,
        result: SettingResult,
        before: Trial | None,
        survival: float | None,
    ) -> Trial:
        analyst = self._plan.analysts[0]
        scores = [u for u in result.utility if before is None or u.analyst == analyst]
        score = max(scores, key=lambda u: u.f1.mean, default=None)
        if score is None:
            raise ParameterError(
                f"none of the classifiers ({', '.join(self._plan.models) or 'none given'}) can "
                f"tell labels of {'the texts' if candidate is None else candidate.name}, so "
                "nothing says how useful it is; give labels, and add svm"
            )
        doubt = before.doubt if before is not None else _doubt(score, part)
        f1_untouched = before.f1 if before is not None else score.f1.mean
        wanted = self._plan.attacks if self._datasets[part].has_authors else ()
        if candidate is not None and wanted and not result.attacks:
            raise ParameterError(
                f"none of the attacks ({', '.join(wanted)}) can be tried on "
                f"{candidate.name}, so nothing says how private it is; add svm"
            )
        groups: dict[tuple[str, str], list[AttackResult]] = {}
        for attack in result.attacks:
            groups.setdefault((attack.attack, attack.scenario), []).append(attack)
        if before is None:
            f1_before = {key: max(a.f1.mean for a in same) for key, same in groups.items()}
        else:
            f1_before = {(a.attack, a.scenario): a.f1 for a in before.attacks}
        return Trial(
            candidate,
            part,
            survival,
            score.f1.mean,
            score.f1.mean / f1_untouched,
            score.model,
            score.tested,
            score.labels,
            _guessed_f1(score.labels) / f1_untouched,
            # What was not tried on true texts reached nothing there: no share of it is left.
            tuple(_left(same, f1_before.get(key, 0.0)) for key, same in groups.items()),
            doubt,
        )


def _guessed_f1(labels: int) -> float:
    """The F1 of guessing labels by their shares, on average; no other blind guess has more.

    >>> _guessed_f1(4)
    0.25
    """
    return 1 / labels


def _doubt(score: UtilityResult, part: TextShare) -> str:
    """What to say of texts whose labels are hardly found before any release; refuse where they are
    not found at all: a share of nothing would be called "utility left 100 %".
    """
    guessing = _guessed_f1(score.labels)
    if score.f1.mean <= guessing:
        raise ParameterError(
            f"on the original {part.value} texts, the best classifier predicts labels no better "
            f"than guessing (F1 {score.f1.mean:.3f}, guessing {guessing:.3f}), so no release can "
            "keep them and nothing can be chosen by utility; give more labeled texts"
        )
    if score.f1.low is None or score.f1.low > guessing:
        return ""
    return (
        f"On the original {part.value} texts, the best classifier predicts labels hardly better "
        f"than guessing (F1 {score.f1.mean:.3f}, on other texts like these down to "
        f'{score.f1.low:.3f}; guessing {guessing:.3f}), so "utility left" and a choice based on it '
        "mean little. Give more labeled texts."
    )


def _left(same: Sequence[AttackResult], before: float) -> AttackLeft:
    """The stronger of the attackers who tried one attack in one scenario."""
    best = max(same, key=lambda attack: attack.accuracy.mean)
    f1 = max(attack.f1.mean for attack in same)
    return AttackLeft(
        best.attack,
        best.scenario,
        best.attacker,
        best.authors,
        best.attacked,
        best.accuracy.mean,
        best.chance,
        f1,
        relative(f1, before),
    )


def _survival(
    release: TextReleaser | PoolReleaser | VectorReleaser, words: int, seed: int
) -> float:
    """Mean N_w; for a pool, how often a text of the pool comes out as itself."""
    if isinstance(release, PoolReleaser):
        return RUNS * release.blur.mechanism.likeliest
    mechanism, rng = release.blur.mechanism, seeded_rng(seed)
    words = min(words, len(mechanism.vocabulary))
    return privacy_statistics(mechanism, rng=rng, words=words, runs=RUNS).survival.mean


def _fingerprint(
    datasets: Mapping[TextShare, Dataset], embedding: Embedding, plan: Plan, **others: int
) -> dict[str, Any]:
    """What every result depends on besides its setting; the file begins with it."""
    digest = hashlib.sha256()
    for part in (part for data in datasets.values() for part in (data.train, data.test)):
        rows = [part.texts, part.authors.tolist(), part.labels]
        digest.update(json.dumps(rows).encode("utf-8"))
    digest.update(json.dumps([asdict(plan), others, embedding.sha256]).encode("utf-8"))
    return {"run": digest.hexdigest(), "inkblur": version("inkblur")}


def refuse_unproved(settings: Sequence[ReleaseSpec]) -> None:
    """Raise where a mechanism proves nothing: no setting of it can be advised."""
    for setting in settings:
        if not find(setting.mechanism).private:
            raise ParameterError(
                f"{setting.mechanism} has no guarantee, so no setting of it can be recommended; "
                "`inkblur evaluate` measures it"
            )


def bound(candidates: Sequence[Candidate], embedding: Embedding) -> list[Candidate]:
    """The candidates with the fingerprints of the pools they name, for a folder may outlive those.

    A wrong value is refused here, before hours of work.
    """
    checked: dict[ReleaseSpec, ReleaseSpec] = {}
    for setting in dict.fromkeys(candidate.setting for candidate in candidates):
        if setting.pool is None:
            setting.mechanism_on(embedding)
            checked[setting] = setting
        else:
            pool = setting.pool_privatizer(embedding).mechanism.pool
            checked[setting] = setting.varied(pool_sha256=pool.sha256)
    return [replace(candidate, setting=checked[candidate.setting]) for candidate in candidates]
