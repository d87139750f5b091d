"""The author who writes texts, or sentences, as long as these: words may all be drawn, how many
there are shows.

A release may have as many words as the true text, whatever epsilon is, and a sequence that keeps
its full stops has sentences of the true lengths: as old a mark of an author as any (Yule 1939). The
lengths of an author's texts and sentences are counted on a scale of logarithms, each spread over
its neighbors, and joined with those of everybody; a text is named after the author of the largest
likelihood.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inkblur.documents.tokens import TokenClass, tokenize
from inkblur.embeddings.table import Embedding
from inkblur.evaluation.attacks.base import ScoringAttack, check_fitted, checked_known
from inkblur.evaluation.attacks.entering import Entering
from inkblur.types import NULL_ID, Array, Ids

_STEP = 0.02  # of a text's length's logarithm, from one step of the scale to the next
_STEPS = 600  # up to 160,000 words
_SPREADS = (0.03, 0.06, 0.12, 0.25, 0.5, 1.0)  # of a text's length's logarithm
_OTHERS = (1.0, 4.0, 16.0, 64.0)  # texts that everybody's lengths weigh beside an author's own
LONGEST = 80  # words of a sentence; longer ones count as this long
_SPREAD = 0.15  # of a sentence's: one of 20 words stands for 17 to 23 as well
_OTHER_SENTENCES = 30.0  # that everybody's lengths weigh beside an author's own
# Beside an attack on words, chosen on the validation authors of C50 and PAN 2018. Sentences of one
# text resemble each other more than those of an author do; so do its words, and length has more.
_TEXT_WEIGHT, _SENTENCE_WEIGHT = 2.0, 0.25
_WORDS = (TokenClass.WORD, TokenClass.NUMBER, TokenClass.ADDRESS)
Pieces = list[tuple[int, bool]]  # of a text: words between two spaces, whether a sentence ends


class TextLengths(ScoringAttack):
    """How many words a text has; `fit` on known texts, `predict` or `scores` on unknown ones, true
    or released. `enter` says which words of a true text enter the release; None: all.

    How far to spread and how much to join is whatever names the authors of the known texts best,
    each in turn left out of what is counted: where lengths say nothing, the attack learns so.
    """

    name = "text-lengths"

    def __init__(self, embedding: Embedding, enter: Entering | None = None) -> None:
        self._read, self.enter = piece_reader(embedding), enter

    def fit(self, texts: Sequence[str], authors: ArrayLike) -> Self:
        """Count the words of each author's texts."""
        self.suspects, writers = checked_known(texts, authors)
        lengths = self._lengths(texts)
        if self.enter is not None:
            lengths = np.array([len(self.enter(text)) for text in texts])
        counts = np.zeros((len(self.suspects), _STEPS + 1))
        written = lengths > 0
        np.add.at(counts, (writers[written], _steps(lengths[written])), 1.0)
        tried = (_spread_lengths(counts, *each) for each in product(_SPREADS, _OTHERS))
        self._logs, _ = max(tried, key=lambda each: each[1])
        return self

    def scores(self, texts: Sequence[str]) -> Array:
        """Log-likelihoods, (texts, suspects); 0 for a text without a word, and for all where they
        are equally long: their length was fixed, and says nothing.
        """
        check_fitted(self, "_logs")
        lengths = self._lengths(texts)
        silent = lengths == 0
        if len(texts) > 1 and np.ptp(lengths) == 0:
            silent[:] = True
        return np.where(silent[:, None], 0.0, self._logs[:, _steps(np.maximum(lengths, 1))].T)

    def _lengths(self, texts: Sequence[str]) -> Ids:
        return np.array([sum(words for words, _ in self._read(text)) for text in texts], np.int64)


