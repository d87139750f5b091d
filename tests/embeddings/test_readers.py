"""Vector files of other programs: what is accepted, what is refused, and where the error points."""

from __future__ import annotations

import os
import pickle
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from inkblur import load_embedding
from inkblur.embeddings import vector_files
from inkblur.embeddings.text import parse_fast, parse_plain
from inkblur.errors import EmbeddingError
from inkblur.types import Vectors
from tests.embeddings.vector_files import as_binary, as_text, packed, sample

BINARY = "word2vec-binary"


def load(tmp_path: Path, content: bytes, format: str | None = None) -> list[str]:
    """Load `content`; the words, each with its numbers after a colon."""
    table = load_embedding(packed(tmp_path / "vectors.txt", content), format=format)
    rows = zip(table.words, table.vectors.tolist(), strict=True)
    return [f"{word}:{','.join(f'{x:g}' for x in row)}" for word, row in rows]


@pytest.mark.parametrize(
    "content",
    [
        b"a 1 2\nb 3 4\n",
        b"2 2\na 1 2\nb 3 4\n",
        b"2 2\na 1 2 \nb 3 4 \n",  # fastText
        b"a 1 2\nb 3 4",  # no line end at the end
        b"2 2\r\na 1 2 \r\nb 3 4 \r\n",
        b"a\t1\t2\nb\t3\t4\n",
        b"\xef\xbb\xbf2 2\na 1 2\nb 3 4\n",
        b"a 1 2\n\n\nb 3 4\n\n",
        b"a 1e0 +2\nb 3. .4e1\n",
    ],
)
def test_every_dialect_gives_the_same_table(tmp_path: Path, content: bytes) -> None:
    assert load(tmp_path, content) == ["a:1,2", "b:3,4"]


@pytest.mark.parametrize(
    "word", ['"', "'", '"a', "NA", "nan", "BZh9", "2000", "-1.5", "é", "\\", ". . ."]
)
def test_a_word_is_any_text(tmp_path: Path, word: str) -> None:
    assert load(tmp_path, f"{word} 1 2\nb 3 4\n".encode()) == [f"{word}:1,2", "b:3,4"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a 1 2\nb 3\nc 5 6\n", r"line 2 of .*vectors\.txt has 1 number, expected 2"),
        (b"a 1\nb 3 4\nc 5 6\n", r"line 1 of .*vectors\.txt has 1 number, expected 2"),
        (b"a 1 2\nb 3 4c 5 6\n", r"line 2 .* has 3 numbers, expected 2"),  # a lost line end
        (b"a 1 2\nb 3 1_0\n", r"line 2 .*: '1_0' is not a number"),
        (b"a 1 2\nb 3 +-1\n", r"line 2 .*: '\+-1' is not a number"),
        (b"a 1 2\nb -inf 3\n", r"line 2 .*: '-inf' is not a finite"),
        (b"a 1 2\nb 1e39 3\n", r"line 2 .*: '1e39' is not a finite float32"),
        (b"a 1 2\n\nc 3 nan\n", r"line 3 "),  # empty lines are counted
        (b"2 2\na 1 2\nc 3 nan\n", r"line 3 "),  # and so is the header
        (b"a 1 2\n 3 4\nc 5 6\n", r"line 2 .* has no word"),
        (b"a 1 2\nb  3 4\n", r"line 2 .* two separators in a row"),
        (b"\n \n", r"is empty"),
        (b"a 1 2\n", r"1 usable word; an embedding needs at least 2"),
        (b"3 2\na 1 2\nb 3 4\n", r"line 1 .* promises 3 words, but 2 follow; it may be cut short"),
        (b"1 2\na 1 2\nb 3 4\n", r"line 1 .* promises 1 word, but 2 follow; correct"),
        (b"0 2\n", r"line 1 .* promises 0 words x 2"),
        (b"2 2000000\nthe ", "vectors of 2000000 numbers, more than 16384"),
        (b"hello world\nthis is prose\n", r"line 1 .* is not a word followed by numbers"),
        (b"\xff\xfea\0 \0001\0\n\0", r"in an unknown format"),
        (b"\xba\x16\x4f\x2f\x0c\0\0\0", r"is a fastText model"),
        (b"\x80\x04\x95\x10\0\0", r"is a Python pickle"),
        (b"BZh91AY&SY a 1 2\n", "unpack it first"),
        (b"PK\x03\x04 a 1 2\n", "unpack it first"),
    ],
)
def test_bad_text_is_refused_with_its_line(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(EmbeddingError, match=message) as caught:
        load(tmp_path, content)
    assert "\n" not in str(caught.value)


def test_lines_are_counted_beyond_the_first_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_files, "BLOCK", 64)
    monkeypatch.setattr(vector_files, "LONGEST_LINE", 1000)
    monkeypatch.setattr(vector_files.ByteSource.peek, "__defaults__", (100,))
    words, vectors = sample(300, 3)
    whole = as_text(words, vectors)
    table = load_embedding(packed(tmp_path / "x.txt", whole))
    np.testing.assert_array_equal(table.vectors, vectors)
    lines = whole.split(b"\n")
    lines[250] = b"w250 1 2"
    lines.insert(5, b"")  # skipped, but counted
    with pytest.raises(EmbeddingError, match=r"line 252 of .* has 2 numbers, expected 3"):
        load(tmp_path, b"\n".join(lines))
    with pytest.raises(EmbeddingError, match="has a line of over"):
        load(tmp_path, b"a 1 2\n" + b"b" * 5000)


