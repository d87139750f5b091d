"""The radius of n-dimensional Laplace noise: a Gamma(n) quantile that reaches far into both tails.

One uniform of 52 bits would cut the radius at its 2^-53 quantiles: beyond the longest radius a word
would be impossible from here and possible from a neighbor. So three uniforms make one quantile.
The first says on which side of the median it lies and how far from the end; where its digits are
all 0 the second one's count in full, and then the third's. So the probability of a radius further
out than the one drawn has 52 digits wherever it lies, down to 2^-104, and the radius is the inverse
of the distribution function on one side of the median, of its complement on the other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from inkblur.types import Array

UNIFORMS = 3  # that a radius is made from
LEAST_TAIL = 2.0**-157  # the first two digits 0, the third uniform at its least
CUT = 2.0**-103  # probability of a radius in either of the last cells, beyond what the digits tell
DIGIT = 2.0**52


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