class SentenceLengths(ScoringAttack):
    """How many words the sentences have that end; where a release shows no full stops, nothing is
    known. `enter` as for :class:`TextLengths`.
    """

    name = "sentence-lengths"

    def __init__(self, embedding: Embedding, enter: Entering | None = None) -> None:
        self._read, self._read_known = piece_reader(embedding), piece_reader(embedding, enter)

    def fit(self, texts: Sequence[str], authors: ArrayLike) -> Self:
        """Count the words of each author's sentences."""
        self.suspects, writers = checked_known(texts, authors)
        counts = np.zeros((len(self.suspects), LONGEST))
        for writer, text in zip(writers.tolist(), texts, strict=True):
            np.add.at(counts, (writer, sentence_lengths(self._read_known(text)) - 1), 1.0)
        spread = counts @ _neighbors(np.log(np.arange(1, LONGEST + 1)), _SPREAD)
        total = spread.sum()
        everybody = spread.sum(axis=0) / total if total else np.full(LONGEST, 1.0 / LONGEST)
        joined = spread + _OTHER_SENTENCES * everybody
        shares = joined / joined.sum(axis=1, keepdims=True)
        self._logs: Array = np.log(np.maximum(shares, 1e-300))
        return self

    def scores(self, texts: Sequence[str]) -> Array:
        """Log-likelihoods, (texts, suspects); 0 where no sentence ends."""
        check_fitted(self, "_logs")
        sums = np.zeros((len(texts), len(self.suspects)))
        for row, text in enumerate(texts):
            sums[row] = self._logs[:, sentence_lengths(self._read(text)) - 1].sum(axis=1)
        return sums


def piece_reader(embedding: Embedding, enter: Entering | None = None) -> Callable[[str], Pieces]:
    """Takes a text apart at white space; the same few pieces make up most texts."""

    @cache
    def piece_words(piece: str) -> tuple[int, bool]:
        # A word of the table may have a full stop of its own: "u.s.".
        if embedding.id(piece) != NULL_ID:
            words, ends = 1, False
        else:
            kinds = [token.kind for token in tokenize(piece)]
            ends = TokenClass.SENTENCE_END in kinds
            known = embedding.id(piece.removesuffix(".")) != NULL_ID
            words = 1 if known else sum(kind in _WORDS for kind in kinds)
        return (words if enter is None else len(enter(piece))), ends

    return lambda text: [piece_words(piece) for piece in text.split()]


def with_text_lengths(words: Array, lengths: Array) -> Array:
    """The scores of an attack on words joined with those of `TextLengths`."""
    return words + _TEXT_WEIGHT * lengths


def with_sentences(words: Array, lengths: Array) -> Array:
    """The scores of an attack on words joined with those of `SentenceLengths`."""
    return words + _SENTENCE_WEIGHT * lengths


def sentence_lengths(pieces: Pieces) -> Ids:
    """The words of each sentence that ends, at least 1 and at most `LONGEST`.

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


def _steps(lengths: Ids) -> Ids:
    steps: Ids = np.minimum(np.rint(np.log(lengths) / _STEP), _STEPS).astype(np.int64)
    return steps


def _neighbors(scale: NDArray[np.floating[Any]], spread: float) -> Array:
    """How a length at each place of the scale is spread over the others, (places, places)."""
    near = np.exp(-0.5 * ((scale[:, None] - scale) / spread) ** 2)
    shares: Array = near / near.sum(axis=1, keepdims=True)
    return shares


def _spread_lengths(counts: Array, spread: float, everybody: float) -> tuple[Array, float]:
    """One way to spread lengths and to join them with everybody's: the logarithms of each author's
    shares, and how well these name the authors of texts that were left out.
    """

    def joined(near: Array, texts: Array, everyone: Array) -> Array:
        shares: Array = (near + everybody * everyone + 1e-12) / (texts + everybody)
        return shares

    neighbors = _neighbors(_STEP * np.arange(_STEPS + 1), spread)
    texts = counts.sum(axis=1, keepdims=True)
    total = max(1.0, texts.sum())
    near = counts @ neighbors
    own = np.diag(neighbors)  # what a text adds to its own length
    shares = joined(near, texts, near.sum(axis=0) / total)
    everyone = np.maximum(near.sum(axis=0) - own, 0.0) / max(1.0, total - 1.0)
    without = joined(np.maximum(near - own, 0.0), np.maximum(texts - 1.0, 0.0), everyone)
    named = np.log(without / (shares.sum(axis=0) - shares + without))
    return np.log(shares), float((named * counts).sum())
