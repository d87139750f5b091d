"""What texts of a pool are worth in place of the true ones.

Three questions that a release word by word does not raise, answered on the first repetition:

    recognized  the label of a released text, by a classifier that has studied the pool;
    learned     the label of a *true* text, by a classifier that has studied released texts, which
                is what published data are for;
    meaning     cosines of a text and its stand-in (:mod:`inkblur.evaluation.measures.similarity`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inkblur.evaluation.dataset import Dataset
from inkblur.evaluation.measures.bootstrap import over_texts, statistic_over_texts
from inkblur.evaluation.measures.similarity import Judge, MeaningSimilarity
from inkblur.evaluation.measures.utility import LabelAnswers, label_answers
from inkblur.evaluation.releasers import PoolReleaser, Released
from inkblur.evaluation.results import Interval, LabelsFound, MeaningKept, StandIns
from inkblur.pools.pool import Pool
from inkblur.types import Array

MOST_TEXTS = 20_000  # of a pool that are studied and searched for the nearest; evenly spread


@dataclass(frozen=True, slots=True)
class StandInMeasures:
    """The true texts, and the judge of meaning, if there is one."""

    data: Dataset
    train: Sequence[str]  # in the form that is released
    test: Sequence[str]
    models: Sequence[str]
    judge: Judge | None
    confidence: float
    seed: int

    def measured(self, releaser: PoolReleaser, train: Released, test: Released) -> StandIns:
        """All three answers, as far as there are labels and a judge."""
        pool = releaser.mechanism.pool
        rows = np.unique(np.linspace(0, len(pool) - 1, min(len(pool), MOST_TEXTS)).astype(np.int64))
        texts = [pool.texts[row] for row in rows.tolist()]
        recognized, learned = [], []
        for model in self.models:
            if self._same_labels(pool):
                names = [pool.label_names[label] for label in pool.labels[rows].tolist()]
                recognized.append(self._found(model, texts, names, test.texts))
            learned.append(self._found(model, train.texts, self.data.train.labels, self.test))
        kept = None if self.judge is None else self._meaning(self.judge, test.texts, texts)
        return StandIns(len(pool), len(texts), tuple(recognized), tuple(learned), kept)

    def _same_labels(self, pool: Pool) -> bool:
        """Whether the pool's labels are those of the texts."""
        present = {label for label in self.data.test.labels if label is not None}
        return bool(present) and present <= set(pool.label_names)

    def _found(
        self,
        model: str,
        studied: Sequence[str],
        studied_labels: Sequence[str | None],
        asked: Sequence[str],
    ) -> LabelsFound:
        answers = self._answers(model, studied, studied_labels, asked)
        rates = over_texts(
            answers.truth, answers.answers, confidence=self.confidence, seed=self.seed
        )
        return LabelsFound(model, rates["accuracy"], rates["f1"], answers.trained)

    def _answers(
        self,
        model: str,
        studied: Sequence[str],
        studied_labels: Sequence[str | None],
        asked: Sequence[str],
    ) -> LabelAnswers:
        known = [row for row, label in enumerate(studied_labels) if label is not None]
        truth = self.data.test.labels
        rows = [row for row, label in enumerate(truth) if label is not None]
        return label_answers(
            [studied[row] for row in known],
            [str(studied_labels[row]) for row in known],
            [asked[row] for row in rows],
            [str(truth[row]) for row in rows],
            model=model,
            seed=self.seed,
        )

    def _meaning(self, judge: Judge, shown: Sequence[str], pool: Sequence[str]) -> MeaningKept:
        alike = MeaningSimilarity(judge, self.test)
        return MeaningKept(
            judge.name,
            self._mean(alike.with_texts(shown)),
            self._mean(alike.of_random_pairs()),
            self._mean(alike.with_nearest(pool)),
        )

    def _mean(self, values: Array) -> Interval:
        return statistic_over_texts(
            lambda rows: float(values[rows].mean()),
            len(values),
            confidence=self.confidence,
            seed=self.seed,
        )
