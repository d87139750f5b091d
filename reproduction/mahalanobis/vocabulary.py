"""The words of both collections that have a vector: what the paper draws from."""

from __future__ import annotations

from functools import cached_property

from inkblur import Embedding
from reproduction.context import Context
from reproduction.datasets import collection_words

_QUICK_WORDS = 2_000  # the commonest


class CollectionVocabulary:
    """The collections' words in one set of vectors, `glove` or `word2vec`; loaded on first use.

    The paper takes the vocabulary from the texts that are protected. That is a leak,
    done here because the paper's numbers depend on it.
    """

    def __init__(self, work: Context, vectors: str) -> None:
        self.work, self.vectors = work, vectors

    @cached_property
    def words(self) -> list[str]:
        """Every distinct word of the messages and the tweets."""
        datasets = self.work.datasets
        return collection_words([*datasets.sms.texts, *datasets.tweets.texts])

    @cached_property
    def table(self) -> Embedding:
        """Those that have a vector, in the order of the vectors; a quick look takes the first."""
        datasets = self.work.datasets
        whole = datasets.glove if self.vectors == "glove" else datasets.word2vec
        held = whole.restricted(self.words, origin="SMS Spam Collection and disaster tweets")
        if not self.work.quick:
            return held
        return held.first(_QUICK_WORDS)

    def counts(self) -> tuple[int, int]:
        """How many words have a vector, and how many there are."""

        def count() -> list[int]:
            return [len(self.table), len(self.words)]

        known, words = self.work.step(f"{self.vectors}, vocabulary", count)
        return known, words
