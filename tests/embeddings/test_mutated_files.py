"""Every reader of tables and vectors: 10,000 mutated files each (500 in a quick run), no crash, no hang, no gigabyte."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from inkblur import load_embedding
from inkblur.embeddings.store import write_store
from inkblur.embeddings.table import Embedding
from inkblur.errors import EmbeddingError
from tests.embeddings.fuzz_readers import FORMATS

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited by RLIMIT_AS")
@pytest.mark.parametrize("mutations", [500, pytest.param(10_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("kind", FORMATS)
def test_mutated_files_are_read_or_refused(kind: str, mutations: int, tmp_path: Path) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-W", "error", "-m", "tests.embeddings.fuzz_readers"),
            *(kind, str(mutations), "13", str(tmp_path)),
        ],
        cwd=ROOT,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    read, refused = map(int, done.stdout.split())
    assert read + refused == mutations
    assert refused > mutations / 10  # the mutations do reach the reader's checks


def test_a_header_that_promises_millions_of_dimensions(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(b"2 2000000\nthe ")
    with pytest.raises(EmbeddingError, match="vectors of 2000000 numbers, more than 16384"):
        load_embedding(path)


def test_a_compressed_store_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "x.ink"
    zeros = np.zeros((1000, 100), np.float32)
    zeros[:, 0] = np.arange(1000)
    write_store(path, Embedding([str(i) for i in range(1000)], zeros, name="x"))
    with pa.ipc.open_file(str(path)) as reader:
        batch = reader.get_batch(0)
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(str(path), batch.schema, options=options) as writer:
        writer.write_batch(batch)
    assert path.stat().st_size < 30_000
    with pytest.raises(EmbeddingError, match="is compressed"):
        load_embedding(path)


@pytest.mark.parametrize("middle", [b"", b"\0" * 64, b"\xff" * 64, b"{}" * 500])
def test_a_store_with_nothing_inside(middle: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.ink"
    path.write_bytes(b"ARROW1\0\0" + middle + b"ARROW1")
    with pytest.raises(EmbeddingError, match=r"is not a readable \.ink file") as error:
        load_embedding(path)
    assert "\n" not in str(error.value)


def test_a_packed_line_without_end(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(b"the " + b"1" * (1 << 27)))
    with pytest.raises(EmbeddingError):
        load_embedding(path)
