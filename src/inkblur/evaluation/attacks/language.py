"""What a reader expects before reading: how common words are, and which follow which.

Everything here comes from public counts or from a public file that the user names, never from the
text that is protected.
"""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np

from inkblur.documents.analysis import known_id
from inkblur.documents.tokens import TokenClass, tokenize
from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.types import NULL_ID, Array, Ids

UNKNOWN_SHARE = 0.05  # of a text's words, numbers and addresses: they enter as the null word
TABLE_SHARE = 0.2  # of the prior, where public texts give the rest: they lack most words
DISCOUNT = 0.75  # of every count of words that follow each other
_MOST_KEPT = 1 << 17  # pieces of text per table whose ids are kept: texts repeat themselves
_LONGEST_KEPT = 40  # letters
_kept: WeakKeyDictionary[Embedding, dict[str, tuple[int, ...]]] = WeakKeyDictionary()
_ENTERING = (TokenClass.WORD, TokenClass.NUMBER, TokenClass.ADDRESS)


def entering_ids(text: str, embedding: Embedding) -> Ids:
    """The ids of a text's words, numbers and addresses, as the closed policies let them enter."""
    kept = _kept.setdefault(embedding, {})
    ids: list[int] = []
    for piece in text.split():  # no token crosses white space
        known = kept.get(piece)
        if known is None:
            known = tuple(
                known_id(embedding, token.text) if token.kind is TokenClass.WORD else NULL_ID
                for token in tokenize(piece)
                if token.kind in _ENTERING
            )
            if len(kept) < _MOST_KEPT and len(piece) <= _LONGEST_KEPT:
                kept[piece] = known
        ids += known
    return np.array(ids, np.int64)


def unigram(embedding: Embedding, texts: Sequence[Ids] = ()) -> Array:
    """How common each word is, (vocabulary + 1,), the null word last; sums to 1.

    From the table's public counts where it has them, else by Zipf's law over its ranks (a table is
    in order of frequency). Public texts, as ids, are counted on top of that.

    >>> table = Embedding(["the", "of", "cat"], [[0.0], [1.0], [2.0]], name="toy")
    >>> unigram(table).round(2).tolist()
    [0.41, 0.3, 0.24, 0.05]
    """
    shares: Array
    if embedding.counts is not None:
        shares = np.asarray(embedding.counts, np.float64) + 0.5  # a word of no count may occur
    else:
        shares = np.float64(1.0) / (np.arange(len(embedding)) + 2.7)  # Mandelbrot's form of it
    prior = np.append(shares / shares.sum() * (1.0 - UNKNOWN_SHARE), UNKNOWN_SHARE)
    if not texts:
        return prior
    seen = np.bincount(np.concatenate(texts) % len(prior), minlength=len(prior))
    mixed: Array = (1.0 - TABLE_SHARE) * seen / seen.sum() + TABLE_SHARE * prior
    return mixed


def check_lessons(texts: Sequence[Ids]) -> None:
    """Raise where nobody can learn from public texts which words follow which."""
    if not any(len(text) > 2 for text in texts):
        raise ParameterError("the public file has no text of three words to learn from")


class Trigrams:
    """P(word | the two before it), by interpolated absolute discounting.

        p(c | a b) = (n(abc) - d)+ / n(ab.) + d m(ab.) / n(ab.) p(c | b)

    with n counted in public texts, m the number of different words seen after a b, p(c | b)
    likewise, and p(c) the unigram; where a b was never seen, p(c | b) itself (Ney, Essen and Kneser
    1994). Words are numbers from 0 to `size`, which is the null word.
    """

    def __init__(self, texts: Sequence[Ids], prior: Array) -> None:
        check_lessons(texts)
        self.size = len(prior) - 1
        self.prior = prior
        base = len(prior)
        rows = [np.asarray(text) % base for text in texts]  # NULL_ID becomes `size`
        self._two = _Counts(np.concatenate([r[:-1] * base + r[1:] for r in rows]), base)
        self._three = _Counts(
            np.concatenate([self._pair(r[:-2], r[1:-1]) * base + r[2:] for r in rows]), base
        )

    def after_one(self, b: Ids, c: Ids) -> Array:
        """p(c | b), elementwise after broadcasting."""
        return self._discounted(self._two, b, c, self.prior[c])

    def after_two(self, a: Ids, b: Ids, c: Ids) -> Array:
        """p(c | a b), elementwise after broadcasting."""
        lower = self.after_one(b, c)
        return self._discounted(self._three, self._pair(a, b), c, lower)

    def _pair(self, a: Ids, b: Ids) -> Ids:
        """The number of a pair among those that were seen, -1 for others.

        Three words as one number would pass 64 bits in a vocabulary of two million.
        """
        return self._two.number(a * len(self.prior) + b)

    def _discounted(self, counts: _Counts, context: Ids, c: Ids, lower: Array) -> Array:
        seen, total, kinds = counts.look_up(context, c)
        known = total > 0
        total = np.where(known, total, 1)
        share = np.maximum(seen - DISCOUNT, 0) / total
        left = np.where(known, DISCOUNT * kinds / total, 1.0)
        mixed: Array = share + left * lower
        return mixed


class _Counts:
    """How often contexts and their continuations occur, as sorted arrays."""

    def __init__(self, keys: Ids, base: int) -> None:
        self._base = base
        self._keys, self._times = np.unique(keys, return_counts=True)
        self._contexts, first = np.unique(self._keys // base, return_index=True)
        self._kinds = np.diff(np.append(first, len(self._keys)))
        self._totals = np.add.reduceat(self._times, first)

    def number(self, keys: Ids) -> Ids:
        """The place of each key among all different ones, -1 where it does not occur."""
        where, found = _places(self._keys, keys)
        return np.where(found, where, -1)

    def look_up(self, context: Ids, c: Ids) -> tuple[Ids, Ids, Ids]:
        """Times of the pair, times of the context, different continuations of the context."""
        context, c = np.broadcast_arrays(context, c)
        pair, found = _places(self._keys, context * self._base + c)
        where, known = _places(self._contexts, context)
        return (
            np.where(found, self._times[pair], 0),
            np.where(known, self._totals[where], 0),
            np.where(known, self._kinds[where], 0),
        )


def _places(keys: Ids, wanted: Ids) -> tuple[Ids, np.ndarray[tuple[int, ...], np.dtype[np.bool_]]]:
    where = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return where, keys[where] == wanted
