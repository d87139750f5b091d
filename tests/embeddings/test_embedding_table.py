"""The table itself."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from inkblur.embeddings.table import Embedding
from inkblur.errors import EmbeddingError
from inkblur.types import NULL_ID


def toy() -> Embedding:
    return Embedding(["a", "b", "c"], [[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]], name="toy")


def test_words_and_ids_are_inverse() -> None:
    table = toy()
    assert table.ids(table.words).tolist() == [0, 1, 2]
    assert table.id("nowhere") == NULL_ID
    assert table.ids(["c", "nowhere", "a"]).tolist() == [2, NULL_ID, 0]
    assert "b" in table
    assert "nowhere" not in table


def test_the_null_word_stands_at_the_mean() -> None:
    table = toy()
    assert table.centers(np.array([NULL_ID, 2])).tolist() == [[1.0, 1.0], [2.0, 2.0]]


class OwnArray(np.ndarray[Any, Any]):
    """As memory maps and tensors are: NumPy reads it without a copy, and calls it another thing."""


@pytest.mark.parametrize("kind", [np.ndarray, OwnArray])
def test_it_is_immutable(kind: type[np.ndarray[Any, Any]]) -> None:
    mine = np.ones((2, 2), np.float32).view(kind)
    table = Embedding(["a", "b"], mine, name="x")
    mine[0, 0] = 9
    assert table.vectors[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        table.vectors[0, 0] = 9


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda table: pickle.loads(pickle.dumps(table))])
def test_a_copy_is_immutable_too(copied: Callable[[Embedding], Embedding]) -> None:
    """Its fingerprint, which binds random streams, was computed before."""
    table = Embedding(["a", "b"], [[0.0], [1.0]], name="x", counts=[3, 1])
    parts = table.null_vector, table.covariance, table.sha256
    other = copied(table)
    assert (other.null_vector, other.covariance, other.sha256) == parts
    for array in (other.vectors, other.counts, other.corpus, other.null_vector, other.covariance):
        assert array is not None
        assert not array.flags.writeable


def test_the_fingerprint_covers_words_vectors_and_order() -> None:
    base = toy()
    others = [
        Embedding(["a", "b", "d"], base.vectors, name="toy"),
        Embedding(["b", "a", "c"], base.vectors, name="toy"),
        Embedding(base.words, base.vectors + np.float32(1e-6), name="toy"),
    ]
    prints = {base.sha256, *(other.sha256 for other in others)}
    assert len(prints) == 4
    assert Embedding(base.words, base.vectors, name="other name").sha256 == base.sha256


def test_restricted_keeps_the_order_of_the_table() -> None:
    narrow = toy().restricted(["c", "nowhere", "a"], origin="a list")
    assert narrow.words == ("a", "c")
    assert narrow.vectors.tolist() == [[1.0, 0.0], [2.0, 2.0]]
    assert narrow.provenance["vocabulary"] == "a list"
    with pytest.raises(EmbeddingError, match="only 1 of the 2 words in a list are in toy"):
        toy().restricted(["a", "nowhere"], origin="a list")


@pytest.mark.parametrize(
    ("words", "vectors", "message"),
    [
        (["a", "b"], [[1.0]], "2 words need a table of 2 rows"),
        (["a"], [[1.0]], "at least 2 words"),
        (["a", "b"], [[], []], "at least 2 words and 1 dimension"),
        (["a", "b"], [[1.0], [float("nan")]], r"the vector of 'b' \(row 1\) is not finite"),
        (["a", "a"], [[1.0], [2.0]], "the word 'a' appears twice"),
        (["a", "b"], [[1.0, 2.0], [3.0]], "rows of real numbers, equally many in each"),
        (["a", "b"], [[1.0], ["two"]], "rows of real numbers"),
        (["a", "b"], np.array([[1.0], [2.0j]]), "rows of real numbers"),
        (["a", "b"], [[1.0], [1e200]], r"the vector of 'b' \(row 1\) is not finite"),
        (["a", 7], [[1.0], [2.0]], r"word 1 is of type int, expected a string"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_bad_tables(words: list[str], vectors: Any, message: str) -> None:
    with pytest.raises(EmbeddingError, match=message):
        Embedding(words, vectors, name="x")
