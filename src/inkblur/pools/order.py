"""The order of a pool's texts as seen from a private one, and the T units that it marks.

First come the texts of its label, then all others; among them first the nearer cells, in a cell the
nearer texts, ties by place. Nearness is a product of whole numbers, exact on every machine. A text
marks the first T units in this order, so near the end of T one text may be marked in part. The
order is public and any order would be private: cells only save time.

On a GPU large cells are searched with torch, exactly: products are whole numbers, in float64.
"""

from __future__ import annotations

from enum import Enum
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from inkblur.errors import ParameterError
from inkblur.mechanisms.nearest.engine import Device
from inkblur.mechanisms.staircase.units import WordUnits
from inkblur.pools.encoder import TextPoints, Whole
from inkblur.pools.pool import Pool
from inkblur.types import Ids, Vectors

_PRODUCTS = 1 << 22  # of private texts with cells or with texts that are held at once
LARGE = 1 << 15  # texts of a cell: from here on a GPU is worth its while
_OTHER_LABEL = 1 << 26  # above twice the largest product
_ON_DEVICE = 1 << 27  # products that are held on a device at once
_SPARE = 16  # texts taken beyond the one that is sought
_PLACE = 32  # bits for a text's place in its cell; its nearness takes the bits above


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


class Nearest(Enum):
    """What comes first in the order of a pool."""

    LABEL = "label"  # texts of the label that the classifier gives, then by meaning
    MEANING = "meaning"  # by meaning alone: all texts are one cell


