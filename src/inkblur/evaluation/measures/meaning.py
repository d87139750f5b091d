"""How much of the meaning is kept: how far a text moved in the space of word vectors.

For a text before, with vectors x_1..x_N, and after, with y_1..y_M (words the vocabulary knows):

    Earth Mover's distance   the least mean distance that the words have to travel; 0: none moved
    cosine of mean vectors   between sum x_i / N and sum y_j / M; 1: the same direction

Function words are left out unless `stop_words` is set; texts without a known word before or after
have neither number and are counted. The vectors are centered for the cosine, because the
vocabulary's mean is in every text and would make any two of them look alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.evaluation.measures.earth_movers import earth_movers, euclidean_costs
from inkblur.evaluation.measures.words import known_ids
from inkblur.types import Ids, counted


@dataclass(frozen=True, slots=True)
class Meaning:
    """Means over the texts that could be compared."""

    earth_movers: float  # in the unit of the word vectors
    cosine: float  # in [-1, 1]
    compared: int  # texts
    left_out: int  # texts without a known word before or after


def meaning_kept(
    before: Sequence[str], after: Sequence[str], embedding: Embedding, *, stop_words: bool = False
) -> Meaning:
    """Compare each text with what became of it.

    >>> table = Embedding(["cat", "dog", "sky"], [[0.0, 3.0], [4.0, 0.0], [-4.0, -3.0]], name="toy")
    >>> meaning_kept(["A cat!"], ["dog"], table).earth_movers
    5.0
    >>> round(meaning_kept(["cat dog"], ["dog cat"], table).cosine, 6)
    1.0
    """
    if len(before) != len(after):
        raise ParameterError(
            f"{counted(len(before), 'text')} before and {len(after)} after do not match"
        )
    moved, alike = [], []
    for old, new in zip(before, after, strict=True):
        left = known_ids(old, embedding, stop_words=stop_words)
        right = known_ids(new, embedding, stop_words=stop_words)
        if len(left) and len(right):
            moved.append(_distance(left, right, embedding))
            alike.append(_cosine(left, right, embedding))
    if not moved:
        raise ParameterError(
            f"no text has a word of {embedding.name} both before and after, so nothing can be "
            "compared; use an embedding of the texts' language"
        )
    return Meaning(
        float(np.mean(moved)), float(np.mean(alike)), len(moved), len(before) - len(moved)
    )


def _distance(left: Ids, right: Ids, embedding: Embedding) -> float:
    if len(left) == len(right):  # an assignment, which needs no further library
        return earth_movers(euclidean_costs(embedding.centers(left), embedding.centers(right)))
    (rows, from_left), (columns, from_right) = (
        np.unique(ids, return_counts=True) for ids in (left, right)
    )
    costs = euclidean_costs(embedding.centers(rows), embedding.centers(columns))
    return earth_movers(costs, left=from_left, right=from_right)


def _cosine(left: Ids, right: Ids, embedding: Embedding) -> float:
    old = embedding.centers(left).mean(axis=0) - embedding.null_vector
    new = embedding.centers(right).mean(axis=0) - embedding.null_vector
    size = float(np.linalg.norm(old) * np.linalg.norm(new))
    return float(old @ new) / size if size else 0.0
