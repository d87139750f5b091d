"""Exact nearest words in NumPy alone: float32 matrix products in tiles, and proved margins.

With c the vocabulary's mean, a_i = v_i - c and p = q - c, the word nearest to q maximizes

    T_i = a_i.p - |a_i|^2 / 2        (|v_i - q|^2 = |p|^2 - 2 T_i).

With u = 2**-24, m = n + 3, gamma = m u / (1 - m u) and P = |p|, float32's T_i is wrong by

    products over n + 2 terms, in any order, fused or not      gamma (|a_i| P + |a_i|^2 / 2)
    a_i, p, both lengths and the half norm rounded to float32  4 u (|a_i| P + |a_i|^2 / 2)

so by at most f (|a_i| P + |a_i|^2 / 2), f = gamma + 12 u, where the spare u's pay for second order,
float64's own rounding and the float32 additions in between. That is a product as well, so the scan
computes T_i + e_i, a matrix product of n + 2 dimensions; e_i has c = f / (1 - f) in place of f,
because it is rounded in the same product. A word whose T_i + e_i stays below the best T - e, by
more than twice the canonical value's own rounding (`canonical_slack`), is not the answer. Nearly
always one word is left; where more are, `canonical.decide` decides.

All lengths are divided by one power of two (exact), so that huge and tiny vocabularies neither
overflow nor lose their digits in float32. The bound takes it that the BLAS behind NumPy multiplies
float32 in float32.

Scores are laid out (words, queries): the maximum over a panel of words is then a maximum of whole
rows, which vectorizes over queries, and only panels that can hold the answer are looked at again.

Each thread takes tiles of queries of its own and multiplies them by itself. The usual way, one
product that BLAS spreads over the cores, leaves all cores but one idle while maxima are taken.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from inkblur.blas import one_thread, processors
from inkblur.mechanisms.nearest.canonical import (
    FAR,
    Float32s,
    Float64s,
    canonical_slack,
    checked_queries,
    checked_vectors,
    decide,
    exhaustive,
)
from inkblur.types import Ids

_PANEL = 32  # words that share one maximum
# A multiple of the panel. With smaller tiles many threads wait for each other's Python: on 16 cores
# 512 words ran at 0.8 of NumPy's product + argmax, 1,024 at 1.3 and 2,048 at 2.
_TILE_WORDS = 2048
_TILE_QUERIES = 1024
_MOST_FOUND = 1 << 22  # candidates held at a time; a vocabulary of ties would ask for more
_UNIT_32 = 2.0**-24
_NEVER = np.float32(1e30)  # half norm of the rows that fill the last panel: never a maximum


class Reference:
    """The NumPy backend: any machine, bounded memory, exact."""

    def __init__(self, *, threads: int | None = None) -> None:
        """threads: at least 1, by default one for each processor."""
        self.threads = processors() if threads is None else threads
        if self.threads < 1:
            raise ValueError(f"threads is {threads}, expected at least 1")

    def put(self, vectors: npt.ArrayLike) -> None:
        """Take the vocabulary, float32 (V, n). Keeps it, and a centered float32 copy beside it."""
        self._vectors = checked_vectors(vectors)
        words, dimension = self._vectors.shape
        self._center = self._vectors.mean(axis=0, dtype=np.float64)
        largest = max(
            float(np.abs(self._vectors[s : s + _TILE_WORDS] - self._center).max())
            for s in range(0, words, _TILE_WORDS)
        )
        self._unit = 2.0 ** np.floor(np.log2(largest)) if largest > 0 else 1.0
        m = dimension + 3
        error = m * _UNIT_32 / (1 - m * _UNIT_32) + 12 * _UNIT_32
        self._error = error / (1 - error)
        self._table = np.zeros((-(-words // _PANEL) * _PANEL, dimension + 2), dtype=np.float32)
        self._table[words:, dimension] = _NEVER
        # Dealt out, so that the first tile is like the others and its best word a good one to beat;
        # vocabularies come sorted by frequency.
        tiles = -(-words // _TILE_WORDS)
        self._order = np.concatenate([np.arange(tile, words, tiles) for tile in range(tiles)])
        for start in range(0, words, _TILE_WORDS):
            stop = min(start + _TILE_WORDS, words)
            centered = (self._vectors[self._order[start:stop]] - self._center) / self._unit
            squares = np.einsum("ij,ij->i", centered, centered)
            self._table[start:stop, :dimension] = centered
            self._table[start:stop, dimension] = squares / 2
            self._table[start:stop, dimension + 1] = np.sqrt(squares)
        self._norms = self._table[:, dimension + 1].copy()
        self._radius = float(self._norms.max()) * (1 + _UNIT_32)

    def nearest(self, queries: npt.ArrayLike) -> Ids:
        """The id of the nearest word of each query, float64 (B, n) -> int64 (B,)."""
        points = checked_queries(queries, self._vectors.shape[1])
        out = np.empty(len(points), dtype=np.int64)
        rounds = -(-len(points) // (self.threads * _TILE_QUERIES))
        step = max(1, -(-len(points) // max(1, rounds * self.threads)))  # tiles of equal size
        starts = range(0, len(points), step)

        def search(start: int) -> None:
            out[start : start + step] = self._tile(points[start : start + step])

        with one_thread(), ThreadPoolExecutor(self.threads) as pool:
            list(pool.map(search, starts))  # a list, so that an error is raised here
        return out

    def _tile(self, queries: Float64s) -> Ids:
        with np.errstate(over="ignore"):
            centered = queries - self._center
            centered *= 1 / self._unit
            norms = np.sqrt(np.einsum("ij,ij->i", centered, centered))
        near = norms <= FAR * max(self._radius, 1.0)
        out = np.empty(len(queries), dtype=np.int64)
        if not near.all():
            out[~near] = exhaustive(self._vectors, queries[~near])
            queries, centered, norms = queries[near], centered[near], norms[near]
        if len(queries):
            places, offsets = self._candidates(centered, norms)
            candidates = self._order[places]
            counts = np.diff(offsets)
            assert counts.min() > 0, "a query lost all of its words"
            ids = candidates[offsets[:-1]]
            several = np.flatnonzero(counts > 1)
            if len(several):
                ids[several] = _among(self._vectors, queries, candidates, offsets, several)
            out[near] = ids
        return out

    def _candidates(self, centered: Float64s, norms: Float64s) -> tuple[Ids, Ids]:
        """Every word that may be its query's nearest, query by query."""
        batch, dimension = centered.shape
        points = np.empty((dimension + 2, batch), dtype=np.float32)
        points[:dimension] = centered.T
        points[dimension] = self._error - 1
        points[dimension + 1] = self._error * norms
        underflow = 1e-30  # products under the smallest normal float32, flushed or not
        slack = 2 * canonical_slack(dimension, norms, self._radius) + underflow
        allowed = np.nextafter(slack.astype(np.float32), np.float32(np.inf))
        space = np.empty((min(_TILE_WORDS, len(self._table)), batch), dtype=np.float32)
        found: list[tuple[Ids, Ids, Float32s]] = []

        for start in range(0, len(self._table), _TILE_WORDS):
            table = self._table[start : start + _TILE_WORDS]
            bounds = space[: len(table)]
            np.matmul(table, points, out=bounds)
            panels = bounds.reshape(-1, _PANEL, batch)
            maxima = panels.max(axis=1)
            if start == 0:  # one word to beat
                panel = maxima.argmax(axis=0)
                inside = panels[panel, :, np.arange(batch)]
                word = panel * _PANEL + inside.argmax(axis=1)
                best = self._sure(inside.max(axis=1), word, norms)
            least = best - allowed
            able = np.flatnonzero(maxima.max(axis=0) >= least)  # a few, so a smaller search
            panel, which = np.nonzero(maxima[:, able] >= least[able])
            row = able[which]
            inside = panels[panel, :, row]
            hit, word = np.nonzero(inside >= least[row][:, None])
            rows, words = row[hit], start + panel[hit] * _PANEL + word
            most = inside[hit, word]
            np.maximum.at(best, rows, self._sure(most, words, norms[rows]))
            found.append((rows, words, most))
            if batch > 1 and sum(len(f[0]) for f in found) > _MOST_FOUND:
                return self._halves(centered, norms)
        rows, ids, values = (np.concatenate(parts) for parts in zip(*found, strict=True))
        keep = values >= (best - allowed)[rows]
        rows, ids = rows[keep], ids[keep]
        order = np.argsort(rows, kind="stable")
        offsets = np.zeros(batch + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=batch), out=offsets[1:])
        return ids[order], offsets

    def _sure(self, bounds: Float32s, words: Ids, norms: Float64s) -> Float32s:
        """T - e from T + e."""
        lengths = self._norms[words]
        doubt = self._error * (norms.astype(np.float32) + lengths / 2)
        sure: Float32s = bounds - np.float32(2) * lengths * doubt.astype(np.float32)
        return sure

    def _halves(self, centered: Float64s, norms: Float64s) -> tuple[Ids, Ids]:
        """`_candidates` in two smaller batches: ties must not cost unbounded memory."""
        middle = len(centered) // 2
        left, left_offsets = self._candidates(centered[:middle], norms[:middle])
        right, right_offsets = self._candidates(centered[middle:], norms[middle:])
        offsets = np.concatenate([left_offsets, right_offsets[1:] + len(left)])
        return np.concatenate([left, right]), offsets


def _among(vectors: Float32s, queries: Float64s, candidates: Ids, offsets: Ids, rows: Ids) -> Ids:
    """`decide` for some of the queries of a ragged list."""
    counts = np.diff(offsets)[rows]
    starts = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum(counts, out=starts[1:])
    where = np.repeat(offsets[rows] - starts[:-1], counts) + np.arange(starts[-1])
    return decide(vectors, queries[rows], candidates[where], starts)
