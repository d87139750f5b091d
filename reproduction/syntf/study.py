"""SynTF's analyst and attacker on 20 Newsgroups (section 4.2): what both still reach.

The analyst tells the newsgroup from tf-idf weights, the attacker the author from WritePrints
features; both train on released training postings and are tried on released test postings, with
naive Bayes and a linear SVM. Scores are means over classes weighted by their size: with these the
analyst of the original postings reaches what the paper prints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from inkblur import Embedding, ReleaseSpec, Vectorizer
from inkblur.evaluation import (
    AuthorClassifier,
    Dataset,
    VectorReleaser,
    WritePrintsFeatures,
    label_answers,
    make_classifier,
    measured_groups,
    releaser,
    reverse_vectorized,
    words_of,
)
from reproduction.arrays import Ids
from reproduction.context import Context, with_names
from reproduction.newsgroups import SCENARIOS, suspects
from reproduction.syntf.resampling import RunScores, lettered

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

MODELS = ("naive-bayes", "svm")  # the analyst's and the attacker's
SCORES = ("F1", "precision", "recall")
# {"utility": {model: [F1, precision, recall]}, "attack": {scenario: {model: [...]}},
#  "answers": {"utility": {"truth": letters, model: letters}, "attack": {scenario: {...}}}}
ANSWERED = "answers kept"  # for names of steps: posting by posting
SIMILAR = 3  # words that are added for each word of the vocabulary, where it is extended
_BLOCK = 1_000  # words whose cosines to all of GloVe are held at a time


class PostingsStudy:
    """The postings of one experiment, read when they are needed, and the two tasks on them.

    `train` and `test` postings are the analyst's (None: all), drawn evenly; `each` cuts a suspect's
    postings in either part. Words beyond the commonest `words` of GloVe have no vector.
    """

    def __init__(
        self,
        work: Context,
        *,
        train: int | None,
        test: int | None,
        each: int | None,
        words: int,
    ) -> None:
        self._work, self._each, self._words = work, each, words
        self._wanted = {"train": train, "test": test}

    @cached_property
    def data(self) -> Dataset:
        """All postings: bare, authors numbered."""
        return self._work.datasets.syntf

    @cached_property
    def embedding(self) -> Embedding:
        """The words that have a vector."""
        return self._work.datasets.glove.first(self._words)

    @cached_property
    def all_words(self) -> Embedding:
        """All of GloVe, where similar words are looked for."""
        return self._work.datasets.glove.first(self._work.size(100_000, 2_000))

    @cached_property
    def analyzed(self) -> dict[str, list[int]]:
        """The analyst's postings of each part, as numbers."""
        found = {}
        for part, wanted in self._wanted.items():
            count = len(getattr(self.data, part))
            found[part] = (
                list(range(count)) if wanted is None else self._work.sample(wanted, count, part)
            )
        return found

    @cached_property
    def suspected(self) -> dict[str, dict[str, list[int]]]:
        """The suspects' postings of each scenario and part."""
        found = {}
        for scenario in SCENARIOS:
            chosen = suspects(self.data, scenario)
            found[scenario] = {
                part: [
                    row
                    for suspect in chosen
                    for row in np.flatnonzero(getattr(self.data, part).authors == suspect)[
                        : self._each
                    ].tolist()
                ]
                for part in ("train", "test")
            }
        return found

    @cached_property
    def rows(self) -> dict[str, list[int]]:
        """Every posting that a release has to cover, of each part in ascending order."""
        return {
            part: sorted(
                {*self.analyzed[part], *(r for s in SCENARIOS for r in self.suspected[s][part])}
            )
            for part in ("train", "test")
        }

    @cached_property
    def texts(self) -> list[str]:
        """Their texts, the training part first."""
        return [
            getattr(self.data, part).texts[row]
            for part in ("train", "test")
            for row in self.rows[part]
        ]

    def vector_releaser(self, setting: ReleaseSpec, *, similar: bool = False) -> VectorReleaser:
        """The setting on the vocabulary of the training postings, in its morphology."""
        table = self.extended if similar else self.table
        made = releaser(with_names(setting), table(str(setting.morphology)))
        assert isinstance(made, VectorReleaser)
        return made

    @lru_cache(maxsize=3)  # noqa: B019 (a study lives as long as its experiment)
    def table(self, morphology: str) -> Embedding:
        """The words of the training postings that have a vector, as the paper takes them.

        Those postings are released too, so a product must not do this (and Inkblur refuses it): the
        vocabulary shows their words.
        """
        training = self.data.train.texts
        return Vectorizer(
            self.embedding, morphology=morphology, reference=training, names="blur"
        ).embedding

    @lru_cache(maxsize=3)  # noqa: B019
    def extended(self, morphology: str) -> Embedding:
        """The same with words that are similar to those: the nearest by cosine in all of GloVe.

        They stand in for WordNet's synonyms, which the paper adds.
        """
        table = self.table(morphology)
        wide = Vectorizer(self.all_words, morphology=morphology, names="blur").embedding
        units = wide.vectors / np.linalg.norm(wide.vectors, axis=1, keepdims=True)
        rows = wide.ids(table.words)
        added: set[int] = set()
        for start in range(0, len(rows), _BLOCK):
            block = rows[start : start + _BLOCK]
            cosines = units[block] @ units.T
            cosines[np.arange(len(block)), block] = -1.0  # the word itself
            added.update(np.argpartition(-cosines, SIMILAR)[:, :SIMILAR].ravel().tolist())
        words = {*table.words, *(wide.words[row] for row in added)}
        return wide.restricted(words, origin=f"the postings' words and {SIMILAR} near each")

    def plain(self, texts: Sequence[str]) -> RunScores:
        """Both tasks on texts (the original ones, or scrubbed): one for each of `self.texts`."""
        from sklearn.feature_extraction.text import CountVectorizer

        trained = len(self.rows["train"])
        counter = CountVectorizer(analyzer=words_of).fit(texts[:trained])
        return self.scores(texts, counter.transform(texts))

    def vectorized(self, setting: VectorReleaser) -> RunScores:
        """Both tasks on the true term frequencies, which the attacker writes out as text."""
        counts = setting.blur.vectorizer.transform(self.texts)
        return self.scores(self._written(setting, counts), counts)

    def synthetic(
        self,
        setting: ReleaseSpec,
        repeats: int,
        lengths: Sequence[int] = (),
        similar: bool = False,
    ) -> dict[str, list[RunScores]]:
        """Both tasks on each of several independent releases, by output length; `similar`: on the
        extended vocabulary.

        All releases are drawn together, for a word's row of probabilities costs more than its
        draws. The first n of independent draws are a release of length n (Algorithm 1), so the
        shorter `lengths` come from the same draws as the setting's own.
        """
        made = self.vector_releaser(setting, similar=similar)
        synthetic = made.blur
        compositions = [synthetic.vectorizer.composition(text) for text in self.texts]
        streams = [
            self._work.rng("release", setting.name, str(repeat), str(row))
            for repeat in range(repeats)
            for row in range(len(self.texts))
        ]
        drawn = synthetic.terms(compositions * repeats, streams)
        words = drawn.reshape(repeats, len(self.texts), synthetic.length)
        return {
            str(length): [self._released(made, words[repeat], length) for repeat in range(repeats)]
            for length in (*lengths, synthetic.length)
        }

    def _released(self, made: VectorReleaser, words: Ids, length: int) -> RunScores:
        cut = _counts(words[:, :length], len(made.blur.mechanism.vocabulary))
        return self.scores(self._written(made, cut), cut)

    def _written(self, made: VectorReleaser, counts: csr_matrix) -> list[str]:
        """Texts of the suspects' postings alone: nobody reads the others."""
        wanted = set(self._places())
        rows = sorted(wanted)
        written = reverse_vectorized(counts[rows], made.blur.mechanism.vocabulary)
        texts = [""] * counts.shape[0]
        for row, text in zip(rows, written, strict=True):
            texts[row] = text
        return texts

    def _places(self) -> list[int]:
        return [p for s in SCENARIOS for part in ("train", "test") for p in self._of(s, part)]

    def _of(self, scenario: str, part: str) -> list[int]:
        """Where the postings of a scenario's suspects stand among `self.texts`."""
        return self._located(part, self.suspected[scenario][part])

    def _located(self, part: str, rows: Sequence[int]) -> list[int]:
        start = 0 if part == "train" else len(self.rows["train"])
        place = {row: start + i for i, row in enumerate(self.rows[part])}
        return [place[row] for row in rows]

    def scores(self, texts: Sequence[str], counts: csr_matrix) -> RunScores:
        """The analyst works on the counts, the attacker on the texts."""
        measure = lru_cache(maxsize=None)(measured_groups)  # the scenarios share postings
        analysts = {model: self._analyst(counts, model) for model in MODELS}
        topics = analysts[MODELS[0]].truth
        labels = {model: one.answers for model, one in analysts.items()}
        named = {scenario: self._attacker(texts, scenario, measure) for scenario in SCENARIOS}
        return {
            "utility": _weighted_each(topics, labels),
            "attack": {scenario: _weighted_each(*answers) for scenario, answers in named.items()},
            "answers": {
                "utility": lettered(topics, labels),
                "attack": {scenario: lettered(*answers) for scenario, answers in named.items()},
            },
        }

    def _analyst(self, counts: csr_matrix, model: str) -> Any:
        parts, labels = {}, {}
        for part in ("train", "test"):
            parts[part] = counts[self._located(part, self.analyzed[part])]
            held = getattr(self.data, part).labels
            labels[part] = [str(held[row]) for row in self.analyzed[part]]
        return label_answers(
            parts["train"],
            labels["train"],
            parts["test"],
            labels["test"],
            model=model,
            seed=self._work.seed,
        )

    def _attacker(
        self, texts: Sequence[str], scenario: str, measure: Any
    ) -> tuple[list[int], dict[str, list[int]]]:
        """The true authors and each model's answers.

        As :class:`inkblur.evaluation.attacks.WritePrints`, with features measured once.
        """
        features = WritePrintsFeatures(measure=measure)
        authors = {p: getattr(self.data, p).authors[self.suspected[scenario][p]] for p in self.rows}
        read = {p: [texts[place] for place in self._of(scenario, p)] for p in self.rows}
        known = [i for i, text in enumerate(read["train"]) if text.strip()]
        asked = [i for i, text in enumerate(read["test"]) if text.strip()]
        studied = features.fit_transform([read["train"][i] for i in known])
        unknown = features.transform([read["test"][i] for i in asked])
        found = {}
        for model in MODELS:
            learned = make_classifier(AuthorClassifier(model))
            answers = np.full(len(read["test"]), -1)  # nobody
            answers[asked] = learned.fit(studied, authors["train"][known]).predict(unknown)
            found[model] = answers.tolist()
        return authors["test"].tolist(), found


def _weighted_each(
    truth: Sequence[Any], answers: Mapping[str, Sequence[Any]]
) -> dict[str, list[float]]:
    return {model: weighted(truth, said) for model, said in answers.items()}


def weighted(truth: Sequence[Any], answers: Sequence[Any]) -> list[float]:
    """F1, precision and recall: means over the true classes, each weighted by its size.

    >>> weighted(["a", "a", "a", "b"], ["a", "a", "b", "b"])[2]
    0.75
    """
    from sklearn.metrics import precision_recall_fscore_support

    precision, recall, f1, _ = precision_recall_fscore_support(
        truth, answers, average="weighted", zero_division=0
    )
    return [float(f1), float(precision), float(recall)]


def _counts(words: Ids, width: int) -> csr_matrix:
    """One row of counts for each row of words."""
    from scipy.sparse import csr_matrix

    rows = np.repeat(np.arange(len(words)), words.shape[1])
    ones = np.ones(words.size, dtype=np.int64)
    return csr_matrix((ones, (rows, words.ravel())), shape=(len(words), width))
