"""The noise is what its guarantee says: density inequality, radius, direction, normalization."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from inkblur.embeddings.table import Embedding
from inkblur.mechanisms.angular import truncated_angle
from inkblur.mechanisms.noise import sphere
from inkblur.mechanisms.perturbation import Perturbation
from inkblur.protocols import Noise
from inkblur.rng import Bits, Rows, seeded_rng
from tests.laws.catalogue import VECTOR, label, make
from tests.laws.densities import log_density

EPSILON = 3.0
DRAWS = 20_000


def noise_of(
    setting: tuple[str, dict[str, Any]], table: Embedding, epsilon: float = EPSILON
) -> Noise:
    mechanism = make(setting, table, epsilon)
    assert isinstance(mechanism, Perturbation)
    return mechanism.noise


@pytest.mark.parametrize("setting", VECTOR, ids=label)
def test_the_log_density_ratio_never_exceeds_epsilon_times_distance(
    setting: tuple[str, dict[str, Any]], toy: Embedding
) -> None:
    noise = noise_of(setting, toy)
    generator = np.random.default_rng(11)
    for scale in (0.01, 1.0, 50.0):
        x, y, z = (generator.normal(size=(5_000, toy.dimension)) * scale for _ in range(3))
        ratio = log_density(noise, z, x) - log_density(noise, z, y)
        bound = EPSILON * noise.distance(x, y)
        assert (ratio <= bound + 1e-9 * (1 + np.abs(bound))).all()
    # The bound is reached where z lies behind x as seen from y: the claim is not loose either.
    behind = x + 3 * (x - y)
    reached = log_density(noise, behind, x) - log_density(noise, behind, y)
    np.testing.assert_allclose(reached, EPSILON * noise.distance(x, y), rtol=1e-9)


@pytest.mark.parametrize("setting", VECTOR, ids=label)
def test_the_density_integrates_to_one(
    setting: tuple[str, dict[str, Any]], plane: Embedding
) -> None:
    noise = noise_of(setting, plane)
    mass, _ = integrate.dblquad(
        lambda a, b: float(np.exp(log_density(noise, np.array([[a, b]]), np.zeros((1, 2))))[0]),
        -8, 8, -8, 8, epsabs=1e-3,
    )  # fmt: skip
    assert mass == pytest.approx(1.0, abs=2e-3)


@pytest.mark.parametrize("setting", VECTOR, ids=label)
def test_the_distance_drawn_is_gamma(setting: tuple[str, dict[str, Any]], toy: Embedding) -> None:
    """Each of the three densities is exp(-epsilon |z|) for its own norm, so |z| ~ Gamma(n,
    1/epsilon).
    """
    noise = noise_of(setting, toy)
    centers = np.tile(np.arange(toy.dimension, dtype=float), (DRAWS, 1))
    radius = noise.distance(noise.around(centers, seeded_rng(3)), centers)
    law = stats.gamma(toy.dimension, scale=1 / EPSILON)
    assert stats.kstest(radius, law.cdf).pvalue > 0.001
    assert anderson_darling(law.cdf(radius)) < 4.0  # the 1% point is 3.9 where the law is known


@pytest.mark.parametrize("setting", VECTOR, ids=label)
def test_the_quadratic_form_of_the_noise(
    setting: tuple[str, dict[str, Any]], toy: Embedding
) -> None:
    """Sampled second moments against those of the density: E[zz'] = (n + 1)/epsilon^2 R for
    elliptical noise (R = I for spherical), 2/epsilon^2 I for component-wise."""
    noise = noise_of(setting, toy)
    z = noise.around(np.zeros((DRAWS * 10, toy.dimension)), seeded_rng(4))
    lam = getattr(noise, "lam", 0.0)
    shape = lam * toy.covariance + (1 - lam) * np.eye(toy.dimension)
    factor = 2.0 if setting[0] == "component-laplace" else toy.dimension + 1.0
    expected = factor / EPSILON**2 * shape
    measured = z.T @ z / len(z)
    assert np.abs(measured - expected).max() < 0.03 * np.abs(expected).max()


def test_directions_of_laplace_noise_are_uniform(toy: Embedding) -> None:
    z = noise_of(("laplace", {}), toy).around(np.zeros((DRAWS, toy.dimension)), seeded_rng(6))
    unit = z / np.linalg.norm(z, axis=1, keepdims=True)
    generator = np.random.default_rng(1)
    for axis in (np.eye(8)[0], np.eye(8)[7], generator.normal(size=8)):
        cosine = unit @ (axis / np.linalg.norm(axis))
        # The squared cosine with any fixed direction is Beta(1/2, (n - 1)/2), its sign even.
        assert stats.kstest(cosine**2, stats.beta(0.5, 3.5).cdf).pvalue > 0.001
        assert stats.binomtest(int((cosine > 0).sum()), DRAWS).pvalue > 0.001
    radius = np.linalg.norm(z, axis=1)
    assert abs(stats.spearmanr(radius, unit[:, 0]).statistic) < 4 / DRAWS**0.5


def test_elliptical_noise_is_not_renormalized(toy: Embedding) -> None:
    """Renormalizing after the factor would make the Euclidean radius Gamma again: it must not be."""
    z = noise_of(("mahalanobis", {"lam": 1.0}), toy).around(np.zeros((DRAWS, 8)), seeded_rng(6))
    radius = np.linalg.norm(z, axis=1)
    assert stats.kstest(radius, stats.gamma(8, scale=1 / EPSILON).cdf).pvalue < 1e-6


def test_components_are_independent_laplace(toy: Embedding) -> None:
    z = noise_of(("component-laplace", {}), toy).around(np.zeros((DRAWS, 8)), seeded_rng(8))
    for component in z.T:
        assert stats.kstest(component, stats.laplace(scale=1 / EPSILON).cdf).pvalue > 0.001
    correlation = np.corrcoef(z.T) - np.eye(8)
    assert np.abs(correlation).max() < 5 / DRAWS**0.5


@pytest.mark.parametrize("scale", [0.05, 0.5, 20.0])
def test_the_angle_is_laplace_cut_at_a_right_angle(scale: float) -> None:
    angles = truncated_angle(DRAWS, scale, seeded_rng(2))
    law = stats.truncexpon(b=np.pi / 2 / scale, scale=scale)
    assert stats.kstest(angles, law.cdf).pvalue > 0.001
    assert (angles >= 0).all()
    assert (angles <= np.pi / 2).all()


def anderson_darling(uniforms: np.ndarray[Any, Any]) -> float:
    """A^2 against the uniform law, all parameters known."""
    u = np.sort(uniforms)
    i = np.arange(1, len(u) + 1)
    return float(-len(u) - np.mean((2 * i - 1) * (np.log(u) + np.log1p(-u[::-1]))))


class Given(Rows):
    """A supply of these rows of bits."""

    def __init__(self, bits: Bits) -> None:
        self._bits = bits

    def bits(self, count: int, width: int) -> Bits:
        assert self._bits.shape == (count, width)
        return self._bits


LINE = Embedding(["a", "b", "c"], [[0.0], [1.0], [2.0]], name="line")
ENDS = np.array([0, 2**63 - 1, 2**63, 2**64 - 1], dtype=np.uint64)


@pytest.mark.parametrize("setting", VECTOR, ids=label)
def test_no_tail_is_cut_where_its_probability_counts(setting: tuple[str, dict[str, Any]]) -> None:
    """Beyond the furthest point an output is impossible from here, but not from a neighbor."""
    noise = noise_of(setting, LINE)
    bits = np.array(list(product(ENDS, repeat=noise.width)), dtype=np.uint64)
    here = np.zeros((len(bits), 1))
    furthest = EPSILON * noise.distance(noise.around(here, Given(bits)), here).max()
    assert np.exp(-furthest) <= noise.guarantee.delta <= 2.0**-100


DIRECTED = [setting for setting in VECTOR if setting[0] != "component-laplace"]


@pytest.mark.parametrize("setting", DIRECTED, ids=label)
def test_directions_beyond_what_the_bits_reach_are_in_delta(
    setting: tuple[str, dict[str, Any]], toy: Embedding
) -> None:
    """In several dimensions a normal beyond its furthest one makes a direction that never comes."""
    beyond = 2 * stats.norm.sf(sphere.normals(ENDS).max())
    assert toy.dimension * beyond <= noise_of(setting, toy).guarantee.delta <= 2.0**-40


def test_components_that_share_their_last_digits_are_in_delta(toy: Embedding) -> None:
    """Where two of eight components have 32 leading zeros of 63 digits, one number gives the last
    digits of both: they are not independent there.
    """
    noise = noise_of(("component-laplace", {}), toy)
    pairs = math.comb(toy.dimension, 2) * (2.0**-32) ** 2
    assert pairs <= noise.guarantee.delta <= 2.0**-50
