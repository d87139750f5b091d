"""What texts of a pool are worth in place of the true ones.

Four questions that a release word by word does not raise, answered on the first repetition:

    public      the label of a *true* text, by a classifier that has studied the pool alone and
                never saw a release: what a release has to beat;
    recognized  the label of a released text, by a classifier that has studied the pool;
    learned     the label of a *true* text, by a classifier that has studied released texts, which
                is what published data are for;
    meaning     cosines of a text and its stand-in (:mod:`inkblur.evaluation.measures.similarity`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inkblur.evaluation.dataset import Dataset
from inkblur.evaluation.measures.bootstrap import over_texts, statistic_over_texts
from inkblur.evaluation.measures.similarity import Judge, meaning_cosines
from inkblur.evaluation.measures.utility import label_answers
from inkblur.evaluation.plan import Plan
from inkblur.evaluation.releasers import Released
from inkblur.evaluation.results import Interval, LabelsFound, MeaningKept, StandIns
from inkblur.pools.pool import Pool
from inkblur.types import Array

MOST_TEXTS = 20_000  # of a pool that are studied and searched for the nearest; evenly spread


def measured_stand_ins(
    pool: Pool,
    released: tuple[Released, Released],  # the training part and the test part
    data: Dataset,
    true_test: Sequence[str],  # in the form that is released
    judge: Judge | None,
    plan: Plan,
) -> StandIns:
    """All answers, as far as there are labels and a judge of meaning."""
    train, test = (part.texts for part in released)
    labels = data.test.labels
    models = plan.models if data.has_labels else ()
    rows = np.unique(np.linspace(0, len(pool) - 1, min(len(pool), MOST_TEXTS)).astype(np.int64))
    texts = [pool.texts[row] for row in rows.tolist()]

    def found(
        model: str, studied: Sequence[str], known: Sequence[str | None], asked: Sequence[str]
    ) -> LabelsFound:
        said = label_answers(studied, known, asked, labels, model=model, seed=plan.seed)
        rates = over_texts(said.truth, said.answers, confidence=plan.confidence, seed=plan.seed)
        return LabelsFound(model, rates["accuracy"], rates["f1"], said.trained)

    recognized: tuple[LabelsFound, ...] = ()
    public: tuple[LabelsFound, ...] = ()
    present = {label for label in labels if label is not None}
    if present and present <= set(pool.label_names):  # the pool's labels are those of the texts
        names = [pool.label_names[label] for label in pool.labels[rows].tolist()]
        recognized = tuple(found(model, texts, names, test) for model in models)
        public = tuple(found(model, texts, names, true_test) for model in models)
    learned = tuple(found(model, train, data.train.labels, true_test) for model in models)
    kept = None if judge is None else _meaning(judge, true_test, test, texts, plan)
    return StandIns(len(pool), len(texts), public, recognized, learned, kept)


def _meaning(
    judge: Judge, true: Sequence[str], shown: Sequence[str], pool: Sequence[str], plan: Plan
) -> MeaningKept:
    def mean(values: Array) -> Interval:
        return statistic_over_texts(
            lambda rows: float(values[rows].mean()),
            len(values),
            confidence=plan.confidence,
            seed=plan.seed,
        )

    return MeaningKept(judge.name, *map(mean, meaning_cosines(judge, true, shown, pool)))
