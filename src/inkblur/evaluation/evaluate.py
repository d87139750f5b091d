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
from typing import Any

from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.evaluation.attacks.entering import entering_ids
from inkblur.evaluation.attacks.reading import check_lessons
from inkblur.evaluation.author_attacks import Attacked, AuthorAttacks, disclosed, joined_attacks
from inkblur.evaluation.dataset import Dataset
from inkblur.evaluation.measures.meaning import Judge, Meaning
from inkblur.evaluation.measures.utility import LabelAnswers, label_answers
from inkblur.evaluation.plan import Plan
from inkblur.evaluation.releasers import PoolReleaser, Released, Releaser, releaser
from inkblur.evaluation.results import (
    MEANING,
    RELEASED,
    SEEDED_NOTE,
    TRUE,
    Evaluation,
    Example,
    Interval,
    Measurement,
    SettingResult,
)
from inkblur.evaluation.target import Target, known_chances
from inkblur.evaluation.usefulness import (
    LabeledTexts,
    labels_named,
    labels_taught,
    meaning_judged,
    meaning_moved,
    moved,
)
from inkblur.files.summary import described
from inkblur.rng import seeded_rng
from inkblur.spec import ReleaseSpec

OnStep = Callable[[str, int, int], None]  # what comes next, steps done, steps in all
_LONGEST_EXAMPLE = 600  # characters shown


