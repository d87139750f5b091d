"""Koppel's attack: who is nearest, again and again, in random halves of the features.

Each author is one vector x_a over the F most frequent space-free character 4-grams of all known
texts; an unknown text is a vector u. For k random sets H of F/2 features, the author of the largest
similarity on H gets a vote:

    cosine   sum_H u x / sqrt(sum_H u^2 sum_H x^2)
    Ruzicka  sum_H min(u, x) / sum_H max(u, x)

The answer is the author of most votes, or DONT_KNOW where their share of the k votes is below a
threshold (thesis, Algorithm 3; Koppel, Schler and Argamon 2011; Koppel and Winter 2014).

What stands in the vectors, for an n-gram's count c and share p among a text's n-grams, was chosen
on Reuters C50 and PAN 2018 themselves, because an attack should be as strong as it can be:

    cosine   log(1 + c) idf          Ruzicka  p idf
    idf = 1 + log((1 + A) / (1 + authors who use it)), for A authors in all.

How 100 halves cost little more than one: with the halves as a 0/1 table M (F, k), all k sums for a
text and all authors are one matrix product t(u, x)[:, S] @ M[S], where t is the product or the
minimum and S the few features that the text has: elsewhere both are zero. The rest are sums over
one side alone, and max(u, x) = u + x - min(u, x).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from inkblur.blas import one_thread
from inkblur.evaluation.attacks.base import DONT_KNOW, check_fitted, checked_known, joined_by_author
from inkblur.evaluation.measures.words import (
    Counts,
    count_matrix,
    most_frequent,
    space_free_ngrams,
)
from inkblur.types import Array, Ids, choose, fraction, whole

_FEATURES = 20_000  # n-grams, the most frequent in the known texts
_BLOCK_NUMBERS = 1 << 23  # of known vectors made dense at a time: 64 MB, however many authors


class Similarity(Enum):
    """How an unknown text is compared with an author."""

    COSINE = "cosine"
    RUZICKA = "ruzicka"


class Koppel:
    """The attack as an object: `fit` on known texts, `predict` or `votes` on unknown ones.

    Ties between authors go to the lowest number. A text that shares no n-gram with the known ones
    gets no vote and the answer DONT_KNOW, in a closed world too.
    """

    def __init__(
        self,
        *,
        seed: int,
        similarity: Similarity | str = Similarity.RUZICKA,
        halves: int = 100,
        threshold: float = 0.0,  # least share of votes for an answer, in [0, 1]; 0: closed world
    ) -> None:
        self.similarity = choose(Similarity, similarity, "similarity")
        self.halves = whole(halves, "halves")
        self.threshold = fraction(threshold, "threshold")
        self.seed = seed
        self.name = f"koppel-{self.similarity.value}"

    def fit(self, texts: Sequence[str], authors: ArrayLike) -> Self:
        """Join each author's texts into one vector and draw the halves."""
        self.authors, writers = checked_known(texts, authors)  # suspects, ascending
        counts = [space_free_ngrams(own) for own in joined_by_author(texts, writers)]
        self._columns = most_frequent(counts, _FEATURES)
        table = count_matrix(counts, self._columns)
        users = np.bincount(table.indices, minlength=table.shape[1])
        self._idf = 1.0 + np.log((1.0 + len(counts)) / (1.0 + users))
        self._known = self._weighted(table)
        # (features, halves) of 0 and 1: each column chooses half of the features, at least one.
        features, rng = table.shape[1], np.random.default_rng(self.seed)
        self._masks = np.zeros((features, self.halves))
        for column in range(self.halves):
            self._masks[rng.permutation(features)[: max(1, features // 2)], column] = 1.0
        return self

    def predict(self, texts: Sequence[str]) -> Ids:
        """The author of each text, or DONT_KNOW."""
        best = np.full(len(texts), DONT_KNOW, dtype=np.int64)
        for row, ballot in enumerate(self.votes(texts)):
            suspects, times = np.unique(ballot[ballot != DONT_KNOW], return_counts=True)
            if len(times) and times.max() / self.halves >= self.threshold:
                best[row] = suspects[times.argmax()]
        return best

    @one_thread()
    def votes(self, texts: Sequence[str]) -> Ids:
        """Each half's choice, (texts, halves): an author's number, or DONT_KNOW for no choice."""
        check_fitted(self, "_known")
        unknown = self._weighted(count_matrix(list(map(space_free_ngrams, texts)), self._columns))
        best = np.zeros((len(texts), self.halves))  # 0 is no similarity at all, and earns no vote
        choice = np.full((len(texts), self.halves), DONT_KNOW, dtype=np.int64)
        own = self._alone(unknown)
        used, place = np.unique(unknown.indices, return_inverse=True)  # n-grams that any text has
        step = max(1, _BLOCK_NUMBERS // max(1, len(used)))
        for start in range(0, len(self.authors), step):  # some authors at a time
            rows = self._known[start : start + step]
            by_feature = np.ascontiguousarray(rows[:, used].toarray().T)
            theirs = self._alone(rows)
            for row in range(len(texts)):
                span = slice(unknown.indptr[row], unknown.indptr[row + 1])
                similarity = self._similarities(
                    unknown.data[span],
                    by_feature[place[span]],
                    self._masks[unknown.indices[span]],
                    own[row],
                    theirs,
                )
                winner = similarity.argmax(axis=0)  # the first of equals: the lowest number
                value = similarity[winner, np.arange(self.halves)]
                better = value > best[row]
                best[row, better] = value[better]
                choice[row, better] = self.authors[start + winner[better]]
        return choice

    def _similarities(
        self, text: Array, known: Array, masks: Array, own: Array, theirs: Array
    ) -> Array:
        """(block, halves): one text against a block of authors, in every half.

        `text` (S,), `known` (S, block) and `masks` (S, halves) are cut to the text's S n-grams;
        `own` (halves,) and `theirs` (block, halves) are the sums over each side alone.
        """
        if self.similarity is Similarity.COSINE:
            shared = (known * text[:, None]).T @ masks
            scale = np.sqrt(own * theirs)
        else:
            shared = np.minimum(known, text[:, None]).T @ masks
            scale = own + theirs - shared
        return np.divide(shared, scale, out=np.zeros_like(shared), where=scale > 0)

    def _alone(self, vectors: Counts) -> Array:
        """(rows, halves): the sums over one side, of squares for cosine, of values for Ruzicka."""
        if self.similarity is Similarity.COSINE:
            vectors = vectors.power(2)
        return np.asarray(vectors @ self._masks, np.float64)

    def _weighted(self, counts: Counts) -> Counts:
        if self.similarity is Similarity.COSINE:
            counts.data = np.log1p(counts.data) * self._idf[counts.indices]
        else:
            sums = np.asarray(counts.sum(axis=1), np.float64)
            counts.data /= np.repeat(np.where(sums > 0, sums, 1.0), np.diff(counts.indptr))
            counts.data *= self._idf[counts.indices]
        return counts