@pytest.mark.parametrize("writer", [as_text, as_binary])
def test_a_few_words_that_are_no_utf8_are_left_out(tmp_path: Path, writer: Any) -> None:
    words, vectors = sample(300, 2)
    words[7], words[9] = b"caf\xe9", b"caf\xe8"  # replaced by one sign they would be one word
    table = load_embedding(packed(tmp_path / "x", writer(words, vectors)))
    assert len(table) == 298
    assert table.provenance["not_utf8_skipped"] == 2
    assert table.words[7:9] == ("w8", "w10")
    assert table.vectors[7].tolist() == vectors[8].tolist()
    with pytest.raises(EmbeddingError, match=r"2 of the first 100 words .* after 7 words"):
        load_embedding(packed(tmp_path / "x", writer(words[:100], vectors[:100])))


def test_packed_files(tmp_path: Path) -> None:
    words, vectors = sample(5000, 4)
    path = packed(tmp_path / "x.txt.gz", as_text(words, vectors))
    table = load_embedding(path)
    np.testing.assert_array_equal(table.vectors, vectors)
    assert table.name == "x"
    misnamed = path.rename(tmp_path / "y.txt")  # the content tells, not the name
    assert load_embedding(misnamed).sha256 == table.sha256
    content = misnamed.read_bytes()
    misnamed.write_bytes(content[:-3000])
    with pytest.raises(EmbeddingError, match=r"is damaged or cut short: .* download it again"):
        load_embedding(misnamed)
    middle = len(content) // 2
    misnamed.write_bytes(content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :])
    with pytest.raises(EmbeddingError):
        load_embedding(misnamed)


def test_a_pipe_is_refused() -> None:
    reading, writing = os.pipe()
    os.close(writing)  # so that reading it would end, not wait
    try:
        with pytest.raises(EmbeddingError, match="is a pipe or a device"):
            load_embedding(f"/dev/fd/{reading}")
    finally:
        os.close(reading)


# Words with everything that a CSV reader might trip over, and numbers in every spelling.
odd_words = st.lists(
    st.sampled_from([b"a", b'"', b"\r", b"\t", b"\xef\xbb\xbf", b"\xff", b"\0", b"1", b".", b"NA"]),
    min_size=1,
    max_size=3,
).map(b"".join)
spelled = st.one_of(
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(-1000, 1000, places=5).map(str),
    st.integers(-(10**9), 10**9).map(str),
)
odd_lines = st.lists(
    st.one_of(
        st.tuples(odd_words, spelled, spelled).map(lambda t: t[0] + f" {t[1]} {t[2]}".encode()),
        st.just(b""),
    ),
    max_size=6,
)


