"""The attackers of an evaluation: what each studies, and what it says of texts.

The adaptive attacker studied released texts, the static one true texts. Attacks that know the
channel (`likelihood`, `likelihood-texts`, `likelihood-lengths`, `svm-undone`) are tried where
words go through a mechanism one by one; `likelihood` also where a whole text is one draw from a
pool. What stacking says counts as adaptive: it hears all the others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

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
from inkblur.evaluation.attacks.channel import Channel, ClearChannel
from inkblur.evaluation.attacks.entering import Entering, channel_around, entering
from inkblur.evaluation.attacks.pool_likelihood import PoolLikelihood
from inkblur.evaluation.attacks.stacking import stacked_across
from inkblur.evaluation.dataset import Dataset, Scenario
from inkblur.evaluation.plan import Plan
from inkblur.evaluation.releasers import PoolReleaser, Releaser, TextReleaser, VectorReleaser
from inkblur.evaluation.repetitions import Attacked
from inkblur.evaluation.results import ADAPTIVE, AUTHOR, STATIC, Measurement
from inkblur.pools.mechanism import PoolStaircase
from inkblur.rng import seeded_rng
from inkblur.types import Array, Ids

# What an attacker knows of a release: its channel, its words and which enter it (None: all), or
# its pool.
Known = tuple[Channel, Embedding, Entering | None] | PoolStaircase
LARGEST_POOL = 50_000  # texts: the attacker holds the probability of each under every author


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
            name: np.flatnonzero(np.isin(data.train.authors, Scenario.of(name).suspects(data)))
            for name in scenarios
        }
        self._static: dict[tuple[str, str], Attack] = {}  # who studied true texts, by scenario
        # Of the release attacked last; another may have its name, on other word vectors.
        self._channel: tuple[Releaser, Known] | None = None

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
                reason = uninformed(releaser)
            yield Measurement(AUTHOR, name, "all", reason=reason)

    def on_true_texts(self, texts: Sequence[str]) -> list[Attacked]:
        """What attackers make of the texts as they are."""
        clear = ClearChannel(len(self.embedding)), self.embedding, None
        return list(self._attacked(None, clear, texts, self.train, 0))

    def on_release(
        self, releaser: Releaser, texts: Sequence[str], train: Sequence[str], repeat: int
    ) -> list[Attacked]:
        """What they make of released `texts`, with the released training part `train`."""
        known = self._known(releaser)
        return list(self._attacked(releaser, known, texts, train, repeat))

    def _known(self, releaser: Releaser) -> Known | None:
        """The channel, worked out once a release; only where an attack asks for it."""
        if not any(name in CHANNEL_ATTACKS for _, _, name in self._tries(releaser)):
            return None
        if isinstance(releaser, PoolReleaser):
            return releaser.blur.mechanism
        assert isinstance(releaser, TextReleaser | VectorReleaser)
        if self._channel is None or self._channel[0] is not releaser:
            rng = seeded_rng(self.plan.seed).child("channel", releaser.name)
            blur = releaser.blur
            channel = channel_around(blur, rng)
            self._channel = releaser, (channel, blur.mechanism.embedding, entering(blur))
        return self._channel[1]

    def _tries(self, releaser: Releaser | None) -> Iterator[tuple[str, str, str]]:
        """Scenario, kind and name of each attack but the stacked one, adaptive ones first."""
        channel = CHANNEL_ATTACKS.keys() if releaser is None else informed(releaser)
        left_out = {STACKED, *CHANNEL_ATTACKS} - {*channel}
        for scenario in self._rows:
            for kind in (STATIC,) if releaser is None else (ADAPTIVE, STATIC):
                for name in self.plan.attacks:
                    if name not in left_out and not (kind == ADAPTIVE and name in STATIC_ALONE):
                        yield scenario, kind, name

    def _attacked(
        self,
        releaser: Releaser | None,  # None: the texts are true
        known: Known | None,
        texts: Sequence[str],
        train: Sequence[str],
        repeat: int,
    ) -> Iterator[Attacked]:
        scores: dict[str, list[Array]] = {scenario: [] for scenario in self._rows}
        everyone = self.data.test.authors
        for scenario, kind, name in self._tries(releaser):
            self._step(f"{kind} attack: {name}")
            studied = self._studied(scenario)
            attack = self._fitted(name, scenario, kind, train, known, repeat)
            familiar = np.flatnonzero(np.isin(everyone, studied))
            asked = [texts[row] for row in familiar.tolist()]
            if isinstance(attack, ScoringAttack):
                found = attack.scores(asked)
                answers = attack.named(asked, found)
                if np.array_equal(attack.suspects, np.unique(studied)):
                    scores[scenario].append(found)
            else:
                answers = attack.predict(asked)
            yield Attacked(scenario, kind, judged(name, answers, everyone, studied))
        if STACKED in self.plan.attacks:
            for scenario, heard in scores.items():
                said = self._stacked(scenario, heard, texts)
                if said is not None:
                    kind = STATIC if releaser is None else ADAPTIVE
                    yield Attacked(scenario, kind, said)

    def _stacked(
        self, scenario: str, scores: Sequence[Array], texts: Sequence[str]
    ) -> Attribution | None:
        everyone, studied = self.data.test.authors, self._studied(scenario)
        suspects = np.unique(studied)
        familiar = np.isin(everyone, studied)
        joined = stacked_across(scores, np.searchsorted(suspects, everyone[familiar]))
        if joined is None:
            return None
        answers = suspects[joined.argmax(axis=1)]
        blank = [not texts[row].strip() for row in np.flatnonzero(familiar).tolist()]
        answers[blank] = DONT_KNOW
        return judged(STACKED, answers, everyone, studied)

    def _studied(self, scenario: str) -> Ids:
        """The authors of the known texts, text by text."""
        return self.data.train.authors[self._rows[scenario]]

    def _fitted(
        self,
        name: str,
        scenario: str,
        kind: str,
        train: Sequence[str],
        known: Known | None,
        repeat: int,
    ) -> Attack:
        if kind == STATIC and (name, scenario) in self._static:
            return self._static[name, scenario]
        released = kind == ADAPTIVE
        seed = self.plan.seed + repeat * released
        if name not in CHANNEL_ATTACKS:
            attack = ATTACKS[name](self.embedding, seed)
        elif isinstance(known, PoolStaircase):
            attack = PoolLikelihood(known)
        else:
            assert known is not None
            attack = CHANNEL_ATTACKS[name](*known, seed, released)
        source = train if released else self.train
        known_texts = [source[row] for row in self._rows[scenario].tolist()]
        attack.fit(known_texts, self._studied(scenario))
        if kind == STATIC and name not in CHANNEL_ATTACKS:
            self._static[name, scenario] = attack
        return attack


def uninformed(releaser: Releaser) -> str:
    """Why attacks that know the channel are not tried on a release."""
    if not isinstance(releaser, PoolReleaser):
        return "the chances of what this tool writes are not known"
    if len(releaser.blur.mechanism.pool) > LARGEST_POOL:
        return f"the pool has more than {LARGEST_POOL:,} texts"
    return "texts from a pool are not drawn word by word"


def informed(releaser: Releaser) -> Collection[str]:
    """The attacks that know the channel of a release: all where words are drawn one by one."""
    if isinstance(releaser, TextReleaser | VectorReleaser):
        return CHANNEL_ATTACKS.keys()
    if isinstance(releaser, PoolReleaser) and len(releaser.blur.mechanism.pool) <= LARGEST_POOL:
        return (PoolLikelihood.name,)
    return ()
