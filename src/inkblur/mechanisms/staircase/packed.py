"""Near sets as bits, for a large tau: a set of a tenth of the vocabulary is shorter so than as ids.

A set is a row of bits, one a word: the words that lie in it with all their units. The word that may
lie in it in part is kept apart, as in `sets`, and units are counted in the same order, so the same
numbers draw the same words. The sets of all V words take V^2 / 8 bytes, whatever tau is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from inkblur.mechanisms.staircase import native
from inkblur.mechanisms.staircase.nearness import Grid
from inkblur.mechanisms.staircase.sets import NearSets, UnsoundSets, by_threads, plainly
from inkblur.mechanisms.staircase.units import WordUnits
from inkblur.types import Ids

SetBits = NDArray[np.uint64]  # (sets, blocks): bit y % 64 of block y // 64 stands for word y

STRIDE = 32  # blocks between two marks
_BLOCK = 64  # words a block
_ROWS = 16  # words whose products with the whole vocabulary one thread holds at most


def shorter(tau: float, words: int) -> bool:
    """Whether sets of this mass are shorter as bits.

    Near words are rarer than others, so a set of mass tau has about 2 tau V members.

    >>> shorter(0.15, 50_000), shorter(0.002, 50_000)
    (True, False)
    """
    return bool(2 * tau * np.min_scalar_type(words - 1).itemsize > 1 / 8)


@dataclass(frozen=True, slots=True)
class PackedPart:
    """The sets of some words."""

    bits: SetBits
    last: NDArray[np.int32]  # the word that lies in a set with what is left of T

    def arrays(self) -> list[NDArray[Any]]:
        """What a file of all sets holds, little-endian; bits first, so that they are aligned."""
        return [self.bits.astype("<u8", copy=False), self.last.astype("<i4")]

    @classmethod
    def of_bytes(cls, body: memoryview, words: int) -> Self | None:
        """The sets of `words` words from a file; None where its length is wrong."""
        blocks = -(-words // _BLOCK)
        if len(body) != words * (4 + 8 * blocks):
            return None
        bits = np.frombuffer(body, dtype="<u8", count=words * blocks)
        last = np.frombuffer(body, dtype="<i4", offset=8 * words * blocks)
        return cls(bits.reshape(words, blocks), last)


def _plainly(
    grid: Grid, words: Ids, units: WordUnits, near: int, rows: SetBits
) -> NDArray[np.int32]:
    lengths, members, last = plainly(grid, words, units, near)
    inside = np.zeros((len(words), rows.shape[1] * _BLOCK), dtype=bool)
    inside[np.repeat(np.arange(len(words)), lengths), members] = True
    rows[:] = np.packbits(inside, axis=1, bitorder="little").view("<u8")
    return last


@dataclass(frozen=True, slots=True)
class PackedTables:
    """Which row is whose, and what is needed to draw from it."""

    row_of: NDArray[np.int64]  # (words,); -1: a word's set is not here
    last: NDArray[np.int32]  # (words,)
    bits: SetBits
    marks: NDArray[np.int64]  # (sets, ...): units before every 32nd block; of the whole row, last


class PackedSets(NearSets[PackedPart, PackedTables]):
    """Sets as rows of bits."""

    def __init__(self, grid: Grid, units: WordUnits, near: int, room: int) -> None:
        """`room` is the most bytes that the bits of sets of some words may take."""
        super().__init__(grid, units, near)
        words = len(units)
        blocks = -(-words // _BLOCK)
        count = min(room // (8 * blocks), words)
        # Memory that is not written to is not taken.
        self._bits = np.empty((count, blocks), dtype=np.uint64)
        self._marks = np.empty((count, -(-blocks // STRIDE) + 1), dtype=np.int64)
        none, last = np.full(words, -1, dtype=np.int64), np.zeros(words, dtype=np.int32)
        self.tables = PackedTables(none, last, self._bits[:0], self._marks[:0])

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which words have their set here, (words,)."""
        return self.tables.row_of >= 0

    def build(self, ids: Ids) -> PackedPart:
        """The sets of these words, the same for any number of threads."""
        grid, units, near, kernel = self.grid, self.units, self.near, native.kernel()
        bits = np.empty((len(ids), -(-len(grid) // _BLOCK)), dtype=np.uint64)
        last = np.empty(len(ids), dtype=np.int32)

        def some(rows: slice) -> None:
            words = ids[rows]
            if kernel is None:
                last[rows] = _plainly(grid, words, units, near, bits[rows])
            else:
                rated = grid.products(words), grid.handicaps
                last[rows] = kernel.near_bits(*rated, words, units, near, bits[rows])

        list(by_threads(grid, ids, _ROWS, some))
        return PackedPart(bits, last)

    def bytes_of_all(self) -> int:
        """V^2 / 8."""
        words = len(self.units)
        return 8 * words * -(-words // _BLOCK)

    def add(self, ids: Ids, part: PackedPart) -> bool:
        """See :meth:`NearSets.add`."""
        marks = self._checked(ids, part)
        if len(ids) == len(self.units):
            start, end = 0, len(ids)
            self._bits, self._marks = part.bits, marks
        else:
            start = len(self.tables.bits)
            end = start + len(ids)
            if end > len(self._bits):
                return False
            self._bits[start:end], self._marks[start:end] = part.bits, marks
        row_of, last = self.tables.row_of.copy(), self.tables.last.copy()
        row_of[ids], last[ids] = np.arange(start, end), part.last
        self.tables = PackedTables(row_of, last, self._bits[:end], self._marks[:end])
        return True

    def _checked(self, ids: Ids, part: PackedPart) -> NDArray[np.int64]:
        """The marks of each set; or why these are no sets. No word can stand in a row twice."""
        words, count = len(self.units), len(ids)
        if len(part.bits) != count or len(part.last) != count:
            raise UnsoundSets("not one set for each word")
        if not 0 <= part.last.min(initial=0) <= part.last.max(initial=0) < words:
            raise UnsoundSets("a word that is not in the vocabulary")
        if words % _BLOCK and (part.bits[:, -1] >> np.uint64(words % _BLOCK)).any():
            raise UnsoundSets("a word that is not in the vocabulary")
        place = part.last.astype(np.uint64)
        block = part.bits[np.arange(count), (place // _BLOCK).astype(np.int64)]
        if (block >> (place % np.uint64(_BLOCK)) & np.uint64(1)).any():
            raise UnsoundSets("a word stands twice in a set")
        kernel = native.kernel()
        marks: NDArray[np.int64] = (
            self._marks_plainly(part.bits)
            if kernel is None
            else kernel.bit_marks(part.bits, self.units)
        )
        rest = self.near - marks[:, -1]
        if (rest < 1).any() or (rest > self.units[part.last]).any():
            raise UnsoundSets(f"a set does not have {self.near} units")
        return marks

    def _marks_plainly(self, bits: SetBits) -> NDArray[np.int64]:
        starts = np.arange(0, len(self.units), STRIDE * _BLOCK)
        marks = np.zeros((len(bits), len(starts) + 1), dtype=np.int64)
        for row in range(len(bits)):
            owned = np.where(self._inside(bits[row]), self.units, 0)
            np.cumsum(np.add.reduceat(owned, starts), out=marks[row, 1:])
        return marks

    def _inside(self, row: SetBits) -> NDArray[np.bool_]:
        """Which words a row of bits holds, (words,)."""
        octets = row.astype("<u8", copy=False).view(np.uint8)
        return np.unpackbits(octets, count=len(self.units), bitorder="little").astype(bool)

    def shares(self, word: int) -> WordUnits:
        """See :meth:`NearSets.shares`."""
        tables = self.tables
        row = int(tables.row_of[word])
        if row < 0:
            raise ValueError("a word without its set")
        shares: WordUnits = np.where(self._inside(tables.bits[row]), self.units, 0)
        shares[tables.last[word]] = self.near - tables.marks[row, -1]
        return shares

    def at(self, ids: Ids, places: WordUnits) -> Ids:
        """See :meth:`NearSets.at`."""
        kernel, tables = native.kernel(), self.tables
        if kernel is None:
            return self.at_plainly(ids, places)
        columns = tables.row_of, tables.bits, tables.marks, tables.last
        found: Ids = kernel.at_bits(ids, places, *columns, self.units)
        return found

    def at_plainly(self, ids: Ids, places: WordUnits) -> Ids:
        """:meth:`at` in NumPy, word by word."""
        tables = self.tables
        if (tables.row_of[ids] < 0).any():
            raise ValueError("a word without its set")
        out = tables.last[ids].astype(np.int64)
        for word in np.unique(ids).tolist():
            row = int(tables.row_of[word])
            here = np.flatnonzero((ids == word) & (places < tables.marks[row, -1]))
            members = np.flatnonzero(self._inside(tables.bits[row]))
            ends = np.cumsum(self.units[members])
            out[here] = members[np.searchsorted(ends, places[here], side="right")]
        return out