@settings(deadline=None)
@given(lines=odd_lines, end=st.sampled_from([b"\n", b" \n", b"\r\n", b" \r\n"]))
@example(lines=[b"\rb 1 2"], end=b"\n")
@example(lines=[b"\xef\xbb\xbfb 1 2"], end=b"\n")
def test_the_fast_parser_equals_the_plain_one(lines: list[bytes], end: bytes) -> None:
    block = b"".join(line + (end if line else b"\n") for line in lines)
    fast = parse_fast(block, 2, b" ") if block else None
    if fast is None:
        return
    words, vectors = parse_plain(block, 2, b" ", "", 1)
    assert fast[0] == words
    assert fast[1].tobytes() == vectors.tobytes()


def test_the_fast_parser_is_used_for_ordinary_lines() -> None:
    for end in (b"\n", b" \n", b"\r\n"):
        assert parse_fast(as_text(*sample(20, 2), end=end), 2, b" ") is not None


@settings(deadline=None)
@given(text=st.decimals(-100, 100, allow_nan=False).map(str))
@example(text="1.00000005960464477540")  # just above the middle of two: float64 rounds to it
@example(text="1.00000017881393432616")
def test_numbers_are_rounded_correctly(text: str) -> None:
    block = f"w {text} 0\n".encode()
    for parsed in (parse_fast(block, 2, b" "), parse_plain(block, 2, b" ", "", 1)):
        assert parsed is not None
        got = parsed[1][0, 0]
        exact = Fraction(text)
        error = abs(Fraction(float(got)) - exact)
        for neighbor in (np.nextafter(got, np.float32(-1e9)), np.nextafter(got, np.float32(1e9))):
            assert error <= abs(Fraction(float(neighbor)) - exact)


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b""])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_word2vec_binary(
    tmp_path: Path, newline: bytes, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_files, "BLOCK", 97)
    monkeypatch.setattr(vector_files, "_LONGEST_WORD", 20)
    words, vectors = sample(400, 6)
    words[3] = "naïve".encode()
    content = as_binary(words, vectors, newline=newline)
    table = load_embedding(packed(tmp_path / f"x.bin{suffix}", content))
    assert table.words[3] == "naïve"
    np.testing.assert_array_equal(table.vectors, vectors)
    assert table.provenance["format"] == BINARY


def test_binary_cut_anywhere_is_refused(tmp_path: Path) -> None:
    content = as_binary(*sample(4, 3), newline=b"")
    for length in range(content.index(b"\n") + 1, len(content)):
        path = packed(tmp_path / "x.bin", content[:length])
        with pytest.raises(EmbeddingError, match=f"is cut short: it ends at byte {length}, "):
            load_embedding(path, format=BINARY)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (as_binary(*sample(4, 3)) + b"more", r"more bytes follow"),
        (as_binary([b"a", b"b"], np.array([[1, 2], [np.nan, 1]], np.float32)), r"word 2 \('b'\)"),
        (as_binary([b"a", b""], sample(2, 3)[1]), r"vector 2 has no word"),
        (b"2 3\n" + b"x" * 200_000, r"no word of plausible length at byte 4"),
        (b"a 1 2\nb 1 2\n", r"line 1 of .* is not a word2vec header"),
    ],
)
def test_damaged_binary_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(EmbeddingError, match=message):
        load_embedding(packed(tmp_path / "x.bin", content), format=BINARY)


def test_sniffing_where_it_is_close(tmp_path: Path) -> None:
    text = b"2 2\na 1 2\n\x01b 3 4\n"  # text, though a later word has a control character
    assert load_embedding(packed(tmp_path / "x", text)).words == ("a", "\x01b")
    binary = b"2 2\na 2\n\0\0\0\0\0\0b \0\0\0\0\0\0\0\0"  # a number that begins like a text line
    assert load_embedding(packed(tmp_path / "y", binary)).words == ("a", "b")


