"""Optimal transport between weights that are not all equal: the one file that uses POT."""

from __future__ import annotations

from inkblur.errors import InkblurError, needs
from inkblur.types import Array

_STEPS = 10_000_000  # of the network simplex; POT's own limit is too low for long documents


def solve(costs: Array, left: Array, right: Array) -> Array:
    """The cheapest flow, (N, M), that carries the weights `left` (N,) to `right` (M,).

    Exact (network simplex), not the entropic approximation. Both weights are positive, sum to 1.
    """
    with needs("Earth Mover's distance between texts of different sizes needs POT", "evaluation"):
        import ot  # type: ignore[import-untyped, import-not-found, unused-ignore]
    flow, log = ot.emd(left, right, costs, numItermax=_STEPS, log=True, check_marginals=False)
    if log["warning"] is not None:
        raise InkblurError(f"the optimal flow was not found: {log['warning']}")
    found: Array = flow
    return found
