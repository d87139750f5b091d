"""Word vectors by name: `load_embedding`, and Inkblur's own file (`.ink`), which it opens at once.

An `.ink` file is an Arrow IPC file, memory-mapped: one record batch with two or three columns,
`word` (utf8), `vector` (fixed-size list of float32, or of int8 with a multiplier a dimension) and,
where public counts are known, `count` (int32 or int64). The schema's metadata holds name,
provenance and fingerprint as JSON, and for an adapted table the fingerprints of its corpus's texts
(uint64 in base64) and another format number: versions that know no corpus would promise too much.
Any Arrow reader opens it.

Hashing a table takes longer than opening it, so a fingerprint is remembered in the user's cache
folder under the file's device, inode, size, mtime and ctime, in nanoseconds. Whoever sends a table
can choose its bytes and its mtime, but not the ctime that this machine's kernel sets. Anyone who
can write into the cache folder, or set the clock and write the table in place, already runs as the
user or as root. A table that is memory-mapped and *then* written in place changes under the run
that uses it: no fingerprint sees that. Inkblur replaces tables as a whole; do the same.
"""

from __future__ import annotations

import base64
import json
import os
import re
import struct
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from inkblur.atomic_file import AtomicFile
from inkblur.cache import cache_folder, keep_value, kept_value
from inkblur.embeddings.table import Embedding, Fingerprints, PublicCounts, check_content
from inkblur.errors import MALFORMED, EmbeddingError, ParameterError
from inkblur.types import Vectors, whole

BUNDLED = "bundled"
SUFFIX = ".ink"
_BUNDLED = Path(__file__).parent / "data" / (BUNDLED + SUFFIX)
_KEY = b"inkblur"
_CORPUS = b"inkblur.corpus"
_MAGIC, _END = b"ARROW1\0\0", b"ARROW1"
UNREADABLE = (*MALFORMED, pa.ArrowException, OSError, StopIteration, struct.error)
# Formats; a version that knows no corpus must not open a table with one. In 2 the
# fingerprint left the adaptation out.
_PLAIN, _ADAPTED = 1, 3
_RULE = 2  # of the fingerprint; raise it when Embedding.sha256 changes
_SETTLED = 2.0  # seconds: coarse clocks could give a later write the same ctime
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")

T = TypeVar("T")
Progress = Callable[[int, int], None]  # bytes of the file read so far, bytes in all


def load_embedding(
    source: str | os.PathLike[str] | None = None,
    *,
    limit: int | None = None,
    vocabulary: str | Path | Iterable[str] | None = None,
    format: str | None = None,
    name: str | None = None,
    frequencies: str | Path | None = None,
    on_progress: Progress | None = None,
) -> Embedding:
    """Word vectors from wherever they are.

    `source` is nothing or "bundled" (the embedding shipped with Inkblur), a path, or the name of an
    `.ink` file in the current directory. Paths may be `.ink` files (memory-mapped, at once),
    word2vec text or binary, GloVe, fastText `.vec` (each also as .gz) or `.npy` with a word list
    beside it. The content shows the format, unless `format` names it.

    `limit` takes the first so many words; `vocabulary` (a file, one word per line, or the words)
    keeps only those. **The vocabulary must be public**: one taken from the text that is to be
    protected would leak it.

    `frequencies` is a public file of `word count` lines, or of words with the commonest first
    (counted by Zipf's law): it becomes the table's :attr:`~inkblur.Embedding.counts`.
    """
    path = _BUNDLED if source is None or source == BUNDLED else find(source)
    limit = None if limit is None else whole(limit, "limit")
    if not is_ink(path, format):
        from inkblur.embeddings.loading import read_vectors

        table = read_vectors(path, format, limit, vocabulary, name, on_progress)
    else:
        table = open_store(path)
        if limit is not None:
            table = table.first(limit)
            table = table._with(provenance={**table.provenance, "limit": limit})
        if vocabulary is not None:
            from inkblur.embeddings.word_lists import public_words

            words, origin = public_words(vocabulary)
            table = table.restricted(words, origin=origin)
        if name is not None:
            table = table._with(name=name, sha256=table.sha256)
    if frequencies is None:
        return table
    from inkblur.embeddings.word_lists import with_frequencies

    return with_frequencies(table, Path(frequencies))


def find(source: str | os.PathLike[str]) -> Path:
    """The file that is meant: a path, or the name of an `.ink` file in the current directory."""
    if not isinstance(source, str | os.PathLike):
        raise ParameterError(
            f"cannot load vectors from a {type(source).__name__}; give a path. "
            "`inkblur.Embedding(words, vectors, name=...)` takes arrays"
        )
    path = Path(source)
    if path.exists() and not path.is_dir():
        return path
    named = path.with_name(path.name + SUFFIX) if path.name else path
    if named.is_file():
        return named
    if path.is_dir():
        raise EmbeddingError(
            f"{path} is a directory; name the file of word vectors inside it "
            f"(`inkblur embeddings list {path}` shows what is there)"
        )
    raise EmbeddingError(
        f"no such file or embedding: {path}; `inkblur embeddings list` shows what there is"
    )