@settings(deadline=None)
@given(
    arrays(
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
        (as_binary(words, vectors), BINARY),
        (as_text(words, vectors, header=True), "word2vec"),
        (as_text(words, vectors), "glove"),
    ):
        path.write_bytes(content)
        if kind == BINARY and not set(vectors.tobytes()) & set(range(9)):
            continue  # bytes that all happen to be letters: nothing could tell
        table = load_embedding(path)
        assert table.provenance["format"] == kind
        np.testing.assert_array_equal(table.vectors, vectors)


def save(tmp_path: Path, array: NDArray[Any], words: bytes, suffix: str = ".vocab.txt") -> Path:
    path = tmp_path / "x.npy"
    np.save(path, array, allow_pickle=True)
    (tmp_path / f"x{suffix}").write_bytes(words)
    return path


@pytest.mark.parametrize("suffix", [".vocab.txt", ".words.txt", ".txt"])
@pytest.mark.parametrize("dtype", ["<f2", "<f4", ">f8"])
def test_npy_with_its_list(tmp_path: Path, suffix: str, dtype: str) -> None:
    array = np.array([[1.5, 2.0], [0.25, -4.0]]).astype(dtype, order="F")
    for words in (b"a\nb", b"a\r\nb\r\n", b"\xef\xbb\xbfa\nb\n"):
        path = save(tmp_path, array, words, suffix)
        table = load_embedding(path)
        assert table.words == ("a", "b")
        path.write_bytes(path.read_bytes()[:-8] + bytes(8))  # the table is independent of the file
        assert table.vectors.dtype == np.dtype("<f4")
        assert table.vectors.tolist() == [[1.5, 2.0], [0.25, -4.0]]


@pytest.mark.parametrize(
    ("array", "words", "message"),
    [
        (np.ones((3, 2)), b"a\nb\n", r"has 3 vectors, but its list has 2 words"),
        (np.ones(4), b"a\nb\nc\nd\n", r"shape \(4,\), expected \(words, dimension\)"),
        (np.ones((2, 2), int), b"a\nb\n", r"holds int64 values, expected floating-point"),
        (np.array([["a"], ["b"]], object), b"a\nb\n", r"is not a readable \.npy table"),
        (np.array([[1, 2], [1e300, 1]]), b"a\nb\n", r"b'b' \(row 1\) is not finite in float32"),
        (np.ones((3, 2)), b"a\n\nc\n", r"line 2 of .*x\.vocab\.txt is empty"),
    ],
)
def test_arrays_that_are_no_table(
    tmp_path: Path, array: NDArray[Any], words: bytes, message: str
) -> None:
    with pytest.raises(EmbeddingError, match=message):
        load_embedding(save(tmp_path, array, words))


def test_other_arrays_are_refused_and_nothing_is_ever_unpickled(tmp_path: Path) -> None:
    path = save(tmp_path, np.ones((2, 2)), b"a\nb\n", ".other")
    with pytest.raises(EmbeddingError, match=r"one of x\.vocab\.txt, x\.words\.txt, x\.txt"):
        load_embedding(path)
    path = save(tmp_path, np.ones((200, 2)), b"a\n" * 200)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(EmbeddingError, match=r"is not a readable \.npy table"):
        load_embedding(path)
    path.write_bytes(pickle.dumps(np.ones((2, 2))))
    for kind in (None, "npy"):
        with pytest.raises(EmbeddingError, match="pickle"):
            load_embedding(path, format=kind)
    np.savez(tmp_path / "x.npz", np.ones((2, 2)))
    shutil.copy(tmp_path / "x.npz", tmp_path / "y.txt")
    for name, kind in (("x.npz", None), ("y.txt", "npy")):
        with pytest.raises(EmbeddingError, match="unpack it first"):
            load_embedding(tmp_path / name, format=kind)
