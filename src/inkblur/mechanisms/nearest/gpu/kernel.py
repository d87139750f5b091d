"""The steps of the GPU search as fused Triton kernels; `steps` launches them.

No step writes a (batch x vocabulary) matrix: the scan keeps one 32-bit maximum for 32 words. No
step waits for the host: lists grow by an atomic counter, and the kernels that read them take as
many programs as the device has room for and stride through the list.
"""
# ruff: noqa: N803 - capitals: known when a kernel is compiled
# mypy: disable-error-code="no-untyped-def, untyped-decorator"

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def prepare(
    raw, center, constants, points, high, low, codes, scale, lost, norms, slack, far,
    N: tl.constexpr, COLUMNS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """One query: scaled, centered, rounded to int8 and to two float32 numbers, measured."""
    # float64 constants come through memory: as arguments they would be rounded to float32.
    row = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    inside = j < N
    c = tl.load(center + j, inside, 0.0)
    q = tl.load(raw + row * N + j, inside, 0.0) * tl.load(constants)
    p = tl.where(inside, q - c, 0.0)
    up = tl.load(constants + 2)
    norm = tl.sqrt(tl.sum(p * p, axis=0)) * up
    close = norm <= tl.load(constants + 1)  # false for a NaN
    p = tl.where(close, p, 0.0)
    q = tl.where(close, q, c)
    norm = tl.where(close, norm, 0.0)
    t = tl.maximum(tl.max(tl.abs(p), axis=0) / 127, tl.load(constants + 3))
    code = tl.floor(p / t + 0.5)
    rest = p - code * t
    length = norm + tl.load(constants + 4)
    room = tl.load(constants + 5) * length + tl.load(constants + 6) * length * length
    tl.store(codes + row * COLUMNS + j, code.to(tl.int32).to(tl.int8), inside)
    tl.store(scale + row, t.to(tl.float32))
    tl.store(lost + row, (tl.sqrt(tl.sum(rest * rest, axis=0)) * up).to(tl.float32))
    tl.store(norms + row, norm.to(tl.float32))
    tl.store(slack + row, room.to(tl.float32))
    tl.store(far + row, tl.where(close, 0, 1))
    rounded = q.to(tl.float32)
    tl.store(points + row * N + j, q, inside)
    tl.store(high + row * N + j, rounded, inside)
    tl.store(low + row * N + j, (q - rounded.to(tl.float64)).to(tl.float32), inside)


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
    table, high, low, kept, kept_rows, kept_words, kept_squares, least, capacity,
    N: tl.constexpr, STEP: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """float32 squared distances of the words that are left."""
    count = tl.minimum(tl.load(kept), capacity)
    for i in range(tl.program_id(0) * GROUP, count, tl.num_programs(0) * GROUP):
        place = i + tl.arange(0, GROUP)
        live = place < count
        row = tl.load(kept_rows + place, live, 0).to(tl.int64)
        word = tl.load(kept_words + place, live, 0).to(tl.int64)
        sums = tl.zeros((GROUP, STEP), tl.float32)
        for k in range(0, N, STEP):
            j = k + tl.arange(0, STEP)
            inside = (j < N)[None, :]
            rest = tl.load(table + word[:, None] * N + j[None, :], inside, 0.0)
            rest -= tl.load(high + row[:, None] * N + j[None, :], inside, 0.0)
            rest -= tl.load(low + row[:, None] * N + j[None, :], inside, 0.0)
            sums += rest * rest
        square = tl.sum(sums, axis=1)
        tl.store(kept_squares + place, square, live)
        # Floats that are not negative are ordered as their bits are.
        tl.atomic_min(least + row, square.to(tl.int32, bitcast=True), mask=live)


@triton.jit
def choose(
    kept, kept_rows, kept_words, kept_squares, limit, near, chosen,
    unsure, unsure_rows, unsure_words,
    capacity, unsure_capacity,
    LIST: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """Count and name the words within the limit, or list them where there are several."""
    count = tl.minimum(tl.load(kept), capacity)
    for i in range(tl.program_id(0) * GROUP, count, tl.num_programs(0) * GROUP):
        place = i + tl.arange(0, GROUP)
        live = place < count
        row = tl.load(kept_rows + place, live, 0)
        word = tl.load(kept_words + place, live, 0)
        square = tl.load(kept_squares + place, live, float("inf"))
        hit = live & (square <= tl.load(limit + row, live, 0.0))
        if LIST:
            hit = hit & (tl.load(near + row, live, 0) > 1)
            hits = hit.to(tl.int32)
            found = tl.sum(hits, axis=0)
            if found > 0:
                to = tl.atomic_add(unsure, found) + tl.cumsum(hits, axis=0) - 1
                write = hit & (to < unsure_capacity)
                tl.store(unsure_rows + to, row, write)
                tl.store(unsure_words + to, word, write)
        else:
            tl.atomic_add(near + row, 1, mask=hit)
            tl.atomic_min(chosen + row, word, mask=hit)


@triton.jit
def refine(
    table, points, unsure, unsure_rows, unsure_words, unsure_squares, least64, capacity,
    N: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    """float64 squared distances of the listed words."""
    count = tl.minimum(tl.load(unsure), capacity)
    for i in range(tl.program_id(0), count, tl.num_programs(0)):
        row = tl.load(unsure_rows + i).to(tl.int64)
        word = tl.load(unsure_words + i).to(tl.int64)
        sums = tl.zeros((STEP,), tl.float64)
        for k in range(0, N, STEP):
            j = k + tl.arange(0, STEP)
            inside = j < N
            rest = tl.load(table + word * N + j, inside, 0.0).to(tl.float64)
            rest -= tl.load(points + row * N + j, inside, 0.0)
            sums += rest * rest
        square = tl.sum(sums, axis=0)
        tl.store(unsure_squares + i, square)
        tl.atomic_min(least64 + row, square.to(tl.int64, bitcast=True))


@triton.jit
def settle(
    unsure, unsure_rows, unsure_words, unsure_squares, limit64, near64, chosen, capacity,
    GROUP: tl.constexpr,
):  # fmt: skip
    """Count and name the listed words within the float64 limit."""
    count = tl.minimum(tl.load(unsure), capacity)
    for i in range(tl.program_id(0) * GROUP, count, tl.num_programs(0) * GROUP):
        place = i + tl.arange(0, GROUP)
        live = place < count
        row = tl.load(unsure_rows + place, live, 0)
        square = tl.load(unsure_squares + place, live, float("inf"))
        hit = live & (square <= tl.load(limit64 + row, live, 0.0))
        tl.atomic_add(near64 + row, 1, mask=hit)
        tl.atomic_min(chosen + row, tl.load(unsure_words + place, live, 0), mask=hit)
