"""A pool: public texts that may take the place of private ones, and all that decides which does.

Its file (`.pool`) is an Arrow IPC file, memory-mapped: one record batch of one row, where every
column is a list: the texts, the classifier's terms, and the arrays of :class:`Pool`, flattened. The
schema's metadata holds the rest as JSON, with the shapes and the fingerprint. Texts and points are
read from the page cache when they are used.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, overload
from zlib import crc32

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from inkblur.embeddings.store import (
    UNREADABLE,
    file_identity,
    numbers_of,
    one_batch,
    recall,
    remember,
    write_one_batch,
)
from inkblur.errors import InputError
from inkblur.pools.classifier import LabelClassifier
from inkblur.pools.encoder import TextPoints, Whole

_KEY = b"inkblur.pool"
_FORMAT = 2
_BLOCK = 1 << 16  # texts, and rows, at a time
_TEXTS, _TERMS = "texts", "classifier.terms"
_KINDS = {
    "points": "<i2",
    "center": "<i8",
    "cells": "<i8",
    "cell_points": "<i2",
    "cell_labels": "<i8",
    "given": "<i8",
    "classifier.idf": "<i4",
    "classifier.weights": "<i4",
    "classifier.bias": "<i8",
    "classifier.meaning": "<i4",
}
_TABLES = ("points", "cell_points", "classifier.weights", "classifier.meaning")


@dataclass(frozen=True, eq=False)
class Pool:
    """Public texts in order of label and cell, each with its place in meaning.

    Texts of one label stand together, and within it texts of one cell: texts that lie close to each
    other. A small label is one cell. Without labels there is one, the empty name.
    """

    texts: Sequence[str]  # a list, or an Arrow column on disk
    points: TextPoints  # (texts, dimension)
    center: Whole  # (dimension,): what all texts have in common; points are seen from here
    cells: Whole  # (cells + 1,): where each begins; the last is the number of texts
    cell_points: TextPoints  # (cells, dimension): the middle of each
    cell_labels: Whole  # (cells,): rising
    label_names: tuple[str, ...]
    given: Whole  # (texts,): the label that a classifier fitted on other texts gives
    classifier: LabelClassifier | None  # None where there is one label
    encoder: str  # what points were made with
    provenance: Mapping[str, Any]  # name, license, source, what was left out

    def __post_init__(self) -> None:
        count, width = self.points.shape
        labels = len(self.label_names)
        sound = (
            len(self.texts) == count == len(self.given)
            and self.center.shape == (width,)
            and self.cell_points.shape == (len(self.cell_labels), width)
            and len(self.cells) == len(self.cell_labels) + 1
            and self.cells[0] == 0
            and self.cells[-1] == count
            and bool((np.diff(self.cells) > 0).all())
            and bool((np.diff(self.cell_labels) >= 0).all())
            and np.array_equal(np.unique(self.cell_labels), np.arange(labels))
            and bool(((self.given >= 0) & (self.given < labels)).all())
            and (self.classifier is None) == (labels == 1)
        )
        if not sound:
            raise InputError("the parts of this pool do not fit together")
        if count < 2:
            raise InputError(f"a pool needs at least 2 texts to choose from, this one has {count}")

    def __len__(self) -> int:
        """How many texts."""
        return len(self.points)

    @property
    def name(self) -> str:
        """What it is called."""
        return str(self.provenance.get("name", "pool"))

    @property
    def labeled(self) -> bool:
        """Whether its texts have labels to keep: more than one."""
        return len(self.label_names) > 1

    @property
    def license(self) -> str:
        """The license of its texts, as stated by whoever built it."""
        return str(self.provenance.get("license") or "not stated")

    @cached_property
    def label_starts(self) -> Whole:
        """Where each label's texts begin, (labels + 1,)."""
        first = np.searchsorted(self.cell_labels, np.arange(len(self.label_names) + 1))
        starts: Whole = self.cells[first]
        return starts

    @cached_property
    def labels(self) -> Whole:
        """The label of each text, (texts,)."""
        labels: Whole = np.repeat(self.cell_labels, np.diff(self.cells))
        return labels

    @cached_property
    def accuracy(self) -> float:
        """How often a classifier that was fitted on other texts is right, labels weighing alike."""
        right = self.labels == self.given
        starts = self.label_starts
        return float(np.mean([right[a:b].mean() for a, b in pairwise(starts)]))

    @cached_property
    def sha256(self) -> str:
        """Fingerprint of everything that a release depends on, and of where it came from."""
        digest = hashlib.sha256(json.dumps(self.header(), sort_keys=True).encode())
        for name, array in self.arrays().items():
            digest.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
            for start in range(0, len(array), _BLOCK):
                digest.update(np.ascontiguousarray(array[start : start + _BLOCK]).data)
        words = () if self.classifier is None else self.classifier.terms
        for part in (self.texts, words):
            for start in range(0, len(part), _BLOCK):
                block = [_encoded(text) for text in part[start : start + _BLOCK]]
                digest.update(
                    b"\n" + np.array([len(text) for text in block], dtype="<i8").tobytes()
                )
                digest.update(b"".join(block))
        return digest.hexdigest()

    def holds(self, texts: Collection[str]) -> NDArray[np.bool_]:
        """Which of these texts, in small letters, stand here; one in thousands wrongly."""
        sought = _checksums(texts)
        places = np.searchsorted(self._checksums, sought).clip(max=len(self) - 1)
        found: NDArray[np.bool_] = self._checksums[places] == sought
        return found

    @cached_property
    def _checksums(self) -> NDArray[np.uint32]:
        """Of the texts in small letters, rising: 4 bytes each, where texts may be gigabytes."""
        return np.sort(_checksums(text.lower() for text in self.texts))

    def facts(self) -> dict[str, Any]:
        """What `inkblur pool info` shows."""
        starts = self.label_starts.tolist()
        sizes = [stop - start for start, stop in pairwise(starts)]
        return {
            "name": self.name,
            "license": self.license,
            "texts": len(self),
            "dimension": int(self.points.shape[1]),
            "labels": dict(zip(self.label_names, sizes, strict=True)) if self.labeled else {},
            "label_accuracy": round(self.accuracy, 4) if self.labeled else None,
            "encoder": self.encoder,
            **{k: v for k, v in self.provenance.items() if k not in ("name", "license", "sha256")},
            "sha256": self.sha256,
        }

    def header(self) -> dict[str, Any]:
        """What is not an array, as JSON."""
        return {
            "labels": list(self.label_names),
            "encoder": self.encoder,
            "provenance": dict(self.provenance),
        }

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Every array by name, in the byte order of the file."""
        own = ("points", "center", "cells", "cell_points", "cell_labels", "given")
        found: dict[str, Any] = {name: getattr(self, name) for name in own}
        if self.classifier is not None:
            read = ("idf", "weights", "bias", "meaning")
            found |= {f"classifier.{name}": getattr(self.classifier, name) for name in read}
        return {
            name: array.astype(array.dtype.newbyteorder("<"), copy=False)
            for name, array in found.items()
        }


def _checksums(texts: Iterable[str]) -> NDArray[np.uint32]:
    return np.fromiter((crc32(_encoded(text)) for text in texts), dtype=np.uint32)


def _encoded(text: object) -> bytes:
    return str(text).encode()


class StoredTexts(Sequence[str]):
    """Texts in an Arrow column, made into strings when asked for."""

    def __init__(self, column: Any) -> None:
        self._column = column

    def __len__(self) -> int:
        """How many."""
        return len(self._column)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...
    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        """One text, or some as a list."""
        if isinstance(place, slice):
            found: list[str] = self._column[place].to_pylist()
            return found
        return str(self._column[place].as_py())

    def __iter__(self) -> Iterator[str]:
        """All texts."""
        for start in range(0, len(self), _BLOCK):
            yield from self[start : start + _BLOCK]


def write_pool(path: Path, pool: Pool) -> None:
    """Write a pool to `path`, complete or not at all."""
    arrays = pool.arrays()
    header = {
        "format": _FORMAT,
        **pool.header(),
        "widths": {name: arrays[name].shape[1] for name in _TABLES if name in arrays},
        "sha256": pool.sha256,
    }
    terms = () if pool.classifier is None else pool.classifier.terms
    columns: dict[str, Any] = {
        _TEXTS: pa.array(list(pool.texts), pa.large_utf8()),
        _TERMS: pa.array(list(terms), pa.large_utf8()),
        **{name: pa.array(array.reshape(-1)) for name, array in arrays.items()},
    }
    lists = {
        name: pa.LargeListArray.from_arrays(pa.array([0, len(values)], pa.int64()), values)
        for name, values in columns.items()
    }
    metadata = {_KEY: json.dumps(header, sort_keys=True).encode()}
    write_one_batch(path, pa.record_batch(lists).replace_schema_metadata(metadata))


def open_pool(path: str | Path) -> Pool:
    """Open a pool's file. Its content must have the fingerprint in its header.

    The content is read for that once a file: what was found is remembered.
    """
    path = Path(path)
    try:
        identity = file_identity(path)
        refuse = partial(_unreadable, path)
        header, batch = one_batch(path, partial(_header, path), refuse)
        pool = _pool(batch, header)
        found = recall(identity)
        if found is not None:
            pool.__dict__["sha256"] = found
        if pool.sha256 != header["sha256"]:
            raise InputError(
                f"{path} is damaged or was changed: its content does not have the fingerprint in "
                "its header; build it again"
            )
        if found is None:
            remember(path, identity, pool.sha256)
        return pool
    except FileNotFoundError:
        raise InputError(f"no such pool: {path}; `inkblur pool build` makes one") from None
    except InputError:
        raise
    except UNREADABLE as error:
        raise _unreadable(path, (str(error).splitlines() or [""])[0]) from None


def _unreadable(path: Path, why: str) -> InputError:
    return InputError(f"{path} is not a readable pool ({why}); `inkblur pool build` makes one")


def _header(path: Path, schema: Any) -> dict[str, Any]:
    """The header of a schema that has the columns which `write_pool` writes, and no others."""
    refuse = partial(_unreadable, path)
    if not schema.metadata or _KEY not in schema.metadata:
        raise refuse("it is another Arrow file")
    header: dict[str, Any] = json.loads(schema.metadata[_KEY])
    if header.get("format") != _FORMAT:
        raise refuse("another version of Inkblur wrote it")
    expected = {"labels": list, "encoder": str, "provenance": dict, "widths": dict, "sha256": str}
    if not all(isinstance(header.get(key), kind) for key, kind in expected.items()):
        raise refuse("its header is damaged")
    allowed: dict[str, Any] = {_TEXTS: pa.large_utf8(), _TERMS: pa.large_utf8()}
    allowed |= {name: pa.from_numpy_dtype(np.dtype(kind)) for name, kind in _KINDS.items()}
    needed = [name for name in allowed if not name.startswith("classifier.")]
    if not set(needed) <= set(schema.names) <= set(allowed):
        raise refuse("its columns are others")
    for name in schema.names:
        if schema.field(name).type != pa.large_list(allowed[name]):
            raise refuse(f"its column {name} has another type")
    return header


def _pool(batch: Any, header: dict[str, Any]) -> Pool:
    if batch.num_rows != 1:
        raise ValueError("not one row")
    values: dict[str, Any] = {}
    for name in batch.schema.names:
        column = batch.column(name).values
        if column.null_count:
            raise ValueError("something is missing")
        if name in _KINDS:
            array = numbers_of(column)
            values[name] = array.reshape(-1, header["widths"][name]) if name in _TABLES else array
        else:
            column.validate(full=True)
            values[name] = column
    classifier = None
    if "classifier.weights" in values:
        classifier = LabelClassifier(
            tuple(values[_TERMS].to_pylist()),
            values["classifier.idf"],
            values["classifier.weights"],
            values["classifier.bias"],
            values["classifier.meaning"],
        )
    return Pool(
        texts=StoredTexts(values.pop(_TEXTS)),
        **{name: array for name, array in values.items() if not name.startswith("classifier.")},
        label_names=tuple(str(name) for name in header["labels"]),
        classifier=classifier,
        encoder=header["encoder"],
        provenance=header["provenance"],
    )
