"""A table is what its content says: forged or damaged `.ink` files are refused.

Each plant keeps a header that was true of another content, which keyed cached losses, stored
strengths, noise streams and the guarantee's sentence.
"""

from __future__ import annotations

import json
import os
import shutil
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from inkblur.embeddings import store
from inkblur.embeddings.store import file_identity, open_store, recall, write_store
from inkblur.embeddings.table import Embedding
from inkblur.errors import EmbeddingError

DAY = 86_400


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(store, "cache_folder", lambda: tmp_path / "cache")
    return tmp_path / "cache"


def bundled_copy(folder: Path) -> Path:
    file = resources.files("inkblur.embeddings") / "data" / "bundled.ink"
    with resources.as_file(file) as path:
        return Path(shutil.copy(path, folder / "bundled.ink"))


def rewritten(path: Path, change: Any) -> None:
    """The file with its batch and header changed by `change(columns, header)`, header unchecked."""
    with pa.ipc.open_file(str(path)) as reader:
        batch = reader.get_batch(0)
    header = json.loads(batch.schema.metadata[b"inkblur"])
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    change(columns, header)
    metadata = {b"inkblur": json.dumps(header, sort_keys=True).encode()}
    made = pa.record_batch(columns).replace_schema_metadata(metadata)
    with pa.ipc.new_file(str(path), made.schema) as writer:
        writer.write_batch(made)


def test_the_bundled_fingerprint_over_other_vectors(tmp_path: Path) -> None:
    genuine = open_store(bundled_copy(tmp_path))
    forged = tmp_path / "forged.ink"
    write_store(forged, Embedding(["a", "b", "c"], np.eye(3), name="bundled"))

    def lie(columns: dict[str, Any], header: dict[str, Any]) -> None:
        header["sha256"] = genuine.sha256

    rewritten(forged, lie)
    with pytest.raises(EmbeddingError, match="damaged or forged: its content has the fingerprint"):
        open_store(forged)


def test_the_bundled_vectors_times_a_thousand(tmp_path: Path) -> None:
    path = bundled_copy(tmp_path)

    def louder(columns: dict[str, Any], header: dict[str, Any]) -> None:
        header["scale"] = [1000 * s for s in header["scale"]]

    rewritten(path, louder)
    with pytest.raises(EmbeddingError, match="damaged or forged"):
        open_store(path)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_one_flipped_bit_of_the_content(tmp_path: Path, share: float) -> None:
    path = tmp_path / "x.ink"
    rng = np.random.default_rng(7)
    words = [f"word{i}" for i in range(500)]
    write_store(path, Embedding(words, rng.normal(size=(500, 40)), name="x"))
    whole = bytearray(path.read_bytes())
    whole[int(share * len(whole))] ^= 1
    path.write_bytes(whole)
    with pytest.raises(EmbeddingError, match="damaged or forged"):
        open_store(path)


@pytest.mark.parametrize("what", ["counts", "adapted"])
def test_counts_and_adaptation_are_content(tmp_path: Path, what: str) -> None:
    path = tmp_path / "x.ink"
    provenance = {"adapted": [adaptation()]} if what == "adapted" else {}
    write_store(
        path, Embedding(["a", "b"], np.eye(2), name="x", counts=[2, 1], provenance=provenance)
    )
    open_store(path)

    def strip(columns: dict[str, Any], header: dict[str, Any]) -> None:
        if what == "counts":
            columns["count"] = pa.array([1, 2], pa.int32())
        else:
            header["provenance"]["adapted"][0]["alpha"] = 9.0

    rewritten(path, strip)
    with pytest.raises(EmbeddingError, match="damaged or forged"):
        open_store(path)


def adaptation() -> dict[str, Any]:
    return {
        "base": "b",
        "base_sha256": "0",
        "corpus_sha256": "0",
        "documents": 1,
        "skipped": 0,
        "words": 1,
        "columns": [],
        "alpha": 1.0,
        "beta": 1.0,
        "smoothing": 1.0,
    }


def test_a_file_is_hashed_once_and_again_after_any_write(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.ink"
    write_store(path, Embedding(["a", "b"], np.eye(2), name="x"))
    hashed: list[str] = []
    monkeypatch.setattr(store, "check_content", lambda table: hashed.append(table.name))
    open_store(path)
    open_store(path)
    assert len(hashed) == 2  # written a moment ago: too fresh to be remembered
    monkeypatch.setattr(store, "_SETTLED", -DAY)
    open_store(path)
    assert open_store(path).sha256 == Embedding(["a", "b"], np.eye(2), name="y").sha256
    assert len(hashed) == 3
    # The author may put the old mtime and size back; the kernel's ctime tells.
    before = path.stat()
    whole = bytearray(path.read_bytes())
    at = whole.find(np.float32(1).tobytes(), 400)
    whole[at + 3] ^= 0x80
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
    write_store(path, Embedding(["a", "b"], np.eye(2), name="x"))
    open_store(path)
    which = file_identity(path)
    assert recall(which) is not None
    (kept,) = (own_cache / "tables").iterdir()
    kept.chmod(0o666)
    assert recall(which) is None


def test_words_with_line_ends_do_not_share_a_fingerprint() -> None:
    one = Embedding(["a\nb", "c"], np.eye(2), name="x")
    other = Embedding(["a", "b\nc"], np.eye(2), name="x")
    assert one.sha256 != other.sha256
