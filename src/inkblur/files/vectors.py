"""Releasing a stream of records as synthetic term-frequency vectors, in one file.

.npz      a SciPy sparse matrix (`scipy.sparse.load_npz` reads it), and beside it in the same
          file the arrays `vocabulary` (columns), `ids` (rows) and `guarantee` (JSON); nothing
          is pickled
.parquet  a row a document: id, words, counts; the guarantee in the schema's metadata
.jsonl    a line a document: {"id": "7", "counts": {"word": 3, ...}}
"""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, cast
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np

from inkblur.atomic_file import AtomicFile
from inkblur.documents.tf_vector import SyntheticVectors, Terms
from inkblur.errors import OutputError, ParameterError
from inkblur.files.doors import row_numbers
from inkblur.files.formats import is_stream, regular_file
from inkblur.files.records import Source
from inkblur.files.summary import RunSummary, stated, summarize
from inkblur.guarantees import Guarantee, rounded_up
from inkblur.release import Release
from inkblur.types import counted

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_KEY = b"inkblur"
_RECORDS, _CHARACTERS = 1 << 14, 1 << 26  # read at a time


class VectorFormat(Enum):
    """A file of vectors, by its suffix."""

    NPZ = ".npz"
    PARQUET = ".parquet"
    JSONL = ".jsonl"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class VectorSummary(RunSummary):
    """A release as term-frequency vectors."""

    survivors: ClassVar = "texts' distinct words"

    privatizer: SyntheticVectors

    def lines(self) -> list[str]:
        """What happened, for the person who ran it."""
        return [
            f"{counted(self.documents, 'text')} ({self.counts['empty']:,} without a known term) "
            f"as vectors of {counted(self.privatizer.length, 'term')}; {self.seconds:.1f} s, "
            f"{self.draws_per_second:,.0f} terms/s",
            *self.survival.lines(),
            *self.coverage.lines(self.privatizer.mechanism.embedding),
            *self.fate.lines(),
        ]

    def worth(self) -> list[str]:
        """The bound between any two documents."""
        return [
            "Between any two documents the log of the likelihood ratio is at most "
            f"{rounded_up(self.guarantee.loss(1.0))}."
        ]

    def details(self) -> dict[str, Any]:
        """The bound, and how many true terms the vectors show."""
        private = self.guarantee.private
        return {
            "release": {"kind": "tf", "length": self.privatizer.length},
            "loss_between_any_two_documents": self.guarantee.loss(1.0) if private else None,
            "vocabulary": self.coverage.to_json(self.privatizer.mechanism.embedding),
            "terms": {
                "drawn": self.counts["drawn"],
                "distinct_true_terms": self.survival.known,
                "shown": self.survival.unchanged,
                "shown_share": round(self.survival.share, 4),
                "hides_the_texts": self.survival.hides,
                "sentences": self.survival.lines(),
            },
        }

    def blank(self) -> dict[str, int]:
        """Texts without a known term."""
        return {"without_known_terms": self.counts["without known terms"]}


def run_vectors(release: Release, source: Source, output: str) -> VectorSummary:
    """Draw a vector for every record of `source` and write them to `output`.

    Records are named by the id column where that is named to be copied, and otherwise numbered: the
    ids that a source makes up are hashes of the true texts and are never written. Other columns
    cannot be copied.
    """
    synthetic: SyntheticVectors = release.privatizer
    replaced = None if is_stream(output) else AtomicFile(Path(output)).identity()
    if replaced is not None and replaced == regular_file(source.file.raw):
        raise OutputError(f"{output} is the input itself; choose another output")
    if len(source.layout.columns) > 1:
        raise ParameterError("a tf release is made from one text column; name one")
    id_column = source.layout.id_column
    written = source.layout.keep or ()
    others = [name for name in written if name != id_column]
    if others:
        raise ParameterError(
            f"a tf release holds no columns but the ids: leave out `keep_columns=` {others[0]}"
        )
    began = time.perf_counter()
    stream = release.stream()
    ids: list[str] = []
    names: list[str] = []
    rows: list[Terms] = []
    for checked in stream.check_all(source.batches(_RECORDS, _CHARACTERS)):
        drawn = stream.draw(checked)
        rows += drawn.texts(stream.charge(drawn))
        names += [record.id for record in checked.batch.records]
        first = len(ids)
        numbers = map(str, range(first, first + len(checked.batch)))
        ids += [record.id for record in checked.batch.records] if written else numbers
    if release.spec is not None and release.spec.shuffles:  # numbers that are written say nothing
        marks = row_numbers(release.rng.child("order of rows"), names)
        rows = [rows[place] for place in sorted(range(len(rows)), key=marks.__getitem__)]
    summary = summarize(stream, written, source.not_copied, [], time.perf_counter() - began)
    write_vectors(
        output,
        synthetic.matrix(rows),
        vocabulary=synthetic.mechanism.vocabulary,
        ids=ids,
        # Without the account, which is the owner's: a keyed run repeats its bytes.
        guarantee=stated(synthetic, summary.fate, release.rng, []),
        on_show=release.about_to_show,
    )
    assert isinstance(summary, VectorSummary)
    return summary


def vector_format(path: str | Path) -> VectorFormat | None:
    """The format that the suffix names; None for standard output (`-`), which gets JSON lines."""
    if is_stream(path):
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
            arrays = {
                "indices": vectors.indices,
                "indptr": vectors.indptr,
                "format": np.array("csr"),
                "shape": np.array(vectors.shape),
                "data": vectors.data,
                "vocabulary": np.array(vocabulary, dtype=np.str_),
                "ids": np.array(ids, dtype=np.str_),
                "guarantee": np.array(json.dumps(guarantee.to_json())),
            }
            with ZipFile(file, "w") as packed:  # NumPy would write the time into it
                for name, array in arrays.items():
                    member = ZipInfo(f"{name}.npy")
                    member.compress_type = ZIP_DEFLATED
                    with packed.open(member, "w", force_zip64=True) as out_file:
                        np.lib.format.write_array(out_file, array, allow_pickle=False)
        elif kind is VectorFormat.PARQUET:
            file.write(_parquet(_rows(vectors, vocabulary, ids), guarantee))
        else:
            for name, counts in _rows(vectors, vocabulary, ids):
                line = json.dumps({"id": name, "counts": counts}, ensure_ascii=False)
                out.write(line.encode() + b"\n")


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
