"""The draws of `conditional`, many at a time and on a GPU: the same whole numbers, the same words.

Everything is exact in 64-bit integers, and scalar products are as `nearness` has them, so this
draws what the plain code draws, word for word.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from inkblur.mechanisms.nearest.float32_products import float32_products
from inkblur.mechanisms.staircase.conditional import Base, Number, place_of
from inkblur.mechanisms.staircase.expectation import Expected
from inkblur.mechanisms.staircase.nearness import Grid
from inkblur.mechanisms.staircase.units import Steps
from inkblur.types import Ids

if TYPE_CHECKING:
    import torch

_ROWS = 512  # drawn at a time: each takes about 2 MB
_FIRST = 4096  # nearest words that are looked at first


class DeviceDraw:
    """Draws under bases that are made of frequencies and of what a model expects."""

    def __init__(
        self, steps: Steps, grid: Grid, frequencies: Base, expected: int, device: str
    ) -> None:
        import torch

        self.steps, self.device = steps, device
        self._expected = expected  # units that follow the model
        self._frequencies = torch.from_numpy(frequencies).to(device)
        self._points = torch.from_numpy(grid.points).to(device)
        self._handicaps = torch.from_numpy(grid.handicaps).to(device)

    def bases(self, expected: Expected) -> torch.Tensor:
        """Units of all words, (texts, words)."""
        import torch

        texts = len(expected)
        sizes = np.diff(expected.ends, prepend=0)
        row = torch.from_numpy(np.repeat(np.arange(texts), sizes)).to(self.device)
        word = torch.from_numpy(expected.words).to(self.device).long()
        parts = torch.from_numpy(expected.parts).to(self.device).long()
        totals = torch.zeros(texts, dtype=torch.long, device=self.device).index_add_(0, row, parts)
        bases = self._frequencies.repeat(texts, 1)
        bases[row, word] += parts * (self._expected // totals)[row]
        bases[:, 0] += self.steps.units - bases.sum(1)
        return bases

    def ranked(self, words: Ids) -> torch.Tensor:
        """All words by nearness to each of these, (words, vocabulary): the larger, the nearer."""
        import torch

        ids = torch.from_numpy(words).to(self.device)
        exact = (self._points[ids] @ self._points.T).int()
        keys = (2 * exact - self._handicaps).long()
        size = keys.shape[1]
        ranked = keys * size + torch.arange(size - 1, -1, -1, device=self.device)
        ranked[torch.arange(len(ids), device=self.device), ids] = torch.iinfo(torch.long).max
        return ranked

    def words(self, expected: Expected, entering: Ids, numbers: Sequence[Number]) -> Ids:
        """The word that each random number draws, like `conditional.draw`."""
        import torch

        places = [place_of(self.steps, int(x), n) for x, n in zip(entering, numbers, strict=True)]
        near = np.array([each.near for each in places])
        place = torch.tensor([each.unit for each in places], device=self.device)[:, None]
        out = np.empty(len(places), dtype=np.int64)
        with float32_products(), torch.inference_mode():
            bases = self.bases(expected)
            for start in range(0, len(places), _ROWS):
                some = np.arange(start, min(start + _ROWS, len(places)))
                far, close = some[~near[some]], some[near[some]]
                if len(far):
                    ends = bases[far].cumsum(1)
                    found = torch.searchsorted(ends, place[far], right=True)
                    out[far] = found[:, 0].cpu().numpy()
                if len(close):
                    drawn = self._near(self.ranked(entering[close]), bases[close], place[close])
                    out[close] = drawn.cpu().numpy()
        return out

    def _near(self, ranked: torch.Tensor, bases: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
        """The words that own these units, counted by nearness, (rows,)."""
        import torch

        words = ranked.shape[1]
        count = min(_FIRST, words)
        while True:
            order = ranked.topk(count, dim=1).indices  # the nearest first; no two are equal
            ends = bases.gather(1, order).cumsum(1)
            if count == words or bool((ends[:, -1:] > place).all()):
                break
            count = min(8 * count, words)
        found = torch.searchsorted(ends, place, right=True)
        return order.gather(1, found)[:, 0]
