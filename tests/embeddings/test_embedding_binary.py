"""word2vec's binary format."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from inkblur import load_embedding
from inkblur.embeddings import vector_files
from inkblur.errors import EmbeddingError
from inkblur.types import Vectors
from tests.embeddings.vector_files import as_binary, as_text, packed, sample


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b""])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_round_trip(tmp_path: Path, newline: bytes, suffix: str) -> None:
    words, vectors = sample(40, 6)
    words[3] = "naïve".encode()
    table = load_embedding(
        packed(tmp_path / f"x.bin{suffix}", as_binary(words, vectors, newline=newline))
    )
    assert table.words[3] == "naïve"
    np.testing.assert_array_equal(table.vectors, vectors)
    assert table.provenance["format"] == "word2vec-binary"


def test_many_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_files, "BLOCK", 97)
    monkeypatch.setattr(vector_files, "_LONGEST_WORD", 20)
    words, vectors = sample(400, 6)
    for newline in (b"\n", b""):
        path = packed(tmp_path / "x.bin", as_binary(words, vectors, newline=newline))
        np.testing.assert_array_equal(load_embedding(path).vectors, vectors)


def test_cut_anywhere_it_is_refused(tmp_path: Path) -> None:
    content = as_binary(*sample(4, 3), newline=b"")
    start = content.index(b"\n") + 1
    for length in range(start, len(content)):
        path = packed(tmp_path / "x.bin", content[:length])
        with pytest.raises(
            EmbeddingError, match=r"is cut short: it ends at byte (\d+), "
        ) as caught:
            load_embedding(path, format="word2vec-binary")
        assert f"byte {length}," in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (as_binary(*sample(4, 3)) + b"more", r"more bytes follow"),
        (as_binary([b"a", b"b"], np.array([[1, 2], [np.nan, 1]], np.float32)), r"word 2 \('b'\)"),
        (as_binary([b"a", b"b"], np.array([[1, 2], [np.inf, 1]], np.float32)), r"not finite"),
        (as_binary([b"a", b""], sample(2, 3)[1]), r"vector 2 has no word"),
        (b"2 3\n" + b"x" * 200_000, r"no word of plausible length at byte 4"),
        (b"a 1 2\nb 1 2\n", r"line 1 of .* is not a word2vec header"),
    ],
)
def test_damage_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = packed(tmp_path / "x.bin", content)
    with pytest.raises(EmbeddingError, match=message):
        load_embedding(path, format="word2vec-binary")


def test_the_place_is_right_beyond_the_first_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_files, "BLOCK", 97)
    monkeypatch.setattr(vector_files, "_LONGEST_WORD", 20)
    good = as_binary(*sample(40, 3), newline=b"").replace(b"40 3", b"50 3")
    path = packed(tmp_path / "x.bin", good + b"x" * 1000)
    with pytest.raises(EmbeddingError, match=f"no word of plausible length at byte {len(good)};"):
        load_embedding(path)


def test_sniffing_where_it_is_close(tmp_path: Path) -> None:
    text = b"2 2\na 1 2\n\x01b 3 4\n"  # text, though a later word has a control character
    assert load_embedding(packed(tmp_path / "x", text)).words == ("a", "\x01b")
    binary = b"2 2\na 2\n\0\0\0\0\0\0b \0\0\0\0\0\0\0\0"  # a number that begins like a text line
    assert load_embedding(packed(tmp_path / "y", binary)).words == ("a", "b")


def test_words_that_are_no_utf8_are_left_out(tmp_path: Path) -> None:
    words, vectors = sample(200, 3)
    words[50] = b"\xe2\x82"  # cut inside a character, as in Google News
    table = load_embedding(packed(tmp_path / "x.bin", as_binary(words, vectors)))
    assert len(table) == 199
    assert table.provenance["not_utf8_skipped"] == 1


@settings(deadline=None)
@given(
    vectors=arrays(
        np.float32,
        st.tuples(st.integers(2, 5), st.integers(2, 4)),
        elements=st.floats(-1e6, 1e6, width=32),
    )
)
def test_text_and_binary_are_told_apart(
    tmp_path_factory: pytest.TempPathFactory, vectors: Vectors
) -> None:
    words = [f"w{i}".encode() for i in range(len(vectors))]
    path = tmp_path_factory.mktemp("sniff") / "x"
    for content, kind in (
        (as_binary(words, vectors), "word2vec-binary"),
        (as_text(words, vectors, header=True), "word2vec"),
        (as_text(words, vectors), "glove"),
    ):
        path.write_bytes(content)
        if kind == "word2vec-binary" and not set(vectors.tobytes()) & set(range(9)):
            continue  # bytes that all happen to be letters: nothing could tell
        table = load_embedding(path)
        assert table.provenance["format"] == kind
        np.testing.assert_array_equal(table.vectors, vectors)
