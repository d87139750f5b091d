"""The documents of the Earth Mover's paper: a known text and a snippet of each author (section 6).

A document is its content words in order, cut after the `length`-th word that has a vector; the
words without one that stand between are part of it, as in the paper.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from inkblur import Embedding, ParameterError
from inkblur.evaluation import content_words, known_id, tokenize
from reproduction.arrays import NULL_ID
from reproduction.context import Context
from reproduction.corpora import Corpus
from reproduction.newsgroups import stripped

Item = TypeVar("Item")

LARGEST = 30_000  # words of GloVe, the paper's number for its 50 authors
LENGTHS = {"Reuters C50": 200, "PAN 2018": 150, "20 Newsgroups": 100}  # words that have a vector
# The paper's two topics are two fandoms; these are the two groups of followers of a sport.
TOPICS = ("rec.sport.baseball", "rec.sport.hockey")
# Authors of each who have a document of LENGTHS words in both parts: 50 authors are 24 and 25.
ENOUGH = {"rec.sport.baseball": 24, "rec.sport.hockey": 33}


@dataclass(frozen=True, slots=True)
class Suspects:
    """One text by each author on both sides; row i is the same author everywhere."""

    known: tuple[str, ...]  # what an attacker has
    snippets: tuple[str, ...]  # what is released
    topics: tuple[str, ...] | None = None  # of both, where there are topics
    authors: tuple[str, ...] = ()  # numbers that tell them apart over the runs

    def first(self, count: int) -> list[int]:
        """The rows of a smaller set: the first authors; with topics, as many of each.

        >>> Suspects(("",) * 4, ("",) * 4, ("a", "a", "b", "b")).first(2)
        [0, 2]
        """
        if self.topics is None:
            return list(range(count))
        names = sorted(set(self.topics))
        each = count // len(names)
        places = {name: [r for r, t in enumerate(self.topics) if t == name] for name in names}
        return [row for name in names for row in places[name][:each]]


def plain_words(embedding: Embedding, most: int = LARGEST) -> Embedding:
    """The commonest words of an embedding without its numbers and signs, which no bag holds."""
    kept = [
        word
        for word in embedding.words[:most]
        if [token.kind.value for token in tokenize(word)] == ["word"]
    ]
    return embedding.restricted(kept, origin=f"{len(kept)} commonest plain words")


def shortened(embedding: Embedding, dimension: int) -> Embedding:
    """The first components of every vector."""
    if dimension == embedding.dimension:
        return embedding
    name = f"{embedding.name}, first {dimension} components"
    return Embedding(embedding.words, embedding.vectors[:, :dimension], name=name)


def document(texts: Sequence[str], embedding: Embedding, length: int) -> str | None:
    """The texts as one document, or None where they hold too few words.

    >>> table = Embedding(["cat", "mat"], [[0.0], [1.0]], name="toy")
    >>> document(["The cat sat", "on a mat. A cat"], table, 2), document(["cat"], table, 2)
    ('cat sat mat', None)
    """
    words: list[str] = []
    for text in texts:
        for word in content_words(text):
            words.append(word)
            length -= known_id(embedding, word) != NULL_ID
            if not length:
                return " ".join(words)
    return None


class Documents:
    """Chooses authors and texts for each run anew, as far as a collection has others.

    Reuters C50 has 50 authors and PAN 2018 has 20, so a run of so many has all of them, with other
    texts; of 10 authors of PAN 2018 there is one snippet only, the same in every run.
    """

    def __init__(self, work: Context, embedding: Embedding, length: Mapping[str, int]) -> None:
        self._work, self._embedding, self._length = work, embedding, length
        self._postings: tuple[_Postings, _Postings] | None = None

    def of(self, data: str, authors: int, run: int) -> Suspects:
        """The authors of one run, one known text and one snippet each."""
        makers = {"Reuters C50": self._c50, "PAN 2018": self._pan18, "20 Newsgroups": self._groups}
        return makers[data](authors, str(run))

    @cached_property
    def labeled(self) -> tuple[list[list[str]], list[str]]:
        """Content words and topics to train on: postings by people who are never suspects."""
        known, snippets = self._read()
        suspects = known.keys() & snippets.keys()
        pairs = [
            (content_words(text), topic)
            for (topic, author), texts in sorted(known.items())
            if (topic, author) not in suspects
            for text in texts
        ]
        few = slice(None, None, self._work.size(1, 40))
        return [words for words, _ in pairs[few]], [topic for _, topic in pairs[few]]

    def _c50(self, authors: int, run: str) -> Suspects:
        split = self._work.datasets.c50
        chosen = self._shuffled(list(range(50)), "authors", run)[:authors]
        known, snippets = (
            [
                self._one("Reuters C50", part.texts[50 * a : 50 * a + 50], f"{a}", run)
                for a in chosen
            ]
            for part in (split.train, split.test)
        )
        return Suspects(tuple(known), tuple(snippets), authors=tuple(map(str, chosen)))

    def _pan18(self, authors: int, run: str) -> Suspects:
        split = self._work.datasets.pan18(1)
        known, snippets = (
            [self._one("PAN 2018", _texts_of(a, part), f"{a}", run) for a in range(authors)]
            for part in (split.train, split.test)
        )
        return Suspects(tuple(known), tuple(snippets), authors=tuple(map(str, range(authors))))

    def _groups(self, authors: int, run: str) -> Suspects:
        table, length = self._embedding, self._length["20 Newsgroups"]
        rows: list[tuple[str, str, str, str]] = []
        sides = self._read()
        for topic in TOPICS:
            people = sorted(author for t, author in sides[0].keys() & sides[1].keys() if t == topic)
            wanted = len(rows) + authors // len(TOPICS)
            for author in self._shuffled(people, topic, run):
                if len(rows) == wanted:
                    break
                known, snippet = (
                    document(self._shuffled(side[topic, author], f"{author}", run), table, length)
                    for side in sides
                )
                if known is not None and snippet is not None:
                    rows.append((known, snippet, topic, f"{topic} {author}"))
        return Suspects(*(tuple(column) for column in zip(*rows, strict=True)))

    def _read(self) -> tuple[_Postings, _Postings]:
        """Bare postings of the two groups by topic and author, training and test part."""
        if self._postings is None:
            split = self._work.datasets.newsgroups
            sides: tuple[_Postings, _Postings] = (defaultdict(list), defaultdict(list))
            for part, side in zip((split.train, split.test), sides, strict=True):
                assert part.authors is not None  # by the loader
                assert part.labels is not None
                for text, author, topic in zip(
                    part.texts, part.authors.tolist(), part.labels, strict=True
                ):
                    if topic in TOPICS and author >= 0:
                        side[topic, author].append(stripped(text))
            self._postings = sides
        return self._postings

    def _one(self, data: str, texts: Sequence[str], author: str, run: str) -> str:
        """A document from an author's texts in random order."""
        order = self._shuffled(list(texts), data, author, run)
        made = document(order, self._embedding, self._length[data])
        if made is None:
            raise ParameterError(
                f"an author of {data} has fewer than {self._length[data]} words with a vector; "
                "shorten its documents"
            )
        return made

    def _shuffled(self, items: list[Item], *names: str) -> list[Item]:
        return [items[i] for i in self._work.rng("texts", *names).permutation(len(items))]


def _texts_of(author: int, corpus: Corpus) -> list[str]:
    assert corpus.authors is not None  # by the loader
    return [t for t, a in zip(corpus.texts, corpus.authors.tolist(), strict=True) if a == author]


_Postings = dict[tuple[str, int], list[str]]
