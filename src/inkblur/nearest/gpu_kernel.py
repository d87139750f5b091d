"""The steps of the GPU search as fused Triton kernels; `gpu_plain` is what they must equal.

No step writes a (batch x vocabulary) matrix: the scan keeps one 32-bit maximum for 32 words. No
step waits for the host: lists grow by an atomic counter, and the kernels that read them take as
many programs as the device has room for and stride through the list.
"""
# ruff: noqa: N803 - capitals: known when a kernel is compiled
# mypy: disable-error-code="no-untyped-def, misc, no-untyped-call"

from __future__ import annotations

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from inkblur.nearest.gpu_plain import PANEL, Batch, Vocabulary, Work

# Rows and words of one tile, columns of one step, warps, steps in flight: chosen by measurement.
TILE = {"rows": 128, "words": 128, "columns": 64, "warps": 4, "stages": 3, "programs": 2}
_STRIDING = 16  # programs that share a list, for each multiprocessor


@triton.jit
def _scan(
    points,
    words,
    maxima,
    panels,
    row_tiles,
    tiles,
    COLUMNS: tl.constexpr,
    ROWS: tl.constexpr,
    WORDS: tl.constexpr,
    STEP: tl.constexpr,
    PANEL: tl.constexpr,
    STAGES: tl.constexpr,
):
    # Flattened: the loads of the next tile start while the maxima of this one are taken.
    for tile in tl.range(
        tl.program_id(0), tiles, tl.num_programs(0), flatten=True, num_stages=STAGES
    ):
        # Neighbouring programs share the words: those are read from memory once, the queries stay
        # in the second-level cache.
        row = (tile % row_tiles) * ROWS
        first = (tile // row_tiles) * WORDS
        sums = tl.zeros((ROWS, WORDS), tl.int32)
        for k in range(0, COLUMNS, STEP):
            left = points.load([row, k])
            right = words.load([first, k])
            sums = tl.dot(left, right.T, sums, out_dtype=tl.int32)
        # A panel's columns lie in four neighbouring threads: two shuffles, no other data moves.
        best = tl.max(tl.reshape(sums, (ROWS, WORDS // PANEL, PANEL)), axis=2)
        rows = (row + tl.arange(0, ROWS)).to(tl.int64)
        panel = first // PANEL + tl.arange(0, WORDS // PANEL)
        where = maxima + rows[:, None] * panels + panel[None, :]
        tl.store(where, best, mask=panel[None, :] < panels)


@triton.jit
def _keep(
    maxima,
    scale,
    shortest,
    longest,
    length,
    lost,
    row_scale,
    row_lost,
    row_norm,
    row_slack,
    pairs,
    pair_rows,
    pair_panels,
    count,
    panels,
    capacity,
    ROWS: tl.constexpr,
    STEP: tl.constexpr,
):
    # Several rows at a time, so that the panels' five numbers are read once for all of them.
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    live = row < count
    t = tl.load(row_scale + row, live, 0.0)[:, None]
    sigma = tl.load(row_lost + row, live, 0.0)[:, None]
    norm = tl.load(row_norm + row, live, 0.0)[:, None]
    base = maxima + row.to(tl.int64)[:, None] * panels
    sure = tl.full((ROWS,), float("-inf"), tl.float64)
    for start in range(0, panels, STEP):
        j = start + tl.arange(0, STEP)
        inside = j < panels
        both = live[:, None] & inside[None, :]
        top = tl.load(base + j[None, :], both, 0).to(tl.float64)
        score = top * tl.load(scale + j, inside, 0.0)[None, :] * t
        error = (
            tl.load(length + j, inside, 0.0)[None, :] * sigma
            + tl.load(lost + j, inside, 0.0)[None, :] * norm
        )
        lower = score - tl.load(longest + j, inside, float("inf"))[None, :] - error
        sure = tl.maximum(sure, tl.max(lower, axis=1))
    least = (sure - tl.load(row_slack + row, live, 0.0))[:, None]
    for start in range(0, panels, STEP):
        j = start + tl.arange(0, STEP)
        inside = j < panels
        both = live[:, None] & inside[None, :]
        top = tl.load(base + j[None, :], both, 0).to(tl.float64)
        score = top * tl.load(scale + j, inside, 0.0)[None, :] * t
        error = (
            tl.load(length + j, inside, 0.0)[None, :] * sigma
            + tl.load(lost + j, inside, 0.0)[None, :] * norm
        )
        upper = score - tl.load(shortest + j, inside, 0.0)[None, :] + error
        hit = tl.reshape(both & (upper >= least), (ROWS * STEP,)).to(tl.int32)
        found = tl.sum(hit, axis=0)
        if found > 0:
            place = tl.atomic_add(pairs, found) + tl.cumsum(hit, axis=0) - 1
            write = (hit > 0) & (place < capacity)
            rows = tl.broadcast_to(row[:, None], (ROWS, STEP))
            cols = tl.broadcast_to(j[None, :], (ROWS, STEP))
            tl.store(pair_rows + place, tl.reshape(rows, (ROWS * STEP,)), write)
            tl.store(pair_panels + place, tl.reshape(cols, (ROWS * STEP,)), write)


@triton.jit
def _rescore(
    table,
    high,
    low,
    pairs,
    pair_rows,
    pair_panels,
    squares,
    least,
    words,
    capacity,
    N: tl.constexpr,
    STEP: tl.constexpr,
    PANEL: tl.constexpr,
):
    count = tl.minimum(tl.load(pairs), capacity)
    lane = tl.arange(0, PANEL)
    for i in range(tl.program_id(0), count, tl.num_programs(0)):
        row = tl.load(pair_rows + i).to(tl.int64)
        word = tl.load(pair_panels + i).to(tl.int64) * PANEL + lane
        sums = tl.zeros((PANEL, STEP), tl.float32)
        for k in range(0, N, STEP):
            j = k + tl.arange(0, STEP)
            inside = j < N
            here = tl.load(table + word[:, None] * N + j[None, :], inside[None, :], 0.0)
            rest = here - tl.load(high + row * N + j, inside, 0.0)[None, :]
            rest -= tl.load(low + row * N + j, inside, 0.0)[None, :]
            sums += rest * rest
        square = tl.where(word < words, tl.sum(sums, axis=1), float("inf"))
        tl.store(squares + i * PANEL + lane, square)
        # Floats that are not negative are ordered as their bits are.
        tl.atomic_min(least + row, tl.min(square, axis=0).to(tl.int32, bitcast=True))


@triton.jit
def _choose(
    pairs,
    pair_rows,
    pair_panels,
    squares,
    limit,
    near,
    chosen,
    capacity,
    GROUP: tl.constexpr,
    PANEL: tl.constexpr,
):
    count = tl.minimum(tl.load(pairs), capacity)
    lane = tl.arange(0, PANEL)
    for i in range(tl.program_id(0) * GROUP, count, tl.num_programs(0) * GROUP):
        pair = i + tl.arange(0, GROUP)
        live = pair < count
        row = tl.load(pair_rows + pair, live, 0)
        word = tl.load(pair_panels + pair, live, 0)[:, None] * PANEL + lane[None, :]
        square = tl.load(
            squares + pair.to(tl.int64)[:, None] * PANEL + lane[None, :],
            live[:, None],
            float("inf"),
        )
        hit = live[:, None] & (square <= tl.load(limit + row, live, 0.0)[:, None])
        hits = tl.sum(hit.to(tl.int32), axis=1)
        tl.atomic_add(near + row, hits, mask=hits > 0)
        first = tl.min(tl.where(hit, word, 2147483647), axis=1)
        tl.atomic_min(chosen + row, first, mask=hits > 0)


@triton.jit
def _refine(
    table,
    points,
    pairs,
    pair_rows,
    pair_panels,
    squares,
    limit,
    near,
    least64,
    limit64,
    near64,
    chosen,
    ties,
    tie_rows,
    tie_words,
    capacity,
    tie_capacity,
    LAST: tl.constexpr,
    N: tl.constexpr,
    STEP: tl.constexpr,
    PANEL: tl.constexpr,
):
    count = tl.minimum(tl.load(pairs), capacity)
    lane = tl.arange(0, PANEL)
    for i in range(tl.program_id(0), count, tl.num_programs(0)):
        row = tl.load(pair_rows + i).to(tl.int64)
        if tl.load(near + row) > 1:
            square = tl.load(squares + i * PANEL + lane)
            hit = square <= tl.load(limit + row)
            if tl.sum(hit.to(tl.int32), axis=0) > 0:
                word = tl.load(pair_panels + i).to(tl.int64) * PANEL + lane
                sums = tl.zeros((PANEL, STEP), tl.float64)
                for k in range(0, N, STEP):
                    j = k + tl.arange(0, STEP)
                    inside = j < N
                    here = tl.load(
                        table + word[:, None] * N + j[None, :], hit[:, None] & inside[None, :], 0.0
                    )
                    there = tl.load(points + row * N + j, inside, 0.0)
                    rest = here.to(tl.float64) - there[None, :]
                    sums += rest * rest
                exact = tl.where(hit, tl.sum(sums, axis=1), float("inf"))
                if LAST:
                    hit = hit & (exact <= tl.load(limit64 + row))
                    hits = tl.sum(hit.to(tl.int32), axis=0)
                    if hits > 0:
                        tl.atomic_add(near64 + row, hits)
                        first = tl.min(tl.where(hit, word, 2147483647), axis=0).to(tl.int32)
                        tl.atomic_min(chosen + row, first)
                        place = tl.atomic_add(ties, hits) + tl.cumsum(hit.to(tl.int32), 0) - 1
                        write = hit & (place < tie_capacity)
                        tl.store(tie_rows + place, (row + 0 * lane).to(tl.int32), write)
                        tl.store(tie_words + place, word.to(tl.int32), write)
                else:
                    smallest = tl.min(exact, axis=0)
                    tl.atomic_min(least64 + row, smallest.to(tl.int64, bitcast=True))


def _multiprocessors(batch: Batch) -> int:
    device = batch.codes.device
    if device.type != "cuda":  # Triton's interpreter
        return 1
    return int(torch.cuda.get_device_properties(device).multi_processor_count)


def scan(words: Vocabulary, batch: Batch, work: Work) -> None:
    """maxima[b, p] = largest k.l over the panel's words, exact integers."""
    rows, width, step = TILE["rows"], TILE["words"], TILE["columns"]
    row_tiles = triton.cdiv(batch.count, rows)
    tiles = row_tiles * triton.cdiv(len(words.codes), width)
    _scan[(min(tiles, TILE["programs"] * _multiprocessors(batch)),)](
        TensorDescriptor.from_tensor(batch.codes, [rows, step]),
        TensorDescriptor.from_tensor(words.codes, [width, step]),
        work.maxima,
        words.panels,
        row_tiles,
        tiles,
        COLUMNS=batch.codes.shape[1],
        ROWS=rows,
        WORDS=width,
        STEP=step,
        PANEL=PANEL,
        STAGES=TILE["stages"],
        num_warps=TILE["warps"],
        num_stages=TILE["stages"],
    )


def keep(words: Vocabulary, batch: Batch, work: Work) -> None:
    """The pairs (query, panel) that can hold the answer."""
    rows = 8
    _keep[(triton.cdiv(batch.count, rows),)](
        work.maxima,
        words.scale,
        words.shortest,
        words.longest,
        words.length,
        words.lost,
        batch.scale,
        batch.lost,
        batch.norm,
        batch.slack,
        work.pairs,
        work.rows,
        work.panels,
        batch.count,
        words.panels,
        len(work.rows),
        ROWS=rows,
        STEP=256,
        num_warps=8,
    )


def rescore(words: Vocabulary, batch: Batch, work: Work) -> None:
    """float32 squared distances of all words of the pairs, and each query's smallest."""
    _rescore[(_STRIDING * _multiprocessors(batch),)](
        words.table,
        batch.high,
        batch.low,
        work.pairs,
        work.rows,
        work.panels,
        work.squares,
        work.least.view(dtype=work.rows.dtype),
        words.words,
        len(work.rows),
        N=words.dimension,
        STEP=64,
        PANEL=PANEL,
        num_warps=4,
    )


def choose(words: Vocabulary, batch: Batch, work: Work) -> None:
    """How many words lie within `limit` of each query, and one of them."""
    del words
    _choose[(_STRIDING * _multiprocessors(batch),)](
        work.pairs,
        work.rows,
        work.panels,
        work.squares,
        work.limit,
        work.near,
        work.chosen,
        len(work.rows),
        GROUP=16,
        PANEL=PANEL,
        num_warps=4,
    )


def _float64(words: Vocabulary, batch: Batch, work: Work, last: bool) -> None:
    _refine[(_STRIDING * _multiprocessors(batch),)](
        words.table,
        batch.points,
        work.pairs,
        work.rows,
        work.panels,
        work.squares,
        work.limit,
        work.near,
        work.least64.view(dtype=words.order.dtype),
        work.limit64,
        work.near64,
        work.chosen,
        work.ties,
        work.tie_rows,
        work.tie_words,
        len(work.rows),
        len(work.tie_rows),
        LAST=last,
        N=words.dimension,
        STEP=64,
        PANEL=PANEL,
        num_warps=4,
    )


def refine(words: Vocabulary, batch: Batch, work: Work) -> None:
    """float64 squared distances of what float32 could not separate: each query's smallest."""
    _float64(words, batch, work, last=False)


def settle(words: Vocabulary, batch: Batch, work: Work) -> None:
    """As `choose`, for those queries and in float64; lists what remains for the last judge."""
    _float64(words, batch, work, last=True)
