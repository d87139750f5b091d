"""Public counts: read from files, kept by every way to a table, part of its fingerprint."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from inkblur import load_embedding
from inkblur.embeddings.adaptation import adapt_embedding
from inkblur.embeddings.loading import import_embedding
from inkblur.embeddings.store import open_store, write_store
from inkblur.embeddings.table import Embedding
from inkblur.embeddings.word_lists import LAST_WORD, read_frequencies, zipf_counts
from inkblur.errors import EmbeddingError

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
    import_embedding(tmp_path / "toy.txt", tmp_path / "toy.ink", frequencies=counted)
    assert open_store(tmp_path / "toy.ink").sha256 == loaded.sha256


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