def evaluate(
    data: Dataset,
    embedding: Embedding,
    settings: Sequence[ReleaseSpec | Releaser],
    plan: Plan,
    *,
    public: Sequence[str] = (),
    public_labels: Sequence[str | None] = (),
    judge: Judge | None = None,
    on_step: OnStep = lambda what, done, total: None,
) -> Evaluation:
    """Measure every setting; the same data, settings and plan give the same result.

    `public` texts, none of which are protected, teach the reading attack which words follow which;
    with labels like those of the data they show what can be learned without any release. `judge`,
    which had no part in the release, measures the meaning that texts of a pool keep.
    """
    if not settings:
        raise ParameterError("no setting to evaluate")
    releasers = [releaser(s, embedding) if isinstance(s, ReleaseSpec) else s for s in settings]
    if len({each.name for each in releasers}) != len(releasers):
        raise ParameterError("a setting was given twice")
    if plan.read_texts and public:  # fail now, and not after the attacks
        check_lessons([entering_ids(text, embedding) for text in public])
    taught = LabeledTexts(public, public_labels) if public_labels else None
    prepared = PreparedEvaluation(data, embedding, plan, taught, on_step)
    prepared.total = prepared.steps(None) + sum(
        plan.repeats * prepared.steps(each) + 1 for each in releasers
    )
    before = prepared.baseline()
    results = []
    for each in releasers:
        found = prepared.measure(each)
        more = prepared.disclosed(each, public, judge)
        results.append(replace(found, measurements=(*found.measurements, *more)))
    on_step("done", prepared.total, prepared.total)
    return Evaluation(
        plan.seed,
        plan.repeats,
        plan.confidence,
        described(embedding),
        data.facts,
        before,
        tuple(results),
        prepared.examples(releasers),
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
        public: LabeledTexts | None = None,
        on_step: OnStep = lambda what, done, total: None,
    ) -> None:
        self.data, self.embedding, self.plan, self.public = data, embedding, plan, public
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
        self.step(TRUE)
        attacks = joined_attacks(
            [self.authors.on_true_texts(self.test)], self.plan.confidence, self.plan.seed
        )
        labels = [
            labels_named([self._named(model, self.train, self.test, 0)], TRUE, TRUE, self.plan)
            for model in self._models
        ]
        return SettingResult("before", {}, None, (), (*attacks, *labels))

    def measure(self, releaser: Releaser) -> SettingResult:
        """Release, attack and score, as often as the plan says."""
        attacks: list[list[Attacked]] = []
        answers: dict[tuple[str, str], list[LabelAnswers]] = {}
        meanings: list[Meaning] = []
        unchanged: list[float] = []
        true_counts = releaser.true_counts(self.train) if self._models else None
        sampled = self._order[: self.plan.meaning_texts]
        for repeat in range(self.plan.repeats):
            self.step(f"{releaser.name}: releasing")
            rng = seeded_rng(self.plan.seed).child("evaluate", str(repeat))
            test = releaser.release(self.test, rng.child("test"))
            train = releaser.release(self.train, rng.child("train"))
            if repeat == 0:
                self._first = train, test
                rows = self._order[: self.plan.examples]
                self._shown[releaser.name] = [test.texts[row] for row in rows]
            if test.unchanged is not None:
                unchanged.append(test.unchanged)
            attacks.append(self.authors.on_release(releaser, test.texts, train.texts, repeat))
            vectors = test.counts is not None
            asked = test.counts if vectors else test.texts
            for studied, known in (
                (RELEASED, train.counts if vectors else train.texts),
                (TRUE, true_counts if vectors else self.train),
            ):
                for model in self._models:
                    said = self._named(model, known, asked, repeat)
                    answers.setdefault((studied, model), []).append(said)
            before = [self.test[row] for row in sampled]
            found = moved(before, [test.texts[row] for row in sampled], self.embedding)
            meanings += [found] if found is not None else []
        confidence = self.plan.confidence
        train, test = self._first
        public = self.public
        if isinstance(releaser, PoolReleaser):
            pool = LabeledTexts.of_pool(releaser.blur.mechanism.pool)
            public = pool if pool.teach(self.data.test.labels) else public
        tried = joined_attacks(attacks, confidence, self.plan.seed)
        measurements = [
            *tried,
            *self.authors.left_out(releaser, {each.name for each in tried}),
            *(
                labels_named(same, RELEASED, studied, self.plan)
                for (studied, _), same in answers.items()
            ),
            *labels_taught(train.texts, test.texts, self.data, public, self.plan),
            *meaning_moved(meanings, confidence),
        ]
        if unchanged:
            share = Interval.of(unchanged, confidence).share()
            measurements.append(
                Measurement(MEANING, "words unchanged", "of those known", value=share)
            )
        return SettingResult(
            releaser.name,
            releaser.to_json(),
            releaser.guarantee,
            releaser.worth(),
            tuple(measurements),
        )

    def disclosed(
        self, releaser: Releaser, public: Sequence[str], judge: Judge | None
    ) -> list[Measurement]:
        """What the release measured last shows besides its author, in its first repetition."""
        self.step(f"{releaser.name}: what can be read, linked and inferred")
        rng = seeded_rng(self.plan.seed).child("disclosure", releaser.name)
        train, test = self._first
        target = Target(
            data=self.data,
            order=self._order,
            public=public,
            embedding=self.embedding,
            plan=self.plan,
            releaser=releaser,
            released_train=train,
            released_test=test,
            known=known_chances(releaser, rng.child("simulated")),
            rng=rng,
        )
        found = list(disclosed(target))
        if judge is not None and isinstance(releaser, PoolReleaser):
            pool = LabeledTexts.of_pool(releaser.blur.mechanism.pool)
            found += meaning_judged(judge, self.test, test.texts, pool, self.plan)
        return found

    def examples(self, releasers: Sequence[Releaser]) -> tuple[Example, ...]:
        """Test texts before and after (measured releases, first repetition), names masked."""
        part = self.data.test

        def shown(text: str) -> str:
            masked = self.data.names.masked(text)  # first: half a name is no longer found
            return masked if len(masked) <= _LONGEST_EXAMPLE else f"{masked[:_LONGEST_EXAMPLE]} ..."

        return tuple(
            Example(
                int(part.authors[row]) if part.authors[row] >= 0 else None,
                part.labels[row],
                shown(self.test[row]),
                tuple(shown(self._shown[each.name][place]) for each in releasers),
            )
            for place, row in enumerate(self._order[: self.plan.examples])
        )

    def _named(self, model: str, train: Any, test: Any, repeat: int) -> LabelAnswers:
        self.step(f"labels by {model}")
        return label_answers(
            train,
            self.data.train.labels,
            test,
            self.data.test.labels,
            model=model,
            seed=self.plan.seed + repeat,
        )
