"""A length and a direction from random bits: the parts of n-dimensional Laplace noise.

One uniform of 52 bits would cut the radius at its 2^-53 quantiles: beyond the longest radius a word
would be impossible from here and possible from a neighbor. So three uniforms make one quantile.
The first says on which side of the median it lies and how far from the end; where its digits are
all 0 the second one's count in full, and then the third's. So the probability of a radius further
out than the one drawn has 52 digits wherever it lies, down to 2^-104, and the radius is the inverse
of the distribution function on one side of the median, of its complement on the other.

A direction is a point on the sphere. The extension `_sphere` finds it sooner than SciPy; it is
optional, and a release must not depend on whether it was built. So it serves only if it gives the
plain formula's numbers on this machine, bit for bit: tried once for each dimension, on 70,000
numbers from the middle, both tails and around every place where the formula changes.
Both run the same additions, multiplications, divisions and roots in the same order, all of which
IEEE 754 rounds in one way only, and call one `log`; what the trial would find is a SciPy or NumPy
built otherwise (fused multiply-adds, another order of summation, a `log` of its own).
"""

from __future__ import annotations

import importlib
import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inkblur.rng import Bits, uniforms_from
from inkblur.types import Array, Points

UNIFORMS = 3  # that a radius is made from
LEAST_TAIL = 2.0**-157  # the first two digits 0, the third uniform at its least
CUT = 2.0**-103  # probability of a radius in either of the last cells, beyond what the digits tell
DIGIT = 2.0**52
_LEAST_ROWS = 16  # tried, however long


def radius_from(uniforms: Array, dimension: int) -> Array:
    """Gamma(n) quantiles, (rows,), from rows of three uniforms.

    >>> ends = np.array([[2.0**-53] * 3, [1 - 2.0**-53] + [2.0**-53] * 2])
    >>> radius_from(ends, 1).round(2).tolist()  # 2^-157 and -log(2^-157)
    [0.0, 108.82]
    """
    from scipy.special import gammainccinv, gammaincinv

    tail, upper = tails(uniforms)
    above, below = np.flatnonzero(upper), np.flatnonzero(~upper)
    radius = np.empty(len(tail))
    # Not by where=: SciPy's ufuncs write outside their arrays when they are masked.
    radius[above] = gammainccinv(dimension, tail[above])
    radius[below] = gammaincinv(dimension, tail[below])
    return radius


def tails(uniforms: Array) -> tuple[Array, NDArray[np.bool_]]:
    """How likely a radius further out is, in (0, 1/2], and whether that is on the upper side."""
    first, second, third = uniforms.T
    upper = first > 0.5  # never equal: uniforms are odd multiples of 2^-53
    tail: Array = np.floor(second * DIGIT) + third
    tail /= DIGIT
    tail += np.floor(np.where(upper, 1 - first, first) * DIGIT)
    tail /= DIGIT
    return tail, upper


def on_spheres(bits: Bits, radius: Array) -> Points:
    """A point on the sphere of each radius, (rows, n), from 64 random bits a coordinate.

    Independent standard normals have no preferred direction, so scaled to a length they are uniform
    on its sphere.

    >>> bits = np.array([[0, 2**63, 2**64 - 1]], dtype=np.uint64)
    >>> on_spheres(bits, np.array([2.0])).round(3).tolist()
    [[-1.414, 0.0, 1.414]]
    """
    path = compiled_path(bits.shape[1])
    if path is None:
        return plainly(bits, radius)
    points: Points = _extension().on_spheres(bits, radius, path)
    return points


def describe() -> str:
    """What draws noise here, for `inkblur --version`; some dimension stands for all."""
    path = compiled_path(300)
    return f"C++ ({path})" if path is not None else "SciPy"


def plainly(bits: Bits, radius: Array) -> Points:
    """The definition, by SciPy and NumPy."""
    points = normals(bits)
    # No uniform is 1/2 (they are odd multiples of 2^-53), so no normal and no length is 0.
    points *= (radius / np.linalg.norm(points, axis=1))[:, None]
    return points


def normals(bits: Bits) -> Points:
    """Standard normals: the inverse of their distribution function at the uniforms."""
    from scipy.special import ndtri

    return ndtri(uniforms_from(bits))


@cache
def compiled_path(dimension: int) -> str | None:
    """The extension's fastest path that gives the same bits here, if there is one."""
    extension = _extension()
    if extension is None:
        return None
    bits = probes()
    rows = np.resize(bits, (max(_LEAST_ROWS, bits.size // dimension), dimension))
    radius = np.linspace(0.1, 100.0, len(rows))
    expected = normals(bits[None, :]).tobytes(), plainly(rows, radius).tobytes()
    for path in extension.paths():
        single = extension.normals(bits[None, :], path).tobytes()
        if (single, extension.on_spheres(rows, radius, path).tobytes()) == expected:
            return str(path)
    return None


def probes() -> Bits:
    """Random bits whose normals tell one formula from another; always the same."""
    spread = np.arange(1 << 16, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)  # golden ratio
    steps = np.arange(-200, 200)
    changes = (0.0, math.exp(-32), math.exp(-2), 0.5, 1 - math.exp(-2), 1 - math.exp(-32), 1.0)
    near = [round(change * 2**52) + steps for change in changes]
    powers = 2 ** np.arange(52, dtype=np.int64)
    tails = np.concatenate([powers, 3 * powers // 2, 2**52 - powers])
    upper = np.concatenate([*near, tails]).clip(0, 2**52 - 1).astype(np.uint64)
    return np.concatenate([spread, upper << np.uint64(12)])


def _extension() -> Any:
    try:
        return importlib.import_module("inkblur.mechanisms.noise._sphere")
    except ImportError:
        return None
