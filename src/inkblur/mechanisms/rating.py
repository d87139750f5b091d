"""How good a word is in place of another: ratings in [0, 1], exact to the last bit.

SynTF, section 4.1.2: rho(v, w) = cos(v, w) - s B(v, w), where B in [0, 1] is the share of letter
bigrams that v and w have in common and s in [0, 1] says how much a different spelling is worth.

That number lies in [-1 - s, 1]; the exponential mechanism needs a bounded one. Two boundings:

    clip      max(0, cos - s B)                 unrelated words are all equally bad (the default)
    rescale   (cos - s B + 1 + s) / (2 + s)     keeps every difference, and shrinks it

Both lie in [0, 1] for every embedding, so the sensitivity with all words adjacent is at most 1, and
`SENSITIVITY = 1` is what the proofs use. Why not the largest change measured over a vocabulary:
epsilon would then mean something else for every word list, and one new word could change it.
(With clip and s = 0 it is 1 wherever two words point apart.)

**Why the cosines are exact.** A matrix product's last digits depend on the shape of the batch it is
computed in. The bound must hold for the probabilities that are drawn from, and a replay must draw
the same words in any batch, so every direction is rounded to multiples of 2^-26 once. A product
of two components is then a multiple of 2^-52, every partial sum is at most |a| |b| < 2 in size
(Cauchy-Schwarz), and such numbers are float64 numbers: no addition rounds, in whatever order. The
rounding moves a cosine by about 1e-8. This takes it that the BLAS behind NumPy multiplies float64
in float64.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.types import Array, Bounding, Ids, Points, choose, fraction

SENSITIVITY = 1.0  # the most a rating in [0, 1] can change between two inputs
_GRID = 2.0**26
_BLOCK = 1024


class Rating(Protocol):
    """Rates every word of a vocabulary in place of any word.

    The guarantee rests on this: ratings lie in [0, 1], depend on public data alone, and are the
    same float64 numbers in any block.
    """

    size: int  # words that can come out
    symmetric: bool  # rho(v, w) = rho(w, v) for all words: halves the work of the tight bound
    spec: str  # everything the ratings depend on, besides the embedding

    def block(self, rows: Ids, columns: slice) -> Array:
        """Ratings of the words `columns` in place of `rows` (NULL_ID allowed), C-ordered."""


class CosineRating:
    """Cosine of the word vectors minus `bigram` times the overlap in spelling, bounded to [0, 1].

    A vector of length zero has no direction: its cosine with every word, itself included, is 0. The
    null word stands at the vocabulary's mean and has no letters, so its overlap is 0.

    >>> table = Embedding(["cat", "cats"], [[1.0, 0.0], [0.6, 0.8]], name="toy")
    >>> CosineRating(table).block(np.array([0]), slice(0, 2)).round(6).tolist()
    [[1.0, 0.6]]
    >>> CosineRating(table, bigram=0.5).block(np.array([0]), slice(0, 2)).round(6).tolist()
    [[0.5, 0.2]]
    """

    symmetric = True

    def __init__(
        self, embedding: Embedding, *, bigram: float = 0.0, bounding: str | Bounding = Bounding.CLIP
    ) -> None:
        self.bigram = fraction(bigram, "the bigram factor s")
        self.bounding = choose(Bounding, bounding, "bounding")
        self.size = len(embedding)
        self.spec = f"cosine bigram={self.bigram!r} bounding={self.bounding.value}"
        # The null word is the last row, so that NULL_ID = -1 finds it.
        self._directions = np.empty((self.size + 1, embedding.dimension))
        for start in range(0, self.size, _BLOCK):
            part = slice(start, min(start + _BLOCK, self.size))
            self._directions[part] = directions(embedding.vectors[part].astype(np.float64))
        self._directions[-1:] = directions(embedding.null_vector[None, :])
        self._directions *= _GRID
        np.rint(self._directions, out=self._directions)
        self._directions /= _GRID
        self._spelling = Spelling(embedding.words) if self.bigram else None

    def block(self, rows: Ids, columns: slice) -> Array:
        """Ratings of the words `columns` in place of the words `rows`, (rows, columns)."""
        values: Array = self._directions[rows] @ self._directions[: self.size][columns].T
        if self._spelling is not None:
            values -= self.bigram * self._spelling.overlap(rows, columns)
        if self.bounding is Bounding.RESCALE:
            values += 1 + self.bigram
            values /= 2 + self.bigram
        # Rounded directions can be longer than 1 by a hair, so both boundings need the clip.
        np.clip(values, 0.0, 1.0, out=values)
        return values


class Spelling:
    """Letter bigrams of a vocabulary, to compare spellings.

    B(v, w) = 2 |A n B| / (|A| + |B|) over the multisets of adjacent letter pairs, capitals folded
    (Dice): 1 for equal spellings, 0 where no pair is shared. A word of one letter counts as its
    own pair. The second "an" of "banana" is numbered apart from the first, which turns multisets
    into sets.

    >>> Spelling(["night", "nacht"]).overlap(np.array([0]), slice(0, 2)).tolist()
    [[1.0, 0.25]]
    """

    def __init__(self, words: Sequence[str]) -> None:
        from scipy import sparse  # only needed where spelling counts

        index: dict[tuple[str, int], int] = {}
        columns: list[int] = []
        ends = [0]
        for word in words:
            seen: Counter[str] = Counter()
            for pair in letter_pairs(word):
                seen[pair] += 1
                columns.append(index.setdefault((pair, seen[pair]), len(index)))
            ends.append(len(columns))
        ends.append(len(columns))  # the null word, last: no letters
        ones = np.ones(len(columns), dtype=np.int32)
        shape = (len(words) + 1, max(1, len(index)))
        self._pairs = sparse.csr_array((ones, columns, ends), shape=shape)
        self._counts = np.diff(ends).astype(np.float64)

    def overlap(self, rows: Ids, columns: slice) -> Array:
        """B between the words `rows` (NULL_ID allowed) and the words `columns`."""
        last = len(self._counts) - 1
        rows = np.where(rows < 0, last, rows)
        within = slice(*columns.indices(last))
        shared = (self._pairs[rows] @ self._pairs[within].T).toarray()
        total = self._counts[rows][:, None] + self._counts[within][None, :]
        overlap: Array = np.divide(2.0 * shared, total, out=np.zeros(total.shape), where=total > 0)
        return overlap


def letter_pairs(word: str) -> list[str]:
    """Adjacent letter pairs, capitals folded; a word of one letter is its own pair."""
    folded = word.casefold()
    return [folded[i : i + 2] for i in range(max(1, len(folded) - 1))] if folded else []


class CheckedRating:
    """A rating of someone else's: what leaves [0, 1] would make the guarantee false."""

    def __init__(self, rating: Rating, words: int) -> None:
        if rating.size != words:
            raise ParameterError(
                f"the rating knows {rating.size} words and the embedding {words}; "
                "make the rating from the same embedding"
            )
        self._rating = rating
        self.size, self.symmetric, self.spec = rating.size, rating.symmetric, rating.spec

    def block(self, rows: Ids, columns: slice) -> Array:
        """The ratings, checked, as a float64 copy: exp() of a float32 is 0 from -104 on."""
        values: Array = np.array(self._rating.block(rows, columns), dtype=np.float64, order="C")
        expected = len(rows), len(range(*columns.indices(self.size)))
        if values.shape != expected:
            raise ParameterError(
                f"the rating {self.spec!r} gives an array of shape {values.shape}, expected "
                f"{expected}: a row for each input word, a column for each output"
            )
        if not ((values >= 0) & (values <= 1)).all():  # NaN fails here too
            raise ParameterError(
                f"the rating {self.spec!r} gives values outside [0, 1]; clip or rescale them"
            )
        return values


def directions(vectors: Points) -> Points:
    """Rows of length 1; a zero vector stays zero and has cosine 0 with everything."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Points = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return unit
