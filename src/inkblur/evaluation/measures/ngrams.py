"""Space-free character n-grams: the view of a text in which authors are compared.

Koppel, Schler and Argamon (2011) count, for n = 4, every string of four characters without a space
and every string of four or fewer characters between two spaces. Precisely, here: a text is split at
white space (Unicode's) into pieces; a piece of more than n characters gives all its n-grams, from
first to last; a piece of n or fewer gives itself. Capitals and punctuation stay: they are habits
of an author; no n-gram reaches over a space.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypeVar

import numpy as np
from scipy.sparse import csr_array

from inkblur.types import whole

T = TypeVar("T")
Counts: TypeAlias = "csr_array[np.float64, tuple[int, int]]"  # (texts, n-grams)


def space_free_ngrams(text: str, n: int = 4) -> Counter[str]:
    """How often each space-free n-gram occurs in a text.

    >>> sorted(space_free_ngrams("a task, tasked").items())
    [('a', 1), ('ask,', 1), ('aske', 1), ('sked', 1), ('task', 2)]
    """
    size = whole(n, "n")
    counts: Counter[str] = Counter()
    for piece, times in Counter(text.split()).items():  # each distinct piece is cut once
        if len(piece) <= size:
            counts[piece] += times
        else:
            for start in range(len(piece) - size + 1):
                counts[piece[start : start + size]] += times
    return counts


def most_frequent(counts: Sequence[Mapping[str, float]], limit: int) -> dict[str, int]:
    """Columns for the `limit` most frequent n-grams of all texts together; ties by spelling."""
    total: Counter[str] = Counter()  # of whole numbers
    for counter in counts:
        total.update(counter)
    ranked = sorted(total.items(), key=lambda item: (-item[1], item[0]))
    return {gram: column for column, (gram, _) in enumerate(ranked[:limit])}


def count_matrix(counts: Sequence[Mapping[T, float]], columns: Mapping[T, int]) -> Counts:
    """Counts as a sparse table (texts, columns); n-grams without a column are left out."""
    data: list[float] = []
    indices: list[int] = []
    ends = [0]
    for counter in counts:
        present = sorted(
            (columns[gram], times) for gram, times in counter.items() if gram in columns
        )
        indices.extend(column for column, _ in present)
        data.extend(times for _, times in present)
        ends.append(len(indices))
    # 32-bit places, because liblinear takes no others.
    arrays = np.array(data, np.float64), np.array(indices, np.int32), np.array(ends, np.int32)
    return csr_array(arrays, shape=(len(counts), len(columns)))


def shares(table: Counts) -> Counts:
    """Every row divided by its sum; rows of zeros stay."""
    sums = np.asarray(table.sum(axis=1), np.float64)
    out = table.copy()
    out.data /= np.repeat(np.where(sums > 0, sums, 1.0), np.diff(out.indptr))
    return out
