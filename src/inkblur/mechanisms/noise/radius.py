"""The radius of n-dimensional Laplace noise: a Gamma(n) quantile that reaches far into both tails.

One uniform of 52 bits would cut the radius at its 2^-53 quantiles: beyond the longest radius a word
would be impossible from here and possible from a neighbor. So three uniforms make one quantile.
The first says on which side of the median it lies and how far from the end; where its digits are
all 0 the second one's count in full, and then the third's. So the probability of a radius further
out than the one drawn has 52 digits wherever it lies, down to 2^-104, and the radius is the inverse
of the distribution function on one side of the median, of its complement on the other.

For a device that lacks SciPy the same radius is a short series. Seen from the normal z of the same
quantile, log(r / n) is smooth and nearly straight (a Gamma variable is nearly a normal one), on the
whole interval where z can lie. So a Chebyshev series gives r to the last digits: of 160 terms, at
most 9e-14 of it wrong for n = 1; of 96 from n = 10 on, 8e-15 (tests/mechanisms/noise).
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from inkblur.types import Array

UNIFORMS = 3  # that a radius is made from
LEAST_TAIL = 2.0**-157  # the first two digits 0, the third uniform at its least
CUT = 2.0**-103  # probability of a radius in either of the last cells, beyond what the digits tell
FURTHEST = 14.51  # the normal of LEAST_TAIL is 14.507, so all lie in [-FURTHEST, FURTHEST]
DIGIT = 2.0**52
_NODES = 2048  # more than terms: their rounding averages out


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


@cache
def radius_series(dimension: int) -> Array:
    """c such that log(r / n) = sum of c_k T_k(z / FURTHEST) with r = gammaincinv(n, ndtr(z)).

    >>> from scipy.special import gammaincinv, ndtr
    >>> at = np.cos(np.arange(96) * np.arccos(1.5 / FURTHEST))  # T_k at z = 1.5
    >>> r = 300 * np.exp(at @ radius_series(300))
    >>> bool(abs(r / gammaincinv(300, ndtr(1.5)) - 1) < 1e-14)
    True
    """
    from scipy.fft import dct
    from scipy.special import gammainccinv, gammaincinv, ndtr

    z = FURTHEST * np.cos(np.pi * (np.arange(_NODES) + 0.5) / _NODES)
    tail = ndtr(-np.abs(z))  # the smaller side, which keeps all its digits
    radius = np.where(z < 0, gammaincinv(dimension, tail), gammainccinv(dimension, tail))
    terms = 160 if dimension < 10 else 96
    series: Array = dct(np.log(radius / dimension))[:terms] / _NODES
    series[0] /= 2
    series.flags.writeable = False
    return series
