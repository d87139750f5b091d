"""Inkblur's own file of word vectors (`.ink`): an Arrow IPC file, memory-mapped.

One record batch with two or three columns: `word` (utf8), `vector` (fixed-size list of float32, or
of int8 with a multiplier a dimension) and, where public counts are known, `count` (int32 or int64);
the schema's metadata holds name, provenance and fingerprint as
JSON, and for an adapted table the fingerprints of its corpus's texts (uint64 in base64) and another
format number: versions that know no corpus would promise too much. Any Arrow reader opens it.
Float32 tables are used straight from the page cache, so opening costs the same for 40 MB and 4 GB.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from inkblur.atomic_file import AtomicFile
from inkblur.embeddings.table import Embedding, Fingerprints
from inkblur.errors import EmbeddingError

SUFFIX = ".ink"
_KEY = b"inkblur"
_CORPUS = b"inkblur.corpus"
_PLAIN, _ADAPTED = 1, 2  # formats; a version that knows no corpus must not open a table with one


def write_store(
    path: Path,
    embedding: Embedding,
    *,
    quantised: tuple[NDArray[np.int8], NDArray[np.float32]] | None = None,
) -> None:
    """Write `embedding` to `path`, complete or not at all.

    `quantised` = (codes, scale) stores int8 codes instead of the float32 table; the embedding's
    vectors must then equal `codes * scale` exactly, so that reading gives back the same table and
    the same fingerprint.
    """
    header: dict[str, Any] = {
        "format": _ADAPTED if "adapted" in embedding.provenance else _PLAIN,
        "name": embedding.name,
        "provenance": embedding.provenance,
        "sha256": embedding.sha256,
        "corpus": int(embedding.corpus.size),
        "counts": embedding.counts is not None,
    }
    table: NDArray[Any] = embedding.vectors
    if quantised is not None:
        table, scale = quantised
        if not np.array_equal(_decode(table, scale), embedding.vectors):
            raise EmbeddingError("the quantised codes do not decode to the embedding's vectors")
        header["scale"] = [float(s) for s in scale]
    try:
        words = pa.array(embedding.words, pa.utf8())
    except UnicodeEncodeError as error:
        raise EmbeddingError(f"the word {error.object!r} is no Unicode text") from None
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(table.reshape(-1)), embedding.dimension)
    columns: dict[str, Any] = {"word": words, "vector": vectors}
    if embedding.counts is not None:
        small = embedding.counts.max() <= np.iinfo(np.int32).max
        columns["count"] = pa.array(embedding.counts, pa.int32() if small else pa.int64())
    batch = pa.record_batch(columns)
    metadata = {_KEY: json.dumps(header, sort_keys=True).encode()}
    if embedding.corpus.size:
        metadata[_CORPUS] = base64.b64encode(embedding.corpus.astype("<u8").tobytes())
    batch = batch.replace_schema_metadata(metadata)
    with (
        AtomicFile(path) as out,
        out.named_errors(),
        pa.ipc.new_file(pa.PythonFile(out.file, "w"), batch.schema) as writer,
    ):
        writer.write_batch(batch)


def open_store(path: Path) -> Embedding:
    """Open an `.ink` file; float32 tables stay on disk until they are used."""
    try:
        with pa.memory_map(str(path)) as source:
            reader = pa.ipc.open_file(source)
            header = _header(reader.schema.metadata, path)
            corpus = _corpus(reader.schema.metadata, header, path)
            if reader.num_record_batches != 1:
                raise EmbeddingError(
                    f"{path}: expected one batch, found {reader.num_record_batches}"
                )
            batch = reader.get_batch(0)
        batch.validate()  # sizes and offsets: a damaged file must not be read past its end
        word_column: Any = batch.column("word")
        vector_column: Any = batch.column("vector")
        word_column.validate(full=True)
        values = vector_column.values
    except FileNotFoundError:
        raise EmbeddingError(f"no such embedding file: {path}") from None
    except (pa.ArrowException, OSError, KeyError, ValueError, AttributeError) as error:
        raise _unreadable(path, str(error).splitlines()[0]) from None
    if word_column.null_count or vector_column.null_count or values.null_count:
        raise _unreadable(path, "words or vectors are missing")
    # Not flatten() and to_numpy(): they import pyarrow.compute and pandas (where it is installed),
    # which costs more than all the rest.
    words = tuple(word_column.to_pylist())
    stored = np.dtype(np.int8 if "scale" in header else np.float32)
    if not words or values.type != pa.from_numpy_dtype(stored) or len(values) % len(words):
        raise _unreadable(path, f"{len(words)} words with a table of {values.type}")
    offset = values.offset * stored.itemsize
    vectors = np.frombuffer(values.buffers()[1], stored, len(values), offset)
    vectors = vectors.reshape(len(words), -1)
    if "scale" in header:
        scale = np.asarray(header["scale"], dtype=np.float32)
        if scale.shape != vectors.shape[1:]:
            raise _unreadable(path, f"{scale.size} multipliers for {vectors.shape[1]} dimensions")
        vectors = _decode(vectors, scale)
    counts = _counts(batch, path) if header.get("counts") else None
    return Embedding._trusted(
        words,
        vectors,
        name=header["name"],
        provenance=header["provenance"],
        sha256=header["sha256"],
        corpus=corpus,
        counts=counts,
    )


def _counts(batch: Any, path: Path) -> NDArray[Any]:
    index = batch.schema.get_field_index("count")
    column = batch.column(index) if index >= 0 else None
    if column is None or column.null_count or column.type not in (pa.int32(), pa.int64()):
        raise _unreadable(path, "its counts are missing")
    width = np.dtype(column.type.to_pandas_dtype())
    return np.frombuffer(column.buffers()[1], width, len(column), column.offset * width.itemsize)


def _decode(codes: NDArray[Any], scale: NDArray[np.float32]) -> NDArray[np.float32]:
    decoded: NDArray[np.float32] = codes.astype(np.float32) * scale
    return decoded


def _unreadable(path: Path, why: str) -> EmbeddingError:
    return EmbeddingError(
        f"{path} is not a readable {SUFFIX} file ({why}); "
        "`inkblur embeddings import SOURCE DEST` makes one"
    )


def _header(metadata: Mapping[bytes, bytes] | None, path: Path) -> dict[str, Any]:
    if not metadata or _KEY not in metadata:
        raise EmbeddingError(f"{path} is an Arrow file, but not one that Inkblur wrote")
    header = json.loads(metadata[_KEY])
    if not isinstance(header, dict) or not {"name", "provenance", "sha256"} <= header.keys():
        raise _unreadable(path, "its header is damaged")
    if header.get("format") not in (_PLAIN, _ADAPTED):
        raise EmbeddingError(
            f"{path} has format {header.get('format')}, this version reads {_PLAIN} and "
            f"{_ADAPTED}; use the version of Inkblur that wrote it, or import it again"
        )
    return header


def _corpus(metadata: Mapping[bytes, bytes], header: dict[str, Any], path: Path) -> Fingerprints:
    """Which texts may not be protected with this table. Losing any of them must not go unseen."""
    try:
        stored = base64.b64decode(metadata.get(_CORPUS, b""), validate=True)
        found: Fingerprints = np.frombuffer(stored, "<u8").astype(np.uint64)
    except (binascii.Error, ValueError):
        raise _unreadable(path, "the fingerprints of its corpus are damaged") from None
    if len(found) != header.get("corpus", 0):
        raise _unreadable(path, "some fingerprints of its corpus are missing")
    return found
