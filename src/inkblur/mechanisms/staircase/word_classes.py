"""Which class each word of an adapted table belongs to: a label that it speaks for, or none.

An adapted table's vectors end in label profiles: for each column of labels the centered log-odds of
its L labels given the word, times a constant, in Helmert's L - 1 coordinates. The largest of a
word's log-odds, over all columns, names the label that it speaks for most. Words that say little
are one class of their own, the neutral one: those without a profile, which the corpus never had,
and of the others the half whose profiles are shorter.

Classes are part of what random bits are bound to, so every machine must find the same ones: only
operations that IEEE 754 rounds in one way are used, in a fixed order.
"""

from __future__ import annotations

import math

import numpy as np

from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.types import Array, Ids

_ROWS = 1 << 14  # words whose log-odds are held at a time


def word_classes(embedding: Embedding) -> Ids:
    """The class of each word, from 0 without gaps, (words,): neutral words, then label by label.

    Labels that no word speaks for have no class.
    """
    columns = [column for each in embedding.adaptations for column in each.columns]
    if not columns:
        raise ParameterError(
            f"{embedding.name} knows no label, so no words are near by label: adapt it to public "
            "texts with labels (`inkblur embeddings adapt`), or leave out `near=`"
        )
    for column in columns:
        if column.dimensions != len(column.counts) - 1:
            raise ParameterError(
                f"{embedding.name} keeps {column.dimensions} axes of the {len(column.counts):,} "
                f"labels {column.name!r}, and they do not say which label a word speaks for: adapt "
                f"it to at most {column.dimensions + 1} labels, or leave out `near=`"
            )
    sizes = [column.dimensions for column in columns]
    profiles = embedding.vectors[:, embedding.dimension - sum(sizes) :]
    squares, spoken = np.empty(len(embedding)), np.empty(len(embedding), dtype=np.int64)
    for start in range(0, len(embedding), _ROWS):
        rows = slice(start, start + _ROWS)
        block = profiles[rows].astype(np.float64)
        odds = [log_odds(part) for part in np.split(block, np.cumsum(sizes)[:-1], axis=1)]
        spoken[rows] = 1 + np.hstack(odds).argmax(axis=1)  # the first of equal ones
        squares[rows] = np.cumsum(block * block, axis=1)[:, -1]
    heard = np.sort(squares[squares > 0])
    if len(heard):
        spoken[squares < heard[len(heard) // 2]] = 0
    present, classes = np.unique(spoken, return_inverse=True)
    if not len(heard) or len(present) < 2:
        raise ParameterError(
            f"the words of {embedding.name} all say the same about its labels, so `near=label` "
            "would tell nothing apart: use a larger vocabulary or corpus, or leave out `near=`"
        )
    return classes.astype(np.int64)


def log_odds(profiles: Array) -> Array:
    """Centered numbers, one a label, from Helmert's coordinates, (words, labels - 1).

    >>> log_odds(np.array([[math.sqrt(2.0)]])).round(6).tolist()
    [[1.0, -1.0]]
    """
    words, axes = profiles.shape
    odds = np.zeros((words, axes + 1))
    for place in range(1, axes + 1):  # axis: `place` ones, then -place, over its length
        step = profiles[:, place - 1] / math.sqrt(place * (place + 1))
        odds[:, :place] += step[:, None]
        odds[:, place] -= place * step
    return odds
