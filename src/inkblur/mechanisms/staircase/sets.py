"""The near sets S_x: for every word the nearest words until their units are exactly T.

A set is kept as the ids of the words that lie in it with all their units, in ascending order, and
the one word, the last by nearness, that may lie in it in part. The order by nearness has done its
work by then. Ascending ids are cheap to check for what the proof needs: no word twice, and T units.
Large sets take less room as bits: see `packed`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from inkblur.blas import one_thread
from inkblur.mechanisms.nearest.cpu.native import processors
from inkblur.mechanisms.staircase import native
from inkblur.mechanisms.staircase.nearness import Grid, near_words
from inkblur.mechanisms.staircase.units import WordUnits
from inkblur.types import Ids

Members = NDArray[np.unsignedinteger]  # ids, in as few bytes as the vocabulary allows

_ROWS = 192  # words whose products with the whole vocabulary one thread holds at most
_PRODUCTS = 1 << 24  # products that it holds at most: 64 MB
STRIDE = 64  # members between two marks
_PASS = 1 << 20  # members whose units are summed at a time
_SAMPLED = 64  # words whose sets say how large those of all words will be

MadeT = TypeVar("MadeT")


@dataclass(frozen=True, slots=True)
class Part:
    """The sets of some words, one after the other."""

    lengths: NDArray[np.int64]  # full members of each
    members: Members  # ascending within a set
    last: NDArray[np.int32]  # the word that lies in it with what is left of T

    def arrays(self) -> list[NDArray[Any]]:
        """What a file of the sets of all words holds, in little-endian order."""
        members = self.members.astype(self.members.dtype.newbyteorder("<"), copy=False)
        return [self.lengths.astype("<i8"), self.last.astype("<i4"), members]

    @classmethod
    def of_bytes(cls, body: memoryview, words: int) -> Self | None:
        """The sets of `words` words from a file; None where its length is wrong."""
        kind = np.min_scalar_type(words - 1).newbyteorder("<")
        head = 12 * words
        if len(body) < head or (len(body) - head) % kind.itemsize:
            return None
        return cls(
            np.frombuffer(body, dtype="<i8", count=words),
            np.frombuffer(body, dtype=kind, offset=head),
            np.frombuffer(body, dtype="<i4", count=words, offset=8 * words),
        )


def by_threads(grid: Grid, ids: Ids, most: int, make: Callable[[slice], MadeT]) -> Iterator[MadeT]:
    """What `make` gives for up to `most` of the ids at a time, in order."""
    step = max(1, min(most, _PRODUCTS // len(grid)))
    grid.points, grid.handicaps  # noqa: B018  computed once, before the threads start
    with one_thread(), ThreadPoolExecutor(processors()) as pool:
        yield from pool.map(make, (slice(s, s + step) for s in range(0, len(ids), step)))


def plainly(
    grid: Grid, words: Ids, units: WordUnits, near: int
) -> tuple[NDArray[np.int64], Members, NDArray[np.int32]]:
    """The definition: for each word, the vocabulary by nearness until T units are reached."""
    lengths, members, last = [], [np.empty(0, dtype=np.uint32)], []
    for word, keys in zip(words.tolist(), grid.keys(words), strict=True):
        keys[word] = keys.max()  # itself comes first, whatever rounding made of its cosine
        inside = near_words(keys, word, units, near)
        lengths.append(len(inside) - 1)
        members.append(np.sort(inside[:-1]).astype(np.uint32))
        last.append(inside[-1])
    return np.array(lengths), np.concatenate(members), np.array(last, dtype=np.int32)


def joined(parts: Iterable[Part], kind: np.dtype[np.unsignedinteger]) -> Part:
    """Parts one after the other, each copied as it comes: all of them twice would be much."""
    lengths, last = [np.empty(0, np.int64)], [np.empty(0, np.int32)]
    members, end = np.empty(_PASS, kind), 0
    for part in parts:
        lengths.append(part.lengths)
        last.append(part.last)
        start, end = end, end + len(part.members)
        if end > len(members):
            members.resize(end + end // 8, refcheck=False)  # moves pages, not numbers
        members[start:end] = part.members
    members.resize(end, refcheck=False)
    return Part(np.concatenate(lengths), members, np.concatenate(last))


class UnsoundSets(ValueError):
    """Sets that the guarantee cannot rest on; the message says why."""


@dataclass(frozen=True, slots=True)
class Tables:
    """Sets by word: where each one's members are, and what is needed to draw from it."""

    starts: NDArray[np.int64]  # (words,): of a word's members; -1: its set is not here
    lengths: NDArray[np.int64]  # (words,)
    full: NDArray[np.int64]  # (words,): units of the full members
    last: NDArray[np.int32]  # (words,)
    mark_starts: NDArray[np.int64]  # (words,)
    members: Members
    marks: NDArray[np.int64]  # units before every 64th member of a set

    @classmethod
    def empty(cls, words: int) -> Tables:
        """Without a set."""
        kind = np.min_scalar_type(words - 1)
        numbers = np.zeros(words, dtype=np.int64)
        none, last = np.full(words, -1, dtype=np.int64), np.zeros(words, dtype=np.int32)
        nothing = np.empty(0, dtype=np.int64)
        return cls(none, numbers, numbers, last, numbers, np.empty(0, kind), nothing)

    def extended(
        self, ids: Ids, part: Part, members: Members, full: WordUnits, marks: WordUnits
    ) -> Tables:
        """These tables and the sets of these words; `members` holds the old and the new ones."""
        mark_lengths = -(-part.lengths // STRIDE)
        starts = len(self.members) + np.cumsum(part.lengths) - part.lengths
        mark_starts = len(self.marks) + np.cumsum(mark_lengths) - mark_lengths

        def put(column: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
            column = column.copy()
            column[ids] = values
            return column

        return Tables(
            put(self.starts, starts),
            put(self.lengths, part.lengths),
            put(self.full, full),
            put(self.last, part.last),
            put(self.mark_starts, mark_starts),
            members,
            np.concatenate([self.marks, marks]),
        )


P = TypeVar("P")  # the sets of some words, as they are made and stored
T = TypeVar("T")  # columns of arrays to draw from


class NearSets(ABC, Generic[P, T]):
    """The sets of some words or all, ready to draw from. Threads may draw while another adds."""

    tables: T  # replaced as a whole, and only by one with more sets

    def __init__(self, grid: Grid, units: WordUnits, near: int) -> None:
        self.grid, self.units, self.near = grid, units, near

    @property
    @abstractmethod
    def present(self) -> NDArray[np.bool_]:
        """Which words have their set here, (words,)."""

    @abstractmethod
    def build(self, ids: Ids) -> P:
        """The sets of these words."""

    @abstractmethod
    def bytes_of_all(self) -> int:
        """How many bytes the sets of all words take, about."""

    @abstractmethod
    def add(self, ids: Ids, part: P) -> bool:
        """Take the sets of these words, once checked; False where there is no room. The sets of all
        words replace those that are here.
        """

    @abstractmethod
    def shares(self, word: int) -> WordUnits:
        """s_x(y): units of each word y in the set of `word`, (words,). They sum to T."""

    @abstractmethod
    def at(self, ids: Ids, places: WordUnits) -> Ids:
        """The word that owns unit `places[i]` (below T) of the set of `ids[i]`, units being counted
        by id, those of the last word by nearness at the end.
        """

    @property
    def nbytes(self) -> int:
        """Bytes held, those of a mapped file included."""
        tables: Any = self.tables
        return sum(getattr(tables, column.name).nbytes for column in fields(tables))

    @property
    def known(self) -> int:
        """How many words have their set here."""
        return int(self.present.sum())

    def missing(self, ids: Ids) -> Ids:
        """Those of these words whose sets are not here yet, each once."""
        return np.unique(ids[~self.present[ids]])


class Sets(NearSets[Part, Tables]):
    """Sets as lists of ids."""

    def __init__(self, grid: Grid, units: WordUnits, near: int, room: int) -> None:
        """`room` is the most bytes that the members of sets of some words may take."""
        super().__init__(grid, units, near)
        self.tables = Tables.empty(len(units))
        # Memory that is not written to is not taken.
        kind = self.tables.members.dtype
        self._members = np.empty(min(room // kind.itemsize, len(units) ** 2), dtype=kind)

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which words have their set here, (words,)."""
        return self.tables.starts >= 0

    def build(self, ids: Ids) -> Part:
        """The sets of these words, the same for any number of threads."""
        grid, units, near, kernel = self.grid, self.units, self.near, native.kernel()
        kind = np.min_scalar_type(len(grid) - 1)

        def some(rows: slice) -> Part:
            words = ids[rows]
            if kernel is None:
                lengths, members, last = plainly(grid, words, units, near)
            else:
                rated = grid.products(words), grid.handicaps
                lengths, members, last = kernel.near_sets(*rated, words, units, near)
            return Part(lengths, members.astype(kind), last)

        return joined(by_threads(grid, ids, _ROWS, some), kind)

    def bytes_of_all(self) -> int:
        """Judged by an even sample."""
        words = len(self.units)
        sample = np.arange(0, words, max(1, words // _SAMPLED))
        return self.build(sample).members.nbytes * words // len(sample)

    def add(self, ids: Ids, part: Part) -> bool:
        """See :meth:`NearSets.add`."""
        checked = self._checked(ids, part)
        if len(ids) == len(self.units):
            empty = Tables.empty(len(ids))
            self.tables = empty.extended(ids, part, part.members, *checked)
            self._members = self.tables.members
            return True
        start = len(self.tables.members)
        end = start + len(part.members)
        if end > len(self._members):
            return False
        self._members[start:end] = part.members
        self.tables = self.tables.extended(ids, part, self._members[:end], *checked)
        return True

    def _checked(self, ids: Ids, part: Part) -> tuple[WordUnits, WordUnits]:
        """Units of the full members of each set, and marks; or why these are no sets."""
        words, count = len(self.units), len(ids)
        if len(part.lengths) != count or len(part.last) != count or part.lengths.min(initial=0) < 0:
            raise UnsoundSets("not one set for each word")
        if part.lengths.sum() != len(part.members):
            raise UnsoundSets("lengths and members differ")
        if not 0 <= part.last.min(initial=0) <= part.last.max(initial=0) < words:
            raise UnsoundSets("a word that is not in the vocabulary")
        full = np.zeros(count, dtype=np.int64)
        marks: list[WordUnits] = [np.empty(0, dtype=np.int64)]
        ends = np.cumsum(part.lengths)
        row = 0
        while row < count:
            first = int(ends[row] - part.lengths[row])
            stop = max(row + 1, int(np.searchsorted(ends, first + _PASS, side="right")))
            rows = slice(row, stop)
            members = part.members[first : int(ends[stop - 1])]
            if members.max(initial=0) >= words:
                raise UnsoundSets("a word that is not in the vocabulary")
            lengths = part.lengths[rows]
            starts = ends[rows] - lengths - first
            rising = np.ones(len(members), dtype=bool)
            rising[1:] = members[1:] > members[:-1]
            rising[starts[lengths > 0]] = True
            last = np.repeat(part.last[rows].astype(members.dtype), lengths)
            if not rising.all() or (members == last).any():
                raise UnsoundSets("a word stands twice in a set")
            before = np.zeros(len(members) + 1, dtype=np.int64)
            np.cumsum(self.units[members], out=before[1:])
            full[rows] = before[starts + lengths] - before[starts]
            # Every 64th member of each set, counted from the set's first.
            many = -(-lengths // STRIDE)
            set_of = np.repeat(np.arange(len(lengths)), many)
            number = np.arange(len(set_of)) - np.repeat(np.cumsum(many) - many, many)
            marks.append(before[starts[set_of] + STRIDE * number] - before[starts[set_of]])
            row = stop
        rest = self.near - full
        if (rest < 1).any() or (rest > self.units[part.last]).any():
            raise UnsoundSets(f"a set does not have {self.near} units")
        return full, np.concatenate(marks)

    def shares(self, word: int) -> WordUnits:
        """See :meth:`NearSets.shares`."""
        tables = self.tables
        start = int(tables.starts[word])
        if start < 0:
            raise ValueError("a word without its set")
        members = tables.members[start : start + int(tables.lengths[word])]
        shares = np.zeros(len(self.units), dtype=np.int64)
        shares[members] = self.units[members]
        shares[tables.last[word]] = self.near - tables.full[word]
        return shares

    def at(self, ids: Ids, places: WordUnits) -> Ids:
        """See :meth:`NearSets.at`."""
        kernel, tables = native.kernel(), self.tables
        if kernel is None:
            return self.at_plainly(ids, places)
        found: Ids = kernel.at(
            ids, places, tables.starts, tables.lengths, tables.full, tables.last,
            tables.mark_starts, tables.members, tables.marks, self.units,
        )  # fmt: skip
        return found

    def at_plainly(self, ids: Ids, places: WordUnits) -> Ids:
        """:meth:`at` in NumPy: all sets that occur, one after the other, are one long sum."""
        tables = self.tables
        if (tables.starts[ids] < 0).any():
            raise ValueError("a word without its set")
        out = tables.last[ids].astype(np.int64)
        inside = np.flatnonzero(places < tables.full[ids])
        words, which = np.unique(ids[inside], return_inverse=True)
        lengths = tables.lengths[words]
        first = np.cumsum(lengths) - lengths
        flat = np.arange(lengths.sum()) + np.repeat(tables.starts[words] - first, lengths)
        members = tables.members[flat]
        ends = np.cumsum(self.units[members])
        below = np.cumsum(tables.full[words]) - tables.full[words]
        step = np.searchsorted(ends, places[inside] + below[which], side="right")
        out[inside] = members[step]
        return out
