"""Choosing metric and mechanism for a target on public texts, and judging the choice once.

Every candidate is measured on the validation part. The one the target prefers is then measured on
the held-out part, which took no part in the choice: the best of many looks better than it is, and
the two figures side by side show by how much.

The attackers are the adaptive and the static one. The analyst learned from true public texts and
is asked about released ones: the texts that taught the metric are public and could not be released.

Each result is a line of a file as soon as it is known; a run that was killed goes on from there,
and a second run with more candidates or another target measures only what is new.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

from inkblur.embeddings.table import Embedding
from inkblur.errors import InputError, ParameterError
from inkblur.evaluation.evaluate import Plan, PreparedEvaluation
from inkblur.evaluation.measures.intervals import clopper_pearson_lower, clopper_pearson_upper
from inkblur.evaluation.releasers import releaser
from inkblur.evaluation.results import STATIC, SettingResult, relative
from inkblur.evaluation.tuning.four_way_split import Parts, TextShare
from inkblur.evaluation.tuning.grid import FILE, fingerprint
from inkblur.evaluation.tuning.joined_grid import Candidate, Metrics
from inkblur.evaluation.tuning.target import Aim, Target, frontier
from inkblur.files.checkpoint import Checkpoint

_FORMS = ("raw", "content")


class Judgement(Enum):
    """What held-out texts say of a target."""

    MET = "met"
    OPEN = "met, but the interval reaches beyond"  # other texts like these may not meet it
    MISSED = "not met"


@dataclass(frozen=True, slots=True)
class Measured:
    """One candidate on one part; without a candidate, the texts as they are."""

    candidate: Candidate | None
    part: TextShare
    attack: float  # share of the attacked texts whose author the strongest attack names
    attacker: str  # which attack that was
    attacked: int  # texts
    f1: float  # of the best classifier of labels
    utility: float  # that, divided by the best one's on the texts as they are
    model: str  # which classifier that was
    asked: int  # texts
    labels: int  # that the analyst knows

    @property
    def name(self) -> str:
        """The candidate's name."""
        return self.candidate.name if self.candidate is not None else "the texts as they are"

    @property
    def attack_between(self) -> tuple[float, float]:
        """95 % bounds on the attack for other texts like these (Clopper and Pearson, both sides).

        They take the attacked texts for draws of their own; a mean over repetitions counts them
        once, so the bounds are wide rather than narrow.
        """
        hits = self.attack * self.attacked
        low = clopper_pearson_lower(hits, self.attacked, 0.025)
        return float(low), float(clopper_pearson_upper(hits, self.attacked, 0.025))

    def to_json(self) -> dict[str, Any]:
        """A JSON object; :meth:`from_json` reads it back."""
        setting = self.candidate.to_json() if self.candidate is not None else None
        body = {**asdict(replace(self, candidate=None)), "part": self.part.value}
        del body["candidate"]
        return {"setting": setting, **body, "attack_between": list(self.attack_between)}

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Measured:
        """What :meth:`to_json` wrote."""
        other = ("setting", "part", "attack_between")
        rest = {key: value for key, value in body.items() if key not in other}
        setting = body["setting"]
        candidate = Candidate.from_json(setting) if setting is not None else None
        return cls(candidate=candidate, part=TextShare(body["part"]), **rest)


@dataclass(frozen=True, slots=True)
class Search:
    """What was searched, what was chosen, and what the held-out part says of it."""

    target: Target
    before: Measured  # the validation part's texts as they are
    trials: tuple[Measured, ...]  # on the validation part, in the order of the grid
    held_out: Measured | None  # the chosen candidate; None where none meets the target
    held_out_before: Measured | None
    looks: int  # candidates that were ever measured on the held-out part, in this folder

    @property
    def best(self) -> Measured | None:
        """The trial that was chosen."""
        return self.target.best(self.trials)

    @property
    def nearest(self) -> Measured:
        """The trial that meets the target, or else misses it by least."""
        return self.best or self.target.nearest(self.trials)

    @property
    def frontier(self) -> tuple[Measured, ...]:
        """Trials that no other beats in both measures, by rising attack."""
        return frontier(self.trials)

    @property
    def guessing(self) -> float:
        """The utility that is left to who guesses labels by their shares, without any text.

        Precision and recall of a label are then its share in the mean, and so is its F1: over all
        labels, 1 / labels.
        """
        return 1 / (self.before.labels * self.before.f1)

    @property
    def judgement(self) -> Judgement | None:
        """Whether the choice meets the target on the held-out part too; None without a choice.

        An attack below its bound is judged by its 95 % interval as well. The utility has none: it
        is judged by the figure alone.
        """
        if self.held_out is None:
            return None
        if self.target.missed_by(self.held_out):
            return Judgement.MISSED
        high = self.held_out.attack_between[1]
        attack = self.target.aim is Aim.ATTACK
        return Judgement.OPEN if attack and high > self.target.bound else Judgement.MET

    def to_json(self) -> dict[str, Any]:
        """A JSON object; the same data, plan and seed give the same."""
        front = self.frontier
        return {
            "target": str(self.target),
            "best": self.best.to_json() if self.best is not None else None,
            "nearest": self.nearest.to_json(),
            "held_out": self.held_out.to_json() if self.held_out is not None else None,
            "judgement": self.judgement.value if self.judgement is not None else None,
            "held_out_looks": self.looks,
            "utility_of_guessing": self.guessing,
            "before": {
                "validation": self.before.to_json(),
                "held_out": self.held_out_before.to_json() if self.held_out_before else None,
            },
            "trials": [{**trial.to_json(), "frontier": trial in front} for trial in self.trials],
        }


