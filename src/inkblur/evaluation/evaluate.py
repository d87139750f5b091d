"""The whole evaluation: attacks, labels and meaning before and after, setting by setting.

For every setting and repetition both parts are released. Then

- the adaptive attacker and the analyst study the released training part, and
- the static ones study the true training part,

and all are tried on the released test part. The attacker's copy of the training part is the one
the analyst has: an attacker's own copy follows the same law, and is as independent of the test
part, for every record draws from a stream of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.evaluation.attacks.language import check_lessons, entering_ids
from inkblur.evaluation.author_attacks import AuthorAttacks
from inkblur.evaluation.dataset import Dataset
from inkblur.evaluation.disclosure import Disclosing
from inkblur.evaluation.measures.meaning import Meaning, meaning_kept
from inkblur.evaluation.measures.similarity import Judge
from inkblur.evaluation.measures.utility import label_answers
from inkblur.evaluation.plan import Plan
from inkblur.evaluation.releasers import PoolReleaser, Released, Releaser, releaser
from inkblur.evaluation.repetitions import (
    Attacked,
    Scored,
    joined_attacks,
    joined_meanings,
    joined_scores,
)
from inkblur.evaluation.results import (
    ADAPTIVE,
    SEEDED_NOTE,
    STATIC,
    Evaluation,
    Example,
    Interval,
    SettingResult,
    StandIns,
)
from inkblur.evaluation.stand_ins import measured_stand_ins
from inkblur.files.summary import described
from inkblur.rng import seeded_rng
from inkblur.spec import ReleaseSpec

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

OnStep = Callable[[str, int, int], None]  # what comes next, steps done, steps in all
_LONGEST_EXAMPLE = 600  # characters shown


def evaluate(
    data: Dataset,
    embedding: Embedding,
    settings: Sequence[ReleaseSpec | Releaser],
    plan: Plan,
    *,
    public: Sequence[str] = (),
    judge: Judge | None = None,
    on_step: OnStep = lambda what, done, total: None,
) -> Evaluation:
    """Measure every setting; the same data, settings and plan give the same result.

    `public` texts, none of which are protected, teach the reading attack which words follow which.
    `judge`, which had no part in the release, measures the meaning that texts of a pool keep.
    """
    if not settings:
        raise ParameterError("no setting to evaluate")
    made = [releaser(s, embedding) if isinstance(s, ReleaseSpec) else s for s in settings]
    if len({each.name for each in made}) != len(made):
        raise ParameterError("a setting was given twice")
    if plan.read_texts and public:  # fail now, and not after the attacks
        check_lessons([entering_ids(text, embedding) for text in public])
    prepared = PreparedEvaluation(data, embedding, plan, on_step)
    prepared.total = prepared.steps(None) + sum(
        plan.repeats * prepared.steps(each) + 1 for each in made
    )
    before = prepared.baseline()
    found = tuple(prepared.measure_all(each, public, judge) for each in made)
    on_step("done", prepared.total, prepared.total)
    return Evaluation(
        plan.seed,
        plan.repeats,
        plan.confidence,
        described(embedding),
        data.facts,
        before,
        found,
        prepared.examples(made),
        (SEEDED_NOTE,),
    )


class PreparedEvaluation:
    """Attacks that studied the true texts, and the scores before any release.

    One serves many settings, so what does not depend on the setting is done once.
    """

    def __init__(
        self,
        data: Dataset,
        embedding: Embedding,
        plan: Plan,
        on_step: OnStep = lambda what, done, total: None,
    ) -> None:
        self.data, self.embedding, self.plan = data, embedding, plan
        self._on_step, self._done, self.total = on_step, 0, 0  # progress: steps done, in all
        self.train, self.test = list(data.train.texts), list(data.test.texts)
        self.authors = AuthorAttacks(data, self.train, embedding, plan, self.step)
        self._models = plan.models if data.has_labels else ()
        self._first = Released(()), Released(())  # train and test, of the release measured last
        self._shown: dict[str, list[str]] = {}  # examples after the release, by setting
        # The order in which test texts serve as examples and for the meaning: the seed's.
        order = seeded_rng(plan.seed).child("examples").permutation(len(self.test))
        self._order = [row for row in order.tolist() if self.test[row].strip()]

    def step(self, what: str) -> None:
        """Say what comes next."""
        self._on_step(what, self._done, self.total)
        self._done += 1

    def steps(self, releaser: Releaser | None) -> int:
        """Steps of progress in one repetition, or (None) in the baseline."""
        analysts = 1 if releaser is None else 2
        return 1 + self.authors.count(releaser) + analysts * len(self._models)

    def baseline(self) -> SettingResult:
        """Attacks and classifiers on the true texts, studied and tried without any release."""
        self.step("original texts")
        attacks = self.authors.on_true_texts(self.test)
        utility = [self._scored(model, STATIC, self.train, self.test, 0) for model in self._models]
        return SettingResult(
            "before",
            {},
            None,
            (),
            None,
            tuple(joined_attacks([attacks], self.plan.confidence, self.plan.seed)),
            tuple(joined_scores([utility], self.plan.confidence, self.plan.seed)),
            None,
        )

    def measure(self, releaser: Releaser) -> SettingResult:
        """Release, attack and score, as often as the plan says."""
        attacks: list[list[Attacked]] = []
        scores: list[list[Scored]] = []
        meanings: list[Meaning] = []
        unchanged: list[float] = []
        true_train = releaser.true_counts(self.train) if self.data.has_labels else None
        for repeat in range(self.plan.repeats):
            self.step(f"{releaser.name}: releasing")
            train, test = self._released(releaser, repeat)
            if repeat == 0:
                self._first = train, test
                rows = self._order[: self.plan.examples]
                self._shown[releaser.name] = [test.texts[row] for row in rows]
            if test.unchanged is not None:
                unchanged.append(test.unchanged)
            attacks.append(self.authors.on_release(releaser, test.texts, train.texts, repeat))
            scores.append(self._both_analysts(train, test, true_train, repeat))
            meaning = self._meaning(test)
            if meaning is not None:
                meanings.append(meaning)
        confidence = self.plan.confidence
        return SettingResult(
            releaser.name,
            releaser.to_json(),
            releaser.guarantee,
            releaser.worth(),
            Interval.of(unchanged, confidence).share() if unchanged else None,
            tuple(joined_attacks(attacks, confidence, self.plan.seed)),
            tuple(joined_scores(scores, confidence, self.plan.seed)),
            joined_meanings(meanings, confidence),
        )

    def measure_all(
        self, releaser: Releaser, public: Sequence[str], judge: Judge | None
    ) -> SettingResult:
        """The same, and what the release's first repetition shows besides its author; what was not
        tried on it is named.
        """
        found = self.measure(releaser)
        self.step(f"{releaser.name}: what can be read, linked and inferred")
        texts = self.train, self.test, self._order, public
        disclosing = Disclosing(self.data, *texts, self.embedding, self.plan)
        rng = seeded_rng(self.plan.seed).child("disclosure", releaser.name)
        shown = disclosing.disclosed(releaser, *self._first, rng)
        left_out = self.authors.left_out(releaser, {attack.name for attack in found.attacks})
        return replace(
            found,
            measurements=(*found.measurements, *left_out, *shown),
            stand_ins=self.stand_ins(releaser, judge),
        )

    def stand_ins(self, releaser: Releaser, judge: Judge | None) -> StandIns | None:
        """What the release measured last is worth, where it came from a pool: first repetition."""
        if not isinstance(releaser, PoolReleaser):
            return None
        pool = releaser.blur.mechanism.pool
        return measured_stand_ins(pool, self._first, self.data, self.test, judge, self.plan)

    def examples(self, releasers: Sequence[Releaser]) -> tuple[Example, ...]:
        """Test texts before and after (measured releases, first repetition), names masked."""
        rows = self._order[: self.plan.examples]
        released = [self._shown[releaser.name] for releaser in releasers]
        part = self.data.test

        def shown(text: str) -> str:
            masked = self.data.names.masked(text)  # first: half a name is no longer found
            return masked if len(masked) <= _LONGEST_EXAMPLE else f"{masked[:_LONGEST_EXAMPLE]} ..."

        return tuple(
            Example(
                int(part.authors[row]) if part.authors[row] >= 0 else None,
                part.labels[row],
                shown(self.test[row]),
                tuple(shown(texts[place]) for texts in released),
            )
            for place, row in enumerate(rows)
        )

    def _released(self, releaser: Releaser, repeat: int) -> tuple[Released, Released]:
        rng = seeded_rng(self.plan.seed).child("evaluate", str(repeat))
        test = releaser.release(self.test, rng.child("test"))
        return releaser.release(self.train, rng.child("train")), test

    def _both_analysts(
        self, train: Released, test: Released, true_train: csr_matrix | None, repeat: int
    ) -> list[Scored]:
        vectors = test.counts is not None
        studied = train.counts if vectors else train.texts
        asked = test.counts if vectors else test.texts
        true = true_train if vectors else self.train
        return [
            self._scored(model, kind, part, asked, repeat)
            for kind, part in ((ADAPTIVE, studied), (STATIC, true))
            for model in self._models
        ]

    def _scored(self, model: str, kind: str, train: Any, test: Any, repeat: int) -> Scored:
        self.step(f"labels by {model}, {kind}")
        return kind, label_answers(
            train,
            self.data.train.labels,
            test,
            self.data.test.labels,
            model=model,
            seed=self.plan.seed + repeat,
        )

    def _meaning(self, test: Released) -> Meaning | None:
        rows = self._order[: self.plan.meaning_texts]
        before = [self.test[row] for row in rows]
        try:
            return meaning_kept(before, [test.texts[row] for row in rows], self.embedding)
        except ParameterError:  # no text has a known word on both sides: there is no number
            return None
