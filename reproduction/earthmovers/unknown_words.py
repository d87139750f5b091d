"""Earth Mover's paper, section 6: how much of the topic do words outside the vocabulary keep?

The paper's mechanism lets words without a vector pass as they are: about three in eleven of its own
Table 3 (names of characters). Here the vocabulary is cut until half of the words of a snippet are
such words, and the topic is classified with them and without.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from inkblur import Embedding, Privatizer, Record, TokenPolicies
from inkblur.evaluation import known_id
from inkblur.mechanisms.laplace import Laplace
from reproduction.arrays import NULL_ID
from reproduction.context import Context
from reproduction.earthmovers.published import NORMS
from reproduction.earthmovers.sampled_documents import LENGTHS, Documents, plain_words
from reproduction.estimate import Estimate
from reproduction.fasttext_model import fasttext_labels
from reproduction.result import Claim, Outcome, Reading, Where

TABLE = "Topic accuracy (two topics) at epsilon 10, by what becomes of words outside the vocabulary"
TRAINING = "fastText's training, on postings as they are (paper: 0.937 on its fan fiction)"
PAPER_ACCURACY = 0.937
VOCABULARY = 1_500  # GloVe's commonest: about half of the content words of a posting are others
EPSILON = 10.0 * NORMS["word2vec"] / NORMS["glove"]  # equal noise, as in earthmovers/inference
PRINTED, OWN = "25 passes at rate 1.0, as printed", "ours"
RATES: dict[str, dict[str, Any]] = {PRINTED: {"epochs": 25, "rate": 1.0}, OWN: {}}
RELEASES = ("as they are", "blurred, unknown words pass", "blurred, unknown words dropped")


def run(work: Context) -> Outcome:
    """Snippets of 20 Newsgroups under both trainings, several draws of noise and texts."""
    study = _UnknownStudy(work)
    runs = [
        work.step(f"run {number}, {VOCABULARY} words", study.topics_right, number)
        for number in range(work.size(3, 2))
    ]
    readings = [
        Reading(
            TABLE,
            {"texts": "all"},
            "share of unknown words",
            Estimate.of_runs([one["unknown"] for one in runs]).share(),
        )
    ]
    for training in RATES:
        for place, name in enumerate(RELEASES):
            right = Estimate.of_runs([_mean(one["right"][training][place]) for one in runs])
            where: Where = {"texts": name, "training": training}
            readings.append(Reading(TABLE, where, "topic accuracy", right.share()))
        readings.append(
            Reading(
                TRAINING,
                {"training": training},
                "accuracy",
                Estimate.of_runs([_mean(one["right"][training][0]) for one in runs]).share(),
                PAPER_ACCURACY if training == PRINTED else None,
            )
        )
    gains = [_mean(one["right"][OWN][1]) - _mean(one["right"][OWN][2]) for one in runs]
    claim = Claim(
        "unknown-words-keep-the-topic",
        "Where half of the words are outside the vocabulary and pass as they are, they are what "
        "keeps the topic.",
        "ours; the Earth Mover's paper does not ask",
        "topic accuracy at epsilon 10 with the unknown words minus without them",
        Estimate.of_runs(gains),
        0.0,
    )
    return Outcome(tuple(readings), (claim,), notes=_notes(study))


class _UnknownStudy:
    """Snippets, vectors and classifiers, made when the first step runs."""

    def __init__(self, work: Context) -> None:
        self.work = work
        self.authors = work.size(50, 8)
        self.lengths = work.size(LENGTHS, dict.fromkeys(LENGTHS, 20))

    @cached_property
    def glove(self) -> Embedding:
        return plain_words(self.work.datasets.glove, self.work.size(30_000, 3_000))

    @cached_property
    def small(self) -> Embedding:
        return plain_words(self.work.datasets.glove, VOCABULARY)

    @cached_property
    def documents(self) -> Documents:
        return Documents(self.work, self.glove, self.lengths)

    def topics_right(self, number: int) -> dict[str, Any]:
        """1 where the topic was right, for each training and release, snippet by snippet."""
        suspects = self.documents.of("20 Newsgroups", self.authors, number)
        assert suspects.topics is not None  # by the collection
        blur = Privatizer(
            Laplace(self.small, epsilon=EPSILON),
            policies=TokenPolicies.of(keep=["unknown"], names="blur"),  # as in the paper
        )
        batch = blur.release_batch(
            [Record(str(row), text) for row, text in enumerate(suspects.snippets)],
            self.work.rng("release", f"{number}"),
        )
        dropped = [" ".join(w for w in text.split() if self._known(w)) for text in batch.texts]
        texts, labels = self.documents.labeled
        asked = [
            text.split() for part in (suspects.snippets, batch.texts, dropped) for text in part
        ]
        size = len(suspects.topics)
        right = {}
        for training, options in RATES.items():
            answers = fasttext_labels(
                texts,
                labels,
                asked,
                seed=self.work.seed,
                embedding=None if self.work.quick else self.glove,
                **options,
            )
            parts = [answers[start : start + size] for start in range(0, len(answers), size)]
            right[training] = [
                [int(a == b) for a, b in zip(part, suspects.topics, strict=True)] for part in parts
            ]
        words = [word for text in suspects.snippets for word in text.split()]
        unknown = sum(not self._known(word) for word in words) / len(words)
        return {"unknown": unknown, "right": right}

    def _known(self, word: str) -> bool:
        return known_id(self.small, word) != NULL_ID


def _mean(hits: list[int]) -> float:
    return sum(hits) / len(hits)


def _notes(study: _UnknownStudy) -> tuple[str, ...]:
    return (
        "Postings of rec.sport.baseball and rec.sport.hockey, as in earthmovers/inference; a guess "
        f"tells one topic of two. GloVe is cut to its {VOCABULARY:,} commonest words.",
        "A classifier that still tells the topic of such a release reads it off words that the "
        "mechanism never touched. Inkblur sends them through the mechanism as the null word.",
        "Intervals are Student's over the runs, which share authors: too narrow for others.",
    )
