"""The likelihood attack that also looks where sentences end.

The words of a release say little at a small epsilon; the lengths of its sentences say as much as
those of the true text. The logarithms of the two likelihoods add up, the second with less than its
weight, because the sentences of one text resemble each other more than those of an author do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from numpy.typing import ArrayLike

from inkblur.evaluation.attacks.fluent_channel import FluentChannel
from inkblur.evaluation.attacks.sentence_lengths import SentenceLengths
from inkblur.evaluation.attacks.text_likelihood import TextLikelihood
from inkblur.types import Array

_WEIGHT = 0.25  # of the lengths


class SentenceLikelihood(TextLikelihood):
    """The attack as an object: `fit` on true texts, `predict` or `scores` on released ones.

    >>> from inkblur import Exponential
    >>> from inkblur.embeddings.table import Embedding
    >>> from inkblur.evaluation.attacks.channel import ExactChannel
    >>> table = Embedding(["cat", "dog", "sky"], [[1, 0.1], [1, 0.3], [-1, 0.2]], name="toy")
    >>> attack = SentenceLikelihood(ExactChannel(Exponential(table, epsilon=0.1), 3), table)
    >>> attack = attack.fit(["Cat. Dog. Cat.", "Cat dog cat dog cat dog."], [0, 1])
    >>> attack.predict(["sky. sky.", "sky sky sky sky sky."]).tolist()
    [0, 1]
    """

    name = "likelihood-sentences"

    def fit(self, texts: Sequence[str], authors: ArrayLike) -> Self:
        """Count each author's words and the lengths of their sentences, in true texts."""
        self._lengths = SentenceLengths(self.embedding, self.enter).fit(texts, authors)
        return super().fit(texts, authors)

    def scores(self, texts: Sequence[str]) -> Array:
        """Log-likelihoods, (texts, suspects)."""
        words = super().scores(texts)
        if isinstance(self.channel, FluentChannel):  # the language model puts its own full stops
            return words
        return with_sentences(words, self._lengths.scores(texts))


def with_sentences(words: Array, lengths: Array) -> Array:
    """The scores of an attack on words joined with those of `SentenceLengths`."""
    return words + _WEIGHT * lengths
