"""The attackers of an evaluation: what each studies, and what it says of texts.

The adaptive attacker studied released texts, the static one true texts. Attacks that know the
channel (`likelihood`, `likelihood-texts`, `likelihood-lengths`, `svm-undone`) are tried where
words go through a mechanism one by one; `likelihood` also where a whole text is one draw from a
pool. What stacking says counts as adaptive: it hears all the others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from inkblur.embeddings.table import Embedding
from inkblur.evaluation.attacks.base import DONT_KNOW, Attack, Attribution, ScoringAttack, judged
from inkblur.evaluation.attacks.catalogue import (
    ATTACKS,
    CHANNEL_ATTACKS,
    NAMES,
    STACKED,
    STATIC_ALONE,
)
from inkblur.evaluation.attacks.channel import ClearChannel
from inkblur.evaluation.attacks.entering import entering
from inkblur.evaluation.attacks.inference import measure_inference
from inkblur.evaluation.attacks.likelihood import PoolLikelihood
from inkblur.evaluation.attacks.linking import measure_linking
from inkblur.evaluation.attacks.reading import measure_reading
from inkblur.evaluation.attacks.repetition import measure_repetition
from inkblur.evaluation.attacks.singling_out import measure_singling_out
from inkblur.evaluation.attacks.stacking import stacked_across
from inkblur.evaluation.dataset import Dataset, suspects
from inkblur.evaluation.measures.intervals import over_repeated_texts
from inkblur.evaluation.plan import Plan
from inkblur.evaluation.releasers import PoolReleaser, Releaser, TextReleaser, VectorReleaser
from inkblur.evaluation.results import ADAPTIVE, AUTHOR, STATIC, Measurement
from inkblur.evaluation.target import Known, Target, known_chances, unknown_chances
from inkblur.pools.mechanism import PoolStaircase
from inkblur.rng import seeded_rng
from inkblur.types import Array, Ids


@dataclass(frozen=True, slots=True)
class Attacked:
    """One attack on the author in one repetition."""

    name: str
    scenario: str
    kind: str
    found: Attribution


class AuthorAttacks:
    """The plan's attacks on the authors of one collection, in every scenario."""

    def __init__(
        self,
        data: Dataset,
        train: Sequence[str],
        embedding: Embedding,
        plan: Plan,
        step: Callable[[str], None] = lambda what: None,  # called before each attack
    ):
        self.data, self.train, self.embedding, self.plan = data, train, embedding, plan
        self._step = step
        scenarios = plan.scenarios if data.has_authors and plan.attacks else ()
        self._rows = {  # of the training part that are by the suspects of each scenario
            name: np.flatnonzero(np.isin(data.train.authors, suspects(data, name)))
            for name in scenarios
        }
        self._static: dict[tuple[str, str], Attack] = {}  # who studied true texts, by scenario
        # Of the release attacked last; another may have its name, on other word vectors.
        self._known: tuple[Releaser, Known] | None = None

    def count(self, releaser: Releaser | None) -> int:
        """How many attacks are tried on a release, or (None) on the texts as they are."""
        return sum(1 for _ in self._tries(releaser))

    def left_out(self, releaser: Releaser, tried: Collection[str]) -> Iterator[Measurement]:
        """The attacks that were not tried on a release, which looks the safer for it."""
        if not self.data.has_authors:
            yield Measurement(AUTHOR, "", "all", reason="no text has an author")
            return
        for name in NAMES:
            if name in tried:
                continue
            if name not in self.plan.attacks:
                reason = "not among the attacks chosen"
            elif name == STACKED:
                reason = "too few authors or attacks to weigh"
            else:
                reason = unknown_chances(releaser) or "texts from a pool are not drawn word by word"
            yield Measurement(AUTHOR, name, "all", reason=reason)

    def on_true_texts(self, texts: Sequence[str]) -> list[Attacked]:
        """What attackers make of the texts as they are."""
        return list(self._attacked(None, texts, self.train, 0))

    def on_release(
        self, releaser: Releaser, texts: Sequence[str], train: Sequence[str], repeat: int
    ) -> list[Attacked]:
        """What they make of released `texts`, with the released training part `train`."""
        return list(self._attacked(releaser, texts, train, repeat))

    def _tries(self, releaser: Releaser | None) -> Iterator[tuple[str, str, str]]:
        """Scenario, kind and name of each attack but the stacked one, adaptive ones first."""
        informed: Collection[str] = CHANNEL_ATTACKS
        if releaser is not None and unknown_chances(releaser):
            informed = ()
        elif isinstance(releaser, PoolReleaser):
            informed = (PoolLikelihood.name,)
        left_out = {STACKED, *CHANNEL_ATTACKS} - {*informed}
        for scenario in self._rows:
            for kind in (STATIC,) if releaser is None else (ADAPTIVE, STATIC):
                for name in self.plan.attacks:
                    if name not in left_out and not (kind == ADAPTIVE and name in STATIC_ALONE):
                        yield scenario, kind, name

    def _attacked(
        self,
        releaser: Releaser | None,  # None: the texts are true
        texts: Sequence[str],
        train: Sequence[str],
        repeat: int,
    ) -> Iterator[Attacked]:
        heard: dict[str, list[Array]] = {scenario: [] for scenario in self._rows}
        everyone = self.data.test.authors
        for scenario, kind, name in self._tries(releaser):
            self._step(f"{kind} attack: {name}")
            studied = self._studied(scenario)
            attack = self._fitted(name, scenario, kind, releaser, train, repeat)
            asked = [texts[row] for row in np.flatnonzero(np.isin(everyone, studied)).tolist()]
            if isinstance(attack, ScoringAttack):
                scores = attack.scores(asked)
                answers = attack.named(asked, scores)
                if np.array_equal(attack.suspects, np.unique(studied)):
                    heard[scenario].append(scores)
            else:
                answers = attack.predict(asked)
            yield Attacked(name, scenario, kind, judged(answers, everyone, studied))
        for scenario, scores_heard in heard.items() if STACKED in self.plan.attacks else ():
            said = self._stacked(scenario, scores_heard, texts)
            if said is not None:
                kind = STATIC if releaser is None else ADAPTIVE
                yield Attacked(STACKED, scenario, kind, said)

    def _stacked(
        self, scenario: str, scores: Sequence[Array], texts: Sequence[str]
    ) -> Attribution | None:
        everyone, studied = self.data.test.authors, self._studied(scenario)
        names, familiar = np.unique(studied), np.isin(everyone, studied)
        joined = stacked_across(scores, np.searchsorted(names, everyone[familiar]))
        if joined is None:
            return None
        answers = names[joined.argmax(axis=1)]
        blank = [not texts[row].strip() for row in np.flatnonzero(familiar).tolist()]
        answers[blank] = DONT_KNOW
        return judged(answers, everyone, studied)

    def _studied(self, scenario: str) -> Ids:
        """The authors of the known texts, text by text."""
        return self.data.train.authors[self._rows[scenario]]

    def _fitted(
        self,
        name: str,
        scenario: str,
        kind: str,
        releaser: Releaser | None,
        train: Sequence[str],
        repeat: int,
    ) -> Attack:
        if kind == STATIC and (name, scenario) in self._static:
            return self._static[name, scenario]
        released = kind == ADAPTIVE
        seed = self.plan.seed + repeat * released
        if name in CHANNEL_ATTACKS:
            attack = self._informed(name, releaser, seed, released)
        else:
            attack = ATTACKS[name](self.embedding, seed)
        source = train if released else self.train
        known_texts = [source[row] for row in self._rows[scenario].tolist()]
        attack.fit(known_texts, self._studied(scenario))
        if kind == STATIC and name not in CHANNEL_ATTACKS:
            self._static[name, scenario] = attack
        return attack

    def _informed(self, name: str, releaser: Releaser | None, seed: int, released: bool) -> Attack:
        """An attack that knows the channel, which is worked out once a release."""
        make = CHANNEL_ATTACKS[name]
        if releaser is None:
            clear = ClearChannel(len(self.embedding))
            return make(clear, self.embedding, None, seed, released)
        if self._known is None or self._known[0] is not releaser:
            rng = seeded_rng(self.plan.seed).child("channel", releaser.name)
            self._known = releaser, known_chances(releaser, rng)
        known = self._known[1]
        if isinstance(known, PoolStaircase):
            return PoolLikelihood(known)
        assert isinstance(releaser, TextReleaser | VectorReleaser)
        assert not isinstance(known, str)
        blur = releaser.blur
        return make(known, blur.mechanism.embedding, entering(blur), seed, released)


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
                first.name,
                first.scenario,
                first.kind,
                value=spread["accuracy"],
                chance=found.chance,
                f1=spread["f1"],
                authors=found.suspects,
                known=found.known,
                attacked=len(found.truth),
                strangers=found.strangers,
            )
        )
    return joined


def disclosed(target: Target) -> Iterator[Measurement]:
    """What a release shows besides its author, or why an attack was not tried on it."""
    yield from measure_reading(target)
    yield from measure_repetition(target)
    yield from measure_singling_out(target)
    yield from measure_linking(target)
    yield from measure_inference(target)
