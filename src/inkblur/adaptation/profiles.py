"""Label profiles: what a word says about a label, learned from public labeled texts.

With n(w, l) the number of texts of label l that have the word w, n(w) their sum over labels, and
pi_l label l's share of all of them,

    odds(w, l) = log( (n(w, l) + s L pi_l) / ((n(w) + s L) pi_l) ),   profile = odds - mean over l

for L labels and smoothing s: as if every word had stood in s L more texts, of labels as they come.
A word the corpus never has is at zero exactly, and rare words lie near it.

Texts are counted, not occurrences: a text that repeats a word fifty times says no more about the
word's label than one that has it once, and no single text moves a word far.

A centered profile has one coordinate to spare. It is written in L - 1 orthonormal ones (Helmert's
matrix), which changes no distance and leaves the adapted covariance of full rank. More than 100
labels are projected onto 100 axes: the leading right singular vectors of the profiles, each word
weighted by n(w), so distances shrink as little as that many axes allow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from inkblur.documents.analysis import known_id
from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.types import NULL_ID, Array, Ids, counted

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

MOST_DIMENSIONS = 100  # of one column's profile
MOST_LABELS = 5_000  # of one column: a table of that many squared must fit in memory
_ROWS = 1 << 12  # words whose profiles are dense at a time
_REMEMBERED = 1 << 20  # spellings whose id is remembered


@dataclass(frozen=True, slots=True)
class Profiles:
    """One column's profiles."""

    column: str
    counts: dict[str, int]  # texts of each label, labels in alphabetical order
    values: Array  # (words, dimensions); zero where the corpus never has the word
    seen: Ids  # the words it has, rising
    reduction: str  # how there came to be so many dimensions


class KnownWords:
    """Sees texts as the distinct vocabulary words in them, looked up as the Privatizer does."""

    def __init__(self, embedding: Embedding) -> None:
        self._id = lru_cache(_REMEMBERED)(partial(known_id, embedding))

    def of(self, written: Iterable[str]) -> Ids:
        """The ids of a text's words, rising, each once."""
        found = {self._id(word) for word in set(written)} - {NULL_ID}
        return np.array(sorted(found), dtype=np.int64)


def label_profiles(
    column: str,
    documents: Sequence[Ids],
    labels: Sequence[str | None],
    *,
    words: int,
    smoothing: float,
) -> Profiles:
    """The profiles that a column of labels gives a vocabulary of `words` words.

    `documents` holds each text's distinct words. A text without a label or without a word teaches
    nothing.
    """
    rows = [i for i, label in enumerate(labels) if label is not None and len(documents[i])]
    names = sorted({str(labels[i]) for i in rows})
    _check(column, names, len(rows))
    number = {name: place for place, name in enumerate(names)}
    numbers = np.array([number[str(labels[i])] for i in rows])
    table = _count([documents[i] for i in rows], numbers, (words, len(names)))
    seen = np.flatnonzero(np.diff(table.indptr)).astype(np.int64)
    axes, reduction = _axes(table, seen, smoothing)
    values = np.zeros((words, axes.shape[1]))
    for part, odds in _blocks(table, seen, smoothing):
        values[part] = odds @ axes
    texts = np.bincount(numbers, minlength=len(names)).tolist()
    return Profiles(column, dict(zip(names, texts, strict=True)), values, seen, reduction)


def _check(column: str, names: Sequence[str], texts: int) -> None:
    if len(names) < 2:
        raise ParameterError(
            f"the column {column!r} has {counted(len(names), 'label')} on texts with a known word; "
            "at least 2 are needed: with one there is nothing to say about it"
        )
    if len(names) == texts:
        raise ParameterError(
            f"the column {column!r} has another label on each of its {counted(texts, 'text')}, as "
            "ids have; choose a column whose labels name groups of texts"
        )
    if len(names) > MOST_LABELS:
        raise ParameterError(
            f"the column {column!r} has {len(names):,} labels, the most is {MOST_LABELS:,}; join "
            "rare ones into one"
        )


def _count(documents: Sequence[Ids], numbers: Ids, shape: tuple[int, int]) -> csr_matrix:
    """n(w, l): texts of label l that have the word w, (words, labels)."""
    from scipy.sparse import coo_matrix

    columns = np.repeat(numbers, [len(ids) for ids in documents])
    table = coo_matrix((np.ones(len(columns)), (np.concatenate(documents), columns)), shape)
    return table.tocsr()  # adds up what falls into one cell


def _blocks(table: csr_matrix, seen: Ids, smoothing: float) -> Iterator[tuple[Ids, Array]]:
    """Some seen words at a time with their centered log-odds, (block, labels)."""
    count = table.shape[1]
    share = np.asarray(table.sum(axis=0), np.float64).ravel() / table.sum()
    for start in range(0, len(seen), _ROWS):
        part = seen[start : start + _ROWS]
        found = table[part].toarray()
        total = found.sum(axis=1, keepdims=True)
        odds = np.log(
            (found + smoothing * count * share) / ((total + smoothing * count) * share[None, :])
        )
        yield part, odds - odds.mean(axis=1, keepdims=True)


def _axes(table: csr_matrix, seen: Ids, smoothing: float) -> tuple[Array, str]:
    """Orthonormal axes for profiles, (labels, dimensions), and what they are."""
    from scipy.linalg import eigh, helmert

    labels = table.shape[1]
    if labels <= MOST_DIMENSIONS:
        size = counted(labels - 1, "dimension")
        return helmert(labels).T, f"none: {labels} centered labels need {size}"
    weights = np.asarray(table.sum(axis=1), np.float64).ravel()
    gram = np.zeros((labels, labels))
    for part, odds in _blocks(table, seen, smoothing):
        gram += odds.T @ (odds * weights[part, None])
    values, vectors = eigh(gram)
    kept = vectors[:, ::-1][:, :MOST_DIMENSIONS]
    kept = kept * np.where(kept[np.abs(kept).argmax(axis=0), np.arange(kept.shape[1])] < 0, -1, 1)
    share = values[-MOST_DIMENSIONS:].sum() / values.sum()
    return kept, (
        f"{labels} labels projected onto {MOST_DIMENSIONS} axes by truncated SVD of the profiles, "
        f"words weighted by their texts: {share:.1%} of the weighted squares are kept"
    )
