"""The table itself, and the public counts of its words."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inkblur import load_embedding
from inkblur.embeddings.adaptation import adapt_embedding
from inkblur.embeddings.store import open_store, write_store
from inkblur.embeddings.table import Embedding
from inkblur.embeddings.word_lists import LAST_WORD, read_frequencies, zipf_counts
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


def test_words_with_line_ends_do_not_share_a_fingerprint() -> None:
    one = Embedding(["a\nb", "c"], np.eye(2), name="x")
    assert one.sha256 != Embedding(["a", "b\nc"], np.eye(2), name="x").sha256


WORDS = ["the", "cat", "sat", "zyzzy"]


def table(counts: list[int] | None = None) -> Embedding:
    return Embedding(WORDS, np.eye(4), name="toy", counts=counts)


def test_the_bundled_table_has_counts_that_fall_with_rank() -> None:
    counts = load_embedding().counts
    assert counts is not None
    assert counts.dtype == np.int64
    assert (np.diff(counts) <= 0).all()
    assert counts[-1] == LAST_WORD
    assert not counts.flags.writeable


def test_a_file_of_counts_and_a_file_of_ranks(tmp_path: Path) -> None:
    counted, ranked = tmp_path / "counts.txt", tmp_path / "ranks.txt"
    counted.write_text("the 900\ncat\t30\n\ncat 4\n", encoding="utf-8")
    ranked.write_text("the\nof\ncat\nthe\n", encoding="utf-8")
    assert read_frequencies(counted) == {"the": 900, "cat": 34}
    assert list(read_frequencies(ranked).values()) == zipf_counts(3).tolist()
    (tmp_path / "toy.txt").write_text("the 1 0\ncat 0 1\nsat 1 1\n", encoding="utf-8")
    loaded = load_embedding(tmp_path / "toy.txt", frequencies=counted)
    assert loaded.counts is not None
    assert loaded.counts.tolist() == [900, 34, 1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("the 5\ncat\n", "line 2 of .* has 1 field, expected `word count`"),
        ("the\ncat 5\n", "line 2 of .* has 2 fields, expected one word"),
        ("the -5\n", "line 1 of .*: the count is not a whole number"),
        ("the 0\n", "a count must be from 1"),
        (f"the {10**18 * 9}\n", "a count must be from 1 to 2"),
        ("\n", "holds no word"),
        ("le 5\nla 6\n", "only 0 of the 4 words"),
    ],
)
def test_bad_files_are_one_line_errors(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "f.txt"
    path.write_text(content, encoding="utf-8")
    write_store(tmp_path / "toy.ink", table())
    with pytest.raises(EmbeddingError, match=message):
        load_embedding(tmp_path / "toy.ink", frequencies=path)


@pytest.mark.parametrize("largest", [7, 1 << 40])
def test_every_way_to_a_table_keeps_counts(tmp_path: Path, largest: int) -> None:
    given = [largest, 5, 4, 1]
    made = table(given)
    path = tmp_path / "toy.ink"
    write_store(path, made)
    opened = open_store(path)
    opened.verify()
    adapted = adapt_embedding(made, ["the cat", "sat cat", "the"], {"topic": ["a", "b", "a"]})
    for other in (opened, load_embedding(path, name="renamed"), adapted, adapted.unguarded()):
        assert other.counts is not None
        assert other.counts.tolist() == given
    for fewer in (
        load_embedding(path, vocabulary=["sat", "the"]),
        made.restricted(["sat", "the"], origin="a test"),
    ):
        assert fewer.counts is not None
        assert fewer.counts.tolist() == [largest, 4]
    first = load_embedding(path, limit=2).counts
    assert first is not None
    assert first.tolist() == [largest, 5]


def test_counts_are_part_of_the_fingerprint() -> None:
    prints = {table(c).sha256 for c in (None, [9, 5, 4, 1], [9, 5, 4, 2], [5, 9, 4, 1])}
    assert len(prints) == 4


@pytest.mark.parametrize("wrong", [[1, 2, 3], [1, 2, 3, 0], [1.0, 2.0, 3.0, 4.0], [1 << 62] * 4])
def test_wrong_counts_are_refused(wrong: list[int]) -> None:
    with pytest.raises(EmbeddingError, match="count"):
        table(wrong)
