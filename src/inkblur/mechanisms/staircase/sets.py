"""The near sets S_x: for every word the nearest words until their units are exactly T.

A set is the words that lie in it with all their units, and the one word, the last by nearness, that
may lie in it in part. The order by nearness has done its work by then: units are counted by id, so
there are two layouts, and the same numbers draw the same words from both. Ascending ids are short
where few words are near; a row of bits, one a word, takes V / 8 bytes however many are.

What the proof needs is checked whenever sets are added, wherever they come from: no word stands in
a set twice, and each set has T units.

They are kept in the user's cache folder by what they were computed from, for the whole vocabulary
or not at all: which words a text has is nobody's business. A file that is damaged, stale or belongs
to something else is ignored and written anew. What the guarantee rests on is not taken on trust:
`NearSets.add` checks it in whatever is read.

Sets of all words take up to 402 MB for the bundled words, and up to two minutes on two busy
processors to make again. So they are kept, and mapped, not copied: the system may drop their pages
and read them again. A file is replaced as a whole and never written to, so what was mapped stays as
it was checked. Those that were not used for the longest time make room for new ones, and a line
says what was kept where: nobody asked for files of this size.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import logging
import mmap
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inkblur.atomic_file import PRIVATE, AtomicFile
from inkblur.blas import one_thread, processors
from inkblur.cache import is_ours
from inkblur.errors import OutputError
from inkblur.mechanisms.staircase.nearness import Grid, near_words
from inkblur.mechanisms.staircase.units import WordUnits
from inkblur.types import Ids

Entries = NDArray[np.unsignedinteger]  # ids, (all members,); or bits, (sets, blocks)

PLAIN_VARIABLE = "INKBLUR_STAIRCASE_PLAIN"  # set: NumPy serves, for tests and for comparing
_PRODUCTS = 1 << 24  # products with the whole vocabulary that one thread holds at most: 64 MB
_BLOCK = 64  # words a block of bits
_ID_STRIDE = 64  # ids between two marks
_BIT_STRIDE = 32  # blocks between two marks
_PASS = 1 << 20  # ids that are checked at a time
_SAMPLED = 64  # words whose sets say how large those of all words will be
_VERSION = 4  # of the files of sets: raise it when what they hold changes
_MOST = 1_250_000_000  # bytes of sets in a folder: three strengths of the bundled words
_TOLD = 10_000_000  # bytes: a larger file is told
_ALIGNED = 64  # bytes: where the sets begin, so that numbers of any size may be read in place

_log = logging.getLogger("inkblur")


class UnsoundSets(ValueError):
    """Sets that the guarantee cannot rest on; the message says why."""


def kernel() -> Any:
    """The C++ extension: the same sets and words, sooner. None where NumPy serves."""
    if PLAIN_VARIABLE in os.environ:
        return None
    try:
        return importlib.import_module("inkblur.mechanisms.staircase._staircase")
    except ImportError:
        return None


@dataclass(frozen=True, slots=True)
class Part:
    """The sets of some words, one after the other, as they are made and stored."""

    lengths: NDArray[np.int64]  # entries of each
    last: NDArray[np.integer]  # the word that lies in it with what is left of T
    entries: Entries

    def arrays(self) -> list[NDArray[Any]]:
        """What a file of the sets of all words holds, little-endian."""
        entries = self.entries.astype(self.entries.dtype.newbyteorder("<"), copy=False)
        return [self.lengths.astype("<i8"), self.last.astype("<i8"), entries]


@dataclass(frozen=True, slots=True)
class Tables:
    """Sets by word, and what is needed to draw from them; replaced as a whole."""

    starts: NDArray[np.int64]  # (words,): of a word's entries; -1: its set is not here
    lengths: NDArray[np.int64]  # (words,): entries
    full: NDArray[np.int64]  # (words,): units of the words that lie in it with all of theirs
    last: NDArray[np.int32]  # (words,)
    mark_starts: NDArray[np.int64]  # (words,)
    entries: Entries
    marks: NDArray[np.int64]  # units before every so many entries of a set


class AsIds:
    """A set as the ascending ids of its full members."""

    rows = 192  # words whose products with the vocabulary one thread holds at most

    def __init__(self, units: WordUnits) -> None:
        self._units = units
        self.empty = np.empty(0, np.min_scalar_type(len(units) - 1))
        self.entry_bytes = self.empty.itemsize

    def built(self, grid: Grid, words: Ids, near: int) -> Part:
        """The sets of these words."""
        if extension := kernel():
            rated = grid.products(words), grid.handicaps
            lengths, members, last = extension.near_sets(*rated, words, self._units, near)
        else:
            sets = _sets_plainly(grid, words, self._units, near)
            lengths = np.array([len(members) for members, _ in sets])
            members = np.concatenate([members for members, _ in sets])
            last = np.array([end for _, end in sets], dtype=np.int32)
        return Part(lengths, last, members.astype(self.empty.dtype))

    def checked(self, part: Part) -> tuple[WordUnits, NDArray[np.int64]]:
        """Units of the full members of each set, and marks; or why these are no sets."""
        lengths, words = part.lengths, len(self._units)
        if lengths.min(initial=0) < 0 or lengths.sum() != len(part.entries):
            raise UnsoundSets("lengths and members differ")
        ends = np.cumsum(lengths)
        full, marks = np.empty(len(lengths), np.int64), [np.empty(0, np.int64)]
        step = max(1, _PASS // int(lengths.max(initial=1)))
        for first in range(0, len(lengths), step):
            rows = slice(first, first + step)
            here = lengths[rows]
            begin = int(ends[first] - lengths[first])
            members = part.entries[begin : int(ends[rows][-1])]
            if members.max(initial=0) >= words:
                raise UnsoundSets("a word that is not in the vocabulary")
            stops = ends[rows] - begin
            starts = stops - here
            rising = np.ones(len(members), dtype=bool)
            rising[1:] = members[1:] > members[:-1]
            rising[starts[here > 0]] = True
            if not rising.all() or (members == np.repeat(part.last[rows], here)).any():
                raise UnsoundSets("a word stands twice in a set")
            before = np.zeros(len(members) + 1, dtype=np.int64)
            np.cumsum(self._units[members], out=before[1:])
            full[rows] = before[stops] - before[starts]
            each = zip(starts.tolist(), stops.tolist(), strict=True)
            at = np.concatenate([np.arange(start, stop, _ID_STRIDE) for start, stop in each])
            marks.append(before[at] - np.repeat(before[starts], -(-here // _ID_STRIDE)))
        return full, np.concatenate(marks)

    def members(self, entries: Entries) -> Ids:
        """The ids that one set's entries stand for, ascending."""
        return entries.astype(np.int64)

    def at(self, extension: Any, ids: Ids, places: WordUnits, tables: Tables) -> Ids:
        """:meth:`NearSets.at` in C++."""
        columns = (getattr(tables, column.name) for column in fields(tables))
        words: Ids = extension.at(ids, places, *columns, self._units)
        return words


