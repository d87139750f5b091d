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
value's own rounding (`canonical_slack`) and for that of |a|^2/2. Both comparisons are of float32
numbers below 8 A (|p| + A), A = max |a|, after at most eight roundings each: 2^-16 A (|p| + A) is
twice what that can cost on both sides. The same comparison with a word's own k.l and half norm then
rules out most words of the panels that are left.

What remains, some tens of words, gets squared distances S in float64 from the original vectors.
Like the canonical value they are wrong by at most g D, g = (n + 4) 2^-53, in any order of
additions. So with b the word of least S and w the canonical answer,

    S_w <= ((1 + g) / (1 - g))^2 S_b <= (1 + 5 g) S_b.

One word in nearly every case; where there are more, `canonical.decide` judges on the host. So the
ids are those of the processor's search, bit for bit.

Lengths are in a unit, a power of two, in which the largest |a_j| lies in [1, 2), or below where a
coordinate that dwarfs it would leave the range of float32. Batches overlap: while the device
searches one, the host copies the next into pinned memory and uploads it.

`search` has the steps in plain torch, slow and easy to read; `gpu_kernels.search` fuses them.
"""

from __future__ import annotations

import math
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from inkblur.blas import processors
from inkblur.errors import MissingExtra, needs
from inkblur.mechanisms.nearest.canonical import (
    FAR,
    UNIT_64,
    Float32s,
    Float64s,
    canonical_rounding,
    checked_queries,
    checked_vectors,
    decide,
    exhaustive,
    shaped_queries,
)
from inkblur.types import Ids

BATCH = 16384  # most queries in flight at a time
PANEL = 32  # words that share one maximum
WIDE = 512  # panels that one program compares: rows of maxima are padded to a multiple of this
TALL = 128  # rows of a tile of the scan
STEP = 64  # columns of one step of the scan: those of int8 come in multiples of it
_MOST_MAXIMA = 1 << 29  # panel maxima held at a time (2 GB): bounds the batch for huge vocabularies
_PAIRS = 256  # surviving panels a query that the lists have room for, on average
_MOST_DIMENSIONS = 1 << 16  # 32-bit sums of int8 products do not overflow below this
_IN_FLIGHT = 3  # batches: one searched, one waiting, one being filled
_COPIERS = 4  # threads that fill pinned memory
_ROWS = 1 << 16  # words prepared at a time; a multiple of the panel
_UP = 1 + 1e-9  # norms are rounded up by more than float64 can have lost in them
_SHORT = 2.0**-40  # least radius: room for rounding that float32 holds with all its digits
_NOWHERE = 2**31 - 1  # "no word": larger than every position
_TIED, _FAR = -1, -2  # in place of an id: the host decides
Tensor = Any  # torch is absent where the types are checked


class Vocabulary:
    """A vocabulary on the device: V words sorted by length, P panels, n dimensions padded to K."""

    def __init__(self, vectors: Float32s, device: Tensor) -> None:
        """Copy, center, sort and round; block by block, so that they may be a memory map."""
        words, n = vectors.shape
        f64 = {"dtype": torch.float64, "device": device}
        raw = torch.empty((words, n), dtype=torch.float32, device=device)
        total = torch.zeros(n, **f64)
        blocks = range(0, words, _ROWS)
        for start in blocks:
            rows = raw[start : start + _ROWS]
            rows.copy_(torch.from_numpy(np.array(vectors[start : start + _ROWS])))
            total += rows.double().sum(dim=0)
        center = total / words
        largest = max(float((raw[s : s + _ROWS].double() - center).abs().max()) for s in blocks)
        most = max(float(raw[s : s + _ROWS].abs().max()) for s in blocks)
        shrink = 1.0
        if largest > 0:  # a power of two: exact, and no number leaves the range of float32
            shrink = 2.0 ** min(-math.floor(math.log2(largest)), 126 - math.floor(math.log2(most)))
        center *= shrink
        half = torch.empty(words, **f64)
        for start in blocks:
            rows = raw[start : start + _ROWS]
            rows.copy_(rows.double() * shrink)
            half[start : start + _ROWS] = (rows.double() - center).square().sum(dim=1) / 2
        order = torch.argsort(half, stable=True)
        # The last word fills the last panel: an empty row would score 0, which no word need reach.
        padded = -(-words // PANEL) * PANEL
        filled = torch.cat([order, order[-1:].expand(padded - words)])
        table, half = raw[filled], half[filled]
        del raw
        codes = torch.zeros((padded, -(-n // STEP) * STEP), dtype=torch.int8, device=device)
        scale, length, lost = (torch.empty(padded // PANEL, **f64) for _ in range(3))
        for start in range(0, padded, _ROWS):
            here = slice(start, min(start + _ROWS, padded))
            part = slice(here.start // PANEL, here.stop // PANEL)
            centered = (table[here].double() - center).reshape(-1, PANEL, n)
            s = (centered.abs().amax(dim=(1, 2)) / 127).clamp(min=1e-290)
            k = (centered / s[:, None, None]).round()
            scale[part] = s
            length[part] = k.square().sum(dim=2).amax(dim=1).sqrt() * s
            rest = (centered - k * s[:, None, None]).square().sum(dim=2)
            lost[part] = rest.amax(dim=1).sqrt()
            codes[here, :n] = k.reshape(-1, n).to(torch.int8)
        by_panel = half.reshape(-1, PANEL)
        padding = -len(scale) % WIDE

        def padded_to(values: Tensor, filler: float) -> Tensor:
            return torch.cat([values, values.new_full((padding,), filler)]).float()

        self.words, self.dimension, self.panels = words, n, len(scale)  # V, n, P
        self.order = order  # int64 (V,): position -> id
        self.center, self.shrink = center, shrink  # float64 (n,); 1 over the unit
        self.radius = max(float((2 * half[-1]).sqrt()) * _UP, _SHORT)
        # float32 (P * PANEL, n): the words themselves, not centered; the last repeats
        self.table = table
        self.codes = codes  # int8 (P * PANEL, K): k of a = s k + rest, zero beyond column n
        self.half = half.float()  # (P * PANEL,): |a|^2 / 2
        # float32 (P,), going on to a multiple of `WIDE` with infinite half norms:
        self.scale = padded_to(scale, 0.0)  # s
        self.shortest = padded_to(by_panel.amin(dim=1), torch.inf)  # least |a|^2 / 2 of the panel
        self.longest = padded_to(by_panel.amax(dim=1), torch.inf)  # greatest |a|^2 / 2
        self.length = padded_to(length, 0.0)  # greatest |s k|
        self.lost = padded_to(lost, 0.0)  # greatest |a - s k|


class Batch:
    """Queries in flight, on the host and on the device: B of them, the first `count` rows.

    Counters count what was wanted, so above its capacity a list overflowed.
    """

    def __init__(self, words: Vocabulary, size: int, maxima: Tensor) -> None:
        device, n = words.table.device, words.dimension
        # One query alone must always fit: every panel may survive, every word may tie.
        pairs = max(_PAIRS * size, words.panels)
        kept = max(words.words, 2 * pairs)

        def pinned(dtype: Tensor, *shape: int) -> Tensor:
            return torch.zeros(shape, dtype=dtype, pin_memory=device.type == "cuda")

        def empty(dtype: Tensor, *shape: int) -> Tensor:
            return torch.empty(shape, dtype=dtype, device=device)

        self.part = slice(0, 0)  # of the queries that were asked for
        self.count = 0
        self.source = pinned(torch.float64, size, n)
        self.answers = pinned(torch.int64, size)  # ids, `_TIED` or `_FAR`
        self.lengths = pinned(torch.int32, 2)  # of both lists
        self.done: Any = None  # event
        self.raw = empty(torch.float64, size, n)  # as given
        self.maxima = maxima  # int32 (B, P), shared: largest k.l of the panel
        self.pair_rows = empty(torch.int32, pairs)  # the query of a panel that is left
        self.pair_panels = empty(torch.int32, pairs)  # and the panel
        self.kept_rows = empty(torch.int32, kept)  # the query of a word that is left
        self.kept_words = empty(torch.int32, kept)  # its position
        self.kept_squares = empty(torch.float64, kept)  # S

    def prepare(self, words: Vocabulary) -> None:
        """Scale, center and round the queries; measure what rounding lost; empty the results."""
        q = self.raw[: self.count] * words.shrink
        p = q - words.center
        norm = torch.linalg.vector_norm(p, dim=1) * _UP
        self.far = ~(norm <= FAR * max(words.radius, 1.0))  # too long for the proof, or no number
        p.masked_fill_(self.far[:, None], 0.0)
        norm.masked_fill_(self.far, 0.0)
        t = (torch.linalg.vector_norm(p, math.inf, dim=1) / 127).clamp(min=1e-290)[:, None]
        codes = (p / t).add_(0.5).floor_()
        lost = torch.linalg.vector_norm(p.sub_(codes * t), dim=1) * _UP
        length, fine = norm + words.radius, 8 * (words.dimension + 8) * UNIT_64
        # float64 (B, n): q, in the unit, not centered
        self.points = torch.where(self.far[:, None], words.center, q)
        padding = words.codes.shape[1] - words.dimension
        # int8 (B, K): l of p = t l + rest
        self.codes = torch.nn.functional.pad(codes.to(torch.int8), (0, padding))
        # float32 (B,): t, |p - t l|, |p|, and what rounding may cost on both sides
        self.scale, self.lost, self.norm = t[:, 0].float(), lost.float(), norm.float()
        self.slack = (2.0**-16 * words.radius * length + fine * length * length).float()

        def full(value: float, dtype: Tensor, size: int = self.count) -> Tensor:
            return torch.full((size,), value, dtype=dtype, device=q.device)

        self.pairs, self.kept = full(0, torch.int32, 1), full(0, torch.int32, 1)
        self.sure = full(-torch.inf, torch.float32)  # some word scores at least this
        self.least = full(torch.inf, torch.float64)  # least S
        self.near = full(0, torch.int32)  # words within the limit of S
        self.chosen = full(_NOWHERE, torch.int32)  # the first position of one

    def limit(self, dimension: int) -> Tensor:
        """Up to here a word may be the answer; what underflows is paid for too."""
        g = canonical_rounding(dimension)
        return self.least * (1 + 5 * g) + 1e-36 * (1 + self.least.sqrt())


def search(words: Vocabulary, batch: Batch) -> None:
    """From prepared queries to `near` and `chosen`, in plain torch."""
    count = batch.count
    # float64 holds every sum of int8 products of up to 2**39 columns, in any order of summation.
    points = batch.codes.double()
    for start in range(0, len(words.codes), 64 * PANEL):
        scores = points @ words.codes[start : start + 64 * PANEL].double().T
        top = scores.reshape(count, -1, PANEL).amax(dim=2).int()
        batch.maxima[:count, start // PANEL : start // PANEL + top.shape[1]] = top
    score = batch.maxima[:count].float() * (words.scale * batch.scale[:, None])
    error = words.length * batch.lost[:, None] + words.lost * batch.norm[:, None]
    batch.sure = (score - words.longest - error).amax(dim=1)
    least = batch.sure - batch.slack
    row, panel = torch.nonzero(score - words.shortest + error >= least[:, None]).unbind(dim=1)
    left = _listed(batch.pairs, (batch.pair_rows, row), (batch.pair_panels, panel))
    found = [(row[:0], panel[:0])]
    for start in range(0, left, 4096):
        part = slice(start, min(start + 4096, left))
        row, panel = batch.pair_rows[part].long(), batch.pair_panels[part].long()
        ids = panel[:, None] * PANEL + torch.arange(PANEL, device=row.device)
        sums = (words.codes[ids].int() * batch.codes[row].int()[:, None, :]).sum(dim=2)
        score = sums.float() * (words.scale[panel] * batch.scale[row])[:, None] - words.half[ids]
        error = words.length[panel] * batch.lost[row] + words.lost[panel] * batch.norm[row]
        hit = (score + error[:, None] >= least[row][:, None]) & (ids < words.words)
        found.append((row[:, None].expand(-1, PANEL)[hit], ids[hit]))
    row, ids = (torch.cat(lists) for lists in zip(*found, strict=True))
    left = _listed(batch.kept, (batch.kept_rows, row), (batch.kept_words, ids))
    for start in range(0, left, 65536):
        part = slice(start, min(start + 65536, left))
        row, ids = batch.kept_rows[part].long(), batch.kept_words[part].long()
        squares = (words.table[ids].double() - batch.points[row]).square().sum(dim=1)
        batch.kept_squares[part] = squares
        batch.least.scatter_reduce_(0, row, squares, "amin")
    row, ids = batch.kept_rows[:left].long(), batch.kept_words[:left]
    hit = batch.kept_squares[:left] <= batch.limit(words.dimension)[row]
    batch.near.index_add_(0, row[hit], torch.ones_like(ids[hit]))
    batch.chosen.scatter_reduce_(0, row[hit], ids[hit], "amin")


def _listed(counter: Tensor, *lists: tuple[Tensor, Tensor]) -> int:
    """Fill lists as far as they go; the counter says how long they should be."""
    counter[0] = len(lists[0][1])
    fits = min(int(counter[0]), len(lists[0][0]))
    for to, values in lists:
        to[:fits] = values[:fits].int()
    return fits


class Gpu:
    """The CUDA backend. `device="cpu"` runs the same steps in plain torch, for tests."""

    def __init__(self, *, device: str = "cuda", batch: int = BATCH) -> None:
        """device: as torch names it. batch: most queries in flight at a time, at least 1."""
        self._device = torch.device(device)
        self._cuda = self._device.type == "cuda"
        if batch < 1:
            raise ValueError(f"batch is {batch}, expected at least 1")
        self._most = batch
        self._search = search
        streams: Any = (None, None)
        if self._cuda:
            if not torch.cuda.is_available():
                raise MissingExtra('torch sees no CUDA device here: use `device="cpu"`')
            with needs("the GPU engine needs Triton", "gpu"):
                from inkblur.mechanisms.nearest import gpu_kernels
            self._search = gpu_kernels.search
            streams = (torch.cuda.Stream(self._device), torch.cuda.Stream(self._device))
        self._uploading, self._searching = streams
        self._copiers = ThreadPoolExecutor(min(_COPIERS, processors()))

    def put(self, vectors: npt.ArrayLike) -> None:
        """Take the vocabulary, float32 (V, n), which may be a memory map.

        Keeps it, and on the device a float32 and an int8 copy (five bytes for each number).
        """
        self._vectors = checked_vectors(vectors)
        if self._vectors.shape[1] > _MOST_DIMENSIONS:
            raise ValueError(f"the GPU engine takes vectors of up to {_MOST_DIMENSIONS} dimensions")
        self._batches: list[Batch] = []
        with self._on(self._searching):
            self._words = words = Vocabulary(self._vectors, self._device)
            self.batch: int = max(1, min(self._most, _MOST_MAXIMA // words.panels))
            shape = (-(-self.batch // TALL) * TALL, len(words.scale))  # whole tiles
            maxima = torch.empty(shape, dtype=torch.int32, device=self._device)
            for _ in range(_IN_FLIGHT if self._cuda else 1):
                self._batches.append(Batch(words, self.batch, maxima))
        if self._cuda:
            torch.cuda.synchronize(self._device)

    def nearest(self, queries: npt.ArrayLike) -> Ids:
        """The id of the nearest word of each query, float64 (B, n) -> int64 (B,)."""
        points = shaped_queries(queries, self._vectors.shape[1])
        out = np.empty(len(points), dtype=np.int64)
        flying: deque[Batch] = deque()
        for turn, start in enumerate(range(0, len(points), self.batch)):
            if len(flying) == len(self._batches):
                self._finish(flying.popleft(), points, out)
            batch = self._batches[turn % len(self._batches)]
            self._start(batch, points, slice(start, min(start + self.batch, len(points))))
            flying.append(batch)
        while flying:
            self._finish(flying.popleft(), points, out)
        return out

    def _start(self, batch: Batch, points: Float64s, part: slice) -> None:
        """Copy, upload and search, without waiting for the device."""
        if batch.done is not None:
            batch.done.synchronize()  # an error ended the call before: its upload may still run
        batch.part, batch.count = part, part.stop - part.start
        count, source = batch.count, batch.source.numpy()  # the same memory
        step = max(256, -(-count // _COPIERS))
        parts = [slice(s, min(s + step, count)) for s in range(0, count, step)]
        list(self._copiers.map(lambda p: np.copyto(source[p], points[part][p]), parts))
        with self._on(self._uploading):
            batch.raw[:count].copy_(batch.source[:count], non_blocking=True)
        if self._cuda:
            self._searching.wait_stream(self._uploading)
        with self._on(self._searching):
            words = self._words
            batch.prepare(words)
            self._search(words, batch)
            # A list that overflowed may leave a query without a word.
            ids = words.order[batch.chosen.clamp(max=words.words - 1).long()]
            ids.masked_fill_(batch.near > 1, _TIED).masked_fill_(batch.far, _FAR)
            batch.answers[:count].copy_(ids, non_blocking=True)
            batch.lengths.copy_(torch.cat([batch.pairs, batch.kept]), non_blocking=True)
            if self._cuda:
                batch.done = torch.cuda.Event()
                batch.done.record(self._searching)

    def _finish(self, batch: Batch, points: Float64s, out: Ids) -> None:
        """Wait for a batch, and settle on the host what the device could not."""
        if batch.done is not None:
            batch.done.synchronize()
        part, (pairs, kept) = batch.part, batch.lengths.tolist()
        if pairs > len(batch.pair_rows) or kept > len(batch.kept_rows):
            middle = (part.start + part.stop) // 2  # too many for the lists: two smaller batches
            for smaller in (slice(part.start, middle), slice(middle, part.stop)):
                self._start(batch, points, smaller)
                self._finish(batch, points, out)
            return
        queries, ids = points[part], out[part]
        ids[:] = batch.answers[: batch.count].numpy()
        if (ids == _TIED).any():
            self._decide(batch, queries, ids, kept)
        far = np.flatnonzero(ids == _FAR)
        if len(far):
            checked_queries(points, self._words.dimension)  # names a query by its place in all
            ids[far] = exhaustive(self._vectors, queries[far])

    def _decide(self, batch: Batch, queries: Float64s, ids: Ids, kept: int) -> None:
        """`canonical.decide` for queries with several words at the same float64 distance."""
        with self._on(self._uploading):
            rows = batch.kept_rows[:kept].long()
            hit = batch.kept_squares[:kept] <= batch.limit(self._words.dimension)[rows]
            hit &= ((batch.near > 1) & ~batch.far)[rows]
            tied = self._words.order[batch.kept_words[:kept][hit].long()].cpu().numpy()
            rows = rows[hit].cpu().numpy()
        by_row = np.argsort(rows, kind="stable")
        unsure, counts = np.unique(rows, return_counts=True)
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        ids[unsure] = decide(self._vectors, queries[unsure], tied[by_row], offsets)

    def _on(self, stream: Any) -> AbstractContextManager[Any]:
        if not self._cuda:
            return nullcontext()
        context: AbstractContextManager[Any] = torch.cuda.stream(stream)
        return context
