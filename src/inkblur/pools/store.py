"""A pool in one file (`.pool`): an Arrow IPC file, memory-mapped.

One record batch of one row; every column is a list: the texts, the classifier's terms, and the
arrays of :class:`Pool`, flattened. The schema's metadata holds the rest as JSON, with the shapes
and the fingerprint. Texts and points are read from the page cache when they are used.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, overload

import numpy as np
import pyarrow as pa

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
from inkblur.pools.pool import Pool

_KEY = b"inkblur.pool"
_FORMAT = 2
_BLOCK = 1 << 16  # texts that are strings at a time
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
