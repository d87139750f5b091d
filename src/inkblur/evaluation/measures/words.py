"""The words of a text, as classifiers count them and as word vectors know them; and its n-grams."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
from scipy.sparse import csr_array

from inkblur.documents.analysis import folded, known_id
from inkblur.documents.stop_words import STOP_WORDS
from inkblur.documents.tokens import TokenClass, by_pieces, tokenize, written_words
from inkblur.embeddings.table import Embedding
from inkblur.types import NULL_ID, Ids

T = TypeVar("T")
Counts: TypeAlias = "csr_array[np.float64, tuple[int, int]]"  # (texts, columns)


@by_pieces
def words_of(text: str) -> list[str]:
    """The words and numbers of a text, folded: what a classifier sees.

    >>> words_of("Don't pay $5, KIM!")
    ["don't", 'pay', '5', 'kim']
    """
    wanted = (TokenClass.WORD, TokenClass.NUMBER)
    return [folded(token.text) for token in tokenize(text) if token.kind in wanted]


def content_words(text: str) -> list[str]:
    """The words of a text that are no function words, folded.

    >>> content_words("The cat sat on 3 mats.")
    ['cat', 'sat', 'mats']
    """
    words = map(folded, written_words(text))
    return [word for word in words if word not in STOP_WORDS]


def known_ids(text: str, embedding: Embedding, *, stop_words: bool) -> Ids:
    """The ids of the words that the vocabulary knows, in order; with function words or without.

    >>> table = Embedding(["the", "cat"], [[0.0], [1.0]], name="toy")
    >>> known_ids("The cat sat.", table, stop_words=False).tolist()
    [1]
    """
    words = written_words(text)
    kept = words if stop_words else (word for word in words if folded(word) not in STOP_WORDS)
    ids = (known_id(embedding, word) for word in kept)
    return np.array([word for word in ids if word != NULL_ID], np.int64)


def space_free_ngrams(text: str, n: int = 4) -> Counter[str]:
    """How often each space-free n-gram occurs in a text: the view in which Koppel compares authors.

    A text is split at white space into pieces; a piece of more than n characters gives all its
    n-grams, a shorter one itself. Capitals and punctuation stay: they are habits of an author
    (Koppel, Schler and Argamon 2011).

    >>> sorted(space_free_ngrams("a task, tasked").items())
    [('a', 1), ('ask,', 1), ('aske', 1), ('sked', 1), ('task', 2)]
    """
    counts: Counter[str] = Counter()
    for piece, times in Counter(text.split()).items():  # each distinct piece is cut once
        for start in range(max(1, len(piece) - n + 1)):
            counts[piece[start : start + n]] += times
    return counts


def most_frequent(counts: Sequence[Mapping[str, float]], limit: int) -> dict[str, int]:
    """Columns for the `limit` most frequent n-grams of all texts together; ties by spelling."""
    total: Counter[str] = Counter()  # of whole numbers
    for counter in counts:
        total.update(counter)
    ranked = sorted(total.items(), key=lambda item: (-item[1], item[0]))
    return {gram: column for column, (gram, _) in enumerate(ranked[:limit])}


def count_matrix(counts: Sequence[Mapping[T, float]], columns: Mapping[T, int]) -> Counts:
    """Counts as a sparse table (texts, columns); what has no column is left out."""
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


def narrow(table: Any) -> Any:
    """A sparse table with 32-bit places, because liblinear takes no others."""
    table.indices = table.indices.astype(np.int32)
    table.indptr = table.indptr.astype(np.int32)
    return table


def trained(model: Any, rows: Any, classes: Any) -> Any:
    """The model after `fit`, without a warning that so many classes look like a regression."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The number of unique classes is greater")
        return model.fit(rows, classes)
