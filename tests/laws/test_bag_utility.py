"""The utility statement for bags, by simulation; the paper's printed form fails."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.special import gammainc

from inkblur.mechanisms.component import ComponentNoise
from inkblur.mechanisms.laplace import LaplaceNoise
from inkblur.mechanisms.mahalanobis import MahalanobisNoise
from inkblur.protocols import Noise
from inkblur.rng import seeded_rng
from reproduction.earthmovers.bag_utility import chance_within

N, DIMENSION, EPSILON, RUNS = 3, 2, 2.0, 4000


@pytest.mark.parametrize(
    "noise",
    [
        LaplaceNoise(DIMENSION, epsilon=EPSILON),
        ComponentNoise(DIMENSION, epsilon=EPSILON),
        MahalanobisNoise(np.diag([1.6, 0.4]), epsilon=EPSILON, lam=0.7),
    ],
)
def test_simulated_bags_lie_within_the_stated_distance_at_least_as_often(noise: Noise) -> None:
    bag = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]])
    noisy = noise.around(np.tile(bag, (RUNS, 1)), seeded_rng(1)).reshape(RUNS, N, DIMENSION)
    measured = []
    for out in noisy:
        cost = noise.pairwise(bag, out)
        measured.append(cost[linear_sum_assignment(cost)].mean())
    for distance in (0.5, 0.8, 1.0, 1.5):
        promised = chance_within(distance, epsilon=EPSILON, dimension=DIMENSION, size=N)
        seen = float((np.array(measured) <= distance).mean())
        assert seen >= promised - 4 * math.sqrt(promised * (1 - promised) / RUNS)


def test_the_promise_is_tight_where_words_lie_far_apart() -> None:
    bag = np.array([[0.0, 0.0], [300.0, 0.0], [0.0, 400.0]])
    noise = LaplaceNoise(DIMENSION, epsilon=EPSILON)
    noisy = noise.around(np.tile(bag, (RUNS, 1)), seeded_rng(2)).reshape(RUNS, N, DIMENSION)
    moved = np.linalg.norm(noisy - bag, axis=2).mean(axis=1)
    for distance in (0.6, 1.0, 1.4):
        promised = chance_within(distance, epsilon=EPSILON, dimension=DIMENSION, size=N)
        assert (moved <= distance).mean() == pytest.approx(promised, abs=0.035)


def test_theorem_3_as_printed_promises_too_much() -> None:
    """n = 30, N = 2 at epsilon N D = n/e: printed 1.8e-6, true (for far words) about 8.8e-25."""
    total = 30 / math.e
    printed = float(gammainc(30, total))  # 1 - exp(-a) e_{n-1}(a)
    ours = chance_within(total / 2, epsilon=1.0, dimension=30, size=2)
    assert printed == pytest.approx(1.8e-6, rel=0.05)
    assert ours == pytest.approx(8.8e-25, rel=0.01)
    # Where it can be simulated, small n: the printed form exceeds the measured chance.
    bag = np.array([[0.0, 0.0], [1e6, 0.0]])
    noisy = LaplaceNoise(2, epsilon=1.0).around(np.tile(bag, (20_000, 1)), seeded_rng(3))
    moved = np.linalg.norm(noisy.reshape(-1, 2, 2) - bag, axis=2).sum(axis=1)
    claimed = float(gammainc(2, 2 / math.e))
    assert (moved <= 2 / math.e).mean() < claimed / 5