def is_ink(path: Path, format: str | None) -> bool:
    """Whether a file is an `.ink` file: by `format`, where it is named, or by its first bytes."""
    if format is not None:
        return format == "ink"
    try:
        with path.open("rb") as file:
            return file.seekable() and file.read(len(_MAGIC)) == _MAGIC
    except OSError as error:
        missing = "; reinstall inkblur, or name a file of word vectors" if path == _BUNDLED else ""
        raise EmbeddingError(f"cannot read {path}: {error.strerror or error}{missing}") from None


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
        if not np.array_equal(table * scale, embedding.vectors):
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

    The fingerprint is computed from the content, once a file, and must be the one in the header.
    """
    try:
        identity = file_identity(path)
        found = recall(identity)
        refuse = partial(_unreadable, path)
        (header, corpus), batch = one_batch(path, partial(_header, path), refuse)
        words, vectors, counts = _columns(batch, header, path)
        table = Embedding.checked_before(
            words,
            vectors,
            header["name"],
            header["provenance"],
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
        if found is None:
            remember(path, identity, table.sha256)
        return table
    except FileNotFoundError:
        raise EmbeddingError(f"no such embedding file: {path}") from None
    except EmbeddingError:
        raise
    except UNREADABLE as error:
        raise _unreadable(path, (str(error).splitlines() or [""])[0]) from None


def file_identity(path: Path) -> tuple[int, ...]:
    """What tells this file from any other, and from itself before or after a write."""
    found = path.stat()
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def recall(identity: tuple[int, ...]) -> str | None:
    """The fingerprint found earlier for exactly this file, if any."""
    found = kept_value(cache_folder() / "tables", f"table {_RULE} {identity}")
    return found if isinstance(found, str) and _DIGEST.match(found) else None


def remember(path: Path, identity: tuple[int, ...], sha256: str) -> None:
    """Keep a fingerprint, some hundred bytes, for the next time: not of a file that was written
    while it was read, or a moment ago, when a second write could leave the same times.
    """
    if file_identity(path) == identity and time.time() - identity[-1] / 1e9 >= _SETTLED:
        keep_value(cache_folder() / "tables", f"table {_RULE} {identity}", sha256)


def write_one_batch(path: Path, batch: Any) -> None:
    """An Arrow file of this batch, complete or not at all; :func:`one_batch` reads it back."""
    with (
        AtomicFile(path) as out,
        out.named_errors(),
        pa.ipc.new_file(pa.PythonFile(out.file, "w"), batch.schema) as writer,
    ):
        writer.write_batch(batch)


def one_batch(
    path: Path, read_schema: Callable[[Any], T], refuse: Callable[[str], Exception]
) -> tuple[T, Any]:
    """What `read_schema` makes of an Arrow file's schema, before the batch is read; its one batch.

    The messages are read in their order, because the footer may point anywhere. Compressed batches
    are refused before they are unpacked, since a few bytes can promise gigabytes; Inkblur writes
    none.
    """
    with pa.memory_map(str(path)) as source:
        source.seek(max(source.size() - len(_END), 0))
        ended = source.read() == _END
        source.seek(0)
        if source.read(len(_MAGIC)) != _MAGIC or not ended:
            raise refuse("it does not begin and end as an Arrow file does")
        messages = pa.ipc.MessageReader.open_stream(source)
        first: Any = messages.read_next_message()
        if first.type != "schema":  # pyarrow would crash
            raise refuse("it has no schema")
        schema = pa.ipc.read_schema(first)
        header = read_schema(schema)
        message: Any = messages.read_next_message()
        if message.type != "record batch" or _is_compressed(message.metadata.to_pybytes()):
            raise refuse("its first batch is compressed, or no batch")
        batch = pa.ipc.read_record_batch(message, schema)
        try:
            messages.read_next_message()
        except StopIteration:
            pass
        else:
            raise refuse("expected one batch, found more")
    batch.validate()  # sizes and offsets: a damaged file must not be read past its end
    return header, batch


def _is_compressed(message: bytes) -> bool:
    """Whether a record batch names a compression, as Arrow's Message.fbs says where."""
    table = struct.unpack_from("<I", message)[0]
    for index in (2, 3):  # Message.header, a RecordBatch, and its compression
        vtable = table - struct.unpack_from("<i", message, table)[0]
        size, slot = struct.unpack_from("<H", message, vtable)[0], 4 + 2 * index
        offset = struct.unpack_from("<H", message, vtable + slot)[0] if slot < size else 0
        if not offset:
            return index == 2  # without a header nobody can tell
        table += offset + struct.unpack_from("<I", message, table + offset)[0]
    return True


def _header(path: Path, schema: Any) -> tuple[dict[str, Any], Fingerprints]:
    """What the schema says: the header, and which texts may not be protected with this table.

    Only the columns that `write_store` writes are let in: nothing nested, no extensions.
    """
    if not schema.metadata or _KEY not in schema.metadata:
        raise EmbeddingError(f"{path} is an Arrow file, but not one that Inkblur wrote")
    header = json.loads(schema.metadata[_KEY])
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
    try:
        stored_corpus = base64.b64decode(schema.metadata.get(_CORPUS, b""), validate=True)
        corpus: Fingerprints = np.frombuffer(stored_corpus, "<u8").astype(np.uint64)
    except ValueError:
        raise _unreadable(path, "the fingerprints of its corpus are damaged") from None
    if len(corpus) != header.get("corpus", 0):  # losing any must not go unseen
        raise _unreadable(path, "some fingerprints of its corpus are missing")
    return header, corpus


def _columns(
    batch: Any, header: dict[str, Any], path: Path
) -> tuple[tuple[str, ...], Vectors, PublicCounts | None]:
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
        vectors = vectors * scale
    return words, vectors, numbers_of(batch.column(2)) if header.get("counts") else None


def numbers_of(column: Any) -> NDArray[Any]:
    """A column of plain numbers without a copy."""
    name = str(column.type)  # not to_pandas_dtype: before version 22 that imports pandas
    kind = np.dtype("float32" if name == "float" else name)
    return np.frombuffer(column.buffers()[1], kind, len(column), column.offset * kind.itemsize)


def _unreadable(path: Path, why: str) -> EmbeddingError:
    return EmbeddingError(
        f"{path} is not a readable .ink file ({why}); "
        "`inkblur embeddings import SOURCE DEST` makes one"
    )
