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
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from inkblur.atomic_file import AtomicFile
from inkblur.embeddings.remembered import identity, recall, remember
from inkblur.embeddings.table import Embedding, Fingerprints, check_content
from inkblur.errors import MALFORMED, EmbeddingError

_KEY = b"inkblur"
_CORPUS = b"inkblur.corpus"
_MAGIC, _END = b"ARROW1\0\0", b"ARROW1"
UNREADABLE = (*MALFORMED, pa.ArrowException, OSError, StopIteration, struct.error)
# Formats; a version that knows no corpus must not open a table with one. In 2 the
# fingerprint left the adaptation out.
_PLAIN, _ADAPTED = 1, 3


def write_store(
    path: Path,
    embedding: Embedding,
    *,
    quantized: tuple[NDArray[np.int8], NDArray[np.float32]] | None = None,
) -> None:
    """Write `embedding` to `path`, complete or not at all.

    `quantized` = (codes, scale) stores int8 codes instead of the float32 table; the embedding's
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
    if quantized is not None:
        table, scale = quantized
        if not np.array_equal(_decode(table, scale), embedding.vectors):
            raise EmbeddingError("the quantized codes do not decode to the embedding's vectors")
        header["scale"] = [float(s) for s in scale]
    try:
        words = pa.array(embedding.words, pa.utf8())
    except UnicodeEncodeError as error:
        raise EmbeddingError(f"the word {error.object!r} is not valid Unicode") from None
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(table.reshape(-1)), embedding.dimension)
    columns: dict[str, Any] = {"word": words, "vector": vectors}
    if embedding.counts is not None:
        small = embedding.counts.max() <= np.iinfo(np.int32).max
        columns["count"] = pa.array(embedding.counts, pa.int32() if small else pa.int64())
    batch = pa.record_batch(columns)
    metadata = {_KEY: json.dumps(header, sort_keys=True).encode()}
    if embedding.corpus.size:
        metadata[_CORPUS] = base64.b64encode(embedding.corpus.astype("<u8").tobytes())
    write_one_batch(path, batch.replace_schema_metadata(metadata))


def open_store(path: Path) -> Embedding:
    """Open an `.ink` file; float32 tables stay on disk until they are used.

    The fingerprint is computed from the content, once a file (:mod:`inkblur.embeddings.remembered`
    keeps it), and must be the one in the header.
    """
    try:
        which = identity(path)
        batch, header, corpus = _read(path)
        words, vectors, counts = _columns(batch, header, path)
        found = recall(which)
        table = Embedding._trusted(
            words,
            vectors,
            name=header["name"],
            provenance=header["provenance"],
            sha256=found,
            corpus=corpus,
            counts=counts,
        )
        table.adaptations  # noqa: B018  # malformed ones must fail here, in one line
        if found is None:
            check_content(table)
        if table.sha256 != header["sha256"]:
            raise EmbeddingError(
                f"{path} is damaged or forged: its content has the fingerprint {table.sha256}, "
                f"but its header says {str(header['sha256'])[:64]!r}; import it again"
            )
        if found is None and identity(path) == which:
            remember(which, table.sha256)
        return table
    except FileNotFoundError:
        raise EmbeddingError(f"no such embedding file: {path}") from None
    except EmbeddingError:
        raise
    except UNREADABLE as error:
        raise _unreadable(path, (str(error).splitlines() or [""])[0]) from None


def _read(path: Path) -> tuple[Any, dict[str, Any], Fingerprints]:
    """The file's one batch, its header and its corpus."""

    def check(schema: Any) -> None:
        _check_types(schema, _header(schema.metadata, path), path)

    schema, batch = one_batch(path, check, lambda why: _unreadable(path, why))
    header = _header(schema.metadata, path)
    return batch, header, _corpus(schema.metadata, header, path)


def write_one_batch(path: Path, batch: Any) -> None:
    """An Arrow file of this batch, complete or not at all; :func:`one_batch` reads it back."""
    with (
        AtomicFile(path) as out,
        out.named_errors(),
        pa.ipc.new_file(pa.PythonFile(out.file, "w"), batch.schema) as writer,
    ):
        writer.write_batch(batch)


