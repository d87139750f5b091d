"""The series for the radius is SciPy's radius, wherever a uniform can lie."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial.chebyshev import chebval
from scipy.special import gammaincinv, ndtri

from inkblur.mechanisms.noise.radius import FURTHEST, radius_series
from inkblur.rng import seeded_rng, uniforms_from
from inkblur.types import Array


def uniforms() -> Array:
    """The middle, both tails at every scale, and the two ends."""
    exponents = np.random.default_rng(3).uniform(0, 52, 4000)
    tails = np.floor(2.0**exponents).astype(np.uint64) << np.uint64(12)
    ends = np.array([0, 2**64 - 1], dtype=np.uint64)
    middle = seeded_rng(2).rows(8000, 1).ravel()
    return np.concatenate(
        [middle, uniforms_from(tails), uniforms_from(~tails), uniforms_from(ends)]
    )


@pytest.mark.parametrize(
    ("dimension", "most"),
    [(1, 1e-13), (2, 1e-13), (3, 1e-13), (10, 1e-14), (50, 1e-14), (300, 1e-14), (1024, 1e-14)],
)
def test_the_series_gives_the_radius(dimension: int, most: float) -> None:
    u = uniforms()
    radius = dimension * np.exp(chebval(ndtri(u) / FURTHEST, radius_series(dimension)))
    np.testing.assert_allclose(radius, gammaincinv(dimension, u), rtol=most)
