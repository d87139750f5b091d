"""The doors: where `load_embedding` looks, how a table is narrowed, what an import writes."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from inkblur import load_embedding
from inkblur.embeddings import store, vector_files
from inkblur.embeddings.loading import available, check_dest
from inkblur.embeddings.store import write_store
from inkblur.errors import EmbeddingError, InkblurError, OutputError, ParameterError
from inkblur.types import Vectors
from tests.embeddings.vector_files import as_binary, as_text, packed, sample


@pytest.fixture
def glove(tmp_path: Path) -> Path:
    return packed(tmp_path / "glove.txt", as_text(*sample(20, 3)))


@settings(deadline=None)
@given(
    vectors=arrays(
        np.float32,
        st.tuples(st.integers(2, 6), st.integers(1, 4)),
        elements=st.floats(width=32, allow_nan=False, allow_infinity=False),
    ),
    letters=st.lists(
        st.text("abé\"'.,\xa0\u2028", min_size=1), min_size=6, max_size=6, unique=True
    ),
)
def test_every_format_holds_the_same_table(
    tmp_path_factory: pytest.TempPathFactory, vectors: Vectors, letters: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("formats")
    words = [word.encode() for word in letters[: len(vectors)]]
    contents = {
        "glove": as_text(words, vectors),
        "word2vec": as_text(words, vectors, header=True),
        "fasttext": as_text(words, vectors, header=True, end=b" \n"),
        "word2vec-binary": as_binary(words, vectors),
    }
    np.save(folder / "npy", vectors)
    (folder / "npy.vocab.txt").write_bytes(b"\n".join(words))
    tables = [load_embedding(folder / "npy.npy")]
    for kind, content in contents.items():
        (folder / kind).write_bytes(content)
        tables.append(load_embedding(folder / kind, format=kind))
        write_store(folder / f"{kind}.ink", tables[-1])
        tables.append(load_embedding(folder / f"{kind}.ink"))
    assert tables[0].words == tuple(letters[: len(vectors)])
    assert tables[0].vectors.tobytes() == vectors.tobytes()
    for one, other in pairwise(tables):
        assert one.sha256 == other.sha256


def test_limit_takes_the_first_distinct_words_and_stops_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = packed(tmp_path / "x.txt", b"a 1\nb 2\na 3\nc 4\nd 5\n")
    table = load_embedding(path, limit=3)
    assert table.words == ("a", "b", "c")
    assert table.vectors.tolist() == [[1], [2], [4]]
    assert (table.provenance["limit"], table.provenance["duplicates_dropped"]) == (3, 1)
    monkeypatch.setattr(vector_files, "BLOCK", 1000)
    path = packed(tmp_path / "y.txt", as_text(*sample(2000, 3)) + b"damage far behind\n")
    assert len(load_embedding(path, limit=10)) == 10
    with pytest.raises(EmbeddingError, match="line 2001"):
        load_embedding(path)


def test_limit_and_vocabulary_narrow_every_source_alike(glove: Path, tmp_path: Path) -> None:
    ink = tmp_path / "x.ink"
    write_store(ink, load_embedding(glove))
    words = tmp_path / "words.txt"
    words.write_bytes(b"w15\n\n  w3 \nw7\r\nnowhere\nw3\n")
    for source in (glove, ink):
        by_file = load_embedding(source, limit=10, vocabulary=words)
        by_list = load_embedding(source, limit=10, vocabulary=["w7", "w15", "w3"])
        assert by_file.words == by_list.words == ("w3", "w7")
        assert by_file.vectors.tolist() == load_embedding(glove).vectors[[3, 7]].tolist()
        assert by_file.provenance["vocabulary"] == "words.txt"
        assert by_file.provenance["limit"] == 10
        assert by_file.sha256 == by_list.sha256 != load_embedding(glove).sha256


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"limit": 0}, ParameterError, "limit must be a whole number of at least 1, got 0"),
        ({"limit": 1}, EmbeddingError, "1 usable word"),
        ({"vocabulary": ["nowhere"]}, EmbeddingError, "only 0 of the 1 word in a list of 1 word"),
        ({"vocabulary": []}, EmbeddingError, "the vocabulary is empty"),
        ({"vocabulary": "missing.txt"}, EmbeddingError, "no such word list: missing.txt"),
        ({"format": "word2vec"}, EmbeddingError, "line 1 of .* is not a word2vec header"),
        ({"format": "ink"}, EmbeddingError, r"is not a readable \.ink file"),
        ({"format": "npy"}, EmbeddingError, r"is not a readable \.npy table"),
        ({"format": "csv"}, ParameterError, "unknown format 'csv'; choose one of: ink, glove"),
    ],
)
def test_wrong_options(
    glove: Path, options: dict[str, Any], error: type[InkblurError], message: str
) -> None:
    with pytest.raises(error, match=message):
        load_embedding(glove, **options)


def test_bad_word_lists(glove: Path, tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_bytes(b"w1\ncaf\xe9\n")
    with pytest.raises(EmbeddingError, match=r"line 2 of .*words\.txt is not UTF-8 \(byte 3"):
        load_embedding(glove, vocabulary=words)
    words.write_bytes(b"\n\n")
    with pytest.raises(EmbeddingError, match="holds no word"):
        load_embedding(glove, vocabulary=words)
    with pytest.raises(EmbeddingError, match="cannot read"):
        load_embedding(glove, vocabulary=tmp_path)


def test_the_override_beats_the_content(tmp_path: Path) -> None:
    path = packed(tmp_path / "x.txt", b"7 1\n8 2\n")  # one dimension, and words that are numbers
    assert load_embedding(path, format="glove").words == ("7", "8")
    with pytest.raises(EmbeddingError, match="promises 7 words"):
        load_embedding(path)


def test_names_are_ink_files_here(
    glove: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_store(Path("mine.ink"), load_embedding("glove.txt", name="My vectors"))
    assert load_embedding("mine").name == "My vectors"
    Path("mine").mkdir()
    assert load_embedding("mine").name == "My vectors"
    with pytest.raises(EmbeddingError, match=r"no such file or embedding: yours; .*list"):
        load_embedding("yours")
    Path("empty").mkdir()
    with pytest.raises(EmbeddingError, match="empty is a directory"):
        load_embedding("empty")


def test_the_list_gives_names_that_load(
    glove: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_store(Path("mine.ink"), load_embedding("glove.txt"))
    write_store(Path("bundled.ink"), load_embedding("glove.txt", limit=5))  # a name that is taken
    assert available() == ["bundled", "./bundled.ink", "mine"]
    assert len(load_embedding("./bundled.ink")) == 5
    assert len(load_embedding("bundled")) > 20
    assert available(tmp_path)[1:] == [
        str(tmp_path / f"{name}.ink") for name in ("bundled", "mine")
    ]
    with pytest.raises(EmbeddingError, match="no such directory"):
        available(tmp_path / "nowhere")


def test_a_missing_bundle_is_said_clearly(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(store, "_BUNDLED", tmp_path / "bundled.ink")
    for source in (None, "bundled"):
        with pytest.raises(EmbeddingError, match="reinstall inkblur"):
            load_embedding(source)


def test_an_import_says_what_it_did(tmp_path: Path) -> None:
    words, vectors = sample(300, 3)
    words[4], words[8] = words[0], b"\xff"
    path = packed(tmp_path / "news.300d.txt.gz", as_text(words, vectors))
    seen: list[tuple[int, int]] = []
    table = load_embedding(path, on_progress=lambda read, total: seen.append((read, total)))
    write_store(tmp_path / "x.ink", table)
    assert table.name == "news.300d"
    assert seen[-1] == (path.stat().st_size, path.stat().st_size)
    back = load_embedding(tmp_path / "x.ink")
    assert back.provenance == {
        "source": "news.300d.txt.gz",
        "format": "glove",
        "duplicates_dropped": 1,
        "not_utf8_skipped": 1,
    }


def test_bad_destinations(glove: Path, tmp_path: Path) -> None:
    ink = tmp_path / "x.ink"
    write_store(ink, load_embedding(glove))
    (tmp_path / "dir.ink").mkdir()
    (tmp_path / "link.ink").symlink_to(ink)
    for source, dest, message in [
        (glove, tmp_path / "x.bin", r"must end in \.ink, got x\.bin"),
        (glove, tmp_path / "dir.ink", "is a directory"),
        (glove, tmp_path / "nowhere" / "x.ink", "no such directory"),
        (ink, ink, "is the source itself"),
        (ink, tmp_path / "link.ink", "is the source itself"),
        (tmp_path / "x", ink, "is the source itself"),
    ]:
        with pytest.raises(OutputError, match=message):
            check_dest(dest, str(source))
