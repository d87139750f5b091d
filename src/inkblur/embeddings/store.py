"""Inkblur's own file of word vectors (`.ink`): an Arrow IPC file, memory-mapped.

One record batch with two columns, `word` (utf8) and `vector` (fixed-size list of float32, or of int8
with a multiplier a dimension); the schema's metadata holds name, provenance and fingerprint as JSON. Any
Arrow reader opens it. Float32 tables are used straight from the page cache, so opening costs
the same for 40 MB and 4 GB.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from inkblur.embeddings.table import Embedding
from inkblur.errors import EmbeddingError, OutputError

SUFFIX = ".ink"
_KEY = b"inkblur"
_FORMAT = 1


def write_store(
    path: Path, embedding: Embedding, *, quantised: tuple[NDArray[np.int8], NDArray[np.float32]] | None = None
) -> None:
    """Write `embedding` to `path`, beside it first and renamed at the end.

    `quantised` = (codes, scale) stores int8 codes instead of the float32 table; the
    embedding's vectors must then equal `codes * scale` exactly, so that reading gives back the same
    table and the same fingerprint.
    """
    header: dict[str, Any] = {
        "format": _FORMAT,
        "name": embedding.name,
        "provenance": embedding.provenance,
        "sha256": embedding.sha256,
    }
    table: NDArray[Any] = embedding.vectors
    if quantised is not None:
        table, scale = quantised
        if not np.array_equal(_decode(table, scale), embedding.vectors):
            raise EmbeddingError("the quantised codes do not decode to the embedding's vectors")
        header["scale"] = [float(s) for s in scale]
    column = pa.FixedSizeListArray.from_arrays(
        pa.array(table.reshape(-1)), embedding.dimension
    )
    batch = pa.record_batch([pa.array(embedding.words, pa.utf8()), column], names=["word", "vector"])
    batch = batch.replace_schema_metadata({_KEY: json.dumps(header, sort_keys=True).encode()})
    partial = path.with_name(path.name + ".partial")
    try:
        with pa.OSFile(str(partial), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
            writer.write_batch(batch)
        os.replace(partial, path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from None


def open_store(path: Path) -> Embedding:
    """Open an `.ink` file; float32 tables stay on disk until they are used."""
    try:
        with pa.memory_map(str(path)) as source:
            reader = pa.ipc.open_file(source)
            header = _header(reader.schema.metadata, path)
            if reader.num_record_batches != 1:
                raise EmbeddingError(f"{path}: expected one batch, found {reader.num_record_batches}")
            batch = reader.get_batch(0)
    except FileNotFoundError:
        raise EmbeddingError(f"no such embedding file: {path}") from None
    except (pa.ArrowException, OSError) as error:
        raise EmbeddingError(
            f"{path} is not a readable {SUFFIX} file ({str(error).splitlines()[0]}); "
            "`inkblur embeddings import SOURCE DEST` makes one"
        ) from None
    words = tuple(batch.column("word").to_numpy(zero_copy_only=False).tolist())
    values = batch.column("vector").flatten().to_numpy(zero_copy_only=True)
    vectors = values.reshape(len(words), -1)
    if "scale" in header:
        vectors = _decode(vectors, np.asarray(header["scale"], dtype=np.float32))
    return Embedding._trusted(
        words,
        vectors,
        name=header["name"],
        provenance=header["provenance"],
        sha256=header["sha256"],
    )


def _decode(codes: NDArray[Any], scale: NDArray[np.float32]) -> NDArray[np.float32]:
    decoded: NDArray[np.float32] = codes.astype(np.float32) * scale
    return decoded


def _header(metadata: Mapping[bytes, bytes] | None, path: Path) -> dict[str, Any]:
    if not metadata or _KEY not in metadata:
        raise EmbeddingError(f"{path} is an Arrow file, but not one that Inkblur wrote")
    header: dict[str, Any] = json.loads(metadata[_KEY])
    if header.get("format") != _FORMAT:
        raise EmbeddingError(
            f"{path} has format {header.get('format')}, this version reads {_FORMAT}; import it again"
        )
    return header