def search(
    parts: Parts,
    base: Embedding,
    candidates: Sequence[Candidate],
    target: Target,
    plan: Plan,
    folder: Path,
    *,
    on_trial: Callable[[str, int, int], None] = lambda name, done, total: None,
) -> Search:
    """Measure every candidate on validation texts, choose, and judge the choice on held-out ones.

    `plan` says how, but for its analysts. `folder` holds what is known already; `on_trial` hears
    of every measurement before it is made, with how many are done.
    """
    _check(candidates, base, plan)
    work = _Work(parts, base, plan, folder)
    total = len(candidates) + 1
    trials = []
    for done, candidate in enumerate(candidates):
        on_trial(candidate.name, done, total)
        trials.append(work.measured(TextShare.VALIDATION, candidate))
    best = target.best(trials)
    held_out = None
    if best is not None:
        on_trial(f"{best.name}, held out", len(candidates), total)
        held_out = work.measured(TextShare.HELD_OUT, best.candidate)
    return Search(
        target,
        work.measured(TextShare.VALIDATION, None),
        tuple(trials),
        held_out,
        work.measured(TextShare.HELD_OUT, None) if held_out is not None else None,
        work.looks,
    )


def _check(candidates: Sequence[Candidate], base: Embedding, plan: Plan) -> None:
    if not candidates:
        raise ParameterError("no setting to measure")
    if not plan.attacks or not plan.models:
        raise ParameterError("a target weighs attack and utility: name an attack and a classifier")
    if plan.form not in _FORMS or plan.redact:
        # Shortened further, a text could become one that the metric was learned from.
        raise ParameterError("a target takes texts as raw or content, with nothing redacted")
    for setting in dict.fromkeys(candidate.setting for candidate in candidates):
        setting.mechanism_on(base)  # a wrong value is refused before hours of work


class _Work:
    """Measures what the checkpoint does not know."""

    def __init__(self, parts: Parts, base: Embedding, plan: Plan, folder: Path) -> None:
        self._parts, self._base = parts, base
        self._plan = replace(plan, analysts=(STATIC,), meaning_texts=0, examples=0)
        datasets = [parts.validation, parts.held_out]
        run = fingerprint(datasets, base, self._plan, taught=len(parts.taught))
        self._checkpoint = Checkpoint(folder / FILE, run)
        try:
            rows = [Measured.from_json(row) for row in self._checkpoint.rows]
        except (KeyError, TypeError, ValueError):
            raise InputError(
                f"{self._checkpoint.file} has a line that is not a result; choose another folder"
            ) from None
        self._known = {(row.part, row.candidate): row for row in rows}
        self._metrics = Metrics(base, parts)
        self._benches: dict[TextShare, PreparedEvaluation] = {}

    @property
    def looks(self) -> int:
        """How many candidates saw the held-out part."""
        return sum(
            part is TextShare.HELD_OUT and candidate is not None for part, candidate in self._known
        )

    def measured(self, part: TextShare, candidate: Candidate | None) -> Measured:
        """The candidate on this part, measured now or before."""
        if (part, candidate) in self._known:
            return self._known[part, candidate]
        if part not in self._benches:
            self._benches[part] = PreparedEvaluation(
                self._parts.dataset(part), self._base, self._plan
            )
        bench = self._benches[part]
        if candidate is None:
            found = _summary(None, part, bench.baseline(), None)
        else:
            before = self.measured(part, None)
            release = releaser(candidate.setting, self._metrics.of(candidate.joining))
            found = _summary(candidate, part, bench.measure(release, promise=False), before.f1)
        self._checkpoint.add(found.to_json())
        self._known[part, candidate] = found
        return found


def _summary(
    candidate: Candidate | None, part: TextShare, result: SettingResult, before: float | None
) -> Measured:
    attack = max(result.attacks, key=lambda a: a.accuracy.mean)
    score = max(result.utility, key=lambda u: u.f1.mean)
    utility = relative(score.f1.mean, before if before is not None else score.f1.mean)
    if utility is None:
        raise ParameterError(
            f"no classifier tells a label from the {part.value} texts as they are, so no release "
            "can keep it; give more labeled texts"
        )
    return Measured(
        candidate,
        part,
        attack.accuracy.mean,
        f"{attack.attacker} {attack.attack}, {attack.authors} suspects",
        attack.attacked,
        score.f1.mean,
        utility,
        score.model,
        score.tested,
        score.labels,
    )
