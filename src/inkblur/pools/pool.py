"""A pool: public texts that may take the place of private ones, and all that decides which does."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from inkblur.errors import InputError
from inkblur.pools.classifier import LabelClassifier
from inkblur.pools.encoder import TextPoints, Whole

_BLOCK = 1 << 16


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
            found |= {
                f"classifier.{f.name}": getattr(self.classifier, f.name)
                for f in fields(self.classifier)
                if f.name != "terms"
            }
        return {
            name: array.astype(array.dtype.newbyteorder("<"), copy=False)
            for name, array in found.items()
        }


def _checksums(texts: Iterable[str]) -> NDArray[np.uint32]:
    return np.fromiter((crc32(_encoded(text)) for text in texts), dtype=np.uint32)


def _encoded(text: object) -> bytes:
    return str(text).encode()
