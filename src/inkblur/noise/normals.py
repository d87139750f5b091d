"""Standard normals from random bits: SciPy's `ndtri`, bit for bit, in a quarter of its time.

The extension `_normals` is optional, and a release must not depend on whether it was built. So it
serves only if it gives SciPy's numbers on this machine: tried once, on 70,000 numbers from the
middle, both tails and around every place where the formula changes. Both run the same additions,
multiplications, divisions and roots in the same order, all of which IEEE 754 rounds in one way
only, and call one `log`; what the trial would find is a SciPy built otherwise (fused
multiply-adds, a `log` of its own).
"""

from __future__ import annotations

import importlib
import math
from functools import cache
from typing import Any

import numpy as np
from scipy.special import ndtri

from inkblur.rng import Bits, uniforms_from
from inkblur.types import Points


def normals_from(bits: Bits) -> Points:
    """A standard normal for each 64 random bits, (rows, columns) like `bits`.

    >>> normals_from(np.array([[0, 2**63, 2**64 - 1]], dtype=np.uint64)).round(1).tolist()
    [[-8.2, 0.0, 8.2]]
    """
    path = compiled_path()
    if path is None:
        return plainly(bits)
    normals: Points = _extension().normals(bits, path)
    return normals


def plainly(bits: Bits) -> Points:
    """The definition: the inverse distribution function at the uniforms, by SciPy."""
    normals: Points = ndtri(uniforms_from(bits))
    return normals


@cache
def compiled_path() -> str | None:
    """The extension's fastest path that gives SciPy's bits here, if there is one."""
    extension = _extension()
    if extension is None:
        return None
    bits = probes()
    expected = plainly(bits).tobytes()
    for path in extension.paths():
        if extension.normals(bits, path).tobytes() == expected:
            return str(path)
    return None


def probes() -> Bits:
    """Random bits whose normals tell a formula from another, (1, many); always the same."""
    spread = np.arange(1 << 16, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)  # golden ratio
    steps = np.arange(-200, 200)
    changes = (0.0, math.exp(-32), math.exp(-2), 0.5, 1 - math.exp(-2), 1 - math.exp(-32), 1.0)
    near = [round(change * 2**52) + steps for change in changes]
    powers = 2 ** np.arange(52)
    tails = np.concatenate([powers, 3 * powers // 2, 2**52 - powers])
    upper = np.concatenate([*near, tails]).clip(0, 2**52 - 1).astype(np.uint64)
    return np.concatenate([spread, upper << np.uint64(12)])[None, :]


def _extension() -> Any:
    try:
        return importlib.import_module("inkblur.noise._normals")
    except ImportError:
        return None
