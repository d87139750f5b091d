"""Exact nearest words on a GPU: an int8 scan of the whole vocabulary with a proved margin.

With c the vocabulary's mean, a = v - c and p = q - c, the word nearest to q maximises

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
the answer; slack = 8 (n + 8) 2^-53 (|p| + max |a|)^2 pays, on both sides, for the canonical value's
own rounding (`canonical_slack`), for that of |a|^2/2, and for the few float64 operations above.

The words of the panels that are left, some hundreds, get squared distances in float32 from the
original vectors, (v - q1) - q2 with q = q1 + q2 to 48 bits. Each difference is wrong by at most two
roundings relative to itself, so the sum S of squares by g1 = (n + 8) 2^-24 D, as in `canonical`,
and q by r = 2^-47 |q|: with b the word of least S, g = (n + 4) 2^-53 and w the canonical answer,

    sqrt(S_w) <= sqrt(1 + g1) ((1 + 2 g) (sqrt(S_b / (1 - g1)) + r) + r).

One word in nearly every case. Where there are more they get float64 distances on the device, whose
limit is (1 + 5 g) times the smallest; those that even float64 cannot separate go to
`canonical.decide` on the host. So the ids are those of the CPU backends, bit for bit.

Lengths are in a unit, a power of two, in which the largest |a_j| lies in [1, 2). Batches overlap:
while the device searches one, the host copies the next into pinned memory and uploads it.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from inkblur.errors import MissingExtra
from inkblur.nearest.canonical import (
    FAR,
    UNIT_64,
    Float64s,
    Ids,
    canonical_rounding,
    checked_queries,
    checked_vectors,
    decide,
    exhaustive,
    shaped_queries,
)
from inkblur.nearest.native import processors

BATCH = 16384  # most queries in flight at a time
_MOST_MAXIMA = 1 << 29  # panel maxima held at a time (2 GB): bounds the batch for huge vocabularies
_PAIRS = 64  # surviving panels a query that the lists have room for, on average
_TALL = 256  # rows of the tallest tile that a scan may use
_COLUMNS = 64  # columns of int8 come in multiples of this: one step of the scan
_MOST_DIMENSIONS = 1 << 16  # 32-bit sums of int8 products do not overflow below this
_ROWS = 1 << 16  # words prepared at a time; a multiple of the panel
_SLOTS = 3  # batches in flight: one searched, one waiting, one being filled
_COPIERS = 4  # threads that fill pinned memory
_UP = 1 + 1e-9  # norms are rounded up by more than float64 can have lost in them
_TINY = 1e-30  # squares under the smallest normal float32, flushed or not


def available() -> bool:
    """Whether torch, Triton and a GPU that multiplies int8 on tensor cores are here."""
    if not all(importlib.util.find_spec(name) for name in ("torch", "triton")):
        return False
    torch = _torch()
    return bool(torch.cuda.is_available() and torch.cuda.get_device_capability() >= (8, 0))


def _torch() -> Any:
    try:
        return importlib.import_module("torch")
    except ImportError:
        raise MissingExtra("the GPU engine needs torch: pip install 'inkblur[gpu]'") from None


@dataclass(slots=True, eq=False)
class _Slot:
    """One batch in flight: its memory on both sides, and what the host waits for."""

    pinned: Float64s  # (B, n), page-locked where there is a GPU
    source: Any  # the same memory as a tensor
    raw: Any  # float64 (B, n) on the device, as given
    batch: Any
    work: Any
    ids: Any  # int64 (B,) pinned
    far: Any  # bool (B,) pinned
    status: Any  # int64 (4,) pinned: pairs, ties, most words left for one query, far queries
    done: Any = None  # event
    queries: Float64s | None = None


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
            raise MissingExtra("torch sees no CUDA device here: use --device cpu")
        self._plain = importlib.import_module("inkblur.nearest.gpu_plain")
        self._steps = self._plain
        if self._cuda:
            try:
                self._steps = importlib.import_module("inkblur.nearest.gpu_kernel")
            except ImportError:
                raise MissingExtra(
                    "the GPU engine needs Triton: pip install 'inkblur[gpu]'"
                ) from None
            self._searching = self._torch.cuda.Stream(self._device)
            self._uploading = self._torch.cuda.Stream(self._device)
        self._copiers = ThreadPoolExecutor(min(_COPIERS, processors()))

    def describe(self) -> str:
        """One phrase for `--version` and reports."""
        name = self._torch.cuda.get_device_name(self._device) if self._cuda else "plain torch"
        return f"GPU int8 scan ({name})"

    # ------------------------------------------------------------------ the vocabulary

    def put(self, vectors: npt.ArrayLike) -> None:
        """Take the vocabulary, float32 (V, n), which may be a memory map.

        Keeps it, and on the device a float32 and an int8 copy (five bytes for each number).
        """
        self._vectors = checked_vectors(vectors)
        dimension = self._vectors.shape[1]
        if dimension > _MOST_DIMENSIONS:
            raise ValueError(f"{dimension} dimensions, the GPU engine takes {_MOST_DIMENSIONS}")
        with self._on(None):
            self._words = self._prepare_words()
            panels = self._words.panels
            self._batch = max(1, min(self._most, _MOST_MAXIMA // panels))
            self._slots = self._make_slots()
        self._finish_all()

    def _prepare_words(self) -> Any:
        torch, plain = self._torch, self._plain
        words, n = self._vectors.shape
        f64 = {"dtype": torch.float64, "device": self._device}
        padded = -(-words // plain.PANEL) * plain.PANEL
        raw = torch.empty((words, n), dtype=torch.float32, device=self._device)
        total = torch.zeros(n, **f64)
        for start in range(0, words, _ROWS):
            rows = raw[start : start + _ROWS]
            rows.copy_(torch.from_numpy(np.array(self._vectors[start : start + _ROWS])))
            total += rows.double().sum(dim=0)
        centre = total / words
        blocks = range(0, words, _ROWS)
        largest = max(float((raw[s : s + _ROWS].double() - centre).abs().max()) for s in blocks)
        unit = 2.0 ** math.floor(math.log2(largest)) if largest > 0 else 1.0
        self._shrink = 1.0 / unit  # a power of two: exact
        self._centre = centre = centre * self._shrink
        self._offset = float(centre.norm())
        half = torch.empty(words, **f64)
        for start in blocks:
            rows = raw[start : start + _ROWS]
            rows.copy_(rows.double() * self._shrink)
            half[start : start + _ROWS] = (rows.double() - centre).square().sum(dim=1) / 2
        order = torch.argsort(half, stable=True)
        # The last word fills the last panel: a row of its own would need a score of its own.
        filled = torch.cat([order, order[-1:].expand(padded - words)])
        table, half = raw[filled], half[filled]
        self._radius = float((2 * half[-1]).sqrt()) * _UP
        panels = padded // plain.PANEL
        columns = -(-n // _COLUMNS) * _COLUMNS
        codes = torch.zeros((padded, columns), dtype=torch.int8, device=self._device)
        scale, length, lost = (torch.empty(panels, **f64) for _ in range(3))
        for start in range(0, padded, _ROWS):
            rows = slice(start, min(start + _ROWS, padded))
            part = slice(rows.start // plain.PANEL, rows.stop // plain.PANEL)
            centred = (table[rows].double() - centre).reshape(-1, plain.PANEL, n)
            s = (centred.abs().amax(dim=(1, 2)) / 127).clamp(min=1e-290)
            k = (centred / s[:, None, None]).round()
            scale[part] = s
            length[part] = k.square().sum(dim=2).amax(dim=1).sqrt() * s * _UP
            rest = (centred - k * s[:, None, None]).square().sum(dim=2)
            lost[part] = rest.amax(dim=1).sqrt() * _UP
            codes[rows, :n] = k.reshape(-1, n).to(torch.int8)
        by_panel = half.reshape(panels, plain.PANEL)
        return plain.Vocabulary(
            words=words,
            dimension=n,
            table=table,
            codes=codes,
            scale=scale,
            shortest=by_panel.amin(dim=1),
            longest=by_panel.amax(dim=1),
            length=length,
            lost=lost,
            order=order,
        )

    def _make_slots(self) -> list[_Slot]:
        torch, plain, words = self._torch, self._plain, self._words
        b, n, panels = self._batch, words.dimension, words.panels
        capacity, ties = max(_PAIRS * b, panels), max(words.words, b)
        dtypes = {
            np.int8: torch.int8,
            np.int32: torch.int32,
            np.float32: torch.float32,
            np.float64: torch.float64,
        }

        def empty(dtype: Any, *shape: int) -> Any:
            return torch.empty(shape, dtype=dtypes[dtype], device=self._device)

        shared = plain.Work(  # batches are searched one after the other, so the big ones serve all
            maxima=empty(np.int32, -(-b // _TALL) * _TALL, panels),  # the scan writes whole tiles
            pairs=None,
            rows=empty(np.int32, capacity),
            panels=empty(np.int32, capacity),
            squares=empty(np.float32, capacity, plain.PANEL),
            least=empty(np.float32, b),
            limit=empty(np.float32, b),
            near=empty(np.int32, b),
            chosen=empty(np.int32, b),
            least64=empty(np.float64, b),
            limit64=empty(np.float64, b),
            near64=None,
            ties=None,
            tie_rows=None,
            tie_words=None,
        )
        batch = plain.Batch(
            count=0,
            points=empty(np.float64, b, n),
            high=empty(np.float32, b, n),
            low=empty(np.float32, b, n),
            codes=empty(np.int8, b, words.codes.shape[1]).zero_(),  # columns beyond n stay zero
            scale=empty(np.float64, b),
            lost=empty(np.float64, b),
            norm=empty(np.float64, b),
            slack=empty(np.float64, b),
        )

        def slot() -> _Slot:
            source = torch.zeros((b, n), dtype=torch.float64, pin_memory=self._cuda)
            return _Slot(
                pinned=source.numpy(),
                source=source,
                raw=empty(np.float64, b, n),
                batch=batch,
                work=replace(
                    shared,
                    pairs=empty(np.int32, 1),
                    near64=empty(np.int32, b),
                    ties=empty(np.int32, 1),
                    tie_rows=empty(np.int32, ties),
                    tie_words=empty(np.int32, ties),
                ),
                ids=torch.zeros(b, dtype=torch.int64, pin_memory=self._cuda),
                far=torch.zeros(b, dtype=torch.bool, pin_memory=self._cuda),
                status=torch.zeros(4, dtype=torch.int64, pin_memory=self._cuda),
            )

        return [slot() for _ in range(_SLOTS if self._cuda else 1)]

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
        flying: deque[_Slot] = deque()
        for turn, block in enumerate(blocks):
            if len(flying) == len(self._slots):
                yield self._finish(flying.popleft())
            slot = self._slots[turn % len(self._slots)]
            self._start(slot, block)
            flying.append(slot)
        while flying:
            yield self._finish(flying.popleft())

    @property
    def batch(self) -> int:
        """The most queries of one block, known after `put`."""
        return self._batch

    def _start(self, slot: _Slot, queries: Float64s) -> None:
        """Copy, upload and search, without waiting for the device."""
        if len(queries) > self._batch:
            raise ValueError(f"a block has {len(queries)} queries, expected up to {self._batch}")
        if slot.done is not None:
            slot.done.synchronize()  # someone gave up on a stream: its upload may still run
        slot.queries = queries
        count = len(queries)
        step = max(256, -(-count // _COPIERS))
        parts = [slice(s, min(s + step, count)) for s in range(0, count, step)]
        list(self._copiers.map(lambda p: np.copyto(slot.pinned[p], queries[p]), parts))
        if not self._cuda:
            slot.raw[:count] = slot.source[:count]
            self._search(slot, count)
            return
        with self._on(self._uploading):
            slot.raw[:count].copy_(slot.source[:count], non_blocking=True)
        self._searching.wait_stream(self._uploading)
        with self._on(self._searching):
            self._search(slot, count)
            slot.done = self._torch.cuda.Event()
            slot.done.record(self._searching)

    def _search(self, slot: _Slot, count: int) -> None:
        words, batch, work, plain = self._words, slot.batch, slot.work, self._plain
        torch, steps, n = self._torch, self._steps, self._words.dimension
        far = self._prepare_queries(slot, count)
        for counter in (work.pairs, work.ties, work.near, work.near64):
            counter.zero_()
        work.least.fill_(torch.inf)
        work.least64.fill_(torch.inf)
        work.chosen.fill_(plain.NOWHERE)
        steps.scan(words, batch, work)
        steps.keep(words, batch, work)
        steps.rescore(words, batch, work)
        g, g1 = canonical_rounding(n), (n + 8) * 2.0**-24
        reach = batch.norm * 2.0**-47 + 2.0**-47 * self._offset * _UP
        root = ((work.least.double() + _TINY) / (1 - g1)).sqrt()
        limit = (1 + g1) * ((1 + 2 * g) * (root + reach) + reach).square() + _TINY
        limit = (limit * (1 + 1e-12)).float()
        work.limit.copy_(torch.nextafter(limit, torch.full_like(limit, torch.inf)))
        steps.choose(words, batch, work)
        steps.refine(words, batch, work)
        work.limit64.copy_(work.least64 * (1 + 5 * g) + 1e-36 * (1 + work.least64.sqrt()))
        work.chosen.masked_fill_(work.near > 1, plain.NOWHERE)
        steps.settle(words, batch, work)
        last = words.words - 1  # a list that overflowed may leave a query without a word
        slot.ids[:count].copy_(words.order[work.chosen[:count].clamp(max=last).long()], True)
        slot.far[:count].copy_(far, True)
        most = work.near64[:count].amax() if count else work.ties[0]
        status = [work.pairs[0], work.ties[0], most, far.sum()]
        slot.status.copy_(torch.stack([s.long() for s in status]), True)

    def _prepare_queries(self, slot: _Slot, count: int) -> Any:
        """Fill the batch; returns which queries lie too far away (or are no numbers)."""
        torch, batch, n = self._torch, slot.batch, self._words.dimension
        batch.count = count
        q = slot.raw[:count] * self._shrink
        p = q - self._centre
        norm = p.square().sum(dim=1).sqrt() * _UP
        far = ~(norm <= FAR * max(self._radius, 1.0))
        q = torch.where(far[:, None], self._centre, q)
        p.masked_fill_(far[:, None], 0.0)
        norm.masked_fill_(far, 0.0)
        t = (p.abs().amax(dim=1) / 127).clamp(min=1e-290)
        codes = (p / t[:, None]).round_()
        batch.codes[:count, :n] = codes.to(torch.int8)
        batch.scale[:count] = t
        batch.lost[:count] = (
            p.addcmul_(codes, t[:, None], value=-1).square().sum(dim=1).sqrt() * _UP
        )
        batch.norm[:count] = norm
        batch.slack[:count] = 8 * (n + 8) * UNIT_64 * (norm + self._radius).square()
        batch.points[:count] = q
        high = q.float()
        batch.high[:count] = high
        batch.low[:count] = (q - high.double()).float()
        return far

    def _finish(self, slot: _Slot) -> Ids:
        """Wait for a batch, and settle on the host what the device could not."""
        if slot.done is not None:
            slot.done.synchronize()
            slot.done = None
        queries, slot.queries = slot.queries, None
        assert queries is not None
        pairs, ties, most, far = slot.status.tolist()
        if pairs > len(slot.work.rows) or ties > len(slot.work.tie_rows):
            middle = len(queries) // 2  # too many panels or ties for the lists: two smaller batches
            parts = []
            for part in (queries[:middle], queries[middle:]):
                self._start(slot, part)
                parts.append(self._finish(slot))
            return np.concatenate(parts)
        ids: Ids = slot.ids[: len(queries)].numpy().copy()
        if most > 1:
            self._judge(slot, queries, ids, ties)
        if far:
            checked_queries(queries, queries.shape[1])
            rows = np.flatnonzero(slot.far[: len(queries)].numpy())
            ids[rows] = exhaustive(self._vectors, queries[rows])
        return ids

    def _judge(self, slot: _Slot, queries: Float64s, ids: Ids, ties: int) -> None:
        """`canonical.decide` for queries with several words at the same float64 distance."""
        with self._on(self._uploading if self._cuda else None):
            rows = slot.work.tie_rows[:ties].cpu().numpy().astype(np.int64)
            words = self._words.order[slot.work.tie_words[:ties].long()].cpu().numpy()
        by_row = np.argsort(rows, kind="stable")
        rows, words = rows[by_row], words[by_row]
        unsure, counts = np.unique(rows, return_counts=True)
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        ids[unsure] = decide(self._vectors, queries[unsure], words, offsets)

    # ------------------------------------------------------------------ streams

    def _on(self, stream: Any) -> AbstractContextManager[Any]:
        """Work on this stream, or on the device's default one."""
        if not self._cuda:
            return nullcontext()
        if stream is None:
            stream = self._torch.cuda.current_stream(self._device)
        context: AbstractContextManager[Any] = self._torch.cuda.stream(stream)
        return context

    def _finish_all(self) -> None:
        if self._cuda:
            self._torch.cuda.synchronize(self._device)
