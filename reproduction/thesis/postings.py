"""20 Newsgroups as the thesis's experiments here use it: bare postings, topics, suspects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from inkblur import Embedding
from inkblur.evaluation import words_of
from reproduction.context import Context
from reproduction.corpora import Corpus
from reproduction.newsgroups import LEAST_TESTED, bare
from reproduction.thesis.document_forms import Forms
from reproduction.thesis.scales import commonest


class Postings:
    """Postings without headers, footers and quotes, an even number from every group.

    Nothing is learned from postings by the first `suspects` (see :func:`suspected`): a classifier
    that had read the very people it is asked about would know their words besides their topics.
    """

    def __init__(
        self, work: Context, *, train: int, test: int, vocabulary: int, suspects: int = 0
    ) -> None:
        self._work, self._counts = work, {"train": train, "test": test}
        self._vocabulary, self._suspects = vocabulary, suspects

    @cached_property
    def embedding(self) -> Embedding:
        """The words that have a vector and can come out."""
        return commonest(self._work, self._vocabulary)

    @cached_property
    def train(self) -> Corpus:
        """For the classifier, and for choosing topic words."""
        return self._sample("train")

    @cached_property
    def test(self) -> Corpus:
        """To be classified."""
        return self._sample("test")

    @cached_property
    def forms(self) -> Forms:
        """Topic words come from the training postings."""
        return Forms(self.train.texts, self.train.labels or (), self.embedding)

    @cached_property
    def formed_train(self) -> dict[str, list[str]]:
        """The training postings in each form."""
        return self.forms.of(self.train.texts)

    def topic_classifier(self, form: str) -> TopicClassifier:
        """A classifier that knows the training postings in a form, not obfuscated."""
        return TopicClassifier(self.formed_train[form], self.train.labels or ())

    def _sample(self, part: str) -> Corpus:
        whole = getattr(self._work.datasets.newsgroups, part)
        left_out = suspected(self._work, self._suspects) if self._suspects else set()
        writers = _authors(whole) if left_out else [-1] * len(whole)
        rows: list[int] = []
        for label in sorted(set(whole.labels)):
            of_label = [
                row
                for row, (held, writer) in enumerate(zip(whole.labels, writers, strict=True))
                if held == label and writer not in left_out
            ]
            count = min(self._counts[part], len(of_label))
            rows += [of_label[i] for i in self._work.sample(count, len(of_label), part, label)]
        return bare(whole.rows(rows))


def suspected(work: Context, authors: int) -> set[int]:
    """The authors with most training postings among those with at least eight test postings."""
    split = work.datasets.newsgroups
    known, tested = Counter(_authors(split.train)), Counter(_authors(split.test))
    ranked = sorted(
        (author for author in known if author >= 0 and tested[author] >= LEAST_TESTED),
        key=lambda author: (-known[author], author),
    )
    return set(ranked[:authors])


def suspects(work: Context, *, authors: int, each: int) -> tuple[Corpus, Corpus]:
    """All training postings, and the first `each` test postings, of the suspected authors."""
    split, chosen = work.datasets.newsgroups, suspected(work, authors)
    train, test = (
        part.rows([row for row, author in enumerate(_authors(part)) if author in chosen])
        for part in (split.train, split.test)
    )
    return bare(train), bare(test.first_of_each_author(each))


def _authors(corpus: Corpus) -> list[int]:
    assert corpus.authors is not None  # by the loader
    return [int(author) for author in corpus.authors]


class TopicClassifier:
    """The thesis's classifier of topics: multinomial naive Bayes, here on tf-idf, alpha 0.01.

    >>> classifier = TopicClassifier(["red cat", "blue sky"], ["pets", "weather"])
    >>> classifier.hits(["a cat", "a cat"], ["pets", "weather"])
    [1, 0]
    """

    def __init__(self, texts: Sequence[str], labels: Sequence[str]) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.naive_bayes import MultinomialNB
        from sklearn.pipeline import make_pipeline

        self._model: Any = make_pipeline(
            TfidfVectorizer(analyzer=words_of), MultinomialNB(alpha=0.01)
        ).fit(texts, labels)

    def hits(self, texts: Sequence[str], labels: Sequence[str]) -> list[int]:
        """1 where the topic is right, text by text; without a known word it is a guess."""
        answers = self._model.predict(texts)
        return [int(said == true) for said, true in zip(answers.tolist(), labels, strict=True)]
