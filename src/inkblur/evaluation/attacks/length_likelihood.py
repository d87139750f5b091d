"""The likelihood attack that also looks at lengths: of the text, and of sentences whose ends show.

The words of a release say little at a small epsilon; how many they are says as much as it does of
the true text. The logarithms of the likelihoods add up. The lengths of sentences have less than
their weight, because the sentences of one text resemble each other more than those of an author do;
the length of the text has more, because the words of one text do so too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from numpy.typing import ArrayLike

from inkblur.evaluation.attacks.sentence_lengths import SentenceLengths, with_sentences
from inkblur.evaluation.attacks.text_lengths import TextLengths, with_text_lengths
from inkblur.evaluation.attacks.text_likelihood import TextLikelihood
from inkblur.types import Array


class LengthLikelihood(TextLikelihood):
    """The attack as an object: `fit` on true texts, `predict` or `scores` on released ones.

    >>> from inkblur import Exponential
    >>> from inkblur.embeddings.table import Embedding
    >>> from inkblur.evaluation.attacks.channel import ExactChannel
    >>> table = Embedding(["cat", "dog", "sky"], [[1, 0.1], [1, 0.3], [-1, 0.2]], name="toy")
    >>> attack = LengthLikelihood(ExactChannel(Exponential(table, epsilon=0.1), 3), table)
    >>> attack = attack.fit(["Cat dog.", "Dog.", "Cat dog cat dog.", "Cat dog cat."], [0, 0, 1, 1])
    >>> attack.predict(["sky sky", "sky sky sky sky"]).tolist()
    [0, 1]
    """

    name = "likelihood-lengths"

    def fit(self, texts: Sequence[str], authors: ArrayLike) -> Self:
        """Count each author's words, and the words of their texts and sentences, in true texts."""
        self._sentences = SentenceLengths(self.embedding, self.enter).fit(texts, authors)
        self._lengths = TextLengths(self.embedding, self.enter).fit(texts, authors)
        return super().fit(texts, authors)

    def scores(self, texts: Sequence[str]) -> Array:
        """Log-likelihoods, (texts, suspects)."""
        found = with_text_lengths(super().scores(texts), self._lengths.scores(texts))
        return with_sentences(found, self._sentences.scores(texts))
