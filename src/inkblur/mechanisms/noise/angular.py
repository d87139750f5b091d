"""A random angle: the Laplace distribution cut off at a right angle (thesis, mechanism 1)."""

from __future__ import annotations

import numpy as np

from inkblur.rng import Rows
from inkblur.types import Array


def truncated_angle(count: int, scale: float, rng: Rows) -> Array:
    """`count` draws of |theta|, theta ~ Laplace(0, scale) given |theta| <= pi/2, in radians.

    |theta| is exponential, so its truncated distribution function inverts in closed form:
    F(t) = (1 - exp(-t/scale)) / (1 - exp(-pi/(2 scale))). Only the cosine is used, so the sign
    does not matter.
    """
    uniforms = rng.rows(count, 1)[:, 0]
    mass = -np.expm1(-np.pi / 2 / scale)
    angles: Array = -scale * np.log1p(-uniforms * mass)
    return np.minimum(angles, np.pi / 2)
