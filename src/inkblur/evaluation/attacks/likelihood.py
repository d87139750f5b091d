"""The author under whom a release is likeliest: naive Bayes through the public channel.

An author's texts give the shares p_a(w) of the words they use, smoothed with what everybody uses.
Sent through the channel these become the shares of the words that come *out*,

    P_a(o) = sum over w of p_a(w) P(o | w),

without any noise of the attacker's own, and a released text is named after the author of the
largest sum of log P_a(o). Among attackers who look at single words and know each author's true
shares none does better; where the release is strong and the known texts are many, this one is
therefore ahead of classifiers that have to learn the channel from noisy copies.

Words of a text come together, the number of words says something too, and where a whole text is one
draw from a pool each text is a word of its own: an attack each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from inkblur.documents.privatizer import Privatizer
from inkblur.embeddings.table import Embedding
from inkblur.evaluation.attacks.base import ScoringAttack, check_fitted, checked_known
from inkblur.evaluation.attacks.channel import Chances, Channel
from inkblur.evaluation.attacks.entering import Entering, came_out, entering, entering_ids
from inkblur.evaluation.attacks.lengths import (
    SentenceLengths,
    TextLengths,
    with_sentences,
    with_text_lengths,
)
from inkblur.evaluation.attacks.svm import SparseRows
from inkblur.evaluation.releasers import Releaser, TextReleaser, VectorReleaser
from inkblur.mechanisms.staircase.nearness import LONGEST
from inkblur.pools.mechanism import PoolStaircase
from inkblur.types import NULL_ID, Array, Ids

SMOOTHING = 0.5  # of an author's shares is everybody's
OWN = 0.35  # of a text's shares are its own
_OUTS = 512  # released words at a time: so much stays in the cache
_MOST = 1_000  # texts that are told apart; of more, several of an author are taken for one
_LITTLE = 1e-6  # of nearness beside a log-likelihood
_BLOCK = 1024  # true words at a time


class Likelihood(ScoringAttack):
    """The attack as an object: `fit` on true texts, `predict` or `scores` on released ones.

    `enter` says which words of a true text enter the release, by id (:func:`.entering`); None: all.
    """

    name = "likelihood"

    def __init__(
        self,
        channel: Channel,
        embedding: Embedding,
        enter: Entering | None = None,
        *,
        smoothing: float = SMOOTHING,
    ) -> None:
        self.channel, self.embedding = channel, embedding
        self.enter = enter if enter is not None else partial(entering_ids, embedding=embedding)
        self.smoothing = smoothing

    def fit(self, texts: Sequence[str], authors: ArrayLike) -> Self:
        """Count each author's words, in true texts."""
        self.suspects, writers = checked_known(texts, authors)
        size = len(self.embedding) + 1  # the null word is the last
        self._learn(writers, [self.enter(text) % size for text in texts])
        return self

    def _learn(self, writers: Ids, texts: Sequence[Ids]) -> None:
        """Count words, given by id; `writers` are places among the suspects."""
        self._words, words = np.unique(np.concatenate(texts), return_inverse=True)
        rows = np.repeat(writers, [len(text) for text in texts])
        counts = np.zeros((len(self.suspects), len(self._words)))
        np.add.at(counts, (rows, words), 1.0)
        everybody = counts.sum(axis=0) / counts.sum()
        own = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
        self._shares: Array = (1.0 - self.smoothing) * own + self.smoothing * everybody

    def scores(self, texts: Sequence[str]) -> Array:
        """Log-likelihoods, (texts, suspects)."""
        from scipy.sparse import csr_matrix

        check_fitted(self, "_shares")
        ids = [came_out(self.channel, text, self.embedding) for text in texts]
        ids = [row[row != NULL_ID] for row in ids]  # the null word never comes out
        if not sum(map(len, ids)):
            return np.zeros((len(texts), len(self.suspects)))
        outs, columns = np.unique(np.concatenate(ids), return_inverse=True)
        logs = self._outcomes(outs)
        np.log(np.maximum(logs, 1e-300, out=logs), out=logs)  # (components, outs)
        ends = np.cumsum([0, *map(len, ids)])
        counts = csr_matrix((np.ones(len(columns)), columns, ends), (len(texts), len(outs)))
        scores: Array = counts @ logs.T
        return self._by_author(scores)

    def _by_author(self, scores: Array) -> Array:
        """Scores of the suspects from those of the components."""
        return scores

    def _outcomes(self, outs: Ids) -> Array:
        """P_a(o), (components, outs)."""
        total = np.zeros((len(self.suspects), len(outs)))
        for part, chances in self._chances(outs):
            total += self._shares[:, part].astype(chances.dtype) @ chances
        return total

    def _chances(self, outs: Ids) -> Iterator[tuple[slice, Chances]]:
        """P(o | w) for some of the words that are used at a time, and which they are."""
        true = np.where(self._words == len(self.embedding), NULL_ID, self._words)
        for start in range(0, len(true), _BLOCK):
            part = slice(start, start + _BLOCK)
            yield part, self.channel.likelihood(true[part], outs)


