"""The collections: whose authors are attacked, whose topics are asked for, and untouched models."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from inkblur import Embedding, adapt_embedding, load_embedding, seeded_rng
from inkblur.evaluation import (
    NULL_ID,
    ContentWords,
    Ids,
    Koppel,
    LinearSvm,
    Words,
    among,
    content_words,
    fingerprints,
    words_of,
)
from reproduction.adapted.space import BETA, SMOOTHING
from reproduction.corpora import (
    Corpus,
    Split,
    english_novels,
    newsgroups,
    pan18,
    reuters_c50,
)
from reproduction.newsgroups import bare

SEED = 1
JOINED, C50, PAN, PAN_2, NOVELS = "joined", "C50", "PAN 2018", "PAN 2018 (2)", "novels"
JOINED_WORDS = 30_000  # of the bundled table, the commonest
KNOWN = {JOINED: 50, C50: 12, PAN: 7, PAN_2: 7, NOVELS: 30}  # texts an author that are studied
ATTACKED = {JOINED: 50, C50: 10, PAN: 50, PAN_2: 50, NOVELS: 15}  # texts an author, at most
ASKED = 3_000  # postings whose topic is asked for
_CONTENT = 80  # content words of each text whose cosines are taken
TASK = "task"  # a base distribution learned for the topics, instead of public counts


class AttackOnTexts(Protocol):
    """Names authors of texts after studying others."""

    def fit(self, texts: Any, authors: Any) -> Any:
        """Study texts of known authors."""
        ...

    def predict(self, texts: Any) -> Ids:
        """The author of each text."""
        ...


ATTACKS: Mapping[str, Callable[[], AttackOnTexts]] = {
    "svm": lambda: LinearSvm(seed=SEED),
    "svm-words": lambda: LinearSvm(seed=SEED, view=Words(), name="svm-words"),
    "koppel": lambda: Koppel(seed=SEED),
}


@dataclass(slots=True)
class Collection:
    """Authors to attack, and topics where there are any, in the form that is released."""

    name: str
    table: Embedding
    known: Corpus
    attacked: Corpus
    topics: Split | None = None  # train teaches the analyst, test is asked about
    attacks: dict[str, AttackOnTexts] = field(default_factory=dict)  # who studied true texts
    analysts: dict[str, Any] = field(default_factory=dict)  # who learned from true postings


def load(names: Container[str], sizes: float = 1.0) -> dict[str, Collection]:
    """The collections of these names; `sizes` below 1 takes that share of texts, for a trial."""
    table = load_embedding()
    if any(name in names for name in (JOINED, TASK, C50)):
        topics, fresh = postings(sizes)
        reuters = reuters_c50()

    def parts(split: Split, name: str) -> tuple[Corpus, Corpus]:
        known, attacked = (max(2, round(n[name] * sizes)) for n in (KNOWN, ATTACKED))
        known_part = split.train.first_of_each_author(known)
        return known_part, split.test.first_of_each_author(attacked)

    found = {}
    if JOINED in names or TASK in names:
        first = table.first(JOINED_WORDS)
        content = Split(content_of(topics.train), content_of(fresh))
        known, attacked = (content_of(part) for part in parts(reuters, JOINED))
        joined = adapted(first, topics.train)
        found[JOINED] = Collection(JOINED, joined, known, attacked, content)
        if TASK in names:
            learned = adapted(with_learned_counts(first, content.train), topics.train)
            found[TASK] = Collection(TASK, learned, known, attacked, content)
    if C50 in names:
        found[C50] = Collection(C50, table, *parts(reuters, C50), Split(topics.train, fresh))
    others: dict[str, Callable[[], Split]] = {
        PAN: lambda: pan18(1),
        PAN_2: lambda: pan18(2),
        NOVELS: english_novels,
    }
    for name, read in others.items():
        if name in names:
            found[name] = Collection(name, table, *parts(read(), name))
    return found


def postings(sizes: float) -> tuple[Split, Corpus]:
    """Postings without headers, quotes and signatures; those asked about are not among the others,
    for an adapted table refuses the texts that taught it.
    """
    both = newsgroups()
    split = Split(bare(both.train), bare(both.test))
    order = seeded_rng(SEED).child("postings")
    if sizes < 1:
        rows = order.child("train").permutation(len(split.train))
        train = split.train.rows(rows[: round(len(rows) * sizes)].tolist())
        split = Split(train, split.test)
    new = np.flatnonzero(~among(split.test.texts, fingerprints(split.train.texts)))
    drawn = new[order.child("test").permutation(len(new))[: round(ASKED * sizes)]]
    return split, split.test.rows(drawn.tolist())


def adapted(base: Embedding, taught: Corpus) -> Embedding:
    """The table, joined with what its words say of topics."""
    labels = {"topic": taught.labels or ()}
    return adapt_embedding(base, taught.texts, labels, beta=BETA, smoothing=SMOOTHING)


def content_of(corpus: Corpus) -> Corpus:
    """The content words of its texts."""
    return replace(corpus, texts=tuple(ContentWords().transform(corpus.texts)))


def with_learned_counts(table: Embedding, taught: Corpus) -> Embedding:
    """The table with counts that favor words which say little about the label.

    A word's count is e^(-2 D), where D is the divergence of its labels from all labels in nats,
    smoothed by 10 texts of average labels.
    """
    names = sorted(set(taught.labels or ()))
    seen = np.zeros((len(table), len(names)))
    for text, label in zip(taught.texts, taught.labels or (), strict=True):
        ids = table.ids(sorted(set(text.split())))
        seen[ids[ids != NULL_ID], names.index(label)] += 1
    prior = seen.sum(axis=0) / seen.sum()
    shares = (seen + 10 * prior) / (seen.sum(axis=1, keepdims=True) + 10)
    divergence = (shares * np.log(shares / prior)).sum(axis=1)
    counts = np.rint(1e6 * np.exp(-2 * divergence)).astype(np.int64)
    return table.with_counts(np.maximum(1, counts), origin="how little a word says of topics")


def analyst(kind: str) -> Any:
    """A classifier of topics: naive Bayes or a linear SVM on tf-idf."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    machine = (
        MultinomialNB(alpha=0.01)
        if kind == "naive-bayes"
        else LinearSVC(C=1.0, max_iter=20_000, random_state=SEED)
    )
    return make_pipeline(TfidfVectorizer(analyzer=words_of), machine)


ANALYSTS = ("naive-bayes", "svm")


def content_ids(collection: Collection, count: int) -> Ids:
    """Content words of the studied texts, as often as they come, in random order.

    Settings are chosen on these, so that the attacked texts only judge them.
    """
    known: Ids = np.concatenate([_content_ids(collection, t) for t in collection.known.texts])
    return known[seeded_rng(SEED).child("content words").permutation(len(known))[:count]]


def content_ids_by_text(collection: Collection) -> list[Ids]:
    """Content words of each attacked text, the first of them."""
    return [_content_ids(collection, t)[:_CONTENT] for t in collection.attacked.texts]


def _content_ids(collection: Collection, text: str) -> Ids:
    ids = collection.table.ids(list(content_words(text)))
    known: Ids = ids[ids != NULL_ID]
    return known
