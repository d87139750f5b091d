"""Inkblur's own file: what is written comes back, and a damaged one is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from inkblur import load_embedding
from inkblur.embeddings.store import open_store, write_store
from inkblur.embeddings.table import Embedding
from inkblur.errors import EmbeddingError, OutputError
from inkblur.types import Vectors


def small(name: str = "small") -> Embedding:
    vectors = np.arange(6, dtype=np.float32).reshape(3, 2)
    return Embedding(["a", "bé", "c d"], vectors, name=name, provenance={"from": "a test"})


@settings(deadline=None)
@given(
    words=st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=2, unique=True),
    data=st.data(),
)
def test_any_table_comes_back_whole(
    tmp_path_factory: pytest.TempPathFactory, words: list[str], data: st.DataObject
) -> None:
    numbers = st.floats(width=32, allow_nan=False, allow_infinity=False)
    vectors: Vectors = data.draw(arrays(np.float32, (len(words), 3), elements=numbers))
    table = Embedding(words, vectors, name="any", provenance={"k": ["v", 1]})
    path = tmp_path_factory.mktemp("store") / "x.ink"
    write_store(path, table)
    back = open_store(path)
    assert (back.words, back.name, back.provenance) == (tuple(words), "any", {"k": ["v", 1]})
    assert back.vectors.tobytes() == vectors.tobytes()
    assert back.sha256 == table.sha256
    back.verify()


def test_quantized_tables_come_back_whole(tmp_path: Path) -> None:
    codes = np.array([[1, -2], [127, 0], [-128, 5]], np.int8)
    scale = np.array([0.1, 0.3], np.float32)
    table = Embedding(["a", "b", "c"], codes.astype(np.float32) * scale, name="q")
    write_store(tmp_path / "q.ink", table, quantized=(codes, scale))
    back = open_store(tmp_path / "q.ink")
    assert back.vectors.tobytes() == table.vectors.tobytes()
    back.verify()
    with pytest.raises(EmbeddingError, match="do not decode"):
        write_store(tmp_path / "q.ink", table, quantized=(codes, scale * 2))


def test_what_is_opened_cannot_be_changed(tmp_path: Path) -> None:
    write_store(tmp_path / "x.ink", small())
    with pytest.raises(ValueError, match="read-only"):
        open_store(tmp_path / "x.ink").vectors[0, 0] = 1


def test_damaged_files_are_refused_or_fail_verification(tmp_path: Path) -> None:
    path = tmp_path / "x.ink"
    write_store(path, small())
    whole = path.read_bytes()
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        with pytest.raises(EmbeddingError):
            load_embedding(path)
    for at in range(0, len(whole), 5):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x81]) + whole[at + 1 :])
        try:
            table = open_store(path)
        except EmbeddingError:
            continue
        same = table.words == small().words and np.array_equal(table.vectors, small().vectors)
        if not same or table.sha256 != small().sha256:
            with pytest.raises(EmbeddingError, match="is damaged: its content has"):
                table.verify()


def test_other_arrow_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.ink"
    batch = pa.record_batch({"word": ["a", "b"], "vector": [[1.0], [2.0]]})
    cases: list[tuple[dict[str, str], str]] = [
        ({}, "not one that Inkblur wrote"),
        ({"inkblur": "{"}, "not a readable"),
        ({"inkblur": "[]"}, "its header is damaged"),
        ({"inkblur": '{"format": 9, "name": "", "provenance": {}, "sha256": ""}'}, "has format 9"),
        (
            {"inkblur": '{"format": 1, "name": "", "provenance": {}, "sha256": ""}'},
            "table of list",
        ),
    ]
    for metadata, message in cases:
        with pa.ipc.new_file(str(path), batch.schema.with_metadata(metadata)) as writer:
            writer.write_batch(batch.replace_schema_metadata(metadata))
        with pytest.raises(EmbeddingError, match=message):
            load_embedding(path)


def test_words_that_are_no_text_are_not_written(tmp_path: Path) -> None:
    table = Embedding(["a", "\udc80"], np.ones((2, 2)), name="x")
    with pytest.raises(EmbeddingError, match="is not valid Unicode"):
        write_store(tmp_path / "x.ink", table)
    assert not list(tmp_path.iterdir())


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
import numpy as np
from inkblur.embeddings.table import Embedding
from inkblur.embeddings.store import write_store
from inkblur.errors import OutputError
table = Embedding([str(i) for i in range(1000)], np.ones((1000, 300)), name="x")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    write_store(Path(sys.argv[1]), table)
except OutputError as error:
    print(error)
"""


def test_a_full_disk_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "x.ink"
    write_store(path, small())
    # A limit on the size of files fails in the same call as a full disk does.
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(path)], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"cannot write {path}: file too large; nothing was kept\n"
    assert [p.name for p in tmp_path.iterdir()] == ["x.ink"]
    assert open_store(path).sha256 == small().sha256


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_unwritable_place(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match="cannot write"):
        write_store(tmp_path / "x.ink", small())
