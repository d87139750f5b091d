"""Exact nearest words in NumPy alone: float32 matrix products in tiles, and a proved margin.

With c the vocabulary's mean, a_i = v_i - c and p = q - c, the word nearest to q maximises

    T_i = a_i.p - |a_i|^2 / 2        (|v_i - q|^2 = |p|^2 - 2 T_i).

We compute S_i, the float32 product of (a_i, |a_i|^2/2) with (p, -1), a matrix product with one more
dimension. With u = 2**-24, d = n + 1, gamma = d u / (1 - d u), A = max |a_i| and P = |p|:

    product, any order of summation, fused or not   gamma (|a_i| |p| + |a_i|^2 / 2)
    a_i and p rounded to float32                    (2 u + u^2) |a_i| |p|
    the half norm rounded to float32                u |a_i|^2 / 2
    the canonical value's own rounding              canonical_slack, see `canonical`

so |S_i - T_i| <= E(q) = (gamma + 4 u) A P + (gamma + 4 u) A^2 / 2 + slack, where the spare u's pay
for float64 rounding, second order, and the float32 subtraction in: a word with S_i < max S - 2 E(q)
cannot be the answer. Nearly always one word is left; where more are, `canonical.decide` decides.

All lengths are divided by one power of two (exact), so that huge and tiny vocabularies neither
overflow nor lose their digits in float32. The bound takes it that the BLAS behind NumPy multiplies
float32 in float32.

Scores are laid out (words, queries): the maximum over a panel of words is then a maximum of whole
rows, which vectorises over queries, and only panels that can hold the answer are looked at again.

Each thread takes tiles of queries of its own and multiplies them by itself. The usual way, one
product that BLAS spreads over the cores, leaves all cores but one idle while maxima are taken.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import numpy.typing as npt
from threadpoolctl import ThreadpoolController

from inkblur.nearest.canonical import (
    FAR,
    Float32s,
    Float64s,
    Ids,
    canonical_slack,
    checked_queries,
    checked_vectors,
    decide,
    exhaustive,
)
from inkblur.nearest.native import processors

_PANEL = 32  # words that share one maximum
# A multiple of the panel. With smaller tiles many threads wait for each other's Python: on 16 cores
# 512 words ran at 0.8 of NumPy's product + argmax, 1,024 at 1.3 and 2,048 at 2.
_TILE_WORDS = 2048
_TILE_QUERIES = 1024
_MOST_FOUND = 1 << 22  # candidates held at a time; a vocabulary of ties would ask for more
_UNIT_32 = 2.0**-24
_NEVER = np.float32(1e30)  # half norm of the rows that fill the last panel: never a maximum
_TURN = threading.Lock()  # how many threads BLAS may use is one number for the whole process


class Reference:
    """The NumPy backend: any machine, bounded memory, exact."""

    def __init__(self, *, threads: int | None = None) -> None:
        """threads: at least 1, by default one for each processor."""
        self.threads = processors() if threads is None else threads
        if self.threads < 1:
            raise ValueError(f"threads is {threads}, expected at least 1")

    def put(self, vectors: npt.ArrayLike) -> None:
        """Take the vocabulary, float32 (V, n). Keeps it, and a centred float32 copy beside it."""
        self._vectors = checked_vectors(vectors)
        words, dimension = self._vectors.shape
        self._centre = self._vectors.mean(axis=0, dtype=np.float64)
        largest = max(
            float(np.abs(self._vectors[s : s + _TILE_WORDS] - self._centre).max())
            for s in range(0, words, _TILE_WORDS)
        )
        self._unit = 2.0 ** np.floor(np.log2(largest)) if largest > 0 else 1.0
        padded = -(-words // _PANEL) * _PANEL
        self._table = np.zeros((padded, dimension + 1), dtype=np.float32)
        self._table[words:, dimension] = _NEVER
        radius = 0.0
        for start in range(0, words, _TILE_WORDS):
            stop = min(start + _TILE_WORDS, words)
            centred = (self._vectors[start:stop] - self._centre) / self._unit
            squares = np.einsum("ij,ij->i", centred, centred)
            self._table[start:stop, :dimension] = centred
            self._table[start:stop, dimension] = squares / 2
            radius = max(radius, float(squares.max()) ** 0.5)
        self._radius = radius

    def nearest(self, queries: npt.ArrayLike) -> Ids:
        """The id of the nearest word of each query, float64 (B, n) -> int64 (B,)."""
        points = checked_queries(queries, self._vectors.shape[1])
        out = np.empty(len(points), dtype=np.int64)
        rounds = -(-len(points) // (self.threads * _TILE_QUERIES))
        step = max(1, -(-len(points) // max(1, rounds * self.threads)))  # tiles of equal size
        starts = range(0, len(points), step)

        def search(start: int) -> None:
            out[start : start + step] = self._tile(points[start : start + step])

        with (
            _TURN,
            _blas().limit(limits=1, user_api="blas"),  # one BLAS thread in each of ours
            ThreadPoolExecutor(self.threads) as pool,
        ):
            list(pool.map(search, starts))  # a list, so that an error is raised here
        return out

    def _tile(self, queries: Float64s) -> Ids:
        with np.errstate(over="ignore"):
            centred = queries - self._centre
            centred *= 1 / self._unit
            norms = np.sqrt(np.einsum("ij,ij->i", centred, centred))
        near = norms <= FAR * max(self._radius, 1.0)
        out = np.empty(len(queries), dtype=np.int64)
        if not near.all():
            out[~near] = exhaustive(self._vectors, queries[~near])
            queries, centred, norms = queries[near], centred[near], norms[near]
        if len(queries):
            candidates, offsets = self._candidates(centred, 2 * self._margin(norms))
            ids = candidates[offsets[:-1]]
            several = np.flatnonzero(np.diff(offsets) > 1)
            if len(several):
                ids[several] = _among(self._vectors, queries, candidates, offsets, several)
            out[near] = ids
        return out

    def _margin(self, norms: Float64s) -> Float64s:
        """E(q) of the module's first lines, in the unit of the table."""
        dimension = self._vectors.shape[1]
        d = dimension + 1
        factor = d * _UNIT_32 / (1 - d * _UNIT_32) + 4 * _UNIT_32
        products = factor * (self._radius * norms + self._radius**2 / 2)
        underflow = 1e-30  # products under the smallest normal float32, flushed or not
        slack = canonical_slack(dimension, norms, self._radius)
        margin: Float64s = 1.001 * products + slack + underflow
        return margin

    def _candidates(self, centred: Float64s, allowance: Float64s) -> tuple[Ids, Ids]:
        """Every word whose score is within the allowance of its query's best, query by query."""
        dimension, batch = centred.shape[1], len(centred)
        points = np.empty((dimension + 1, batch), dtype=np.float32)
        points[:dimension] = centred.T
        points[dimension] = -1.0
        allowed = np.nextafter(allowance.astype(np.float32), np.float32(np.inf))
        space = np.empty((min(_TILE_WORDS, len(self._table)), batch), dtype=np.float32)
        best = np.full(batch, -np.inf, dtype=np.float32)
        found: list[tuple[Ids, Ids, Float32s]] = []
        for start in range(0, len(self._table), _TILE_WORDS):
            table = self._table[start : start + _TILE_WORDS]
            scores = space[: len(table)]
            np.matmul(table, points, out=scores)
            panels = scores.reshape(-1, _PANEL, batch)
            maxima = panels.max(axis=1)
            highest = maxima.max(axis=0)
            np.maximum(best, highest, out=best)
            least = best - allowed
            able = np.flatnonzero(highest >= least)  # a few of the queries, so a smaller search
            panel, which = np.nonzero(maxima[:, able] >= least[able])
            row = able[which]
            inside = panels[panel, :, row]
            hit, word = np.nonzero(inside >= least[row][:, None])
            found.append((row[hit], start + panel[hit] * _PANEL + word, inside[hit, word]))
            if batch > 1 and sum(len(f[0]) for f in found) > _MOST_FOUND:
                return self._halves(centred, allowance)
        rows = np.concatenate([f[0] for f in found])
        ids = np.concatenate([f[1] for f in found])
        values = np.concatenate([f[2] for f in found])
        keep = values >= least[rows]
        rows, ids = rows[keep], ids[keep]
        order = np.argsort(rows, kind="stable")
        offsets = np.zeros(batch + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=batch), out=offsets[1:])
        return ids[order], offsets

    def _halves(self, centred: Float64s, allowance: Float64s) -> tuple[Ids, Ids]:
        """`_candidates` in two smaller batches: ties must not cost unbounded memory."""
        middle = len(centred) // 2
        left, left_offsets = self._candidates(centred[:middle], allowance[:middle])
        right, right_offsets = self._candidates(centred[middle:], allowance[middle:])
        offsets = np.concatenate([left_offsets, right_offsets[1:] + len(left)])
        return np.concatenate([left, right]), offsets


@cache
def _blas() -> ThreadpoolController:
    """Looking for BLAS takes milliseconds, so once."""
    return ThreadpoolController()


def _among(vectors: Float32s, queries: Float64s, candidates: Ids, offsets: Ids, rows: Ids) -> Ids:
    """`decide` for some of the queries of a ragged list."""
    counts = np.diff(offsets)[rows]
    starts = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum(counts, out=starts[1:])
    where = np.repeat(offsets[rows] - starts[:-1], counts) + np.arange(starts[-1])
    return decide(vectors, queries[rows], candidates[where], starts)