def one_batch(
    path: Path, check: Callable[[Any], None], refusal: Callable[[str], Exception]
) -> tuple[Any, Any]:
    """The schema and the one batch of an Arrow file, by the messages in their order; `check` sees
    the schema before the batch is read.

    The footer is not used: it may point anywhere. Compressed batches are refused before they are
    unpacked, since a few bytes can promise gigabytes; Inkblur writes none.
    """
    with pa.memory_map(str(path)) as source:
        source.seek(max(source.size() - len(_END), 0))
        ended = source.read() == _END
        source.seek(0)
        if source.read(len(_MAGIC)) != _MAGIC or not ended:
            raise refusal("it does not begin and end as an Arrow file does")
        messages = pa.ipc.MessageReader.open_stream(source)
        first: Any = messages.read_next_message()
        if first.type != "schema":  # pyarrow would crash
            raise refusal("it has no schema")
        schema = pa.ipc.read_schema(first)
        check(schema)
        message: Any = messages.read_next_message()
        if message.type != "record batch" or is_compressed(message):
            raise refusal("its first batch is compressed, or no batch")
        batch = pa.ipc.read_record_batch(message, schema)
        try:
            more = messages.read_next_message()
        except StopIteration:
            more = None
        if more is not None:
            raise refusal("expected one batch, found more")
    batch.validate()  # sizes and offsets: a damaged file must not be read past its end
    return schema, batch


def _check_types(schema: Any, header: dict[str, Any], path: Path) -> None:
    """Only the columns that `write_store` writes: nothing nested, no extensions."""
    names = ["word", "vector", "count"] if header.get("counts") else ["word", "vector"]
    if schema.names != names:
        raise _unreadable(path, f"its columns are {str(schema.names)[:80]}")
    vector = schema.field("vector").type
    stored = pa.int8() if "scale" in header else pa.float32()
    if not pa.types.is_fixed_size_list(vector) or vector.value_type != stored:
        raise _unreadable(path, f"a table of {str(vector)[:80]}")
    counted = "count" not in names or schema.field("count").type in (pa.int32(), pa.int64())
    if schema.field("word").type != pa.utf8() or not counted:
        raise _unreadable(path, "its words or counts have another type")


def is_compressed(message: Any) -> bool:
    """Whether a record batch names a compression: field 3 of RecordBatch in Arrow's Message.fbs."""
    metadata = message.metadata.to_pybytes()

    def field(table: int, index: int) -> int:
        vtable = table - struct.unpack_from("<i", metadata, table)[0]
        size, slot = struct.unpack_from("<H", metadata, vtable)[0], 4 + 2 * index
        offset = struct.unpack_from("<H", metadata, vtable + slot)[0] if slot < size else 0
        return table + offset if offset else 0

    def follow(at: int) -> int:
        return at + int(struct.unpack_from("<I", metadata, at)[0])

    header = field(follow(0), 2)  # Message.header, a RecordBatch
    return not header or field(follow(header), 3) != 0


def _columns(
    batch: Any, header: dict[str, Any], path: Path
) -> tuple[tuple[str, ...], NDArray[np.float32], NDArray[Any] | None]:
    word_column, vector_column = batch.column(0), batch.column(1)
    word_column.validate(full=True)
    values = vector_column.values
    if any(column.null_count for column in (*batch.columns, values)):
        raise _unreadable(path, "words, vectors or counts are missing")
    # Not flatten() and to_numpy(): they import pyarrow.compute and pandas (where it is installed),
    # which costs more than all the rest.
    words = tuple(word_column.to_pylist())
    width = vector_column.type.list_size
    if len(words) < 2 or width < 1 or len(values) != len(words) * width:
        raise _unreadable(path, f"{len(words)} words with {len(values)} numbers")
    vectors: NDArray[Any] = numbers_of(values).reshape(len(words), width)
    if "scale" in header:
        scale = np.asarray(header["scale"], dtype=np.float32)
        if scale.shape != vectors.shape[1:]:
            raise _unreadable(path, f"{scale.size} multipliers for {vectors.shape[1]} dimensions")
        vectors = _decode(vectors, scale)
    return words, vectors, numbers_of(batch.column(2)) if header.get("counts") else None


def numbers_of(column: Any) -> NDArray[Any]:
    """A column of plain numbers without a copy."""
    # Arrow's to_pandas_dtype imports pandas before version 22.
    name = str(column.type)
    kind = np.dtype(
        {"halffloat": "float16", "float": "float32", "double": "float64"}.get(name, name)
    )
    return np.frombuffer(column.buffers()[1], kind, len(column), column.offset * kind.itemsize)


def _decode(codes: NDArray[Any], scale: NDArray[np.float32]) -> NDArray[np.float32]:
    decoded: NDArray[np.float32] = codes.astype(np.float32) * scale
    return decoded


def _unreadable(path: Path, why: str) -> EmbeddingError:
    return EmbeddingError(
        f"{path} is not a readable .ink file ({why}); "
        "`inkblur embeddings import SOURCE DEST` makes one"
    )


def _header(metadata: Mapping[bytes, bytes] | None, path: Path) -> dict[str, Any]:
    if not metadata or _KEY not in metadata:
        raise EmbeddingError(f"{path} is an Arrow file, but not one that Inkblur wrote")
    header = json.loads(metadata[_KEY])
    expected = {"name": str, "provenance": dict, "sha256": str}
    if not isinstance(header, dict) or not all(
        isinstance(header.get(key), kind) for key, kind in expected.items()
    ):
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
