"""Elliptical noise drawn on the device that searches it: no noisy vector visits the host.

The steps of `noise.mahalanobis` and `noise.laplace`, on the same ChaCha20 keystream: the uniforms
are the same bit for bit; normals, radius, product and sum are the same to about 1e-15 of the noise
(4e-14 in one dimension), because another library rounds them (float64 throughout: a product of
float64 matrices has no reduced precision on a device). So the word found is the one that the
processor would have found, unless two words are equally far to that many digits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch

from inkblur.mechanisms.nearest.gpu.memory import PLAN, DeviceVocabulary, Tensor
from inkblur.mechanisms.noise.radius import DIGIT, FURTHEST, UNIFORMS
from inkblur.protocols import Elliptical
from inkblur.rng import RowAddresses
from inkblur.types import NULL_ID, Array, Ids


def plan_of(ids: Ids, rows: RowAddresses) -> npt.NDArray[np.int64]:
    """What the device gets for each token, (tokens, PLAN): see `memory.PLAN`."""
    if len(rows) != len(ids):
        raise ValueError(f"{len(ids)} words need as many rows of noise, got {len(rows)}")
    if (rows.starts % 8).any():
        raise ValueError("rows of noise must begin at a whole number of the keystream")
    begins = np.cumsum(rows.counts) - rows.counts
    within = np.arange(len(ids)) - np.repeat(begins, rows.counts)
    plan = np.empty((len(ids), PLAN), dtype=np.int64)
    plan[:, 0] = ids
    plan[:, 1] = np.repeat(rows.starts // 8, rows.counts) + within * rows.width
    plan[:, 2:] = np.repeat(rows.keys.view("<i8"), rows.counts, axis=0)
    return plan


def _quantiles(uniforms: Tensor) -> Tensor:
    """The normals of the radii's quantiles: `noise.radius.tails` on the device, bit for bit."""
    first, second, third = uniforms.unbind(dim=1)
    upper = first > 0.5
    digits = torch.where(upper, 1 - first, first).mul_(DIGIT).floor_()
    tail = ((second * DIGIT).floor_() + third).div_(DIGIT).add_(digits).div_(DIGIT)
    lower = torch.special.ndtri(tail)
    return torch.where(upper, -lower, lower)


class DeviceNoise:
    """One noise over one vocabulary, its constants on the device."""

    def __init__(self, noise: Elliptical, null: Array, words: DeviceVocabulary) -> None:
        """null: the null word's vector, (n,)."""

        def there(numbers: Array) -> Tensor:
            return torch.tensor(numbers, dtype=torch.float64, device=words.table.device)

        self.noise = noise
        self._words = words
        self._root, self._null, self._series = there(noise.root), there(null), there(noise.radius)
        self._orders = there(np.arange(len(noise.radius), dtype=np.float64))
        self._scale = words.dimension / noise.epsilon

    def draw(self, plan: Tensor, uniforms: Callable[[Tensor, int], Tensor], out: Tensor) -> None:
        """Noisy vectors of the plan's tokens, float64 (tokens, n); waits for nothing."""
        n = self._words.dimension
        drawn = uniforms(plan, n + UNIFORMS)
        directions = torch.special.ndtri(drawn[:, :n])
        angles = (_quantiles(drawn[:, n:]) / FURTHEST).clamp_(-1, 1).arccos_()
        # T_k(x) = cos(k arccos x)
        radius = torch.exp((angles[:, None] * self._orders).cos_() @ self._series) * self._scale
        lengths = torch.linalg.vector_norm(directions, dim=1)
        noise = (directions * (radius / lengths)[:, None]) @ self._root  # the root is symmetric
        torch.add(noise, self._centers(plan[:, 0]), out=out)

    def _centers(self, ids: Tensor) -> Tensor:
        """`Embedding.centers` on the device: float32 vectors in float64, the null word's apart."""
        words = self._words
        vectors = words.table[words.place[ids.clamp(min=0)]].double()
        vectors *= words.unit  # a power of two
        return torch.where((ids == NULL_ID)[:, None], self._null, vectors)
