"""The densities of the three noises, from their papers' formulas and not from the code."""

from __future__ import annotations

import math

import numpy as np

from inkblur.mechanisms.component import ComponentNoise
from inkblur.mechanisms.mahalanobis import MahalanobisNoise
from inkblur.protocols import Noise
from inkblur.types import Array, Points


def log_density(noise: Noise, points: Points, centers: Points) -> Array:
    """log f(points - centers), row by row.

    Components: (epsilon/2)^n exp(-epsilon |z|_1). The others: Gamma(n/2) epsilon^n /
    (2 pi^(n/2) Gamma(n)) |R|^(-1/2) exp(-epsilon |R^(-1/2) z|), R = I for round noise.
    """
    z = points - centers
    n, epsilon = z.shape[1], noise.epsilon
    if isinstance(noise, ComponentNoise):
        density: Array = n * math.log(epsilon / 2) - epsilon * np.abs(z).sum(axis=1)
        return density
    constant = math.lgamma(n / 2) + n * math.log(epsilon)
    constant -= math.log(2) + n / 2 * math.log(math.pi) + math.lgamma(n)
    if isinstance(noise, MahalanobisNoise) and noise.root is not None:
        constant -= float(np.linalg.slogdet(noise.root)[1])
        z = np.asarray(np.linalg.solve(noise.root, z.T).T, dtype=np.float64)
    round_density: Array = constant - epsilon * np.linalg.norm(z, axis=1)
    return round_density
