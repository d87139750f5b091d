"""What the GPU search keeps on the device: the vocabulary, a batch of queries, and its results.

Shapes: B queries, P panels of `PANEL` words, V words sorted by length, n dimensions padded to K
columns. Lengths are in the vocabulary's unit. `backend` has the mathematics.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from inkblur.mechanisms.nearest.canonical import FAR, UNIT_64, Float32s

PANEL = 32  # words that share one maximum
NOWHERE = 2**31 - 1  # "no word": larger than every position
WIDE = 512  # panels that one program compares: rows of maxima are padded to a multiple of this
_TALL = 256  # rows of the tallest tile that a scan may use
PLAN = 6  # int64 numbers of a token to draw: id, first number of its row in the keystream, key (4)
_COLUMNS = 64  # columns of int8 come in multiples of this: one step of the scan
_ROWS = 1 << 16  # words prepared at a time; a multiple of the panel
_UP = 1 + 1e-9  # norms are rounded up by more than float64 can have lost in them
_SHORT = 2.0**-40  # least radius: room for rounding that float32 holds with all its digits

Tensor = Any  # torch is not typed for us: it is absent where the types are checked


@dataclass(slots=True)
class DeviceVocabulary:
    """What is on the device for one vocabulary, words sorted by length."""

    words: int  # V
    dimension: int  # n
    table: Tensor  # float32 (P * PANEL, n): the words themselves, not centered; the last repeats
    codes: Tensor  # int8 (P * PANEL, K): k of a = s k + rest, zero beyond column n
    half: Tensor  # float32 (P * PANEL,): |a|^2 / 2
    panels: int  # P; the five arrays below go on to a multiple of `WIDE`, with infinite half norms
    scale: Tensor  # float32 (P,): s
    shortest: Tensor  # float32 (P,): least |a|^2 / 2 of the panel
    longest: Tensor  # float32 (P,): greatest |a|^2 / 2
    length: Tensor  # float32 (P,): greatest |s k|
    lost: Tensor  # float32 (P,): greatest |a - s k|
    order: Tensor  # int64 (V,): position -> id
    place: Tensor  # int64 (V,): id -> position
    unit: float  # what 1 stands for, a power of two
    center: Tensor  # float64 (n,)
    constants: Tensor  # float64 (7,): see `constants_of`


@dataclass(slots=True)
class DeviceBatch:
    """One batch's queries on the device; the first `count` rows are in use."""

    count: int
    raw: Tensor  # float64 (B, n): as given
    points: Tensor  # float64 (B, n): q, in the unit, not centered
    high: Tensor  # float32 (B, n): q rounded
    low: Tensor  # float32 (B, n): the rest of q, rounded
    codes: Tensor  # int8 (B, K): l of p = t l + rest
    scale: Tensor  # float32 (B,): t
    lost: Tensor  # float32 (B,): |p - t l|
    norm: Tensor  # float32 (B,): |p|
    slack: Tensor  # float32 (B,): what rounding may cost, both sides
    far: Tensor  # int32 (B,): 1 where p is too long for the proof, or no number


@dataclass(slots=True)
class Work:
    """Results of the steps; counters count what was wanted, so above capacity a list overflowed."""

    maxima: Tensor  # int32 (B, P), padded
    sure: Tensor  # float32 (B,): some word scores at least this
    pairs: Tensor  # int32 (1,)
    rows: Tensor  # int32 (capacity,): the query of a surviving pair
    panels: Tensor  # int32 (capacity,): and its panel
    kept: Tensor  # int32 (1,)
    kept_rows: Tensor  # int32 (kept capacity,): the query of a word that is left
    kept_words: Tensor  # int32 (kept capacity,): and its position
    kept_squares: Tensor  # float32 (kept capacity,): their squared distance
    least: Tensor  # float32 (B,): smallest of them
    limit: Tensor  # float32 (B,): up to here a word may be the answer
    near: Tensor  # int32 (B,): how many words are
    chosen: Tensor  # int32 (B,): position of one of them
    unsure: Tensor  # int32 (1,)
    unsure_rows: Tensor  # int32 (words,): queries with several words, one entry for each word
    unsure_words: Tensor  # int32 (words,): positions
    unsure_squares: Tensor  # float64 (words,)
    least64: Tensor  # float64 (B,): the same three in float64, for those queries
    limit64: Tensor  # float64 (B,)
    near64: Tensor  # int32 (B,)