class AsBits:
    """A set as one row of bits: bit y % 64 of block y // 64 stands for word y."""

    rows = 16

    def __init__(self, units: WordUnits) -> None:
        self._units = units
        self.empty = np.empty((0, -(-len(units) // _BLOCK)), np.uint64)
        self.entry_bytes = 8 * self.empty.shape[1]

    def built(self, grid: Grid, words: Ids, near: int) -> Part:
        """See :class:`AsIds`."""
        bits = np.zeros((len(words), self.empty.shape[1]), np.uint64)
        if extension := kernel():
            rated = grid.products(words), grid.handicaps
            last = extension.near_bits(*rated, words, self._units, near, bits)
        else:
            sets = _sets_plainly(grid, words, self._units, near)
            last = np.array([end for _, end in sets], dtype=np.int32)
            for row, (members, _) in zip(bits, sets, strict=True):
                inside = np.zeros(len(row) * _BLOCK, dtype=bool)
                inside[members] = True
                row[:] = np.packbits(inside, bitorder="little").view("<u8")
        return Part(np.ones(len(words), np.int64), last, bits)

    def checked(self, part: Part) -> tuple[WordUnits, NDArray[np.int64]]:
        """See :class:`AsIds`. No word can stand twice in a row of bits, but the last in it."""
        bits, words, count = part.entries, len(self._units), len(part.last)
        if len(bits) != count or (part.lengths != 1).any():
            raise UnsoundSets("not one set for each word")
        if words % _BLOCK and (bits[:, -1] >> np.uint64(words % _BLOCK)).any():
            raise UnsoundSets("a word that is not in the vocabulary")
        place = part.last.astype(np.uint64)
        block = bits[np.arange(count), (place // _BLOCK).astype(np.int64)]
        if (block >> (place % np.uint64(_BLOCK)) & np.uint64(1)).any():
            raise UnsoundSets("a word stands twice in a set")
        if extension := kernel():
            marks: NDArray[np.int64] = extension.bit_marks(bits, self._units)
        else:
            starts = np.arange(0, words, _BIT_STRIDE * _BLOCK)
            marks = np.zeros((count, len(starts) + 1), dtype=np.int64)
            for row in range(count):
                owned = np.zeros(words, dtype=np.int64)
                members = self.members(bits[row])
                owned[members] = self._units[members]
                np.cumsum(np.add.reduceat(owned, starts), out=marks[row, 1:])
        return marks[:, -1], marks

    def members(self, entries: Entries) -> Ids:
        """See :class:`AsIds`."""
        octets = entries.astype("<u8", copy=False).reshape(-1).view(np.uint8)
        return np.flatnonzero(np.unpackbits(octets, bitorder="little")).astype(np.int64)

    def at(self, extension: Any, ids: Ids, places: WordUnits, tables: Tables) -> Ids:
        """See :class:`AsIds`."""
        columns = tables.starts, tables.entries, tables.marks, tables.last
        words: Ids = extension.at_bits(ids, places, *columns, self._units)
        return words


def _sets_plainly(grid: Grid, words: Ids, units: WordUnits, near: int) -> list[tuple[Ids, int]]:
    """The definition: for each word, the vocabulary by nearness until T units are reached."""
    sets = []
    for word, keys in zip(words.tolist(), grid.keys(words), strict=True):
        keys[word] = keys.max()  # itself comes first, whatever rounding made of its cosine
        inside = near_words(keys, word, units, near)
        sets.append((np.sort(inside[:-1]), int(inside[-1])))
    return sets


def shorter_as_bits(tau: float, words: int) -> bool:
    """Whether sets of this mass are shorter as bits.

    Near words are rarer than others, so a set of mass tau has about 2 tau V members.

    >>> shorter_as_bits(0.15, 50_000), shorter_as_bits(0.002, 50_000)
    (True, False)
    """
    return bool(2 * tau * np.min_scalar_type(words - 1).itemsize > 1 / 8)


class NearSets:
    """The sets of some words or all, ready to draw from. Threads may draw while another adds."""

    def __init__(self, grid: Grid, units: WordUnits, near: int, room: int) -> None:
        """`room` is the most bytes that the sets of some words may take."""
        self.grid, self.units, self.near = grid, units, near
        words = len(units)
        self.as_bits = shorter_as_bits(near / int(units.sum()), words)
        self._layout: AsIds | AsBits = AsBits(units) if self.as_bits else AsIds(units)
        empty, most = self._layout.empty, words if self.as_bits else words**2
        count = min(room // self._layout.entry_bytes, most)
        # Memory that is not written to is not taken.
        self._store = np.empty((count, *empty.shape[1:]), empty.dtype)
        self.tables = self._no_tables()

    def _no_tables(self) -> Tables:
        words, empty = len(self.units), self._layout.empty
        none, zeros = np.full(words, -1), np.zeros(words, dtype=np.int64)
        last = zeros.astype(np.int32)
        marks = self._layout.checked(Part(zeros[:0], last[:0], empty))[1]
        return Tables(none, zeros, zeros, last, zeros, empty, marks)

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which words have their set here, (words,)."""
        return self.tables.starts >= 0

    @property
    def nbytes(self) -> int:
        """Bytes held, those of a mapped file included."""
        return sum(getattr(self.tables, column.name).nbytes for column in fields(self.tables))

    def build(self, ids: Ids) -> Part:
        """The sets of these words, the same for any number of threads."""
        grid, layout = self.grid, self._layout
        step = max(1, min(layout.rows, _PRODUCTS // len(grid)))
        grid.points, grid.handicaps  # noqa: B018  computed once, before the threads start
        pieces = (ids[start : start + step] for start in range(0, len(ids), step))
        lengths: list[NDArray[Any]] = [np.empty(0, np.int64)]
        last: list[NDArray[Any]] = [np.empty(0, np.int32)]
        entries, end = np.empty((len(ids), *layout.empty.shape[1:]), layout.empty.dtype), 0
        with one_thread(), ThreadPoolExecutor(processors()) as pool:
            # Each copied as it comes: all of them twice would be much.
            for part in pool.map(lambda some: layout.built(grid, some, self.near), pieces):
                lengths.append(part.lengths)
                last.append(part.last)
                start, end = end, end + len(part.entries)
                if end > len(entries):  # moves pages, not numbers
                    entries.resize((end + end // 8, *entries.shape[1:]), refcheck=False)
                entries[start:end] = part.entries
        entries.resize((end, *entries.shape[1:]), refcheck=False)
        return Part(np.concatenate(lengths), np.concatenate(last), entries)

    def bytes_of_all(self) -> int:
        """How many bytes the sets of all words take, judged by an even sample."""
        words = len(self.units)
        sample = np.arange(0, words, max(1, words // _SAMPLED))
        return self.build(sample).entries.nbytes * words // len(sample)

    def add(self, ids: Ids, part: Part) -> bool:
        """Take the sets of these words, once checked; False where there is no room. The sets of all
        words replace those that are here.
        """
        if len(part.lengths) != len(ids) or len(part.last) != len(ids):
            raise UnsoundSets("not one set for each word")
        if not 0 <= part.last.min(initial=0) <= part.last.max(initial=0) < len(self.units):
            raise UnsoundSets("a word that is not in the vocabulary")
        full, marks = self._layout.checked(part)
        rest = self.near - full
        if (rest < 1).any() or (rest > self.units[part.last]).any():
            raise UnsoundSets(f"a set does not have {self.near} units")
        if len(ids) == len(self.units):
            old, start, entries = self._no_tables(), 0, part.entries
        else:
            old, start = self.tables, len(self.tables.entries)
            entries = self._store[: start + len(part.entries)]
            if len(entries) < start + len(part.entries):
                return False
            entries[start:] = part.entries
        mark_lengths = -(-part.lengths // _ID_STRIDE)
        starts = start + np.cumsum(part.lengths) - part.lengths
        mark_starts = len(old.marks) + np.cumsum(mark_lengths) - mark_lengths

        def put(column: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
            column = column.copy()
            column[ids] = values
            return column

        self.tables = Tables(
            put(old.starts, starts),
            put(old.lengths, part.lengths),
            put(old.full, full),
            put(old.last, part.last),
            put(old.mark_starts, mark_starts),
            entries,
            np.concatenate([old.marks, marks]),
        )
        return True

    def of_bytes(self, body: memoryview) -> Part | None:
        """The sets of all words from a file, not checked; None where its length is wrong."""
        words, empty = len(self.units), self._layout.empty
        kind, head = empty.dtype.newbyteorder("<"), 16 * words
        if len(body) < head or (len(body) - head) % self._layout.entry_bytes:
            return None
        numbers = np.frombuffer(body, dtype="<i8", count=2 * words)
        entries = np.frombuffer(body, dtype=kind, offset=head).reshape(-1, *empty.shape[1:])
        return Part(numbers[:words], numbers[words:], entries)

    def shares(self, word: int) -> WordUnits:
        """s_x(y): units of each word y in the set of `word`, (words,). They sum to T."""
        tables = self.tables
        members = self._members(word, tables)
        shares = np.zeros(len(self.units), dtype=np.int64)
        shares[members] = self.units[members]
        shares[tables.last[word]] = self.near - tables.full[word]
        return shares

    def _members(self, word: int, tables: Tables) -> Ids:
        start = int(tables.starts[word])
        if start < 0:
            raise ValueError("a word without its set")
        return self._layout.members(tables.entries[start : start + int(tables.lengths[word])])

    def at(self, ids: Ids, places: WordUnits) -> Ids:
        """The word that owns unit `places[i]` (below T) of the set of `ids[i]`, units being counted
        by id, those of the last word by nearness at the end.
        """
        extension, tables = kernel(), self.tables
        if extension is not None:
            return self._layout.at(extension, ids, places, tables)
        if (tables.starts[ids] < 0).any():
            raise ValueError("a word without its set")
        out = tables.last[ids].astype(np.int64)
        inside = np.flatnonzero(places < tables.full[ids])
        inside = inside[np.argsort(ids[inside], kind="stable")]
        words, firsts = np.unique(ids[inside], return_index=True)
        for word, here in zip(words.tolist(), np.split(inside, firsts[1:]), strict=False):
            members = self._members(word, tables)
            ends = np.cumsum(self.units[members])
            out[here] = members[np.searchsorted(ends, places[here], side="right")]
        return out


def read_sets(folder: Path, key: str) -> memoryview | None:
    """The sets of all words that were stored under this key, if the file is sound."""
    path = _path(folder, key)
    try:
        with path.open("rb") as file:
            header = json.loads(file.readline())
            start = file.tell()
            if is_ours(file):
                body = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))[start:]
            else:  # others could change it after it was checked
                body = memoryview(file.read())
    except (OSError, ValueError):
        return None
    if header != {"key": key, "digest": hashlib.blake2b(body).hexdigest()}:
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # used now
    return body


def write_sets(folder: Path, key: str, arrays: list[NDArray[Any]]) -> None:
    """Store the sets of all words; a folder that cannot be written costs only time."""
    digest = hashlib.blake2b()
    for array in arrays:
        digest.update(array.data)
    header = json.dumps({"key": key, "digest": digest.hexdigest()})
    header += " " * (-(len(header) + 1) % _ALIGNED) + "\n"
    newest = _path(folder, key)
    with contextlib.suppress(OSError, OutputError):
        folder.mkdir(parents=True, exist_ok=True)
        with AtomicFile(newest, mode=PRIVATE) as file:
            file.write(header.encode())
            for array in arrays:
                file.write(array.data)
        size = newest.stat().st_size
        if size > _TOLD:
            _log.warning("near sets of all words: %d MB kept in %s", round(size / 1e6), folder)
        others = [path for path in folder.glob("*.sets") if path != newest]
        for path in sorted(others, key=lambda path: path.stat().st_mtime_ns, reverse=True):
            size += path.stat().st_size
            if size > _MOST:  # not used for the longest time
                path.unlink()


def _path(folder: Path, key: str) -> Path:
    name = hashlib.sha256(f"staircase {_VERSION} {key}".encode()).hexdigest()[:32]
    return folder / f"{name}.sets"
