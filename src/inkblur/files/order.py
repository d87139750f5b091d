"""Rows in random order, which says nothing of the file's: sorted by a number that a key gives each.

A run under the same key repeats the order. Up to a million rows are sorted in memory; of more, the
rows are sorted into files without a name beside the output, which are gone when the run is.
"""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import IO, Any

from inkblur.files.records import Batch
from inkblur.rng import Rng

_ROWS, _BYTES = 1_000_000, 1 << 26  # that are held in memory
_FILES = 64  # each is sorted by itself, the rows of the smallest numbers first


class Shuffle:
    """Collects rows of one format, encoded, and gives them back in order."""

    def __init__(self, rng: Rng, beside: Path | None) -> None:
        self._rng, self._beside = rng.child("order of rows"), beside
        self._numbers: list[bytes] = []
        self._parts: list[Any] = []  # lists of bytes, or Arrow batches
        self._size = 0
        self._files: list[IO[bytes]] = []

    def add(self, batch: Batch, rows: Any) -> None:
        """The rows of a batch."""
        self._numbers += row_numbers(self._rng, [r.id for r in batch.records[:: batch.width]])
        self._parts.append(rows)
        self._size += sum(map(len, rows)) if isinstance(rows, list) else rows.nbytes
        if len(self._numbers) >= _ROWS or self._size >= _BYTES:
            self._put_away()

    def sorted(self) -> Iterator[Any]:
        """All rows, in pieces."""
        if self._files:
            self._put_away()
        elif self._numbers:
            yield _chosen(self._parts, _order(self._numbers))
        for file in self._files:
            with file:
                length = file.tell()
                file.seek(0)
                numbers: list[bytes] = []
                parts = []
                while file.tell() < length:
                    some, rows = pickle.load(file)
                    numbers += some
                    parts.append(rows)
                if numbers:
                    yield _chosen(parts, _order(numbers))

    def close(self) -> None:
        """Nothing of the rows stays."""
        for file in self._files:
            file.close()

    def _put_away(self) -> None:
        if not self._files:
            for _ in range(_FILES):
                self._files.append(tempfile.TemporaryFile(dir=self._beside))  # noqa: SIM115
        places: list[list[int]] = [[] for _ in self._files]
        for place, number in enumerate(self._numbers):
            places[number[0] * _FILES // 256].append(place)
        for file, own in zip(self._files, places, strict=True):
            if own:
                pickle.dump(([self._numbers[i] for i in own], _chosen(self._parts, own)), file)
        self._numbers, self._parts, self._size = [], [], 0


def row_numbers(rng: Rng, ids: Sequence[str]) -> list[bytes]:
    """A number for each row, of its id and the key alone."""
    return [rng.child(name).fingerprint() for name in ids]


def _order(numbers: Sequence[bytes]) -> list[int]:
    return sorted(range(len(numbers)), key=numbers.__getitem__)


def _chosen(parts: list[Any], places: list[int]) -> Any:
    """These of the rows, in this order."""
    if isinstance(parts[0], list):
        rows = list(chain.from_iterable(parts))
        return [rows[place] for place in places]
    import pyarrow as pa

    table = pa.Table.from_batches(parts).unify_dictionaries().combine_chunks()
    [batch] = table.take(pa.array(places)).combine_chunks().to_batches()
    return batch
