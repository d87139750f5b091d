"""Words come out as often as the density over their cells says, and never beyond the bound."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from inkblur.embeddings.table import Embedding
from inkblur.mechanisms.laplace import Laplace
from inkblur.mechanisms.mahalanobis import Mahalanobis
from inkblur.mechanisms.perturbation import Perturbation
from inkblur.protocols import Noise
from inkblur.rng import Rows, seeded_rng
from inkblur.types import NULL_ID, Points
from tests.laws.catalogue import ALL, PRIVATE, VECTOR, label, make
from tests.laws.densities import log_density

EPSILON = 1.5
DRAWS = 20_000
INPUTS = [-1, 0, 1, 2, 3, 4]  # the null word and every word


def integrated(noise: Noise, table: Embedding) -> np.ndarray[Any, Any]:
    """P(out | in) by summing the density over a fine grid, each point counted for its nearest
    word.
    """
    axis = np.linspace(-14, 14, 701)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    cell = ((grid[:, None, :] - table.vectors[None]) ** 2).sum(-1).argmin(1)
    rows = []
    for center in table.centers(np.array(INPUTS)):
        density = np.exp(log_density(noise, grid, np.broadcast_to(center, grid.shape)))
        rows.append(np.bincount(cell, density, minlength=len(table)) * (axis[1] - axis[0]) ** 2)
    return np.array(rows)


@pytest.mark.parametrize("setting", VECTOR, ids=label)
def test_frequencies_match_numerical_integration(
    setting: tuple[str, dict[str, Any]], plane: Embedding
) -> None:
    mechanism = make(setting, plane, EPSILON)
    assert isinstance(mechanism, Perturbation)
    expected = integrated(mechanism.noise, plane)
    np.testing.assert_allclose(expected.sum(1), 1, atol=2e-3)
    for row, word in zip(expected, INPUTS, strict=True):
        ids = np.full(DRAWS, word, dtype=np.int64)
        counts = np.bincount(mechanism.replace(ids, seeded_rng(9 + word)), minlength=len(plane))
        assert stats.chisquare(counts, row / row.sum() * DRAWS).pvalue > 0.001


@pytest.mark.parametrize("setting", VECTOR, ids=label)
def test_probability_ratios_stay_within_the_bound(
    setting: tuple[str, dict[str, Any]], plane: Embedding
) -> None:
    mechanism = make(setting, plane, EPSILON)
    assert isinstance(mechanism, Perturbation)
    probabilities = integrated(mechanism.noise, plane)
    ids = np.array(INPUTS)
    bound = EPSILON * mechanism.pairwise(ids, ids)
    ratio = np.log(probabilities[:, None, :] / probabilities[None, :, :]).max(-1)
    assert (ratio <= bound + 1e-3).all()
    assert (ratio > 0.3 * bound).any()  # the bound is about these numbers, not far above them


def test_lambda_zero_is_laplace_bit_for_bit(toy: Embedding) -> None:
    ids = np.arange(-1, len(toy), dtype=np.int64).repeat(50)
    round_noise = Laplace(toy, epsilon=2.0)
    flat = Mahalanobis(toy, epsilon=2.0, lam=0.0)
    centers = toy.centers(ids)
    assert np.array_equal(
        round_noise.noise.around(centers, seeded_rng(1)), flat.noise.around(centers, seeded_rng(1))
    )
    assert np.array_equal(round_noise.replace(ids, seeded_rng(1)), flat.replace(ids, seeded_rng(1)))


@pytest.mark.parametrize("setting", ALL, ids=label)
def test_survival_is_the_share_of_words_that_stay_and_a_null_word_never_does(
    setting: tuple[str, dict[str, Any]], toy: Embedding
) -> None:
    mechanism = make(setting, toy, EPSILON)
    for ids in ([NULL_ID], [NULL_ID, 0, 1, NULL_ID, 2]):
        drawn = np.array(ids * DRAWS)
        stayed = float((mechanism.replace(drawn, seeded_rng(1)) == drawn).mean())
        found = mechanism.survival(np.array(ids * (DRAWS // 10)), seeded_rng(2))
        assert found == pytest.approx(stayed, abs=0.015)


class Forgetful:
    """Noise that forgets its center: what comes out can then depend on nothing but the noise."""

    width = 1

    def __init__(self, points: Points) -> None:
        self.points = points

    def around(self, centers: Points, rng: Rows) -> Points:
        return self.points[: len(centers)]


@pytest.mark.parametrize("setting", VECTOR, ids=label)
def test_decoding_reads_only_the_noisy_vector(
    setting: tuple[str, dict[str, Any]], toy: Embedding
) -> None:
    mechanism = make(setting, toy, EPSILON)
    assert isinstance(mechanism, Perturbation)
    points = np.random.default_rng(0).normal(size=(500, toy.dimension)) * 2
    mechanism.noise = Forgetful(points)  # type: ignore[assignment]
    outputs = [
        mechanism.replace(np.full(500, word, dtype=np.int64), seeded_rng(0)) for word in (-1, 0, 17)
    ]
    assert np.array_equal(outputs[0], outputs[1])
    assert np.array_equal(outputs[0], outputs[2])


@pytest.mark.parametrize("setting", ALL, ids=label)
def test_every_word_and_the_null_word_go_in_and_only_words_come_out(
    setting: tuple[str, dict[str, Any]], toy: Embedding
) -> None:
    mechanism = make(setting, toy, EPSILON)
    out = mechanism.replace(np.arange(-1, len(toy), dtype=np.int64), seeded_rng(0))
    assert out.min() >= 0
    assert out.max() < len(toy)
    released = mechanism.release([toy.words[3], "unheard-of"], seeded_rng(0)).words
    assert set(released) <= set(toy.words)


@pytest.mark.parametrize("setting", PRIVATE, ids=label)
def test_less_epsilon_means_fewer_survivors(
    setting: tuple[str, dict[str, Any]], toy: Embedding
) -> None:
    ids = np.arange(len(toy), dtype=np.int64).repeat(100)
    kept = [
        (make(setting, toy, epsilon).replace(ids, seeded_rng(0)) == ids).mean()
        for epsilon in (0.05, 5.0, 400.0)
    ]
    assert kept[0] < kept[1] < kept[2]


def test_two_engines_of_one_table_agree(toy: Embedding) -> None:
    ids = np.arange(len(toy), dtype=np.int64).repeat(20)
    shared = Laplace(toy, epsilon=2.0)
    own = Laplace(toy, epsilon=2.0)
    own.search_on("cpu")
    assert own.engine is not shared.engine
    assert np.array_equal(shared.replace(ids, seeded_rng(1)), own.replace(ids, seeded_rng(1)))
