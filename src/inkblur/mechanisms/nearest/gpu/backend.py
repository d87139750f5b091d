"""Exact nearest words on a GPU: an int8 scan of the whole vocabulary with a proved margin.

With c the vocabulary's mean, a = v - c and p = q - c, the word nearest to q maximizes

    T = a.p - |a|^2/2                              (|v - q|^2 = |p|^2 - 2 T).

Words are sorted by |a| and cut into panels of 32. A panel's words are rounded to int8 with one
scale, a = s k + (a - s k), and each query with its own, p = t l + (p - t l). The tensor cores
multiply int8 and add in 32-bit integers, which is exact: no assumption on how the hardware rounds
enters the proof. By Cauchy-Schwarz, for every word of the panel,

    |a.p - s t k.l| <= e = max |s k| |p - t l|  +  max |a - s k| |p|

with norms that are measured, not estimated. The scan keeps only the panel's largest k.l =: m, so

    upper = s t m - min |a|^2/2 + e      no word of the panel has a larger T
    lower = s t m - max |a|^2/2 - e      some word of the panel has at least this T

(sorting makes the two half norms nearly equal). A panel with upper < max lower - slack cannot hold
the answer. In slack, 8 (n + 8) 2^-53 (|p| + max |a|)^2 pays, on both sides, for the canonical
value's own rounding (`canonical_slack`) and for that of |a|^2/2, and 2^-16 max |a| (|p| + max |a|)
for the float32 arithmetic of the comparison (`memory.constants_of`). The same comparison with
a word's own k.l and half norm then rules out most words of the panels that are left.

What remains, some tens of words, gets squared distances in float32 from the original vectors,
(v - q1) - q2 with q = q1 + q2 to 48 bits. Each difference is wrong by at most two roundings
relative to itself, so the sum S of squares by g1 = (n + 8) 2^-24 D, as in `canonical`, and q by
r = 2^-47 |q|: with b the word of least S, g = (n + 4) 2^-53 and w the canonical answer,

    sqrt(S_w) <= sqrt(1 + g1) ((1 + 2 g) (sqrt(S_b / (1 - g1)) + r) + r).

One word in nearly every case. Where there are more they get float64 distances on the device, whose
limit is (1 + 5 g) times the smallest; those that even float64 cannot separate go to
`canonical.decide` on the host. So the ids are those of the CPU backends, bit for bit.

Lengths are in a unit, a power of two, in which the largest |a_j| lies in [1, 2), or below where a
coordinate that dwarfs it would leave the range of float32. Batches overlap: while the device
searches one, the host copies the next into pinned memory and uploads it.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from inkblur.errors import MissingExtra, needs
from inkblur.mechanisms.nearest.canonical import (
    Float64s,
    canonical_rounding,
    checked_queries,
    checked_vectors,
    decide,
    exhaustive,
    shaped_queries,
)
from inkblur.mechanisms.nearest.cpu.native import processors
from inkblur.types import Ids

BATCH = 16384  # most queries in flight at a time
_MOST_MAXIMA = 1 << 29  # panel maxima held at a time (2 GB): bounds the batch for huge vocabularies
_PAIRS = 256  # surviving panels a query that the lists have room for, on average
_MOST_DIMENSIONS = 1 << 16  # 32-bit sums of int8 products do not overflow below this
_SLOTS = 3  # batches in flight: one searched, one waiting, one being filled
_COPIERS = 4  # threads that fill pinned memory
_TINY = 1e-30  # squares under the smallest normal float32, flushed or not


def available() -> bool:
    """Whether torch, Triton and a GPU that multiplies int8 on tensor cores are here."""
    if not all(importlib.util.find_spec(name) for name in ("torch", "triton")):
        return False
    torch = _torch()
    return bool(torch.cuda.is_available() and torch.cuda.get_device_capability() >= (8, 0))


def _torch() -> Any:
    with needs("the GPU engine needs torch", "gpu"):
        return importlib.import_module("torch")


class _BatchInFlight:
    """One batch in flight: its memory on both sides, and what the host waits for."""

    def __init__(self, batch: Any, work: Any, *, pin: bool) -> None:
        """pin: whether memory is page-locked, for a GPU."""
        torch, size = _torch(), len(batch.raw)
        zeros = partial(torch.zeros, pin_memory=pin)
        self.batch, self.work = batch, work
        self.source = zeros(batch.raw.shape, dtype=torch.float64)
        self.pinned: Float64s = self.source.numpy()  # the same memory
        self.ids = zeros(size, dtype=torch.int64)
        self.far = zeros(size, dtype=torch.int32)
        # Lengths of the three lists, most words left, far queries.
        self.status = zeros(5, dtype=torch.int64)
        self.done: Any = None  # event
        self.count = 0  # queries
        self.queries: Float64s = np.empty((0, 0))


class Gpu:
    """The CUDA backend. `device="cpu"` runs the same steps in plain torch, for tests."""

    def __init__(self, *, device: str = "cuda", batch: int = BATCH) -> None:
        """device: as torch names it. batch: most queries in flight at a time, at least 1."""
        self._torch = _torch()
        self._device = self._torch.device(device)
        self._cuda = self._device.type == "cuda"
        if batch < 1:
            raise ValueError(f"batch is {batch}, expected at least 1")
        self._most = batch
        if self._cuda and not self._torch.cuda.is_available():
            raise MissingExtra('torch sees no CUDA device here: use `device="cpu"`')
        self._memory = importlib.import_module("inkblur.mechanisms.nearest.gpu.memory")
        self._steps = importlib.import_module("inkblur.mechanisms.nearest.gpu.plain")
        self._searching: Any = None  # streams, on a GPU
        self._uploading: Any = None
        if self._cuda:
            with needs("the GPU engine needs Triton", "gpu"):
                self._steps = importlib.import_module("inkblur.mechanisms.nearest.gpu.steps")
            self._searching = self._torch.cuda.Stream(self._device)
            self._uploading = self._torch.cuda.Stream(self._device)
        self._copiers = ThreadPoolExecutor(min(_COPIERS, processors()))

    # ------------------------------------------------------------------ the vocabulary

    def put(self, vectors: npt.ArrayLike) -> None:
        """Take the vocabulary, float32 (V, n), which may be a memory map.

        Keeps it, and on the device a float32 and an int8 copy (five bytes for each number).
        """
        self._vectors = checked_vectors(vectors)
        dimension = self._vectors.shape[1]
        if dimension > _MOST_DIMENSIONS:
            raise ValueError(f"{dimension} dimensions, the GPU engine takes {_MOST_DIMENSIONS}")
        memory, slots = self._memory, _SLOTS if self._cuda else 1
        self._slots: list[_BatchInFlight] = []
        with self._on(None):
            self._words = words = memory.DeviceVocabulary(self._vectors, self._device)
            self._offset = float(words.center.norm())
            self._batch: int = max(1, min(self._most, _MOST_MAXIMA // words.panels))
            # One query alone must always fit: every panel may survive, every word may tie.
            pairs = max(_PAIRS * self._batch, words.panels)
            batch = memory.DeviceBatch(words, self._batch)
            work = memory.Work(words, self._batch, pairs)
            memories = [(batch, work)]
            memories += [(batch.another(), work.another()) for _ in range(slots - 1)]
            self._slots = [_BatchInFlight(*m, pin=self._cuda) for m in memories]
        if self._cuda:
            self._torch.cuda.synchronize(self._device)

    # ------------------------------------------------------------------ queries

    def nearest(self, queries: npt.ArrayLike) -> Ids:
        """The id of the nearest word of each query, float64 (B, n) -> int64 (B,)."""
        points = shaped_queries(queries, self._vectors.shape[1])
        parts = (points[s : s + self._batch] for s in range(0, len(points), self._batch))
        out = np.empty(len(points), dtype=np.int64)
        start = 0
        try:
            for ids in self.stream(parts):
                out[start : start + len(ids)] = ids
                start += len(ids)
        except ValueError:
            checked_queries(points, points.shape[1])  # names the query by its place in the whole
            raise
        return out

    def stream(self, blocks: Iterable[Float64s]) -> Iterator[Ids]:
        """`nearest` for block after block: the next ones are drawn while the device searches.

        A block has at most `batch` rows (fewer for a vocabulary of millions).
        """
        return self._flown(partial(self._start, queries=block) for block in blocks)

    def _flown(self, starts: Iterable[Callable[[_BatchInFlight], None]]) -> Iterator[Ids]:
        """The answers of batch after batch, as many in flight as there are slots."""
        flying: deque[_BatchInFlight] = deque()
        for turn, start in enumerate(starts):
            if len(flying) == len(self._slots):
                yield self._finish(flying.popleft())
            slot = self._slots[turn % len(self._slots)]
            start(slot)
            flying.append(slot)
        while flying:
            yield self._finish(flying.popleft())

    @property
    def batch(self) -> int:
        """The most queries of one block, known after `put`."""
        return self._batch

    def _start(self, slot: _BatchInFlight, queries: Float64s) -> None:
        """Copy, upload and search, without waiting for the device."""
        if len(queries) > self._batch:
            raise ValueError(f"a block has {len(queries)} queries, expected up to {self._batch}")
        if slot.done is not None:
            slot.done.synchronize()  # someone gave up on a stream: its upload may still run
            slot.done = None
        slot.queries = queries
        slot.count = count = len(queries)
        if count == 0:
            slot.status.zero_()
            return
        step = max(256, -(-count // _COPIERS))
        parts = [slice(s, min(s + step, count)) for s in range(0, count, step)]
        list(self._copiers.map(lambda p: np.copyto(slot.pinned[p], queries[p]), parts))
        if not self._cuda:
            slot.batch.raw[:count] = slot.source[:count]
            self._search(slot, count)
            return
        with self._on(self._uploading):
            slot.batch.raw[:count].copy_(slot.source[:count], non_blocking=True)
        self._searching.wait_stream(self._uploading)
        with self._on(self._searching):
            self._search(slot, count)

    def _search(self, slot: _BatchInFlight, count: int) -> None:
        """All steps, one after the other on the device; nothing here waits for it."""
        words, batch, work, steps = self._words, slot.batch, slot.work, self._steps
        torch, n = self._torch, self._words.dimension
        batch.count = count
        for counter in (work.pairs, work.kept, work.unsure, work.near, work.near64):
            counter.zero_()
        work.sure.fill_(-torch.inf)
        work.least.fill_(torch.inf)
        work.least64.fill_(torch.inf)
        work.chosen.fill_(self._memory.NOWHERE)
        for step in (steps.prepare, steps.scan, steps.keep, steps.sift, steps.rescore):
            step(words, batch, work)
        g, g1 = canonical_rounding(n), (n + 8) * 2.0**-24
        reach = batch.norm.double() * 2.0**-46 + self._offset * 2.0**-46  # r, and float32's own
        root = ((work.least.double() + _TINY) / (1 - g1)).sqrt_()
        limit = (1 + g1) * ((1 + 2 * g) * (root + reach) + reach).square_() + _TINY
        limit = (limit * (1 + 1e-12)).float()
        torch.nextafter(limit, torch.full_like(limit, torch.inf), out=work.limit)
        for step in (steps.choose, steps.collect, steps.refine):
            step(words, batch, work)
        work.limit64.copy_(work.least64 * (1 + 5 * g) + 1e-36 * (1 + work.least64.sqrt()))
        work.chosen.masked_fill_(work.near > 1, self._memory.NOWHERE)
        steps.settle(words, batch, work)
        last = words.words - 1  # a list that overflowed may leave a query without a word
        slot.ids[:count].copy_(words.order[work.chosen[:count].clamp(max=last).long()], True)
        slot.far[:count].copy_(batch.far[:count], True)
        most, far = work.near64[:count].amax(), batch.far[:count].sum()
        status = [work.pairs[0], work.kept[0], work.unsure[0], most, far]
        slot.status.copy_(torch.stack([s.long() for s in status]), True)
        if self._cuda:
            slot.done = torch.cuda.Event()
            slot.done.record(self._searching)

    def _finish(self, slot: _BatchInFlight) -> Ids:
        """Wait for a batch, and settle on the host what the device could not."""
        if slot.done is not None:
            slot.done.synchronize()
            slot.done = None
        pairs, kept, unsure, most, far = slot.status.tolist()
        room = (len(slot.work.rows), len(slot.work.kept_rows), len(slot.work.unsure_rows))
        if pairs > room[0] or kept > room[1] or unsure > room[2]:
            queries = slot.queries
            middle = len(queries) // 2  # too many panels or ties for the lists: two smaller batches
            parts = []
            for part in (queries[:middle], queries[middle:]):
                self._start(slot, part)
                parts.append(self._finish(slot))
            return np.concatenate(parts)
        ids: Ids = slot.ids[: slot.count].numpy().copy()
        if most > 1:
            self._judge(slot, ids, unsure)
        if far:
            queries = slot.queries
            checked_queries(queries, self._words.dimension)
            rows = np.flatnonzero(slot.far[: slot.count].numpy())
            ids[rows] = exhaustive(self._vectors, queries[rows])
        return ids

    def _judge(self, slot: _BatchInFlight, ids: Ids, listed: int) -> None:
        """`canonical.decide` for queries with several words at the same float64 distance."""
        with self._on(self._uploading):
            rows = slot.work.unsure_rows[:listed].cpu().numpy().astype(np.int64)
            words = self._words.order[slot.work.unsure_words[:listed].long()].cpu().numpy()
        by_row = np.argsort(rows, kind="stable")
        rows, words = rows[by_row], words[by_row]
        unsure, counts = np.unique(rows, return_counts=True)
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        ids[unsure] = decide(self._vectors, slot.queries[unsure], words, offsets)

    # ------------------------------------------------------------------ streams

    def _on(self, stream: Any) -> AbstractContextManager[Any]:
        """Work on this stream, or on the device's default one."""
        if not self._cuda:
            return nullcontext()
        if stream is None:
            stream = self._torch.cuda.current_stream(self._device)
        context: AbstractContextManager[Any] = self._torch.cuda.stream(stream)
        return context
