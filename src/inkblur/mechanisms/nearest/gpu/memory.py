"""What the GPU search keeps on the device: the vocabulary, a batch of queries, and its results.

Shapes: B queries, P panels of `PANEL` words, V words sorted by length, n dimensions padded to K
columns. Lengths are in the vocabulary's unit. `backend` has the mathematics.
"""

from __future__ import annotations

import copy
import math
from functools import partial
from typing import Any

import numpy as np
import torch

from inkblur.mechanisms.nearest.canonical import FAR, UNIT_64, Float32s

PANEL = 32  # words that share one maximum
NOWHERE = 2**31 - 1  # "no word": larger than every position
WIDE = 512  # panels that one program compares: rows of maxima are padded to a multiple of this
_TALL = 256  # rows of the tallest tile that a scan may use
_COLUMNS = 64  # columns of int8 come in multiples of this: one step of the scan
_ROWS = 1 << 16  # words prepared at a time; a multiple of the panel
_UP = 1 + 1e-9  # norms are rounded up by more than float64 can have lost in them
_SHORT = 2.0**-40  # least radius: room for rounding that float32 holds with all its digits

Tensor = Any  # torch is not typed for us: it is absent where the types are checked


class DeviceVocabulary:
    """What is on the device for one vocabulary, words sorted by length."""

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

        self.words, self.dimension = words, n  # V, n
        self.panels = len(scale)  # P
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
        self.order = order  # int64 (V,): position -> id
        self.center = center  # float64 (n,)
        self.constants = torch.tensor(constants_of(shrink, radius, n), **f64)


class DeviceBatch:
    """One batch's queries on the device; the first `count` rows are in use."""

    def __init__(self, words: DeviceVocabulary, size: int) -> None:
        n, empty = words.dimension, partial(_empty, words)
        self.count = 0
        self.raw = empty(torch.float64, size, n)  # as given
        self.points = empty(torch.float64, size, n)  # q, in the unit, not centered
        self.high = empty(torch.float32, size, n)  # q rounded
        self.low = empty(torch.float32, size, n)  # the rest of q, rounded
        # l of p = t l + rest; zero beyond column n
        self.codes = empty(torch.int8, size, words.codes.shape[1]).zero_()
        self.scale = empty(torch.float32, size)  # t
        self.lost = empty(torch.float32, size)  # |p - t l|
        self.norm = empty(torch.float32, size)  # |p|
        self.slack = empty(torch.float32, size)  # what rounding may cost, both sides
        self.far = empty(torch.int32, size)  # 1 where p is too long for the proof, or no number

    def another(self) -> DeviceBatch:
        """For one more batch in flight: `raw` is its own, the rest shared."""
        other = copy.copy(self)
        other.raw = torch.empty_like(self.raw)
        return other


class Work:
    """Results of the steps; counters count what was wanted, so above capacity a list overflowed."""

    def __init__(self, words: DeviceVocabulary, size: int, pairs: int) -> None:
        empty = partial(_empty, words)
        rows = -(-size // _TALL) * _TALL  # whole tiles
        kept, unsure = max(words.words, 2 * pairs), max(words.words, 64 * size)
        self.maxima = empty(torch.int32, rows, len(words.scale))
        self.sure = empty(torch.float32, size)  # some word scores at least this
        self.pairs = empty(torch.int32, 1)
        self.rows = empty(torch.int32, pairs)  # the query of a surviving pair
        self.panels = empty(torch.int32, pairs)  # and its panel
        self.kept = empty(torch.int32, 1)
        self.kept_rows = empty(torch.int32, kept)  # the query of a word that is left
        self.kept_words = empty(torch.int32, kept)  # and its position
        self.kept_squares = empty(torch.float32, kept)  # their squared distance
        self.least = empty(torch.float32, size)  # smallest of them
        self.limit = empty(torch.float32, size)  # up to here a word may be the answer
        self.near = empty(torch.int32, size)  # how many words are
        self.chosen = empty(torch.int32, size)  # position of one of them
        self.unsure = empty(torch.int32, 1)
        # Queries with several words, one entry for each word; and the words' positions.
        self.unsure_rows = empty(torch.int32, unsure)
        self.unsure_words = empty(torch.int32, unsure)
        self.unsure_squares = empty(torch.float64, unsure)
        self.least64 = empty(torch.float64, size)  # the same three in float64, for those queries
        self.limit64 = empty(torch.float64, size)
        self.near64 = empty(torch.int32, size)

    def another(self) -> Work:
        """For one more batch in flight: what the host reads is its own, the rest shared."""
        other = copy.copy(self)
        for name in ("pairs", "kept", "unsure", "unsure_rows", "unsure_words"):
            setattr(other, name, torch.empty_like(getattr(self, name)))
        return other


def _empty(words: DeviceVocabulary, dtype: Tensor, *shape: int) -> Tensor:
    return torch.empty(shape, dtype=dtype, device=words.table.device)


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
