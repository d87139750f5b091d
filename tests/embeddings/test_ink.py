"""The `.ink` file: what is written comes back, and a damaged, forged or foreign one is refused."""

from __future__ import annotations

import json
import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from inkblur import load_embedding
from inkblur.embeddings import store
from inkblur.embeddings.store import file_identity, open_store, recall, write_store
from inkblur.embeddings.table import Adaptation, Embedding
from inkblur.errors import EmbeddingError, OutputError
from inkblur.types import Vectors

DAY = 86_400
ADAPTED = Adaptation("b", "0", "0", 1, 0, 1, (), 1.0, 1.0, 1.0)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(store, "cache_folder", lambda: tmp_path / "cache")
    return tmp_path / "cache"


def small(**parts: Any) -> Embedding:
    vectors = np.arange(6, dtype=np.float32).reshape(3, 2)
    return Embedding(["a", "bé", "c d"], vectors, **{"name": "small", **parts})


def rewritten(path: Path, change: Callable[[dict[str, Any], dict[str, Any]], object]) -> None:
    """The file with its batch and header changed by `change(columns, header)`, unchecked."""
    with pa.ipc.open_file(str(path)) as reader:
        batch = reader.get_batch(0)
    header = json.loads(batch.schema.metadata[b"inkblur"])
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    change(columns, header)
    metadata = {**batch.schema.metadata, b"inkblur": json.dumps(header, sort_keys=True).encode()}
    made = pa.record_batch(columns).replace_schema_metadata(metadata)
    with pa.ipc.new_file(str(path), made.schema) as writer:
        writer.write_batch(made)


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
    assert not back.vectors.flags.writeable
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
    rewritten(tmp_path / "q.ink", lambda columns, header: header.update(scale=[100.0, 0.3]))
    with pytest.raises(EmbeddingError, match="damaged or forged"):
        open_store(tmp_path / "q.ink")


def test_damaged_files_are_refused(tmp_path: Path) -> None:
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
        assert table.words == small().words
        assert table.vectors.tobytes() == small().vectors.tobytes()
        assert table.sha256 == small().sha256


HEADER = {"format": 1, "name": "", "provenance": {}, "sha256": ""}


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("", "not one that Inkblur wrote"),
        ("{", "not a readable"),
        ("[]", "its header is damaged"),
        *[
            (json.dumps({**HEADER, "format": number}), f"has format {number}, this version reads")
            for number in (0, 2, 9)
        ],
        (json.dumps(HEADER), "table of list"),
    ],
)
def test_other_arrow_files_are_refused(tmp_path: Path, header: str, message: str) -> None:
    path = tmp_path / "x.ink"
    batch = pa.record_batch({"word": ["a", "b"], "vector": [[1.0], [2.0]]})
    batch = batch.replace_schema_metadata({"inkblur": header} if header else {})
    with pa.ipc.new_file(str(path), batch.schema) as writer:
        writer.write_batch(batch)
    with pytest.raises(EmbeddingError, match=message):
        load_embedding(path)


@pytest.mark.parametrize("middle", [b"", b"\0" * 64, b"\xff" * 64, b"{}" * 500])
def test_a_store_with_nothing_inside(middle: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.ink"
    path.write_bytes(b"ARROW1\0\0" + middle + b"ARROW1")
    with pytest.raises(EmbeddingError, match=r"is not a readable \.ink file") as error:
        load_embedding(path)
    assert "\n" not in str(error.value)


def test_a_compressed_store_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "x.ink"
    write_store(path, Embedding([str(i) for i in range(1000)], np.zeros((1000, 100)), name="x"))
    with pa.ipc.open_file(str(path)) as reader:
        batch = reader.get_batch(0)
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(str(path), batch.schema, options=options) as writer:
        writer.write_batch(batch)
    assert path.stat().st_size < 30_000
    with pytest.raises(EmbeddingError, match="is compressed"):
        load_embedding(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda columns, header: header.update(sha256="0" * 64),
        lambda columns, header: columns.update(count=pa.array([1, 2, 1], pa.int32())),
        lambda columns, header: header["provenance"]["adapted"][0].update(alpha=9.0),
        lambda columns, header: columns.update(word=pa.array(["a", "bé", "c  d"])),
    ],
)
def test_fingerprint_words_counts_and_adaptation_are_content(tmp_path: Path, change: Any) -> None:
    """Each keeps a header that was true of another content, which keyed cached losses, stored
    strengths, noise streams and the guarantee's sentence.
    """
    path = tmp_path / "x.ink"
    write_store(path, small(counts=[3, 2, 1], provenance={"adapted": [ADAPTED.to_json()]}))
    open_store(path)
    rewritten(path, change)
    with pytest.raises(EmbeddingError, match="damaged or forged: its content has the fingerprint"):
        open_store(path)


def test_words_that_are_no_text_are_not_written(tmp_path: Path) -> None:
    table = Embedding(["a", "\udc80"], np.ones((2, 2)), name="x")
    with pytest.raises(EmbeddingError, match="is not valid Unicode"):
        write_store(tmp_path / "x.ink", table)
    assert not list(tmp_path.iterdir())


def test_a_full_disk_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "x.ink"
    write_store(path, small())
    large = Embedding([str(i) for i in range(1000)], np.ones((1000, 300)), name="x")
    # A limit on the size of files fails in the same call as a full disk does.
    before = resource.getrlimit(resource.RLIMIT_FSIZE), signal.getsignal(signal.SIGXFSZ)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[0][1]))
    try:
        with pytest.raises(OutputError, match="file too large; nothing was kept"):
            write_store(path, large)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before[0])
        signal.signal(signal.SIGXFSZ, before[1])
    assert [p.name for p in tmp_path.iterdir()] == ["x.ink"]
    assert open_store(path).sha256 == small().sha256


def test_a_file_is_hashed_once_and_again_after_any_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.ink"
    write_store(path, small())
    hashed: list[str] = []
    monkeypatch.setattr(store, "check_content", lambda table: hashed.append(table.name))
    open_store(path)
    open_store(path)
    assert len(hashed) == 2  # written a moment ago: too fresh to be remembered
    monkeypatch.setattr(store, "_SETTLED", -DAY)
    open_store(path)
    assert open_store(path).sha256 == small(name="y").sha256
    assert len(hashed) == 3
    # The author may put the old mtime and size back; the kernel's ctime tells.
    before = path.stat()
    whole = bytearray(path.read_bytes())
    whole[whole.find(np.float32(5).tobytes(), 400) + 3] ^= 0x80
    path.write_bytes(whole)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(EmbeddingError, match="damaged or forged"):
        open_store(path)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="owners are a POSIX matter")
def test_a_memory_that_others_can_write_is_not_believed(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_SETTLED", -DAY)
    path = tmp_path / "x.ink"
    write_store(path, small())
    open_store(path)
    assert recall(file_identity(path)) == small().sha256
    (kept,) = (own_cache / "tables").iterdir()
    kept.chmod(0o666)
    assert recall(file_identity(path)) is None
