"""Is the noise what the guarantee says it is, and does decoding read nothing else?

Auditing whole mechanisms by their output words has no power in hundreds of dimensions: a violation
there needs outputs that never occur in any number of draws one could make. What the proof rests on
can be checked in any dimension, though, by somebody who can see inside: that the noise has the
claimed law on every axis, between axes and from word to word (`normality`), that the log-density
obeys the claimed inequality, and that the word that comes out is the one nearest to the noisy
vector, so that nothing looked at the true word after the noise was drawn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammainc, gammaincc, gammainccinv, gammaincinv, ndtr, ndtri

from inkblur.evaluation.claimed_metric import ClaimedMetric
from inkblur.mechanisms.nearest.engine import engine_for
from inkblur.mechanisms.perturbation import Perturbation
from inkblur.rng import Rng
from inkblur.types import Array, Ids, Metric, Points
from tests.laws.densities import log_density
from tests.laws.normality import Checked, normality_checks, uniformity

DECODING_DRAWS = 2_000  # each costs a search; one wrong decoding is enough to convict
_MOST_VALUES = 1 << 22  # float64 numbers of noise held at a time (32 MB)
_ROUNDING = 1e-9  # relative: what float64 may add to a log-density
_LEAST = 1e-300  # in place of a probability or a length of 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseChecked(Checked):
    """What was found inside a vector mechanism."""

    mean_radius: float  # in the claimed metric


def check_noise(
    mechanism: Perturbation,
    *,
    rng: Rng,
    draws: int = 20_000,
    decoding_draws: int = DECODING_DRAWS,
    confidence: float = 0.99,
) -> NoiseChecked:
    """Test a vector mechanism from inside: law of the noise, density inequality, decoding.

    The claimed law has density proportional to exp(-epsilon |z|) in the claimed norm, in n
    dimensions. So |z| ~ Gamma(n, 1/epsilon), independent of z / |z|. In a Euclidean norm (after
    whitening) z / |z| is uniform on the sphere, so z is made to normals by giving it the length
    that independent normals have at the same quantile. In the Manhattan norm the components are
    independent, and each is made to a normal by its own quantile.
    """
    claimed = ClaimedMetric(mechanism)
    epsilon, dimension = mechanism.guarantee.epsilon, mechanism.embedding.dimension
    centers = _spread_ids(len(mechanism.embedding), draws, rng.child("noise audit", "centres"))
    others = _spread_ids(len(mechanism.embedding), draws, rng.child("noise audit", "others"))
    stream = rng.child("noise audit", "draws", mechanism.spec)
    radii, normals = np.empty(draws), np.empty((draws, dimension))
    along = np.empty(draws)
    excess, lowest, highest, size = -math.inf, math.inf, -math.inf, 1.0
    step = max(1, _MOST_VALUES // dimension)
    for start in range(0, draws, step):
        part = slice(start, start + step)
        here = mechanism.embedding.centers(centers[part])
        there = mechanism.embedding.centers(others[part])
        points = mechanism.noise.around(here, stream)
        noise = points - here
        radii[part] = claimed.lengths(noise)
        normals[part] = _normals(claimed.coordinates(noise), radii[part], epsilon, claimed.metric)
        along[part] = _along(normals[part], claimed.coordinates(here))
        density = log_density(mechanism.noise, points, here)
        ratio = density - log_density(mechanism.noise, points, there)
        excess = max(excess, float((ratio - epsilon * claimed.lengths(here - there)).max()))
        constant = density + epsilon * radii[part]
        lowest, highest = min(lowest, float(constant.min())), max(highest, float(constant.max()))
        size = max(size, float(np.abs(ratio).max()), float(epsilon * radii[part].max()))
    checked, otherwise = _replay(mechanism, decoding_draws, rng.child("noise audit", "decoding"))
    tolerance = _ROUNDING * size * math.sqrt(dimension)
    wrong = {
        "the log-density exceeds its bound": excess > tolerance,
        "the log-density is not the claimed one": highest - lowest > tolerance,
        f"{otherwise} of {checked} outputs are not the nearest word": otherwise > 0,
    }
    return NoiseChecked(
        confidence=confidence,
        laws=(
            uniformity("radius", gammainc(dimension, epsilon * radii)),
            uniformity("direction along the word's own vector", ndtr(along)),
            *normality_checks(normals),
        ),
        findings=tuple(finding for finding, found in wrong.items() if found),
        mean_radius=float(radii.mean()),
    )


def _normals(rows: Points, radii: Array, epsilon: float, metric: Metric) -> Points:
    """Noise as independent standard normals, (rows, n), if it has its law."""
    if metric is Metric.MANHATTAN:
        quantiles: Points = ndtri(np.maximum(np.exp(-epsilon * np.abs(rows)) / 2, _LEAST))
        return np.copysign(quantiles, rows)
    n = rows.shape[1]
    below, above = gammainc(n, epsilon * radii), gammaincc(n, epsilon * radii)
    halves = np.where(
        below < above,
        gammaincinv(n / 2, np.maximum(below, _LEAST)),
        gammainccinv(n / 2, np.maximum(above, _LEAST)),
    )
    normals: Points = rows * (np.sqrt(2 * halves) / np.maximum(radii, _LEAST))[:, None]
    return normals


def _along(normals: Points, centers: Points) -> Array:
    """Each row along its own word's vector: a normal too, unless the noise knows the word."""
    sizes = np.linalg.norm(centers, axis=1)
    at_origin = sizes == 0
    products = np.einsum("ij,ij->i", normals, centers) / np.where(at_origin, 1.0, sizes)
    return np.where(at_origin, normals[:, 0], products)


def _replay(mechanism: Perturbation, draws: int, rng: Rng) -> tuple[int, int]:
    """Draw outputs, draw the same noise again, and compare with the words nearest to it."""
    ids = _spread_ids(len(mechanism.embedding), draws, rng.child("words"))
    out = mechanism.replace(ids, rng.child("noise"))
    replayed = rng.child("noise")
    engine = engine_for(mechanism.embedding)
    otherwise = 0
    step = max(1, _MOST_VALUES // mechanism.embedding.dimension)
    for start in range(0, len(ids), step):
        part = slice(start, start + step)
        noisy = mechanism.noise.around(mechanism.embedding.centers(ids[part]), replayed)
        otherwise += int((engine.nearest(noisy) != out[part]).sum())
    return len(ids), otherwise


def _spread_ids(vocabulary: int, count: int, rng: Rng) -> Ids:
    """Ids drawn evenly, with repeats."""
    return (rng.rows(count, 1)[:, 0] * vocabulary).astype(np.int64)
