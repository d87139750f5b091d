"""What the exponential mechanism costs and gives, as formulas (SynTF, section 3.4).

Notation: kappa = epsilon / (2 Delta); pi(v, w) = exp(kappa rho(v, w)) / sum_z exp(kappa rho(v,
z)); L = number of words that can come out. The tight bound (eq. 1) needs the whole table: see
`loss`.
"""

from __future__ import annotations

import math

from inkblur.errors import ParameterError
from inkblur.types import positive


def standard_bound(epsilon: float) -> float:
    """The privacy loss a draw that the exponential mechanism is built for: epsilon itself."""
    return positive(epsilon, "epsilon")


def log_eta(epsilon: float, size: int) -> float:
    """ln eta < 0 of Theorem 3.4, eta = (e^(-epsilon/2) + L - 1) / (e^(epsilon/2) + L - 1).

    Both parts are divided by e^(epsilon/2) or left as they are, so that nothing overflows.
    """
    half = positive(epsilon, "epsilon") / 2
    if size < 2:
        raise ParameterError(f"a choice needs at least 2 words, got {size}")
    others = size - 1
    return math.log(math.exp(-half) + others) - half - math.log1p(others * math.exp(-half))


def improved_bound(epsilon: float, size: int) -> float:
    """Theorem 3.4 with ratings in [0, 1] and all words adjacent: epsilon + ln eta(epsilon, L).

    >>> round(improved_bound(47.5, 30_000), 3)
    34.059
    """
    return epsilon + log_eta(epsilon, size)
