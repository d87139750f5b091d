"""Earth Mover's paper, section 6, Table 1: who wrote a snippet, and what is it about?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from inkblur import Embedding, Privatizer, Record, TokenPolicies
from inkblur.evaluation import Koppel, content_words, known_id
from inkblur.mechanisms.laplace import Laplace
from reproduction.arrays import NULL_ID
from reproduction.context import Context
from reproduction.earthmovers.findings import (
    EQUAL_NOISE,
    PRINTED_NOISE,
    CountsByRun,
    outcome,
)
from reproduction.earthmovers.nearness import (
    READ,
    distances,
    majority_hits,
    nearest_hits,
)
from reproduction.earthmovers.published import EPSILONS, NORMS
from reproduction.earthmovers.sampled_documents import (
    LARGEST,
    LENGTHS,
    Documents,
    Suspects,
    plain_words,
)
from reproduction.fasttext_model import fasttext_labels
from reproduction.result import Outcome


@dataclass(frozen=True, slots=True)
class NoiseLevel:
    """Which vectors, and what the paper's epsilon is multiplied by."""

    name: str
    vectors: str
    factor: float


PRINTED = NoiseLevel(PRINTED_NOISE, "glove", 1.0)
EQUAL = NoiseLevel(EQUAL_NOISE, "glove", NORMS["word2vec"] / NORMS["glove"])
OWN = NoiseLevel("word2vec", "word2vec", 1.0)
# The word2vec file at hand knows 83 % of the words of C50 and 69 % of those of the fan fiction.
TRIED = {
    "Reuters C50": (PRINTED, EQUAL, OWN),
    "PAN 2018": (PRINTED, EQUAL),
    "20 Newsgroups": (PRINTED, EQUAL),
}


def run(work: Context) -> Outcome:
    """Every collection, noise and run is one step."""
    place = _Place(work)
    found: CountsByRun = {
        (data, noise.name): [] for data, noises in TRIED.items() for noise in noises
    }
    for number in range(place.runs):  # run after run, so that a killed one has seen everything once
        for data, noises in TRIED.items():
            for noise in noises:
                key = f"{data}, {noise.name}, run {number}, author by author"
                step = work.step(key, place.table, data, noise, number)
                found[data, noise.name].append(step)
    return outcome(found, place.sizes, place.lengths)


class _Place:
    """The texts, vectors and attackers of this experiment."""

    def __init__(self, work: Context) -> None:
        self.work = work
        self.runs = work.size(5, 2)
        self.sizes = work.size((20, 50), (4, 8))
        self.lengths = work.size(LENGTHS, dict.fromkeys(LENGTHS, 20))
        # Fewer than any document has with a vector in any vocabulary: bags of one size.
        self.read = work.size(READ, 5)
        self.most = work.size(LARGEST, 3_000)  # words of a vocabulary
        self.seed = work.seed
        self._tables: dict[str, Embedding] = {}

    def vectors(self, name: str) -> Embedding:
        if name not in self._tables:
            self._tables[name] = plain_words(getattr(self.work.datasets, name), self.most)
        return self._tables[name]

    @cached_property
    def documents(self) -> Documents:
        return Documents(self.work, self.vectors("glove"), self.lengths)

    def counts(self, data: str) -> tuple[int, ...]:
        """How many authors; the fan fiction has 20."""
        return self.sizes[:1] if data == "PAN 2018" else self.sizes

    def table(self, data: str, noise: NoiseLevel, run: int) -> dict[str, Any]:
        """One run of Table 1: for each epsilon and size of set, how many answers were right."""
        suspects = self.documents.of(data, max(self.counts(data)), run)
        table = self.vectors(noise.vectors)
        released, unchanged = {"none": suspects.snippets}, {"none": 1.0}
        for epsilon in EPSILONS:
            blur = Privatizer(
                Laplace(table, epsilon=epsilon * noise.factor),
                policies=TokenPolicies.of(keep=["unknown"], names="blur"),  # as in the paper
            )
            stream = self.work.rng("release", data, noise.name, f"{epsilon}", f"{run}")
            batch = blur.release_batch(_records(suspects.snippets), stream)
            released[f"{epsilon}"] = batch.texts
            unchanged[f"{epsilon}"] = batch.counts["unchanged"] / batch.counts["known"]
        near = {
            key: distances(texts, suspects.known, table, self.read)
            for key, texts in released.items()
        }
        right_topics = self._topics_right(suspects, list(released.values()))
        out: dict[str, Any] = {"unchanged": unchanged, "by author": {}}
        for count in self.counts(data):
            rows = suspects.first(count)
            attack = self._koppel([suspects.known[row] for row in rows], run)
            right = {
                key: _right(attack, [texts[row] for row in rows]) for key, texts in released.items()
            }
            out["by author"][str(count)] = {
                "authors": [suspects.authors[row] for row in rows],
                "DRauth": right,
                "DRtopic": {
                    key: [answers[row] for row in rows]
                    for key, answers in zip(
                        released, right_topics, strict=False
                    )  # none without topics
                },
            }
            out[str(count)] = {
                key: {
                    "SRauth": nearest_hits(near[key][rows][:, rows]),
                    "DRauth": sum(right[key]),
                    "DRauth, unknown words dropped": _named(
                        attack, [_held(texts[row], table) for row in rows]
                    ),
                    **(
                        {
                            "SRtopic": majority_hits(
                                near[key][rows][:, rows], [suspects.topics[row] for row in rows]
                            ),
                            "DRtopic": sum(right_topics[place][row] for row in rows),
                        }
                        if suspects.topics
                        else {}
                    ),
                }
                for place, (key, texts) in enumerate(released.items())
            }
        return out

    def _koppel(self, known: Sequence[str], run: int) -> Koppel:
        attack = Koppel(seed=self.seed + run, similarity="cosine")
        return attack.fit(known, list(range(len(known))))

    def _topics_right(
        self, suspects: Suspects, releases: Sequence[Sequence[str]]
    ) -> list[list[int]]:
        """1 where fastText, which studied clean texts of others, is right; release by release."""
        if suspects.topics is None:
            return []
        texts, labels = self.documents.labeled
        answers = fasttext_labels(
            texts,
            labels,
            [text.split() for release in releases for text in release],
            seed=self.seed,
            embedding=self.vectors("glove") if not self.work.quick else None,
        )
        size = len(suspects.topics)
        parts = [answers[start : start + size] for start in range(0, len(answers), size)]
        return [[int(a == t) for a, t in zip(part, suspects.topics, strict=True)] for part in parts]


def _content(texts: Sequence[str], most: int | None = None) -> list[str]:
    return [" ".join(content_words(text)[:most]) for text in texts]


def _right(attack: Koppel, texts: Sequence[str]) -> list[int]:
    """1 where the attack named the author; texts are in the authors' order."""
    return [int(named == row) for row, named in enumerate(attack.predict(texts))]


def _named(attack: Koppel, texts: Sequence[str]) -> int:
    """How many of the authors, in order, the attack named."""
    return sum(_right(attack, texts))


def _held(text: str, table: Embedding) -> str:
    """A text without the words that have no vector."""
    return " ".join(word for word in text.split() if known_id(table, word) != NULL_ID)


def _records(texts: Sequence[str]) -> list[Record]:
    return [Record(str(row), text) for row, text in enumerate(texts)]
