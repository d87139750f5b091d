"""Arrays with words: `.npy` beside a list."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from inkblur import load_embedding
from inkblur.errors import EmbeddingError, ParameterError
from tests.embeddings.vector_files import sample


def save(tmp_path: Path, array: NDArray[Any], words: bytes, suffix: str = ".vocab.txt") -> Path:
    path = tmp_path / "x.npy"
    np.save(path, array, allow_pickle=True)
    (tmp_path / f"x{suffix}").write_bytes(words)
    return path


@pytest.mark.parametrize("suffix", [".vocab.txt", ".words.txt", ".txt"])
@pytest.mark.parametrize(
    "words", [b"a\nb\nc", b"a\nb\nc\n", b"a\r\nb\r\nc\r\n", b"\xef\xbb\xbfa\nb\nc\n"]
)
def test_npy_with_its_list(tmp_path: Path, suffix: str, words: bytes) -> None:
    vectors = sample(3, 4)[1]
    table = load_embedding(save(tmp_path, vectors, words, suffix))
    assert table.words == ("a", "b", "c")
    np.testing.assert_array_equal(table.vectors, vectors)


@pytest.mark.parametrize("dtype", ["<f2", "<f4", "<f8", ">f4", ">f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_any_floating_type_becomes_float32(tmp_path: Path, dtype: str, order: Any) -> None:
    array = np.array([[1.5, 2.0], [0.25, -4.0]]).astype(dtype, order=order)
    table = load_embedding(save(tmp_path, array, b"a\nb\n"))
    assert table.vectors.dtype == np.dtype("<f4")
    assert table.vectors.tolist() == [[1.5, 2.0], [0.25, -4.0]]


def test_the_table_is_independent_of_the_file(tmp_path: Path) -> None:
    path = save(tmp_path, np.ones((2, 3), np.float32), b"a\nb\n")
    table = load_embedding(path)
    with path.open("r+b") as file:
        file.seek(-8, 2)
        file.write(b"\0" * 8)
    assert table.vectors.tolist() == [[1, 1, 1], [1, 1, 1]]


@pytest.mark.parametrize(
    ("array", "words", "message"),
    [
        (np.ones((3, 2)), b"a\nb\n", r"has 3 vectors, but its list has 2 words"),
        (np.ones((2, 2)), b"", r"has 2 vectors, but its list has 0 words"),
        (np.ones(4), b"a\nb\nc\nd\n", r"shape \(4,\), expected \(words, dimension\)"),
        (np.ones((2, 2), int), b"a\nb\n", r"holds int64 values, expected floating-point"),
        (np.array([["a"], ["b"]], object), b"a\nb\n", r"is not a readable \.npy table"),
        (np.array([[1, 2], [np.nan, 1]]), b"a\nb\n", r"b'b' \(row 1\) is not finite"),
        (np.array([[1, 2], [1e300, 1]]), b"a\nb\n", r"b'b' \(row 1\) is not finite in float32"),
        (np.ones((3, 2)), b"a\n\nc\n", r"line 2 of .*x\.vocab\.txt is empty"),
    ],
)
def test_arrays_that_are_no_table(
    tmp_path: Path, array: NDArray[Any], words: bytes, message: str
) -> None:
    path = save(tmp_path, array, words)
    with pytest.raises(EmbeddingError, match=message):
        load_embedding(path)


def test_npy_without_a_list(tmp_path: Path) -> None:
    path = save(tmp_path, np.ones((2, 2)), b"a\nb\n", ".other")
    with pytest.raises(EmbeddingError, match=r"one of x\.vocab\.txt, x\.words\.txt, x\.txt"):
        load_embedding(path)


def test_npy_cut_short(tmp_path: Path) -> None:
    path = save(tmp_path, np.ones((200, 2)), b"a\n" * 200)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(EmbeddingError, match=r"is not a readable \.npy table"):
        load_embedding(path)


def test_npz_and_packed_npy_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", np.ones((2, 2)))
    with pytest.raises(EmbeddingError, match="unpack it first"):
        load_embedding(tmp_path / "x.npz")
    shutil.copy(tmp_path / "x.npz", tmp_path / "y.txt")
    with pytest.raises(EmbeddingError, match="unpack it first"):
        load_embedding(tmp_path / "y.txt", format="npy")


def test_nothing_is_ever_unpickled(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    path.write_bytes(pickle.dumps(np.ones((2, 2))))
    (tmp_path / "x.txt").write_bytes(b"a\nb\n")
    for kind in (None, "npy"):
        with pytest.raises(EmbeddingError, match="pickle"):
            load_embedding(path, format=kind)


def test_wrong_objects() -> None:
    with pytest.raises(ParameterError, match=r"from a dict; .*Embedding\("):
        load_embedding({"a": [1, 2]})  # type: ignore[arg-type]
