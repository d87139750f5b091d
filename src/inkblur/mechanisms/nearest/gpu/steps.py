"""The steps of the GPU search, fused: the functions of `plain`, which they must equal."""

from __future__ import annotations

import torch
import triton
from triton.tools.tensor_descriptor import TensorDescriptor

from inkblur.mechanisms.nearest.gpu import kernel, plain
from inkblur.mechanisms.nearest.gpu.memory import (
    PANEL,
    WIDE,
    DeviceBatch,
    DeviceVocabulary,
    Work,
)

# Rows and words of one tile, columns of one step, warps, steps in flight: chosen by measurement.
TILE = {"rows": 128, "words": 128, "columns": 64, "warps": 4, "stages": 3, "programs": 2}
_STRIDING = 16  # programs that share a list, for each multiprocessor
_MOST_AT_ONCE = 8192  # numbers of one query that a single program prepares


def _multiprocessors(batch: DeviceBatch) -> int:
    device = batch.codes.device
    if device.type != "cuda":  # Triton's interpreter
        return 1
    return int(torch.cuda.get_device_properties(device).multi_processor_count)


def prepare(words: DeviceVocabulary, batch: DeviceBatch, work: Work) -> None:
    """Scale, center and round the queries; measure what the rounding lost."""
    if words.dimension > _MOST_AT_ONCE:
        plain.prepare(words, batch, work)
        return
    kernel.prepare[(batch.count,)](
        batch.raw, words.center, words.constants,
        batch.points, batch.high, batch.low,
        batch.codes, batch.scale, batch.lost, batch.norm, batch.slack, batch.far,
        N=words.dimension, COLUMNS=batch.codes.shape[1],
        BLOCK=triton.next_power_of_2(words.dimension), num_warps=4,
    )  # fmt: skip


def scan(words: DeviceVocabulary, batch: DeviceBatch, work: Work) -> None:
    """maxima[b, p] = largest k.l over the panel's words, exact integers."""
    rows, width, step = TILE["rows"], TILE["words"], TILE["columns"]
    row_tiles = triton.cdiv(batch.count, rows)
    tiles = row_tiles * triton.cdiv(len(words.codes), width)
    kernel.scan[(min(tiles, TILE["programs"] * _multiprocessors(batch)),)](
        TensorDescriptor.from_tensor(batch.codes, [rows, step]),
        TensorDescriptor.from_tensor(words.codes, [width, step]),
        work.maxima, len(words.scale), row_tiles, tiles,
        COLUMNS=batch.codes.shape[1], ROWS=rows, WORDS=width, STEP=step, PANEL=PANEL,
        STAGES=TILE["stages"], num_warps=TILE["warps"], num_stages=TILE["stages"],
    )  # fmt: skip


def keep(words: DeviceVocabulary, batch: DeviceBatch, work: Work) -> None:
    """The pairs (query, panel) that can hold the answer."""
    rows = 4
    for upper in (False, True):
        kernel.bounds[(triton.cdiv(batch.count, rows), len(words.scale) // WIDE)](
            work.maxima,
            words.scale, words.shortest if upper else words.longest, words.length, words.lost,
            batch.scale, batch.lost, batch.norm, batch.slack,
            work.sure, work.pairs, work.rows, work.panels,
            batch.count, len(words.scale), len(work.rows),
            UPPER=upper, ROWS=rows, STEP=WIDE, num_warps=2,
        )  # fmt: skip


def sift(words: DeviceVocabulary, batch: DeviceBatch, work: Work) -> None:
    """The words of the pairs that their own k.l and half norm do not rule out."""
    kernel.sift[(_STRIDING * _multiprocessors(batch),)](
        words.codes, words.half, words.scale, words.length, words.lost,
        batch.codes, batch.scale, batch.lost, batch.norm, batch.slack,
        work.sure, work.pairs, work.rows, work.panels, work.kept, work.kept_rows, work.kept_words,
        words.words, len(work.rows), len(work.kept_rows),
        COLUMNS=batch.codes.shape[1], STEP=64, GROUP=2, PANEL=PANEL, num_warps=4,
    )  # fmt: skip


def rescore(words: DeviceVocabulary, batch: DeviceBatch, work: Work) -> None:
    """float32 squared distances of the words that are left, and each query's smallest."""
    kernel.rescore[(_STRIDING * _multiprocessors(batch),)](
        words.table,
        batch.high, batch.low,
        work.kept, work.kept_rows, work.kept_words, work.kept_squares,
        work.least.view(dtype=torch.int32), len(work.kept_rows),
        N=words.dimension, STEP=128, GROUP=8, num_warps=4,
    )  # fmt: skip


def _listed(batch: DeviceBatch, work: Work, listing: bool) -> None:
    kernel.choose[(_STRIDING * _multiprocessors(batch),)](
        work.kept, work.kept_rows, work.kept_words, work.kept_squares,
        work.limit, work.near, work.chosen,
        work.unsure, work.unsure_rows, work.unsure_words,
        len(work.kept_rows), len(work.unsure_rows),
        LIST=listing, GROUP=128, num_warps=4,
    )  # fmt: skip


def choose(words: DeviceVocabulary, batch: DeviceBatch, work: Work) -> None:
    """How many words lie within `limit` of each query, and one of them."""
    _listed(batch, work, listing=False)


def collect(words: DeviceVocabulary, batch: DeviceBatch, work: Work) -> None:
    """List those words where there are several."""
    _listed(batch, work, listing=True)


def refine(words: DeviceVocabulary, batch: DeviceBatch, work: Work) -> None:
    """float64 squared distances of the listed words, and each query's smallest."""
    kernel.refine[(_STRIDING * _multiprocessors(batch),)](
        words.table,
        batch.points,
        work.unsure, work.unsure_rows, work.unsure_words, work.unsure_squares,
        work.least64.view(dtype=torch.int64), len(work.unsure_rows),
        N=words.dimension, STEP=256, num_warps=4,
    )  # fmt: skip


def settle(words: DeviceVocabulary, batch: DeviceBatch, work: Work) -> None:
    """As `choose`, for the listed words and in float64."""
    kernel.settle[(_multiprocessors(batch),)](
        work.unsure, work.unsure_rows, work.unsure_words, work.unsure_squares,
        work.limit64, work.near64, work.chosen, len(work.unsure_rows),
        GROUP=128, num_warps=4,
    )  # fmt: skip
