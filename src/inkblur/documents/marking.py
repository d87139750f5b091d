"""A text beside one draw of it, word by word, and how near the drawn words are, for its owner to
look at before releasing it.

What is shown is no release: it stands beside the true text, and its noise must come from a key that
is thrown away.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from inkblur.documents.analysis import Analyst, assemble
from inkblur.documents.privatizer import Privatizer
from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.mechanisms.base import DiscreteMechanism, WordMechanism
from inkblur.mechanisms.staircase.mechanism import TwoSteps
from inkblur.rng import Rng
from inkblur.types import NULL_ID, Ids

_WORDS = 48  # that the mean is taken over: their rows of the whole vocabulary are computed
_ROWS = 16  # at a time


class Mark(Enum):
    """What became of a word."""

    KEPT = "kept"  # drawn, and came out as it was
    NEAR = "near"  # replaced by a near word; of other mechanisms than the staircase, by any
    FILLING = "filling"  # replaced by a word drawn as it would be for any other word
    NULL = "null"  # a name, number or unknown word: what comes out does not depend on it
    COPIED = "copied"  # not drawn
    DROPPED = "dropped"


_SHOWN_FIRST = (Mark.NULL, Mark.FILLING, Mark.NEAR, Mark.KEPT)  # where a piece has several words


@dataclass(frozen=True, slots=True)
class MarkedPiece:
    """What stands between two spaces of a text, and what one draw makes of it."""

    written: str
    released: str
    mark: Mark


def marked_text(blur: Privatizer, text: str, rng: Rng) -> list[MarkedPiece]:
    """One draw of a text, piece by piece.

    >>> import inkblur
    >>> table = inkblur.Embedding(["cat", "dog"], [[0.0, 1.0], [1.0, 0.0]], name="toy")
    >>> blur = Privatizer(inkblur.make_mechanism("staircase", table, epsilon=9.0, tau=0.5))
    >>> [(p.written, p.mark.value) for p in marked_text(blur, "A cat: 7.", inkblur.secure_rng())]
    [('A', 'null'), ('cat:', 'kept'), ('7.', 'null')]
    """
    mechanism = blur.mechanism
    if not blur.in_place:
        raise ParameterError("only a plain sequence has words in their places to mark")
    analyst = Analyst(mechanism.embedding, blur.policies)
    pieces = text.split()  # no token crosses white space
    read = [analyst.read(piece) for piece in pieces]
    ids = np.array([i for each in read for i in each.ids], dtype=np.int64)
    drawn = mechanism.replace(ids, rng.next_child("marked")) if len(ids) else ids
    marks = _marks(mechanism, ids, drawn)
    out: list[MarkedPiece] = []
    first = 0
    for written, analysis in zip(pieces, read, strict=True):
        last = first + len(analysis.ids)
        words = [mechanism.vocabulary[i] for i in drawn[first:last].tolist()]
        released = assemble(analysis.slots, words).strip()
        here = marks[first:last]
        mark = next((m for m in _SHOWN_FIRST if m in here), None)
        if mark is None:
            mark = Mark.COPIED if released.strip(".") else Mark.DROPPED
        out.append(MarkedPiece(written, released, mark))
        first = last
    return out


def _marks(mechanism: WordMechanism, ids: Ids, drawn: Ids) -> list[Mark]:
    marks = [
        Mark.NULL if true == NULL_ID else Mark.KEPT if true == out else Mark.NEAR
        for true, out in zip(ids.tolist(), drawn.tolist(), strict=True)
    ]
    if isinstance(mechanism, TwoSteps):
        for word in {i for i, mark in zip(ids.tolist(), marks, strict=True) if mark is Mark.NEAR}:
            here = np.flatnonzero(ids == word)
            weights, units = mechanism.weights(word), mechanism.units
            least = units[drawn[here]].astype(np.uint64) * np.uint64(mechanism.steps.low)
            for place, far in zip(here.tolist(), weights[drawn[here]] == least, strict=True):
                if far:
                    marks[place] = Mark.FILLING
    return marks


def expected_cosine(mechanism: DiscreteMechanism, ids: Ids) -> float | None:
    """The mean cosine between these words and what comes out for them, computed and not drawn.

    One is the same word; unrelated words are near zero. Of many words an even selection counts;
    the null word has no vector. None where no word is left.

    >>> import inkblur
    >>> table = inkblur.Embedding(["cat", "dog"], [[0.0, 1.0], [1.0, 0.0]], name="toy")
    >>> mechanism = inkblur.make_mechanism("staircase", table, epsilon=2.0, tau=0.5)
    >>> round(expected_cosine(mechanism, np.array([0, 1])), 3)
    0.881
    """
    known = np.sort(ids[ids != NULL_ID])
    if not len(known):
        return None
    words = known[np.unique(np.linspace(0, len(known) - 1, _WORDS).astype(np.int64))]
    vectors = mechanism.embedding.vectors
    lengths = np.linalg.norm(vectors, axis=1)
    means: list[float] = []
    for start in range(0, len(words), _ROWS):
        some = words[start : start + _ROWS]
        # The mean of unit vectors under the output's law, then one product with the true word.
        weights = mechanism.probabilities(some) / np.maximum(lengths, 1e-12)
        outputs = weights.astype(vectors.dtype) @ vectors
        true = vectors[some] / np.maximum(lengths[some], 1e-12)[:, None]
        means += np.einsum("ij,ij->i", outputs, true).tolist()
    return float(np.mean(means))


def usual_words(table: Embedding, count: int = _WORDS) -> Ids:
    """Words as they occur in a usual text, by the table's public counts: evenly over their mass."""
    counts = table.counts if table.counts is not None else np.ones(len(table))
    mass = np.cumsum(counts, dtype=np.float64)
    points = (np.arange(count) + 0.5) / count * mass[-1]
    found: Ids = np.searchsorted(mass, points).astype(np.int64)
    return found