def constants_of(shrink: float, radius: float, dimension: int) -> list[float]:
    """What `prepare` needs beside the vectors: one over the unit, the room given to rounding.

    Both steps of the scan compare float32 numbers below 8 A (|p| + A), A the greatest |a|, after at
    most eight roundings each: 2^-16 A (|p| + A) is twice what that can cost on both sides.
    """
    return [
        shrink,
        FAR * max(radius, 1.0),  # no longer p is searched this way
        _UP,
        1e-290,  # least scale
        radius,
        2.0**-16 * radius,
        8 * (dimension + 8) * UNIT_64,
    ]


def load(vectors: Float32s, device: Tensor) -> DeviceVocabulary:
    """Copy, center, sort and round a vocabulary; block by block, so that it may be a memory map."""
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
    radius = max(float((2 * half[-1]).sqrt()) * _UP, _SHORT)
    codes = torch.zeros((padded, -(-n // _COLUMNS) * _COLUMNS), dtype=torch.int8, device=device)
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

    return DeviceVocabulary(
        words=words,
        dimension=n,
        table=table,
        codes=codes,
        half=half.float(),
        panels=len(scale),
        scale=padded_to(scale, 0.0),
        shortest=padded_to(by_panel.amin(dim=1), torch.inf),
        longest=padded_to(by_panel.amax(dim=1), torch.inf),
        length=padded_to(length, 0.0),
        lost=padded_to(lost, 0.0),
        order=order,
        place=torch.argsort(order),
        unit=1 / shrink,
        center=center,
        constants=torch.tensor(constants_of(shrink, radius, n), **f64),
    )


def make_batches(words: DeviceVocabulary, size: int, count: int) -> list[DeviceBatch]:
    """Memory for queries: `raw` for each batch in flight, the rest shared."""
    device, n = words.table.device, words.dimension

    def empty(dtype: Tensor, *shape: int) -> Tensor:
        return torch.empty(shape, dtype=dtype, device=device)

    shared = DeviceBatch(
        count=0,
        raw=None,
        points=empty(torch.float64, size, n),
        high=empty(torch.float32, size, n),
        low=empty(torch.float32, size, n),
        codes=empty(torch.int8, size, words.codes.shape[1]).zero_(),  # stays so beyond column n
        scale=empty(torch.float32, size),
        lost=empty(torch.float32, size),
        norm=empty(torch.float32, size),
        slack=empty(torch.float32, size),
        far=empty(torch.int32, size),
    )
    return [replace(shared, raw=empty(torch.float64, size, n)) for _ in range(count)]


def make_works(words: DeviceVocabulary, size: int, count: int, pairs: int) -> list[Work]:
    """Memory for results: what the host reads for each batch in flight, the rest shared."""
    device, most = words.table.device, max(words.words, 64 * size)

    def empty(dtype: Tensor, *shape: int) -> Tensor:
        return torch.empty(shape, dtype=dtype, device=device)

    shared = Work(
        maxima=empty(torch.int32, -(-size // _TALL) * _TALL, len(words.scale)),  # whole tiles
        sure=empty(torch.float32, size),
        pairs=None,
        rows=empty(torch.int32, pairs),
        panels=empty(torch.int32, pairs),
        kept=None,
        kept_rows=empty(torch.int32, max(words.words, 2 * pairs)),
        kept_words=empty(torch.int32, max(words.words, 2 * pairs)),
        kept_squares=empty(torch.float32, max(words.words, 2 * pairs)),
        least=empty(torch.float32, size),
        limit=empty(torch.float32, size),
        near=empty(torch.int32, size),
        chosen=empty(torch.int32, size),
        unsure=None,
        unsure_rows=None,
        unsure_words=None,
        unsure_squares=empty(torch.float64, most),
        least64=empty(torch.float64, size),
        limit64=empty(torch.float64, size),
        near64=empty(torch.int32, size),
    )
    return [
        replace(
            shared,
            pairs=empty(torch.int32, 1),
            kept=empty(torch.int32, 1),
            unsure=empty(torch.int32, 1),
            unsure_rows=empty(torch.int32, most),
            unsure_words=empty(torch.int32, most),
        )
        for _ in range(count)
    ]
