"""Term-frequency vectors on disk: .npz, .parquet or .jsonl, whole or not at all.

.npz      a SciPy sparse matrix (`scipy.sparse.load_npz` reads it), and beside it in the same
          file the arrays `vocabulary` (columns), `ids` (rows) and `guarantee` (JSON); nothing
          is pickled
.parquet  a row a document: id, words, counts; the guarantee in the schema's metadata
.jsonl    a line a document: {"id": "7", "counts": {"word": 3, ...}}
"""

from __future__ import annotations

import io
import json
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from tokenize import TokenError
from typing import TYPE_CHECKING, BinaryIO, cast
from zipfile import BadZipFile, ZipFile

import numpy as np

from inkblur.atomic_file import AtomicFile
from inkblur.errors import MALFORMED, InputError, OutputError
from inkblur.guarantees import Guarantee

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_KEY = b"inkblur"


class VectorFormat(Enum):
    """A file of vectors, by its suffix."""

    NPZ = ".npz"
    PARQUET = ".parquet"
    JSONL = ".jsonl"


_LARGEST_UNPACKED = 1 << 28  # bytes that a file may unpack to, whatever its size
_USUAL_RATIO = 50  # larger ones must be packed at most so many times smaller
_MALFORMED = (*MALFORMED, MemoryError, BadZipFile, TokenError, struct.error, zlib.error)


@dataclass(frozen=True, slots=True)
class VectorFile:
    """What an .npz of vectors holds."""

    vectors: csr_matrix  # int64 (documents, vocabulary)
    vocabulary: tuple[str, ...]
    ids: tuple[str, ...]
    guarantee: Guarantee  # for each row


def vector_format(path: str | Path) -> VectorFormat | None:
    """The format that the suffix names; None for standard output (`-`), which gets JSON lines."""
    if str(path) == "-":
        return None
    suffix = Path(path).suffix.lower()
    for kind in VectorFormat:
        if kind.value == suffix:
            return kind
    allowed = ", ".join(kind.value for kind in VectorFormat)
    raise OutputError(f"cannot tell the format of {path}: vectors are written as {allowed}")


def write_vectors(
    path: str | Path,
    vectors: csr_matrix,
    *,
    vocabulary: Sequence[str],
    ids: Sequence[str],
    guarantee: Guarantee,
    on_show: Callable[[], None] = lambda: None,
) -> None:
    """Write vectors, (documents, vocabulary), with the names of rows and columns; `on_show` is
    called before anybody can see them.
    """
    if vectors.shape != (len(ids), len(vocabulary)):
        raise OutputError(
            f"{len(ids)} documents over {len(vocabulary)} words need a matrix of that shape, "
            f"got {vectors.shape}"
        )
    kind = vector_format(path)
    place = None if kind is None else Path(path)
    with AtomicFile(place, on_show=on_show) as out, out.named_errors():
        file = cast(BinaryIO, out.file)
        if kind is VectorFormat.NPZ:
            # SciPy's own five names, so that its reader opens the file; it ignores the others.
            np.savez_compressed(
                file,
                indices=vectors.indices,
                indptr=vectors.indptr,
                format=np.array("csr"),
                shape=np.array(vectors.shape),
                data=vectors.data,
                vocabulary=np.array(vocabulary, dtype=np.str_),
                ids=np.array(ids, dtype=np.str_),
                guarantee=np.array(json.dumps(guarantee.to_json())),
            )
        elif kind is VectorFormat.PARQUET:
            file.write(_parquet(_rows(vectors, vocabulary, ids), guarantee))
        else:
            for name, counts in _rows(vectors, vocabulary, ids):
                line = json.dumps({"id": name, "counts": counts}, ensure_ascii=False)
                out.write(line.encode() + b"\n")


def read_vectors(path: str | Path) -> VectorFile:
    """Read back an .npz that :func:`write_vectors` wrote."""
    from scipy.sparse import csr_matrix

    try:
        _check_unpacked_size(Path(path))
        with np.load(path, allow_pickle=False) as held:
            vocabulary, ids = (tuple(held[name].tolist()) for name in ("vocabulary", "ids"))
            if not all(isinstance(name, str) for name in (*vocabulary, *ids)):
                raise ValueError("its words or ids are not text")
            matrix = csr_matrix(
                (held["data"], held["indices"], held["indptr"]), shape=(len(ids), len(vocabulary))
            )
            matrix.check_format(full_check=True)  # an index out of range kills the process later
            if matrix.data.dtype.kind not in "iu":
                raise ValueError(f"its counts are {matrix.data.dtype}")
            guarantee = Guarantee.from_json(json.loads(str(held["guarantee"])))
            return VectorFile(matrix, vocabulary, ids, guarantee)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except _MALFORMED as error:
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{path} is not a file of Inkblur's vectors ({why})") from None


def _check_unpacked_size(path: Path) -> None:
    """Refuse a small file that unpacks to gigabytes, before any of it is unpacked."""
    with ZipFile(path) as archive:
        unpacked = sum(entry.file_size for entry in archive.infolist())
    if unpacked > max(_LARGEST_UNPACKED, _USUAL_RATIO * path.stat().st_size):
        raise ValueError(f"it would unpack to {unpacked:,} bytes")


def _parquet(rows: Iterator[tuple[str, dict[str, int]]], guarantee: Guarantee) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema(
        [("id", pa.utf8()), ("words", pa.list_(pa.utf8())), ("counts", pa.list_(pa.int64()))],
        metadata={_KEY: json.dumps({"guarantee": guarantee.to_json()}).encode()},
    )
    held = [
        {"id": name, "words": list(counts), "counts": list(counts.values())}
        for name, counts in rows
    ]
    sink = io.BytesIO()  # Arrow closes what it writes to; the file stays open for the rename
    pq.write_table(pa.Table.from_pylist(held, schema=schema), sink)
    return sink.getvalue()


def _rows(
    vectors: csr_matrix, vocabulary: Sequence[str], ids: Sequence[str]
) -> Iterator[tuple[str, dict[str, int]]]:
    for row, name in enumerate(ids):
        part = slice(vectors.indptr[row], vectors.indptr[row + 1])
        words = (vocabulary[i] for i in vectors.indices[part].tolist())
        yield name, dict(zip(words, vectors.data[part].tolist(), strict=True))
