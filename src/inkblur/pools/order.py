"""The order of a pool's texts as seen from a private one, and the T units that it marks.

First come the texts of its label, then all others; among them first the nearer cells, in a cell the
nearer texts, ties by place. Nearness is a product of whole numbers, exact on every machine. A text
marks the first T units in this order, so near the end of T one text may be marked in part. The
order is public and any order would be private: cells only save time.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from inkblur.mechanisms.staircase.units import WordUnits
from inkblur.pools.encoder import TextPoints, Whole
from inkblur.pools.pool import Pool
from inkblur.types import Ids, Vectors

_ROWS = 64  # private texts whose products with a cell are held


def text_units(pool: Pool, units: int) -> WordUnits:
    """`units` divided among the texts: exactly alike among labels, as evenly as can be within one.

    `units` must be a multiple of the number of labels. The first texts of a label own what rounding
    leaves over, a unit each.
    """
    each, rest = divmod(units, len(pool.label_names))
    if rest:
        raise ValueError(f"{units} units are not {len(pool.label_names)} equal parts")
    owned = np.empty(len(pool), dtype=np.int64)
    for start, stop in pairwise(pool.label_starts.tolist()):
        share, left = divmod(each, stop - start)
        owned[start:stop] = share
        owned[start : start + left] += 1
    return owned


class Order:
    """The order of a pool, and the units that its texts own."""

    def __init__(self, pool: Pool, units: WordUnits) -> None:
        self.pool, self.units = pool, units
        self._before = np.concatenate([[0], np.cumsum(units)])
        self._cell_units = np.diff(self._before[pool.cells])
        self._cell_points: Vectors = pool.cell_points.astype(np.float32)

    def cells(self, label: int, point: Vectors) -> Ids:
        """All cells, in the order in which this text sees them."""
        nearness = self._cell_points @ point
        return np.lexsort((-nearness, self.pool.cell_labels != label))

    def texts(self, cell: int, point: Vectors) -> Ids:
        """The texts of a cell, the nearest first."""
        return self._sorted(cell, self._nearness(cell, point[None])[0])

    def _nearness(self, cell: int, points: Vectors) -> Vectors:
        """Exact products of these private texts with the texts of a cell, (points, texts)."""
        first, stop = self.pool.cells[cell : cell + 2]
        products: Vectors = points @ self.pool.points[first:stop].astype(np.float32).T
        return products

    def _sorted(self, cell: int, nearness: Vectors) -> Ids:
        order: Ids = self.pool.cells[cell] + np.argsort(-nearness, kind="stable")
        return order

    def at(self, labels: Whole, points: Vectors, places: WordUnits) -> Ids:
        """The texts that own units `places`, counted in the order of each private text."""
        hit = np.empty(len(places), dtype=np.int64)  # the cell that owns the unit
        inside = np.empty(len(places), dtype=np.int64)
        for row, (label, place) in enumerate(zip(labels.tolist(), places.tolist(), strict=True)):
            cells = self.cells(label, points[row])
            reached = np.cumsum(self._cell_units[cells])
            at = int(np.searchsorted(reached, place, side="right"))
            hit[row] = cells[at]
            inside[row] = place - (reached[at] - self._cell_units[cells[at]])
        out = np.empty(len(places), dtype=np.int64)
        for cell in np.unique(hit).tolist():
            found = np.flatnonzero(hit == cell)
            for start in range(0, len(found), _ROWS):
                rows = found[start : start + _ROWS]
                for row, nearness in zip(rows, self._nearness(cell, points[rows]), strict=True):
                    texts = self._sorted(cell, nearness)
                    reached = np.cumsum(self.units[texts])
                    out[row] = texts[np.searchsorted(reached, inside[row], side="right")]
        return out

    def own_texts(self, label: int, point: Vectors) -> Ids:
        """The texts of this label in order."""
        own = [c for c in self.cells(label, point).tolist() if self.pool.cell_labels[c] == label]
        return np.concatenate([self.texts(cell, point) for cell in own])

    def whole(self, label: int, point: Vectors) -> Ids:
        """All texts in order: the definition, for laws and for choosing."""
        return np.concatenate([self.texts(cell, point) for cell in self.cells(label, point)])


class Marked:
    """The units that a batch of private texts mark: what `Draw` draws from."""

    def __init__(self, order: Order, near: int, labels: Whole, points: TextPoints) -> None:
        self.units = order.units
        self._order, self._near = order, near
        self._labels, self._points = labels, points.astype(np.float32)

    def at(self, ids: Ids, places: WordUnits) -> Ids:
        """The pool's text that owns unit `places[i]` of those that private text `ids[i]` marks."""
        return self._order.at(self._labels[ids], self._points[ids], places)

    def shares(self, word: int) -> WordUnits:
        """How many units of each text of the pool this private text marks; they sum to T."""
        order = self._order.whole(int(self._labels[word]), self._points[word])
        before = np.cumsum(self.units[order]) - self.units[order]
        shares = np.zeros_like(self.units)
        shares[order] = np.clip(self._near - before, 0, self.units[order])
        return shares
