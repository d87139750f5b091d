"""The draws of `conditional`, many at a time and on a GPU: the same whole numbers, the same words.

Everything is exact in 64-bit integers, and scalar products are as `nearness` has them, so this
draws what the plain code draws, word for word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from inkblur.mechanisms.nearest.float32_products import float32_products
from inkblur.mechanisms.staircase.conditional import Bases
from inkblur.mechanisms.staircase.draw import drawn_units
from inkblur.mechanisms.staircase.expectation import Expected
from inkblur.mechanisms.staircase.nearness import Grid
from inkblur.rng import Bits
from inkblur.types import Ids

if TYPE_CHECKING:
    import torch

_HELD = 1 << 25  # units of words held at a time: about 1 GB with all that is made of them
_FIRST = 4096  # nearest words that are looked at first


class DeviceDraw:
    """Draws under bases that are made of frequencies and of what a model expects."""

    def __init__(self, bases: Bases, grid: Grid, device: str) -> None:
        import torch

        self.steps, self.device = bases.steps, device
        self.followed = bases.followed
        self.frequencies = torch.from_numpy(bases.frequencies).to(device)
        # What parts add to `ranked`.
        self.lifts = torch.from_numpy(bases.lifts).to(device).long() * (len(grid) + 1)
        self._points = torch.from_numpy(grid.points).to(device)
        self._handicaps = torch.from_numpy(grid.handicaps).to(device)

    def words(self, expected: Expected, entering: Ids, bits: Bits) -> Ids:
        """The word that each number of 64 random bits draws, like `FluentStaircase.draw`."""
        out = np.empty(len(entering), dtype=np.int64)
        step = max(1, _HELD // len(self.frequencies))
        for start in range(0, len(entering), step):
            some = slice(start, start + step)
            out[some] = self._words(expected.some(some), entering[some], bits[some])
        return out

    def _words(self, expected: Expected, entering: Ids, bits: Bits) -> Ids:
        import torch

        near, units = drawn_units(self.steps, entering, bits)
        place = torch.from_numpy(units).to(self.device)[:, None]
        out = np.empty(len(entering), dtype=np.int64)
        far, close = np.flatnonzero(~near), np.flatnonzero(near)
        with torch.inference_mode():
            row, word, parts = self._expected(expected)
            bases = self._bases(len(entering), row, word, parts)
            if len(far):
                found = torch.searchsorted(bases[far].cumsum(1), place[far], right=True)
                out[far] = found[:, 0].cpu().numpy()
            if len(close):
                where = torch.full((len(entering),), -1, device=self.device)
                where[close] = torch.arange(len(close), device=self.device)
                here = where[row] >= 0
                ranked = self.ranked(entering[close])
                ranked[where[row[here]], word[here]] += self.lifts[parts[here]]
                out[close] = self._near(ranked, bases[close], place[close]).cpu().numpy()
        return out

    def _expected(self, expected: Expected) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The text, word and parts of everything that is expected."""
        import torch

        sizes = np.diff(expected.ends, prepend=0)
        row = torch.from_numpy(np.repeat(np.arange(len(expected)), sizes)).to(self.device)
        word = torch.from_numpy(expected.words).to(self.device).long()
        return row, word, torch.from_numpy(expected.parts).to(self.device).long()

    def _bases(
        self, texts: int, row: torch.Tensor, word: torch.Tensor, parts: torch.Tensor
    ) -> torch.Tensor:
        """Units of all words, (texts, words)."""
        import torch

        totals = torch.zeros(texts, dtype=torch.long, device=self.device).index_add_(0, row, parts)
        bases = self.frequencies.repeat(texts, 1)
        bases[row, word] += parts * (self.followed // totals)[row]
        bases[:, 0] += self.steps.units - bases.sum(1)
        return bases

    def ranked(self, words: Ids) -> torch.Tensor:
        """All words by nearness to each of these, (words, vocabulary): the larger, the nearer.

        Each word is nearest to itself, also among its ties; other ties go by id.
        """
        import torch

        ids = torch.from_numpy(words).to(self.device)
        rows = torch.arange(len(ids), device=self.device)
        with float32_products():
            keys = 2 * (self._points[ids] @ self._points.T).int() - self._handicaps
        keys[rows, ids] = keys.amax(1)
        size = keys.shape[1]
        ranked = keys.long() * (size + 1) + torch.arange(size - 1, -1, -1, device=self.device)
        ranked[rows, ids] += ids + 1
        return ranked

    def _near(self, ranked: torch.Tensor, bases: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
        """The words that own these units, counted by nearness, (rows,)."""
        import torch

        words = ranked.shape[1]
        count = min(_FIRST, words)
        out = torch.empty(len(ranked), dtype=torch.long, device=self.device)
        left = torch.arange(len(ranked), device=self.device)
        while len(left):
            order = ranked[left].topk(count, dim=1).indices  # the nearest first; no two are equal
            ends = bases[left].gather(1, order).cumsum(1)
            found = torch.searchsorted(ends, place[left], right=True).clamp(max=count - 1)
            out[left] = order.gather(1, found)[:, 0]
            # A rare word's nearest own little: only such rows are looked at further.
            left = left[ends[:, -1] <= place[left, 0]]
            count = min(8 * count, words)
        return out
