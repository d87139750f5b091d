"""Collections of texts with authors: what the attacker knows, and what they are asked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from inkblur.evaluation import Koppel
from reproduction.context import Context
from reproduction.corpora import Corpus
from reproduction.proper_nouns import without_proper_nouns
from reproduction.thesis.postings import Postings, TopicClassifier, suspects

NEWSGROUPS = "20 Newsgroups"
BESIDE = {  # our collection: the thesis's
    NEWSGROUPS: None,
    "C50": "Reuters",
    "PAN 2018, 20 authors": "fan fiction",
    "PAN 2018, 5 authors": "fan fiction",
}
# For names of steps: the classifier of topics, and the topic words, know no suspect's posting.
LEARNED = "topics learned from others, the thesis's stop words"
_PAN = {"PAN 2018, 20 authors": 1, "PAN 2018, 5 authors": 2}  # the number of the problem


@dataclass(frozen=True, slots=True)
class Case:
    """One collection, or one form of it."""

    known: Corpus
    asked: Corpus


def newsgroup_suspects(work: Context) -> int:
    """How many authors of 20 Newsgroups are suspects."""
    return work.size(20, 5)


def case_of(work: Context, data: str) -> Case:
    """Texts by their collection's name."""
    if data == NEWSGROUPS:
        return Case(*suspects(work, authors=newsgroup_suspects(work), each=work.size(12, 4)))
    if data == "C50":
        split = work.datasets.c50
        count, authors = work.size(3, 1, 50), work.size(50, 4)
        train, test = (
            part.rows([row for row, author in enumerate(_numbers(part)) if author < authors])
            for part in (split.train, split.test)
        )
        return Case(train, test.first_of_each_author(count))
    split = work.datasets.pan18(_PAN[data])
    known, asked = split.train, split.test.rows(range(work.size(len(split.test), 5)))
    # As in the thesis: names of characters belong to one book and would tell all.
    return Case(*(_with(part, [*map(without_proper_nouns, part.texts)]) for part in (known, asked)))


class SuspectAttack:
    """One collection in one form: Koppel's attack, and where topics are known, the classifier."""

    def __init__(self, work: Context, postings: Postings, data: str, cases: Cases, form: str):
        self._work, self._postings, self._cases = work, postings, cases
        self.data, self.form = data, form

    @cached_property
    def case(self) -> Case:
        """Its texts in this form."""
        return self._cases.in_form(self.data, self.form)

    @cached_property
    def koppel(self) -> Koppel:
        """The attack after studying the known texts, which were not obfuscated."""
        return Koppel(seed=self._work.seed).fit(self.case.known.texts, _numbers(self.case.known))

    @cached_property
    def classifier(self) -> TopicClassifier:
        """The classifier of topics."""
        return self._postings.topic_classifier(self.form)

    def hits(self, texts: tuple[str, ...]) -> dict[str, list[int]]:
        """1 where the author was named, and where the topic is right, for the asked texts."""
        return hits(
            self.koppel, self.classifier if self.case.asked.labels else None, self.case, texts
        )


class Cases:
    """Every collection in every form, made once."""

    def __init__(self, work: Context, postings: Postings) -> None:
        self._work, self._postings = work, postings
        self._made: dict[str, dict[str, Case]] = {}

    def in_form(self, data: str, form: str) -> Case:
        """A collection in a form."""
        if data not in self._made:
            case = case_of(self._work, data)
            known, asked = (self._postings.forms.of(p.texts) for p in (case.known, case.asked))
            self._made = {  # one collection at a time: experiments go through them in order
                data: {
                    name: Case(_with(case.known, known[name]), _with(case.asked, asked[name]))
                    for name in known
                }
            }
        return self._made[data][form]


def hits(
    koppel: Koppel, classifier: TopicClassifier | None, case: Case, texts: tuple[str, ...]
) -> dict[str, list[int]]:
    """What an attacker and a classifier get right on texts that stand for the asked ones."""
    named = koppel.predict(texts).tolist()
    found = {"author": [int(a == b) for a, b in zip(named, _numbers(case.asked), strict=True)]}
    if classifier is not None:
        found["topic"] = classifier.hits(texts, case.asked.labels or ())
    return found


def _with(corpus: Corpus, texts: list[str]) -> Corpus:
    return Corpus(corpus.name, tuple(texts), corpus.authors, corpus.labels)


def _numbers(corpus: Corpus) -> list[int]:
    assert corpus.authors is not None  # by the loaders
    return [int(author) for author in corpus.authors]
