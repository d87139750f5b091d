"""`gpu.search` in fused Triton kernels: tests assert that both find the same.

No step writes a (batch x vocabulary) matrix: the scan keeps one 32-bit maximum for 32 words. No
step waits for the host: lists grow by an atomic counter, and the kernels that read them take as
many programs as the device has room for and stride through the list.
"""
# ruff: noqa: N803 - capitals: known when a kernel is compiled
# mypy: disable-error-code="no-untyped-def, untyped-decorator"

from __future__ import annotations

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from inkblur.mechanisms.nearest.gpu import PANEL, STEP, TALL, WIDE, Batch, Vocabulary

# Words of one tile, warps, steps in flight, programs a multiprocessor: chosen by measurement.
_TILE = {"words": 128, "warps": 4, "stages": 3, "programs": 2}
_STRIDING = 16  # programs that share a list, for each multiprocessor


def search(words: Vocabulary, batch: Batch) -> None:
    """From prepared queries to `near` and `chosen`, without waiting for the device."""
    device, count, columns = batch.codes.device, batch.count, batch.codes.shape[1]
    processors = 1  # of Triton's interpreter
    if device.type == "cuda":
        processors = int(torch.cuda.get_device_properties(device).multi_processor_count)
    striding = (_STRIDING * processors,)
    width, stride = _TILE["words"], len(words.scale)
    row_tiles = triton.cdiv(count, TALL)
    tiles = row_tiles * triton.cdiv(len(words.codes), width)
    scan[(min(tiles, _TILE["programs"] * processors),)](
        TensorDescriptor.from_tensor(batch.codes, [TALL, STEP]),
        TensorDescriptor.from_tensor(words.codes, [width, STEP]),
        batch.maxima, stride, row_tiles, tiles,
        COLUMNS=columns, ROWS=TALL, WORDS=width, STEP=STEP, PANEL=PANEL,
        STAGES=_TILE["stages"], num_warps=_TILE["warps"], num_stages=_TILE["stages"],
    )  # fmt: skip
    for upper in (False, True):
        bounds[(triton.cdiv(count, 4), stride // WIDE)](
            batch.maxima,
            words.scale, words.shortest if upper else words.longest, words.length, words.lost,
            batch.scale, batch.lost, batch.norm, batch.slack,
            batch.sure, batch.pairs, batch.pair_rows, batch.pair_panels,
            count, stride, len(batch.pair_rows),
            UPPER=upper, ROWS=4, STEP=WIDE, num_warps=2,
        )  # fmt: skip
    sift[striding](
        words.codes, words.half, words.scale, words.length, words.lost,
        batch.codes, batch.scale, batch.lost, batch.norm, batch.slack,
        batch.sure, batch.pairs, batch.pair_rows, batch.pair_panels,
        batch.kept, batch.kept_rows, batch.kept_words,
        words.words, len(batch.pair_rows), len(batch.kept_rows),
        COLUMNS=columns, STEP=64, GROUP=2, PANEL=PANEL, num_warps=4,
    )  # fmt: skip
    rescore[striding](
        words.table, batch.points,
        batch.kept, batch.kept_rows, batch.kept_words, batch.kept_squares,
        batch.least.view(dtype=torch.int64), len(batch.kept_rows),
        N=words.dimension, STEP=128, GROUP=8, num_warps=4,
    )  # fmt: skip
    settle[striding](
        batch.kept, batch.kept_rows, batch.kept_words, batch.kept_squares,
        batch.limit(words.dimension), batch.near, batch.chosen, len(batch.kept_rows),
        GROUP=128, num_warps=4,
    )  # fmt: skip


@triton.jit
def scan(
    points, words, maxima, stride, row_tiles, tiles,
    COLUMNS: tl.constexpr, ROWS: tl.constexpr, WORDS: tl.constexpr, STEP: tl.constexpr,
    PANEL: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """Largest integer product of each query with the words of each panel."""
    # Flattened: the loads of the next tile start while the maxima of this one are taken.
    for tile in tl.range(
        tl.program_id(0), tiles, tl.num_programs(0), flatten=True, num_stages=STAGES
    ):
        # Neighboring programs share the words: those are read from memory once, the queries stay
        # in the second-level cache.
        row = (tile % row_tiles) * ROWS
        first = (tile // row_tiles) * WORDS
        sums = tl.zeros((ROWS, WORDS), tl.int32)
        for k in range(0, COLUMNS, STEP):
            left = points.load([row, k])
            right = words.load([first, k])
            sums = tl.dot(left, right.T, sums, out_dtype=tl.int32)
        # A panel's columns lie in four neighboring threads: two shuffles, no other data moves.
        best = tl.max(tl.reshape(sums, (ROWS, WORDS // PANEL, PANEL)), axis=2)
        rows = (row + tl.arange(0, ROWS)).to(tl.int64)
        panel = first // PANEL + tl.arange(0, WORDS // PANEL)
        tl.store(maxima + rows[:, None] * stride + panel[None, :], best)


@triton.jit
def bounds(
    maxima,
    scale, half, length, lost,
    row_scale, row_lost, row_norm, row_slack,
    sure, pairs, pair_rows, pair_panels,
    count, stride, capacity,
    UPPER: tl.constexpr, ROWS: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    """Each query's best lower bound, or the panels whose upper bound reaches it."""
    # Twice over the maxima: first each row's best lower bound, then the upper bounds that reach it.
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    j = tl.program_id(1) * STEP + tl.arange(0, STEP)
    live = row < count
    # No column is masked, the padding is infinitely long: so 16 bytes are read at a time.
    top = tl.load(maxima + row.to(tl.int64)[:, None] * stride + j[None, :], live[:, None], 0)
    t = tl.load(row_scale + row, live, 0.0)[:, None]
    score = top.to(tl.float32) * (tl.load(scale + j)[None, :] * t)
    error = (
        tl.load(length + j)[None, :] * tl.load(row_lost + row, live, 0.0)[:, None]
        + tl.load(lost + j)[None, :] * tl.load(row_norm + row, live, 0.0)[:, None]
    )
    score -= tl.load(half + j)[None, :]
    if UPPER:
        least = tl.load(sure + row, live, 0.0) - tl.load(row_slack + row, live, 0.0)
        hit = live[:, None] & (score + error >= least[:, None])
        # Hits are few: an addition for each costs less than counting them first.
        flat = (row * 0)[:, None] + (j * 0)[None, :]
        place = tl.atomic_add(pairs + flat, 1, mask=hit, sem="relaxed")
        write = hit & (place < capacity)
        tl.store(pair_rows + place, row[:, None] + flat, write)
        tl.store(pair_panels + place, j[None, :] + flat, write)
    else:
        tl.atomic_max(sure + row, tl.max(score - error, axis=1), mask=live, sem="relaxed")


@triton.jit
def sift(
    codes, half, scale, length, lost,
    row_codes, row_scale, row_lost, row_norm, row_slack,
    sure, pairs, pair_rows, pair_panels, kept, kept_rows, kept_words,
    words, capacity, kept_capacity,
    COLUMNS: tl.constexpr, STEP: tl.constexpr, GROUP: tl.constexpr, PANEL: tl.constexpr,
):  # fmt: skip
    """The words of surviving pairs that their own integer product does not rule out."""
    count = tl.minimum(tl.load(pairs), capacity)
    lane = tl.arange(0, GROUP * PANEL)
    for i in range(tl.program_id(0) * GROUP, count, tl.num_programs(0) * GROUP):
        pair = i + lane // PANEL
        live = pair < count
        row = tl.load(pair_rows + pair, live, 0).to(tl.int64)
        panel = tl.load(pair_panels + pair, live, 0).to(tl.int64)
        word = panel * PANEL + lane % PANEL
        products = tl.zeros((GROUP * PANEL, STEP), tl.int32)
        for k in range(0, COLUMNS, STEP):
            j = k + tl.arange(0, STEP)
            there = tl.load(row_codes + row[:, None] * COLUMNS + j[None, :]).to(tl.int32)
            products += tl.load(codes + word[:, None] * COLUMNS + j[None, :]).to(tl.int32) * there
        score = tl.sum(products, axis=1).to(tl.float32) * (
            tl.load(scale + panel) * tl.load(row_scale + row)
        )
        error = tl.load(length + panel) * tl.load(row_lost + row)
        error += tl.load(lost + panel) * tl.load(row_norm + row)
        enough = tl.load(sure + row) - tl.load(row_slack + row)
        left = live & (word < words) & (score - tl.load(half + word) + error >= enough)
        place = tl.atomic_add(kept + lane * 0, 1, mask=left, sem="relaxed")
        write = left & (place < kept_capacity)
        tl.store(kept_rows + place, row.to(tl.int32), write)
        tl.store(kept_words + place, word.to(tl.int32), write)


@triton.jit
def rescore(
    table, points, kept, kept_rows, kept_words, kept_squares, least, capacity,
    N: tl.constexpr, STEP: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """float64 squared distances of the words that are left, and each query's least."""
    count = tl.minimum(tl.load(kept), capacity)
    for i in range(tl.program_id(0) * GROUP, count, tl.num_programs(0) * GROUP):
        place = i + tl.arange(0, GROUP)
        live = place < count
        row = tl.load(kept_rows + place, live, 0).to(tl.int64)
        word = tl.load(kept_words + place, live, 0).to(tl.int64)
        sums = tl.zeros((GROUP, STEP), tl.float64)
        for k in range(0, N, STEP):
            j = k + tl.arange(0, STEP)
            inside = (j < N)[None, :]
            rest = tl.load(table + word[:, None] * N + j[None, :], inside, 0.0).to(tl.float64)
            rest -= tl.load(points + row[:, None] * N + j[None, :], inside, 0.0)
            sums += rest * rest
        square = tl.sum(sums, axis=1)
        tl.store(kept_squares + place, square, live)
        # Floats that are not negative are ordered as their bits are.
        tl.atomic_min(least + row, square.to(tl.int64, bitcast=True), mask=live)


@triton.jit
def settle(
    kept, kept_rows, kept_words, kept_squares, limit, near, chosen, capacity, GROUP: tl.constexpr,
):  # fmt: skip
    """Count and name the words within the limit."""
    count = tl.minimum(tl.load(kept), capacity)
    for i in range(tl.program_id(0) * GROUP, count, tl.num_programs(0) * GROUP):
        place = i + tl.arange(0, GROUP)
        live = place < count
        row = tl.load(kept_rows + place, live, 0)
        square = tl.load(kept_squares + place, live, float("inf"))
        hit = live & (square <= tl.load(limit + row, live, 0.0))
        tl.atomic_add(near + row, 1, mask=hit)
        tl.atomic_min(chosen + row, tl.load(kept_words + place, live, 0), mask=hit)
