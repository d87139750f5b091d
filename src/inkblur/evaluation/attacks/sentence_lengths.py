"""The author who writes sentences as long as these: words may all be drawn, their ends are shown.

A sequence that is released with its full stops has sentences of the true lengths, whatever epsilon
is. How long they are is as old a mark of an author as any (Yule 1939). The lengths of an author's
sentences are counted in words, on a scale of logarithms, each spread over its neighbors, and joined
with those of everybody; a text is named after the author of the largest likelihood.

Only sentences that end are counted: where a release shows no full stops, nothing is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from inkblur.documents.tokens import TokenClass, tokenize
from inkblur.embeddings.table import Embedding
from inkblur.evaluation.attacks.base import ScoringAttack, check_fitted, checked_known
from inkblur.evaluation.attacks.entering import Entering
from inkblur.types import NULL_ID, Array, Ids

LONGEST = 80  # words; longer sentences count as this long
_SPREAD = 0.15  # of a length's logarithm: a sentence of 20 words stands for 17 to 23 as well
_EVERYBODY = 30.0  # sentences that everybody's lengths weigh beside an author's own
_WEIGHT = 0.25  # beside an attack on words
_WORDS = (TokenClass.WORD, TokenClass.NUMBER, TokenClass.ADDRESS)


class SentenceLengths(ScoringAttack):
    """The attack as an object: `fit` on known texts, `predict` or `scores` on unknown ones, true or
    released. `enter` says which words of a true text enter the release; None: all.

    >>> table = Embedding(["cat", "sat"], [[0.0], [1.0]], name="toy")
    >>> attack = SentenceLengths(table).fit(["Cat. Sat.", "Cat sat cat sat cat."], [0, 1])
    >>> attack.predict(["sat. cat.", "cat cat sat cat cat.", "cat sat"]).tolist()
    [0, 1, -1]
    """

    name = "sentence-lengths"

    def __init__(self, embedding: Embedding, enter: Entering | None = None) -> None:
        self.embedding, self.enter = embedding, enter

    def fit(self, texts: Sequence[str], authors: ArrayLike) -> Self:
        """Count the words of each author's sentences."""
        self.suspects, writers = np.unique(checked_known(texts, authors), return_inverse=True)
        counts = np.zeros((len(self.suspects), LONGEST))
        read = cache(self._known_piece)  # the same few words make up most texts
        for writer, text in zip(writers.tolist(), texts, strict=True):
            lengths = sentence_lengths([read(piece) for piece in text.split()])
            np.add.at(counts, (writer, lengths - 1), 1.0)
        spread = counts @ _neighbors()
        total = spread.sum()
        everybody = spread.sum(axis=0) / total if total else np.full(LONGEST, 1.0 / LONGEST)
        joined = spread + _EVERYBODY * everybody
        shares = joined / joined.sum(axis=1, keepdims=True)
        self._logs: Array = np.log(np.maximum(shares, 1e-300))
        return self

    def scores(self, texts: Sequence[str]) -> Array:
        """Log-likelihoods, (texts, suspects); 0 where no sentence ends."""
        check_fitted(self, "_logs")
        found = np.zeros((len(texts), len(self.suspects)))
        read = cache(partial(piece_words, embedding=self.embedding))
        for row, text in enumerate(texts):
            lengths = sentence_lengths([read(piece) for piece in text.split()])
            found[row] = self._logs[:, lengths - 1].sum(axis=1)
        return found

    def _known_piece(self, piece: str) -> tuple[int, bool]:
        words, ends = piece_words(piece, self.embedding)
        return (words if self.enter is None else len(self.enter(piece))), ends


def piece_words(piece: str, embedding: Embedding) -> tuple[int, bool]:
    """How many words stand between two spaces, and whether a sentence ends there. A word of the
    table may have a full stop of its own: "u.s.".
    """
    if embedding.id(piece) != NULL_ID:
        return 1, False
    kinds = [token.kind for token in tokenize(piece)]
    ends = TokenClass.SENTENCE_END in kinds
    if embedding.id(piece.removesuffix(".")) != NULL_ID:
        return 1, ends
    return sum(kind in _WORDS for kind in kinds), ends


def sentence_lengths(pieces: Sequence[tuple[int, bool]]) -> Ids:
    """The words of each sentence that ends, at least 1 and at most `LONGEST`, from the words of
    each piece of a text and whether a sentence ends with it.

    >>> sentence_lengths([(1, False), (1, True), (0, True), (2, True), (1, False)]).tolist()
    [2, 2]
    """
    lengths: list[int] = []
    words = 0
    for count, ends in pieces:
        words += count
        if ends and words:
            lengths.append(min(words, LONGEST))
            words = 0
    return np.array(lengths, np.int64)


def _neighbors() -> Array:
    """How a sentence of each length is spread over the others, (lengths, lengths)."""
    scale = np.log(np.arange(1, LONGEST + 1))
    near = np.exp(-0.5 * ((scale[:, None] - scale) / _SPREAD) ** 2)
    spread: Array = near / near.sum(axis=1, keepdims=True)
    return spread


def with_sentences(words: Array, lengths: Array) -> Array:
    """The scores of an attack on words joined with those of `SentenceLengths`."""
    return words + _WEIGHT * lengths