class Order:
    """The order of a pool, and the units that its texts own."""

    def __init__(self, pool: Pool, units: WordUnits, first: Nearest = Nearest.LABEL) -> None:
        self.pool, self.units = pool, units
        self.search: TorchSearch | None = None  # for large cells
        by_label = first is Nearest.LABEL
        self.starts = pool.cells if by_label else np.array([0, len(pool)])
        self._labels = pool.cell_labels if by_label else np.zeros(1, dtype=np.int64)
        middles = pool.cell_points if by_label else pool.cell_points[:1]
        self._cell_points: Vectors = middles.astype(np.float32)
        self._before = np.concatenate([[0], np.cumsum(units)])
        self._cell_units = np.diff(self._before[self.starts])

    def cells(self, labels: Whole, points: Vectors) -> Ids:
        """All cells in the order in which each of these texts sees them, (texts, cells)."""
        products = (points @ self._cell_points.T).astype(np.int64)
        far = self._labels != labels[:, None]  # all alike where there is one cell
        order: Ids = np.argsort(far * _OTHER_LABEL - products, axis=1, kind="stable")
        return order

    def nearness(self, cell: int, points: Vectors) -> Vectors:
        """Exact products of these private texts with the texts of a cell, (points, texts)."""
        first, stop = self.starts[cell : cell + 2]
        products: Vectors = points @ self.pool.points[first:stop].astype(np.float32).T
        return products

    def at(self, labels: Whole, points: Vectors, places: WordUnits) -> Ids:
        """The texts that own units `places`, counted in the order of each private text."""
        hit, inside = np.empty_like(places), np.empty_like(places)  # the cell, the unit in it
        step = max(1, _PRODUCTS // len(self._cell_units))
        for start in range(0, len(places), step):
            part = slice(start, start + step)
            cells = self.cells(labels[part], points[part])
            reached = np.cumsum(self._cell_units[cells], axis=1)
            at = (reached <= places[part, None]).sum(axis=1)
            rows = np.arange(len(cells))
            hit[part] = cells[rows, at]
            inside[part] = places[part] - (reached[rows, at] - self._cell_units[hit[part]])
        out = np.empty(len(places), dtype=np.int64)
        for cell in np.unique(hit).tolist():
            found = np.flatnonzero(hit == cell)
            first, stop = self.starts[cell : cell + 2].tolist()
            units, step = self.units[first:stop], max(1, _PRODUCTS // (stop - first))
            if self.search is not None and stop - first >= LARGE:
                out[found] = first + self.search.owners(first, units, points[found], inside[found])
                continue
            for start in range(0, len(found), step):
                rows = found[start : start + step]
                for row, seen in zip(rows, self.nearness(cell, points[rows]), strict=True):
                    out[row] = first + owner(seen, units, int(inside[row]))
        return out

    def whole(self, label: int, point: Vectors) -> Ids:
        """All texts in order: the definition, for laws and audits."""
        order = [
            self.starts[cell] + np.argsort(-self.nearness(cell, point[None])[0], kind="stable")
            for cell in self.cells(np.array([label]), point[None])[0].tolist()
        ]
        return np.concatenate(order)


def owner(nearness: Vectors, units: WordUnits, place: int) -> int:
    """The text that owns unit `place`, the nearest text counted first, the first of equally near.

    Where units are divided evenly, as within a label, the rank of the one that is sought is `place`
    divided by the least number of units, or a little less; else all texts are sorted.

    >>> nearness, units = np.array([1.0, 3.0, 2.0, 3.0]), np.array([2, 2, 2, 2])
    >>> [owner(nearness, units, place) for place in range(8)]
    [1, 1, 3, 3, 2, 2, 0, 0]
    """
    last, least = len(units) - 1, int(units.min())
    if int(units.max()) > least + 1:
        order = np.argsort(-nearness, kind="stable")
        return int(order[np.searchsorted(np.cumsum(units[order]), place, side="right")])
    rank = min(place // least, last)
    while True:
        limit = np.partition(nearness, last - rank)[last - rank]
        before = int(units[nearness > limit].sum())
        if place >= before:
            break
        rank -= 1
    alike = np.flatnonzero(nearness == limit)
    at = int(np.searchsorted(np.cumsum(units[alike]), place - before, side="right"))
    return int(alike[at])


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


class TorchSearch:
    """Searches the texts of a pool on a device of torch."""

    def __init__(self, points: TextPoints, device: str = "cuda") -> None:
        self._points, self._device = points, device

    @cached_property
    def _held(self) -> Any:
        """The pool's points, on the device: they go there when the first text is drawn."""
        import torch

        return torch.tensor(np.asarray(self._points), device=self._device)

    def owners(self, first: int, units: WordUnits, points: Vectors, places: WordUnits) -> Ids:
        """The owner of unit `places[i]` among the texts from `first` on, as seen from `points[i]`.

        `units` are those of the cell's texts. Numbers are counted from the start of the cell.
        """
        import torch

        size, least = len(units), int(units.min())
        out = np.empty(len(places), dtype=np.int64)
        cell = self._held[first : first + size].double().T
        extra = torch.from_numpy(units - least).to(self._device)
        ranks = np.minimum(places // least, size - 1)
        order = np.argsort(ranks, kind="stable")  # so that texts taken together are alike in number
        step = max(1, _ON_DEVICE // size)
        with torch.inference_mode():
            for start in range(0, len(order), step):
                rows = order[start : start + step]
                near = torch.from_numpy(points[rows]).to(self._device).double() @ cell
                wanted = torch.from_numpy(places[rows]).to(self._device)[:, None]
                taken = min(size, int(ranks[rows].max()) + 1 + _SPARE)
                out[rows] = _owners(near.float(), wanted, taken, least, extra)
        return out


def _owners(seen: Any, wanted: Any, taken: int, least: int, extra: Any) -> Ids:
    """Of each row the owner of the wanted unit, sought among the `taken` nearest texts or more."""
    import torch

    while True:
        near, at = torch.topk(seen, taken, dim=1, sorted=False)
        # One number for both: the nearer first, of equally near ones the first in the cell.
        keys = torch.sort((near.long() << _PLACE) - at, dim=1, descending=True).values
        at = -keys & ((1 << _PLACE) - 1)
        near = keys + at
        ends = torch.cumsum(extra[at] + least, dim=1)
        found = (ends <= wanted).sum(dim=1, keepdim=True)
        # Of texts as near as the last one, not all need be among those taken.
        if taken == seen.shape[1] or bool((near.gather(1, found) > near[:, -1:]).all()):
            owners: Ids = at.gather(1, found)[:, 0].cpu().numpy()
            return owners
        taken = min(seen.shape[1], 2 * taken)


def search_on(points: TextPoints, device: Device) -> TorchSearch | None:
    """A search on the GPU, if that is asked for, or is there; None for the processor."""
    if device is Device.CPU:
        return None
    try:
        import torch
    except ImportError:
        torch = None  # type: ignore[assignment]
    if torch is not None and torch.cuda.is_available():
        return TorchSearch(points)
    if device is Device.CUDA:
        raise ParameterError('there is no GPU that torch can use; leave out `device="cuda"`')
    return None
