"""The radius is a Gamma quantile far into both tails."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from inkblur.mechanisms.noise.sphere import LEAST_TAIL, radius_from, tails
from inkblur.rng import seeded_rng, uniforms_from
from inkblur.types import Array

DIMENSIONS = [1, 2, 3, 10, 50, 300, 1024]


def uniforms() -> Array:
    """Rows of three: the middle, both tails at every scale, and the two ends."""
    generator = np.random.default_rng(3)
    parts = [seeded_rng(2).rows(8000, 3)]
    for column in range(3):  # digits before this one are 0, and this one has a few
        row = seeded_rng(column).rows(2000, 3)
        row[:, :column] = 2.0**-53
        few = np.floor(2.0 ** generator.uniform(0, 52, 2000)).astype(np.uint64) << np.uint64(12)
        row[:, column] = uniforms_from(few)
        parts.append(row)
    parts.append(np.full((1, 3), 2.0**-53))
    lower = np.concatenate(parts)
    upper = lower.copy()
    upper[:, 0] = 1 - upper[:, 0]
    return np.concatenate([lower, upper])


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_the_radius_is_the_quantile_in_both_tails(dimension: int) -> None:
    """Against 60 digits: the distribution function at the radius, and the density for the slope."""
    rows = np.array([[0.3, 0.5, 0.5], [2.0**-53, 0.3, 0.5], [2.0**-53, 2.0**-53, 0.3]])
    for row in rows:
        for first, ends in ((row[0], "lower"), (1 - row[0], "upper")):
            uniform = np.array([[first, *row[1:]]])
            tail, upper = tails(uniform)
            assert bool(upper[0]) == (ends == "upper")
            radius = float(radius_from(uniform, dimension)[0])
            with mpmath.workdps(60):
                r, n = mpmath.mpf(radius), mpmath.mpf(dimension)
                span = (r, mpmath.inf) if ends == "upper" else (0, r)
                there = mpmath.gammainc(n, *span, regularized=True)
                slope = mpmath.exp((n - 1) * mpmath.log(r) - r - mpmath.loggamma(n))
                assert abs((there - mpmath.mpf(float(tail[0]))) / slope / r) < 1e-14


def test_tails_have_all_their_digits_down_to_the_last() -> None:
    ends = np.full((1, 3), 2.0**-53)
    assert tails(ends)[0].tolist() == [LEAST_TAIL]
    rows = uniforms()
    tail, upper = tails(rows)
    assert ((tail > 0) & (tail <= 0.5)).all()
    half = len(rows) // 2  # the second half mirrors the first
    np.testing.assert_array_equal(tail[:half], tail[half:])
    assert (upper[:half] != upper[half:]).all()
    # Where the first digit is 0 the next one decides, with as many digits as ever.
    near = np.array([[2.0**-53, 0.3, 0.5], [2.0**-53, 0.3 + 2.0**-50, 0.5]])
    assert np.diff(tails(near)[0])[0] == pytest.approx(2.0**-102)
