"""The steps of the GPU search in plain torch: slow, easy to read, and the same on any device.

`gpu_kernel` has the same six functions as fused kernels; tests assert that both give the same
numbers. `gpu` says what is computed and why it is exact, and sets the buffers to their start.
Shapes: B queries, P panels of `PANEL` words, V words sorted by length, n dimensions padded to K
columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

PANEL = 32  # words that share one maximum
NOWHERE = 2**31 - 1  # "no word": larger than every position

Tensor = Any  # torch is not typed for us: it is absent where the types are checked


@dataclass(slots=True)
class Vocabulary:
    """What is on the device for one vocabulary; lengths in its unit, words sorted by length."""

    words: int  # V
    dimension: int  # n
    table: Tensor  # float32 (P * PANEL, n): the words themselves, not centred; the last repeats
    codes: Tensor  # int8 (P * PANEL, K): k of a = s k + rest, zero beyond column n
    scale: Tensor  # float64 (P,): s
    shortest: Tensor  # float64 (P,): least |a|^2 / 2 of the panel
    longest: Tensor  # float64 (P,): greatest |a|^2 / 2
    length: Tensor  # float64 (P,): greatest |s k|, rounded up
    lost: Tensor  # float64 (P,): greatest |a - s k|, rounded up
    order: Tensor  # int64 (V,): position -> id

    @property
    def panels(self) -> int:
        """P."""
        return len(self.scale)


@dataclass(slots=True)
class Batch:
    """One batch's queries on the device; the first `count` rows are in use."""

    count: int
    points: Tensor  # float64 (B, n): q, in the unit, not centred
    high: Tensor  # float32 (B, n): q rounded
    low: Tensor  # float32 (B, n): the rest of q, rounded
    codes: Tensor  # int8 (B, K): l of p = t l + rest
    scale: Tensor  # float64 (B,): t
    lost: Tensor  # float64 (B,): |p - t l|, rounded up
    norm: Tensor  # float64 (B,): |p|, rounded up
    slack: Tensor  # float64 (B,): what float64 and the canonical value may lose, both sides


@dataclass(slots=True)
class Work:
    """Results of the steps; `pairs` counts what was wanted, so above the capacity it overflowed."""

    maxima: Tensor  # int32 (B, P)
    pairs: Tensor  # int32 (1,)
    rows: Tensor  # int32 (capacity,): the query of a surviving pair
    panels: Tensor  # int32 (capacity,): and its panel
    squares: Tensor  # float32 (capacity, PANEL): squared distances of the pair's words
    least: Tensor  # float32 (B,): smallest of them
    limit: Tensor  # float32 (B,): up to here a word may be the answer
    near: Tensor  # int32 (B,): how many words are
    chosen: Tensor  # int32 (B,): position of one of them
    least64: Tensor  # float64 (B,): the same three in float64, where `near` is above one
    limit64: Tensor  # float64 (B,)
    near64: Tensor  # int32 (B,)
    ties: Tensor  # int32 (1,)
    tie_rows: Tensor  # int32 (tie capacity,)
    tie_words: Tensor  # int32 (tie capacity,): positions


def scan(words: Vocabulary, batch: Batch, work: Work) -> None:
    """maxima[b, p] = largest k.l over the panel's words, exact integers."""
    # float64 holds every sum of int8 products of up to 2**39 columns, in any order of summation.
    points = batch.codes[: batch.count].double()
    step = 64 * PANEL
    for start in range(0, len(words.codes), step):
        scores = points @ words.codes[start : start + step].double().T
        top = scores.reshape(batch.count, -1, PANEL).amax(dim=2).int()
        work.maxima[: batch.count, start // PANEL : start // PANEL + top.shape[1]] = top


def keep(words: Vocabulary, batch: Batch, work: Work) -> None:
    """The pairs (query, panel) that can hold the answer."""
    rows = slice(0, batch.count)
    score = work.maxima[rows].double() * words.scale * batch.scale[rows, None]
    error = words.length * batch.lost[rows, None] + words.lost * batch.norm[rows, None]
    sure = (score - words.longest - error).amax(dim=1) - batch.slack[rows]
    found = torch.nonzero(score - words.shortest + error >= sure[:, None])
    work.pairs[0] = len(found)
    fits = min(len(found), len(work.rows))
    work.rows[:fits] = found[:fits, 0].int()
    work.panels[:fits] = found[:fits, 1].int()


def _words_of(work: Work, count: int, device: Tensor) -> Tensor:
    """Positions of the words of the first pairs, int64 (count, PANEL)."""
    first = work.panels[:count].long() * PANEL
    return first[:, None] + torch.arange(PANEL, device=device)


def rescore(words: Vocabulary, batch: Batch, work: Work) -> None:
    """float32 squared distances of all words of the pairs, and each query's smallest."""
    count = min(int(work.pairs[0]), len(work.rows))
    for start in range(0, count, 4096):
        part = slice(start, min(start + 4096, count))
        row = work.rows[part].long()
        ids = _words_of(work, count, row.device)[part]
        rest = words.table[ids] - batch.high[row][:, None, :]
        rest -= batch.low[row][:, None, :]
        squares = (rest * rest).sum(dim=2)
        squares[ids >= words.words] = torch.inf
        work.squares[part] = squares
        work.least.scatter_reduce_(0, row, squares.amin(dim=1), "amin")


def choose(words: Vocabulary, batch: Batch, work: Work) -> None:
    """How many words lie within `limit` of each query, and one of them."""
    del words, batch
    count = min(int(work.pairs[0]), len(work.rows))
    row = work.rows[:count].long()
    hit = work.squares[:count] <= work.limit[row][:, None]
    work.near.index_add_(0, row, hit.sum(dim=1).int())
    ids = torch.where(hit, _words_of(work, count, row.device), NOWHERE)
    work.chosen.scatter_reduce_(0, row, ids.amin(dim=1).int(), "amin")


def _candidates(batch: Batch, work: Work, words: Vocabulary) -> tuple[Tensor, Tensor, Tensor]:
    """Query, word and float64 squared distance where float32 left more than one word."""
    count = min(int(work.pairs[0]), len(work.rows))
    row = work.rows[:count].long()
    hit = (work.squares[:count] <= work.limit[row][:, None]) & (work.near[row] > 1)[:, None]
    ids = _words_of(work, count, row.device)[hit]
    row = row[:, None].expand(-1, PANEL)[hit]
    parts = [
        (words.table[ids[s : s + 65536]].double() - batch.points[row[s : s + 65536]])
        .square()
        .sum(dim=1)
        for s in range(0, len(ids), 65536)
    ]
    return row, ids, torch.cat(parts) if parts else batch.points.new_empty(0)


def refine(words: Vocabulary, batch: Batch, work: Work) -> None:
    """float64 squared distances of what float32 could not separate: each query's smallest."""
    row, _, squares = _candidates(batch, work, words)
    work.least64.scatter_reduce_(0, row, squares, "amin")


def settle(words: Vocabulary, batch: Batch, work: Work) -> None:
    """As `choose`, for those queries and in float64; lists what remains for the last judge."""
    row, ids, squares = _candidates(batch, work, words)
    hit = squares <= work.limit64[row]
    row, ids = row[hit], ids[hit]
    work.near64.index_add_(0, row, torch.ones_like(row, dtype=torch.int32))
    work.chosen.scatter_reduce_(0, row, ids.int(), "amin")
    work.ties[0] = len(row)
    fits = min(len(row), len(work.tie_rows))
    work.tie_rows[:fits] = row[:fits].int()
    work.tie_words[:fits] = ids[:fits].int()
