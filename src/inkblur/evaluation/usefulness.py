"""What a release is still good for: labels that can be named, and meaning that stays.

Labels of *released* texts are named by who studied the release (as an analyst of published data
does) or the true texts. Labels of *true* texts, which nobody published, show what published texts
teach: the release, the public texts that it was made with (a pool's, or others with the same
labels), and both. A release that teaches no more than the public texts alone is worth nothing.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.evaluation.dataset import Dataset
from inkblur.evaluation.measures.intervals import over_repeated_texts, statistic_over_texts
from inkblur.evaluation.measures.meaning import Judge, Meaning, meaning_cosines, meaning_kept
from inkblur.evaluation.measures.utility import (
    LabelAnswers,
    UtilityClassifier,
    label_answers,
)
from inkblur.evaluation.plan import Plan
from inkblur.evaluation.results import (
    BOTH,
    LABELS,
    MEANING,
    PUBLIC,
    RELEASED,
    TRUE,
    Interval,
    Measurement,
)
from inkblur.pools.pool import Pool
from inkblur.types import Array

MOST_TEXTS = 20_000  # public texts that are studied and searched for the nearest; evenly spread
_FOLDS = 5  # of a pool, each judged by the others
_NO_PUBLIC = "no public texts with these labels were given"


@dataclass(frozen=True, slots=True)
class LabeledTexts:
    """Public texts and their labels."""

    texts: Sequence[str]
    labels: Sequence[str | None]

    @classmethod
    def of_pool(cls, pool: Pool) -> LabeledTexts:
        """A pool's, with the labels they came with; an even sample of a large one."""
        rows = np.unique(np.linspace(0, len(pool) - 1, min(len(pool), MOST_TEXTS)).astype(np.int64))
        labels = [pool.label_names[each] for each in pool.given[rows].tolist()]
        return cls([pool.texts[row] for row in rows.tolist()], labels)

    def teach(self, labels: Sequence[str | None]) -> bool:
        """Whether they have all of these labels."""
        return bool(self.labels) and {*labels} - {None} <= {*self.labels}


def labels_named(
    answers: Sequence[LabelAnswers], asked: str, studied: str, plan: Plan
) -> Measurement:
    """Macro F1 over labels of one classifier: the mean over repetitions, an interval over texts."""
    first = answers[0]
    said = [each.answers for each in answers]
    spread = over_repeated_texts(first.truth, said, confidence=plan.confidence, seed=plan.seed)
    value, accuracy = spread["f1"], spread["accuracy"]
    if value.low == value.high:  # all right, or all wrong: the exact interval of the accuracy
        value = replace(value, low=accuracy.low, high=accuracy.high)
    return Measurement(
        LABELS,
        first.model,
        asked,
        studied,
        value=value,
        chance=1 / first.labels,  # no blind guess has more
        known=first.trained,
        attacked=len(first.truth),
        strangers=first.unseen,
    )


def labels_taught(
    released: Sequence[str],
    shown: Sequence[str],
    data: Dataset,
    public: LabeledTexts | None,
    plan: Plan,
) -> Iterator[Measurement]:
    """What the public texts alone, the released training part and both teach of true texts, by the
    plan's first classifier; and what the public texts tell of `shown`, the released test part.
    """
    if not (data.has_labels and plan.models):
        return

    def named(
        studied: str, texts: Sequence[str], labels: Sequence[str | None], asked: str
    ) -> Measurement:
        said = label_answers(
            texts,
            labels,
            data.test.texts if asked == TRUE else shown,
            data.test.labels,
            model=plan.models[0],
            seed=plan.seed,
        )
        return labels_named([said], asked, studied, plan)

    yield named(RELEASED, released, data.train.labels, TRUE)
    if public is None or not public.teach(data.test.labels):
        for studied in (PUBLIC, BOTH):
            yield Measurement(LABELS, plan.models[0], TRUE, studied, reason=_NO_PUBLIC)
        return
    yield named(PUBLIC, public.texts, public.labels, TRUE)
    texts, labels = [*released, *public.texts], [*data.train.labels, *public.labels]
    yield named(BOTH, texts, labels, TRUE)
    yield named(PUBLIC, public.texts, public.labels, RELEASED)


def moved(before: Sequence[str], after: Sequence[str], table: Embedding) -> Meaning | None:
    """How far texts moved; None where none has a known word on both sides."""
    try:
        return meaning_kept(before, after, table)
    except ParameterError:
        return None


def meaning_moved(found: Sequence[Meaning], confidence: float) -> Iterator[Measurement]:
    """The same over repetitions: Earth Mover's distance and cosine of mean vectors."""
    if not found:
        return
    for name, scenario, values in (
        ("Earth Mover's distance", "that a word moved, 0: none", [m.earth_movers for m in found]),
        ("cosine of mean vectors", "before and after, 1: the same", [m.cosine for m in found]),
    ):
        yield Measurement(
            MEANING,
            name,
            scenario,
            value=Interval.of(values, confidence),
            attacked=found[0].compared,
            strangers=found[0].left_out,
        )


def meaning_judged(
    judge: Judge, true: Sequence[str], shown: Sequence[str], pool: LabeledTexts, plan: Plan
) -> Iterator[Measurement]:
    """Mean cosines of a text and its stand-in, by a judge that had no part in the release."""

    def mean(values: Array) -> Interval:
        return statistic_over_texts(
            lambda rows: float(values[rows].mean()),
            len(values),
            confidence=plan.confidence,
            seed=plan.seed,
        )

    kept, random, nearest = map(mean, meaning_cosines(judge, true, shown, pool.texts))
    for scenario, value in (
        ("cosine of a text and its stand-in", kept),
        ("cosine of a text and its nearest in the pool", nearest),
    ):
        yield Measurement(
            MEANING,
            f"judge: {judge.name}",
            scenario,
            value=value,
            chance=random.mean,
            by_chance="two texts by chance",
        )


def what_it_teaches(pool: Pool) -> str:
    """How well a classifier names the pool's labels when it has studied its other texts."""
    from sklearn.metrics import f1_score

    rows = random.Random(0).sample(range(len(pool)), min(MOST_TEXTS, len(pool)))
    texts = [pool.texts[row] for row in rows]
    labels = [pool.label_names[pool.labels[row]] for row in rows]
    truth: list[str] = []
    answers: list[str] = []
    for fold in range(_FOLDS):
        rest = [i for i in range(len(rows)) if i % _FOLDS != fold]
        found = label_answers(
            [texts[i] for i in rest],
            [labels[i] for i in rest],
            texts[fold::_FOLDS],
            labels[fold::_FOLDS],
            model=UtilityClassifier.LOGISTIC,
            seed=0,
        )
        truth += found.truth
        answers += found.answers
    commonest = max(sorted(set(truth)), key=truth.count)
    taught = f1_score(truth, answers, average="macro")
    guessed = f1_score(truth, [commonest] * len(truth), average="macro", zero_division=0)
    return (
        f"What the pool itself teaches: macro F1 {taught:.3f} on texts of its "
        f"own that were left out (logistic regression, {_FOLDS} parts; guessing: {guessed:.3f}). "
        "A release that is to teach these labels has to beat that, or the public texts alone serve "
        "better."
    )
