"""Word vectors as text: what is accepted, what is refused, and where the error points."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from inkblur import load_embedding
from inkblur.embeddings import vector_files
from inkblur.embeddings.text import NumberLines
from inkblur.errors import EmbeddingError
from tests.embeddings.vector_files import as_text, packed, sample

TWO = NumberLines("vectors.txt", 2, b" ")


def load(tmp_path: Path, content: bytes, name: str = "vectors.txt", **options: str) -> list[str]:
    """Load `content`; the words, each with its numbers after a colon."""
    table = load_embedding(packed(tmp_path / name, content), format=options.get("format"))
    rows = zip(table.words, table.vectors.tolist(), strict=True)
    return [f"{word}:{','.join(f'{x:g}' for x in row)}" for word, row in rows]


@pytest.mark.parametrize(
    "content",
    [
        b"a 1 2\nb 3 4\n",
        b"2 2\na 1 2\nb 3 4\n",
        b"2 2\na 1 2 \nb 3 4 \n",  # fastText
        b"a 1 2\nb 3 4",  # no line end at the end
        b"a 1 2\r\nb 3 4\r\n",
        b"2 2\r\na 1 2 \r\nb 3 4 \r\n",
        b"a\t1\t2\nb\t3\t4\n",
        b"\xef\xbb\xbfa 1 2\nb 3 4\n",
        b"\xef\xbb\xbf2 2\na 1 2\nb 3 4\n",
        b"a 1 2\n\n\nb 3 4\n\n",
        b"a 1e0 +2\nb 3. .4e1\n",
    ],
)
def test_every_dialect_gives_the_same_table(tmp_path: Path, content: bytes) -> None:
    assert load(tmp_path, content) == ["a:1,2", "b:3,4"]


@pytest.mark.parametrize(
    "word", ['"', "'", '"a', "NA", "null", "nan", "2000", "-1.5", "é", "\\", ","]
)
def test_a_word_is_any_text(tmp_path: Path, word: str) -> None:
    content = f"{word} 1 2\nb 3 4\n".encode()
    assert load(tmp_path, content) == [f"{word}:1,2", "b:3,4"]


def test_words_with_spaces_keep_them(tmp_path: Path) -> None:
    content = b". . . 1 2\nat name@domain.com 3 4\nb 5 6\n"
    assert load(tmp_path, content) == [". . .:1,2", "at name@domain.com:3,4", "b:5,6"]


def test_the_first_duplicate_wins(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(b"a 1 2\nb 3 4\na 5 6\na 7 8\n")
    table = load_embedding(path)
    assert table.words == ("a", "b")
    assert table.vectors.tolist() == [[1, 2], [3, 4]]
    assert table.provenance["duplicates_dropped"] == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a 1 2\nb 3\nc 5 6\n", r"line 2 of .*vectors\.txt has 1 number, expected 2"),
        (b"a 1\nb 3 4\nc 5 6\n", r"line 1 of .*vectors\.txt has 1 number, expected 2"),
        (b"a 1 2\nb 3 4 5\nc 5 6\n", r"line 2 .* has 3 numbers, expected 2"),
        (b"a 1 2\nb 3 4c 5 6\n", r"line 2 .* has 3 numbers, expected 2"),  # a lost line end
        (b"a 1 2\nb 3 x\n", r"line 2 .*: 'x' is not a number"),
        (b"a 1 2\nb 3 1_0\n", r"line 2 .*: '1_0' is not a number"),
        (b"a 1 2\nb 3 +-1\n", r"line 2 .*: '\+-1' is not a number"),
        (b"a 1 2\nb 3 nan\n", r"line 2 .*: 'nan' is not a finite"),
        (b"a 1 2\nb -inf 3\n", r"line 2 .*: '-inf' is not a finite"),
        (b"a 1 2\nb 1e39 3\n", r"line 2 .*: '1e39' is not a finite float32"),
        (b"a 1 2\n\nc 3 nan\n", r"line 3 "),  # empty lines are counted
        (b"2 2\na 1 2\nc 3 nan\n", r"line 3 "),  # and so is the header
        (b"a 1 2\n 3 4\nc 5 6\n", r"line 2 .* has no word"),
        (b"a 1 2\nb  3 4\n", r"line 2 .* two separators in a row"),
        (b"", r"is empty"),
        (b"\n \n", r"is empty"),
        (b"a 1 2\n", r"1 usable word; an embedding needs at least 2"),
        (b"3 2\na 1 2\nb 3 4\n", r"line 1 .* promises 3 words, but 2 follow; it may be cut short"),
        (b"1 2\na 1 2\nb 3 4\n", r"line 1 .* promises 1 word, but 2 follow; correct"),
        (b"9 2\n", r"line 1 .* promises 9 words, but 0 follow"),
        (b"0 2\n", r"line 1 .* promises 0 words x 2"),
        (b"2 3\na 1 2\nb 3 4\n", r"line 2 .* has 2 numbers, expected 3"),
        (b"hello world\nthis is prose\n", r"line 1 .* is not a word followed by numbers"),
        (b"\xff\xfea\0 \0001\0\n\0", r"in an unknown format"),
        (b"\xba\x16\x4f\x2f\x0c\0\0\0", r"is a fastText model"),
        (b"\x80\x04\x95\x10\0\0", r"is a Python pickle"),
    ],
)
def test_bad_text_is_refused_with_its_line(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(EmbeddingError, match=message) as caught:
        load(tmp_path, content)
    assert "\n" not in str(caught.value)


def test_errors_name_the_right_line_beyond_the_first_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_files, "BLOCK", 64)
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


def test_an_endless_line_is_no_vector_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_files, "BLOCK", 64)
    monkeypatch.setattr(vector_files, "LONGEST_LINE", 1000)
    with pytest.raises(EmbeddingError, match="has a line of over"):
        load(tmp_path, b"a 1 2\n" + b"b" * 5000)


def test_a_few_words_that_are_no_utf8_are_left_out(tmp_path: Path) -> None:
    words, vectors = sample(300, 2)
    words[7] = b"caf\xe9"
    words[9] = b"caf\xe8"  # replaced by the same sign they would be one word
    path = packed(tmp_path / "x.txt", as_text(words, vectors))
    table = load_embedding(path)
    assert len(table) == 298
    assert table.provenance["not_utf8_skipped"] == 2
    assert table.words[7:9] == ("w8", "w10")
    assert table.vectors[7].tolist() == vectors[8].tolist()


def test_a_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    words, vectors = sample(100, 2)
    words[3] = words[5] = b"caf\xe9"
    with pytest.raises(EmbeddingError, match=r"2 of the first 100 words .* after 3 words"):
        load(tmp_path, as_text(words, vectors))


@pytest.mark.parametrize("header", [True, False])
def test_packed_files(tmp_path: Path, header: bool) -> None:
    words, vectors = sample(50, 4)
    path = packed(tmp_path / "x.txt.gz", as_text(words, vectors, header=header))
    table = load_embedding(path)
    np.testing.assert_array_equal(table.vectors, vectors)
    assert table.name == "x"
    misnamed = path.rename(tmp_path / "y.txt")  # the content tells, not the name
    assert load_embedding(misnamed).sha256 == table.sha256


def test_packed_files_that_are_damaged(tmp_path: Path) -> None:
    noise = np.random.default_rng(1).integers(0, 10**6, (5000, 5))
    path = packed(tmp_path / "x.txt.gz", as_text(sample(5000)[0], noise.astype(np.float32)))
    content = path.read_bytes()
    path.write_bytes(content[:-3000])
    with pytest.raises(EmbeddingError, match=r"is damaged or cut short: .* download it again"):
        load_embedding(path)
    middle = len(content) // 2
    path.write_bytes(content[:middle] + bytes([content[middle] ^ 0xFF]) + content[middle + 1 :])
    with pytest.raises(EmbeddingError):
        load_embedding(path)


@pytest.mark.parametrize("magic", [b"BZh91AY&SY", b"PK\x03\x04", b"PK\x05\x06"])
def test_other_packings_are_refused(tmp_path: Path, magic: bytes) -> None:
    with pytest.raises(EmbeddingError, match="unpack it first"):
        load(tmp_path, magic + b"a 1 2\nb 3 4\n")


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
    fast = TWO.parse_fast(block) if block else None
    if fast is None:
        return
    words, vectors = TWO.parse_plain(block, 1)
    assert fast[0] == words
    assert fast[1].tobytes() == vectors.tobytes()


def test_the_fast_parser_is_used_for_ordinary_lines() -> None:
    words, vectors = sample(20, 2)
    for end in (b"\n", b" \n", b"\r\n"):
        fast = TWO.parse_fast(as_text(words, vectors, end=end))
        assert fast is not None
        assert fast[0] == words
        np.testing.assert_array_equal(fast[1], vectors)


@settings(deadline=None)
@given(text=st.decimals(-100, 100, allow_nan=False).map(str))
@example(
    text="1.00000005960464477540"
)  # just above the middle of two float32: float64 rounds to it
@example(text="1.00000017881393432616")
def test_numbers_are_rounded_correctly(text: str) -> None:
    for parse in (TWO.parse_fast, lambda block: TWO.parse_plain(block, 1)):
        parsed = parse(f"w {text} 0\n".encode())
        assert parsed is not None
        got = parsed[1][0, 0]
        exact = Fraction(text)
        error = abs(Fraction(float(got)) - exact)
        for neighbor in (np.nextafter(got, np.float32(-1e9)), np.nextafter(got, np.float32(1e9))):
            assert error <= abs(Fraction(float(neighbor)) - exact)