class TextLikelihood(Likelihood):
    """Text by text: an author writes as in one of the texts that are known.

    Whoever wrote of steel will write of steel again, or of something else altogether. So each known
    text d of an author a has shares of its own, blended with those of the author and of everybody,
    and a release is as likely under an author as under their texts in the mean:

        P_d(o) = t P(o | words of d) + (1 - t) P_a(o),
        P(release | a) = mean over d of the product of P_d(o) over the released words.
    """

    name = "likelihood-texts"

    def _learn(self, writers: Ids, texts: Sequence[Ids]) -> None:
        """Count the words of each author and of each text."""
        from scipy.sparse import csc_matrix

        super()._learn(writers, texts)
        each = max(1, _MOST // len(self.suspects))
        seen = np.zeros(len(self.suspects), np.int64)
        pieces: dict[tuple[int, int], int] = {}  # of an author, by number
        piece_of = np.zeros(len(texts), np.int64)
        for place, author in enumerate(writers.tolist()):
            if len(texts[place]):  # else nothing was written that could be written again
                piece = pieces.setdefault((author, int(seen[author] % each)), len(pieces))
                piece_of[place] = piece
                seen[author] += 1
        for author in np.flatnonzero(seen == 0).tolist():
            pieces[author, 0] = len(pieces)  # a suspect all the same
        columns = np.searchsorted(self._words, np.concatenate(texts))
        lines = np.repeat(piece_of, [len(text) for text in texts])
        shape = (len(pieces), len(self._words))
        each_word = 1.0 / np.bincount(lines, minlength=len(pieces))[lines]
        self._texts: SparseRows = csc_matrix((each_word, (lines, columns)), shape)
        self._writer: Ids = np.array([author for author, _ in pieces], np.int64)

    def _outcomes(self, outs: Ids) -> Array:
        """P_d(o), (texts, outs)."""
        authors = np.zeros((len(self.suspects), len(outs)))
        texts = np.zeros((len(self._writer), len(outs)))
        for part, chances in self._chances(outs):
            authors += self._shares[:, part].astype(chances.dtype) @ chances
            shares = self._texts[:, part].tocsr().astype(chances.dtype)
            for start in range(0, len(outs), _OUTS):
                some = slice(start, start + _OUTS)
                texts[:, some] += shares @ chances[:, some]
        texts *= OWN
        for row, writer in enumerate(self._writer):
            texts[row] += (1.0 - OWN) * authors[writer]
        return texts

    def _by_author(self, scores: Array) -> Array:
        """The mean over an author's texts, of likelihoods whose logarithms are given."""
        found = np.empty((len(scores), len(self.suspects)))
        for author in range(len(self.suspects)):
            own = scores[:, self._writer == author]
            found[:, author] = logsumexp(own, axis=1) - np.log(own.shape[1])
        return found


class LengthLikelihood(TextLikelihood):
    """Looks at lengths as well: of the text, and of sentences whose ends show. The words of a
    release say little at a small epsilon; the logarithms of the likelihoods add up.
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


class PoolLikelihood(ScoringAttack):
    """The author under whom a pool's text is likeliest: the public channel, from true texts.

    Whoever knows the pool knows Q(y | x) for every text x. An author's known texts stand for what
    the author writes, so the released text y has under that author the probability

        P_a(y) = mean over the author's known texts x of Q(y | x),

    exact but for the texts that the attacker does not have. Where y is near no known text all
    authors are as likely, and the one whose texts lie nearest is named.
    """

    name = "likelihood"

    def __init__(self, mechanism: PoolStaircase) -> None:
        self.mechanism = mechanism
        self._numbers: dict[str, int] = {}  # of texts, the same for equal ones
        texts = mechanism.pool.texts
        self._number_at = [self._numbers.setdefault(text, len(self._numbers)) for text in texts]
        self._first = np.unique(self._number_at, return_index=True)[1]  # place of each number

    def fit(self, texts: Sequence[str], authors: ArrayLike) -> Self:
        """Send each author's true texts through the channel."""
        self.suspects, writers = checked_known(texts, authors)
        encoded = self.mechanism.encode(texts)
        self._chances = np.zeros((len(self.suspects), len(self._numbers)))
        for row, author in enumerate(writers.tolist()):
            weights = self.mechanism.weights(encoded, row) / 2.0**64
            self._chances[author] += np.bincount(self._number_at, weights)
        self._chances /= np.bincount(writers)[:, None]
        points = encoded.points.astype(np.float64) / LONGEST
        own = [points[writers == author].mean(axis=0) for author in range(len(self.suspects))]
        self._middles = np.stack(own)
        return self

    def scores(self, texts: Sequence[str]) -> Array:
        """Log-likelihoods, (texts, suspects), nearness deciding between equals; 0 for what is no
        text of the pool.
        """
        check_fitted(self, "_chances")
        out = np.zeros((len(texts), len(self.suspects)))
        for row, text in enumerate(texts):
            if text in self._numbers:
                number = self._numbers[text]
                point = self.mechanism.pool.points[self._first[number]] / LONGEST
                out[row] = np.log(self._chances[:, number]) + _LITTLE * (self._middles @ point)
        return out


def likelihood_of(
    releaser: Releaser, known: Channel | PoolStaircase, *, cut: bool = False
) -> Likelihood | PoolLikelihood:
    """The attack through the channel of a release; `cut`: it knows the texts that were released, as
    they were cut and filled, and not other texts by their authors.
    """
    if isinstance(known, PoolStaircase):
        return PoolLikelihood(known)
    assert isinstance(releaser, TextReleaser | VectorReleaser)
    blur = releaser.blur
    table = blur.mechanism.embedding
    if not cut:
        return Likelihood(known, table, entering(blur))
    enter = blur.ids if isinstance(blur, Privatizer) else entering(blur)
    return Likelihood(known, table, enter, smoothing=0.0)
