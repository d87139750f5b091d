"""Which text of a large cell owns a unit, on a GPU: exact, and equal to `order.owner`.

Products of points are whole numbers of at most 2^24, and so is every partial sum: float32 holds
them, in any order of additions (TF32 would not, and is switched off). The nearest texts are taken
with `topk` and put in order, the nearer first and the first of equally near. Where equally near
texts go on beyond what was taken, more are taken.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np

from inkblur.errors import ParameterError, needs
from inkblur.mechanisms.nearest.engine import Device
from inkblur.mechanisms.staircase.units import WordUnits
from inkblur.pools.encoder import TextPoints
from inkblur.types import Ids, Vectors

_HELD = 1 << 29  # products that are held at once
_SPARE = 16  # texts taken beyond the one that is sought
_PLACE = 32  # bits for a text's place in its cell; its nearness takes the bits above
_turn = threading.Lock()  # the switch is the process's: one thread must not undo another's


class TorchSearch:
    """Searches the texts of a pool on a device of torch."""

    def __init__(self, points: TextPoints, device: str = "cuda") -> None:
        self._points, self._device = points, device

    @cached_property
    def _torch(self) -> Any:
        with needs("a GPU needs torch", "gpu"):
            import torch
        return torch

    @cached_property
    def _held(self) -> Any:
        """The pool's points, on the device: converted when the first text is drawn."""
        torch = self._torch
        held = torch.empty(self._points.shape, dtype=torch.float32, device=self._device)
        for start in range(0, len(held), 1 << 16):
            part = np.ascontiguousarray(self._points[start : start + (1 << 16)])
            held[start : start + len(part)] = torch.from_numpy(part).to(self._device)
        return held

    def owners(self, first: int, units: WordUnits, points: Vectors, places: WordUnits) -> Ids:
        """The owner of unit `places[i]` among the texts from `first` on, as seen from `points[i]`.

        `units` are those of the cell's texts. Numbers are counted from the start of the cell.
        """
        torch, size = self._torch, len(units)
        least = int(units.min())
        extra = torch.from_numpy(units - least).to(self._device)
        ranks = np.minimum(places // least, size - 1)
        order = np.argsort(ranks, kind="stable")  # so that texts taken together are alike in number
        out = np.empty(len(places), dtype=np.int64)
        cell = self._held[first : first + size].T
        step = max(1, _HELD // size)
        with torch.inference_mode():
            for start in range(0, len(order), step):
                rows = order[start : start + step]
                with float32_products():  # these alone: other threads wait for it
                    seen = torch.from_numpy(points[rows]).to(self._device) @ cell
                wanted = torch.from_numpy(places[rows]).to(self._device)
                out[rows] = self._owners(seen, wanted, int(ranks[rows].max()), least, extra)
        return out

    def _owners(self, seen: Any, places: Any, rank: int, least: int, extra: Any) -> Ids:
        torch, size = self._torch, seen.shape[1]
        taken = min(size, rank + 1 + _SPARE)
        while True:
            near, at = torch.topk(seen, taken, dim=1, sorted=False)
            # One number for both: the nearer first, of equally near ones the first in the cell.
            keys = torch.sort((near.long() << _PLACE) - at, dim=1, descending=True).values
            at = -keys & ((1 << _PLACE) - 1)
            near = keys + at
            ends = torch.cumsum(extra[at] + least, dim=1)
            found = (ends <= places[:, None]).sum(dim=1, keepdim=True)
            # Of texts as near as the last one, not all need be among those taken.
            whole = taken == size or bool((near.gather(1, found) > near[:, -1:]).all())
            if whole:
                owners: Ids = at.gather(1, found)[:, 0].cpu().numpy()
                return owners
            taken = min(size, 2 * taken)


@contextmanager
def float32_products() -> Iterator[None]:
    """Products of torch without TF32, which keeps 10 bits of 23: whole numbers stay exact.

    TF32 is off unless somebody switched it on, for a model of theirs, say.
    """
    import torch

    matmul = torch.backends.cuda.matmul
    with _turn:
        # From torch 2.9 on, `allow_tf32` cannot be read where `fp32_precision` was set.
        named = hasattr(matmul, "fp32_precision")
        before = matmul.fp32_precision if named else matmul.allow_tf32
        matmul.allow_tf32 = False  # sets both
        try:
            yield
        finally:
            matmul.allow_tf32 = before in ("tf32", True)
            if named:
                matmul.fp32_precision = before


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
