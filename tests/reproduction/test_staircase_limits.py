"""The largest cosine that a loss allows, against the best channel there is on small tables."""

from __future__ import annotations

import math

import numpy as np
import pytest

from inkblur import Embedding, Exponential, Staircase
from reproduction.staircase.limits import largest_cosine, pair_losses

optimize = pytest.importorskip("scipy.optimize")


def _best_channel(cosines: np.ndarray, chances: np.ndarray, epsilon: float) -> float:
    """The largest mean cosine of a channel, by linear programming over its probabilities."""
    words = len(cosines)
    limits = []
    for out in range(words):
        for one in range(words):
            for other in range(words):
                if one != other:
                    row = np.zeros((words, words))
                    row[one, out], row[other, out] = 1.0, -math.exp(epsilon)
                    limits.append(row.ravel())
    sums = np.kron(np.eye(words), np.ones(words))
    found = optimize.linprog(
        -(chances[:, None] * cosines).ravel(),
        A_ub=np.array(limits),
        b_ub=np.zeros(len(limits)),
        A_eq=sums,
        b_eq=np.ones(words),
    )
    return float(-found.fun)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_no_channel_keeps_more_than_the_limit(epsilon: float) -> None:
    rng = np.random.default_rng(7)
    for _ in range(3):
        vectors = rng.normal(size=(6, 3)) + 0.5
        table = Embedding([f"w{'x' * i}" for i in range(6)], vectors, name="made")
        ids = rng.integers(0, 6, 40)
        ids = np.concatenate([ids, np.arange(6)])
        unit = table.vectors / np.linalg.norm(table.vectors, axis=1, keepdims=True)
        best = _best_channel(unit @ unit.T, np.bincount(ids) / len(ids), epsilon)
        assert best <= largest_cosine(table, ids, epsilon) + 1e-6


def test_randomized_response_reaches_the_limit_of_words_without_likeness() -> None:
    table = Embedding([f"w{'x' * i}" for i in range(8)], np.eye(8), name="made")
    limit = largest_cosine(table, np.arange(8), 2.0)
    assert limit == pytest.approx(math.exp(2.0) / (math.exp(2.0) + 7), abs=0.004)


def test_single_pairs_of_a_staircase_lie_within_its_epsilon_and_reach_it() -> None:
    vectors = np.random.default_rng(3).normal(size=(60, 8))
    table = Embedding([f"w{'x' * i}" for i in range(60)], vectors, name="made")
    ours = pair_losses(Staircase(table, epsilon=3.0, tau=0.1, frequency_power=0.0), table,
                       np.arange(60))  # fmt: skip
    assert ours["median"] == pytest.approx(3.0, abs=1e-5)
    other = pair_losses(Exponential(table, epsilon=3.0), table, np.arange(60))
    assert 0 < other["nearest"] < other["median"] <= 3.0
