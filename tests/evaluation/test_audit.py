"""The parts of the audit: intervals, claimed bounds, likelihoods, refusals, honesty about power."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import beta, binom

import inkblur
from inkblur.documents import TokenPolicies
from inkblur.errors import ParameterError
from inkblur.evaluation.audit.claimed_metric import ClaimedMetric, word_bounds
from inkblur.evaluation.audit.distinguishing import Attacker, WordPair, play
from inkblur.evaluation.audit.lower_bound import audit_mechanism, measure_loss
from inkblur.evaluation.audit.noise import audit_noise
from inkblur.evaluation.measures.intervals import (
    clopper_pearson_lower,
    clopper_pearson_upper,
    log_ratio_lower,
)
from inkblur.mechanisms.angular import AngularLaplace
from inkblur.mechanisms.noise import LaplaceNoise
from inkblur.mechanisms.perturbation import Perturbation
from inkblur.rng import Rng, Rows, seeded_rng
from inkblur.types import Array, Ids, Points, Unit
from tests.laws.document_audit import (
    DocumentPair,
    audit_documents,
    document_bound,
    permanents,
    read_back,
)

LETTERS = list("abcdefghijklmnopqrstu")


def line() -> inkblur.Embedding:
    return inkblur.Embedding(LETTERS, np.arange(21)[:, None] / 2, name="line")


def cloud(dimension: int = 60) -> inkblur.Embedding:
    points = np.random.default_rng(5).normal(size=(100, dimension))
    return inkblur.Embedding([f"c{i}" for i in range(100)], points, name="cloud")


BOUNDS = clopper_pearson_lower, clopper_pearson_upper


@pytest.mark.parametrize("probability", [0.001, 0.1, 0.5, 0.97])
def test_clopper_pearson_covers_at_least_as_often_as_it_says(probability: float) -> None:
    trials, alpha = 60, 0.05
    hits = np.arange(trials + 1)
    weights = binom.pmf(hits, trials, probability)
    low = clopper_pearson_lower(hits, trials, alpha)
    high = clopper_pearson_upper(hits, trials, alpha)
    assert weights[low > probability].sum() <= alpha
    assert weights[high < probability].sum() <= alpha
    # Tight too: at the bound itself the tail is alpha.
    assert binom.sf(9, trials, low[10]) == pytest.approx(alpha)
    assert binom.cdf(10, trials, high[10]) == pytest.approx(alpha)


def test_clopper_pearson_contains_a_mean_of_several_counts() -> None:
    """A mean over repetitions need not be whole, and may lie below 1."""
    hits, trials = np.array([0.0, 0.01, 0.3, 1.0, 1.5, 59.99, 60.0]), 60
    low, high = (bound(hits, trials, 0.025) for bound in BOUNDS)
    assert (low <= hits / trials).all()
    assert (high >= hits / trials).all()
    assert (np.diff(low) > 0).all()


def test_a_bound_on_a_ratio_gives_half_of_the_error_to_each_side() -> None:
    low, high = beta.ppf(0.025, 30, 31), beta.ppf(0.975, 11, 40)
    assert log_ratio_lower(30, 10, 60, 50, 0.05) == pytest.approx(math.log(low / high))


@pytest.mark.parametrize(("trials", "against"), [(60, 20_000), (20_000, 60)])
def test_a_bound_on_a_ratio_is_too_high_no_oftener_than_it_says(trials: int, against: int) -> None:
    """With many draws on one side nearly all of the error is the other's."""
    p, q, alpha = 0.4, 0.1, 0.05
    hits, misses = np.arange(trials + 1)[:, None], np.arange(against + 1)
    wrong = log_ratio_lower(hits, misses, trials, against, alpha) > math.log(p / q)
    chance = binom.pmf(hits[:, 0], trials, p) @ wrong @ binom.pmf(misses, against, q)
    assert 0 < chance <= alpha


MECHANISMS: list[Perturbation] = [
    inkblur.Laplace(cloud(), epsilon=2.0),
    inkblur.Mahalanobis(cloud(), epsilon=2.0, lam=0.7),
    inkblur.ComponentLaplace(cloud(), epsilon=2.0),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=[m.name for m in MECHANISMS])
def test_claimed_distances_written_twice_agree(mechanism: Perturbation) -> None:
    left, right = np.arange(50), np.arange(50, 100)
    table = mechanism.embedding
    told = mechanism.noise.distance(table.centers(left), table.centers(right))
    np.testing.assert_allclose(ClaimedMetric(mechanism).between(left, right), told, rtol=1e-9)
    np.testing.assert_allclose(word_bounds(mechanism, left, right), 2.0 * told, rtol=1e-9)


def test_bounds_of_documents_add_over_positions_or_take_the_cheapest_flow() -> None:
    mechanism = inkblur.Laplace(line(), epsilon=3.0)
    left, right = np.array([0, 4, 8]), np.array([8, 0, 5])
    assert document_bound(mechanism, Unit.SEQUENCE, left, right) == pytest.approx(3 * (4 + 2 + 1.5))
    flows = [
        3 * sum(abs(left[i] - right[j]) / 2 for i, j in enumerate(order))
        for order in itertools.permutations(range(3))
    ]
    assert document_bound(mechanism, Unit.BAG, left, right) == pytest.approx(min(flows))
    with pytest.raises(ParameterError, match="3 and 2 words"):
        document_bound(mechanism, Unit.BAG, left, right[:2])


@pytest.mark.parametrize("size", [1, 2, 5])
def test_permanents_are_sums_over_all_orders(size: int) -> None:
    matrices = np.random.default_rng(size).random((4, size, size))
    for matrix, got in zip(matrices, permanents(matrices), strict=True):
        orders = itertools.permutations(range(size))
        plain = sum(math.prod(matrix[i, j] for i, j in enumerate(order)) for order in orders)
        assert got == pytest.approx(plain)


def test_the_attacker_learns_the_likelihood_ratio() -> None:
    mechanism = inkblur.Laplace(line(), epsilon=1.0)
    attacker = WordPair(mechanism, "g", "m").learn(40_000, seeded_rng(1))
    # From the far left every output is exp(epsilon d) times as likely from g as from m, d = 3.
    assert attacker(np.array([[0], [3]])) == pytest.approx([3.0, 3.0], abs=0.35)
    assert attacker(np.array([[9]])) == pytest.approx([0.0], abs=0.1)  # half way


def test_the_game_reaches_what_theory_says_and_stays_below_its_bound() -> None:
    pair = WordPair(inkblur.Laplace(line(), epsilon=1.0), "i", "m")  # distance 2
    game = play(pair, rng=seeded_rng(2), trials=20_000, lessons=20_000)
    # The best attacker cuts half way: right with 1 - exp(-epsilon d / 2) / 2. Half way lies the word
    # k, whose cell falls to either side alike.
    below = 1 - math.exp(-0.75) / 2
    tie = 1 - math.exp(-1.25) / 2
    assert game.low < (below + tie) / 2 < game.high
    assert game.high < game.highest_allowed == pytest.approx(math.exp(2.0) / (1 + math.exp(2.0)))
    assert game.advantage == pytest.approx(2 * game.accuracy - 1)
    assert math.tanh(1.0) == pytest.approx(2 * game.highest_allowed - 1)


def test_the_measured_loss_is_a_lower_bound_that_comes_close() -> None:
    pair = WordPair(inkblur.Laplace(line(), epsilon=1.0), "i", "m")
    audit = measure_loss(pair, rng=seeded_rng(2), draws=60_000)
    assert audit.bound == pytest.approx(2.0)
    assert 1.7 < audit.loss <= 2.0
    assert audit.confirmed_on == 30_000
    # Of the larger of two bounds, so each may err half as often.
    ways = (audit.hits, audit.hits[::-1])
    assert audit.loss == max(log_ratio_lower(*hits, 30_000, 30_000, 0.005) for hits in ways)
    assert not audit.powerless
    assert json.loads(json.dumps(audit.to_json(), allow_nan=False))["flagged"] is False


class OnlyAtFirst:
    """Two inputs that can be told apart on the first stream of each, and on no other stream."""

    subject, bound = "two inputs", 1.0

    def __init__(self) -> None:
        self._first: set[bytes] = set()

    def draw(self, right: NDArray[np.bool_], rng: Rng) -> Ids:
        if len(self._first) < 2:
            self._first.add(rng.fingerprint())
        shows = right if rng.fingerprint() in self._first else np.arange(len(right)) % 2
        return np.asarray(shows, dtype=np.int64)[:, None]

    def learn(self, draws: int, rng: Rng) -> Attacker:
        return lambda outputs: (1 - 2 * outputs[:, 0]).astype(np.float64)


def test_the_draws_that_chose_an_event_do_not_confirm_it() -> None:
    """The event promises a loss of 5 on the draws that chose it, and none on fresh ones."""
    audit = measure_loss(OnlyAtFirst(), rng=seeded_rng(1), draws=4_000)
    assert audit.ceiling > 5
    assert audit.hits == (1_000, 1_000)
    assert audit.confirmed_on == 2_000
    assert audit.loss == 0


def test_an_audit_of_two_equal_inputs_errs_no_oftener_than_it_says() -> None:
    """Nine times in ten no loss is found where there is none, though 50 events promise one."""

    class Alike(OnlyAtFirst):
        def draw(self, right: NDArray[np.bool_], rng: Rng) -> Ids:
            return (50 * rng.rows(len(right), 1)).astype(np.int64)

        def learn(self, draws: int, rng: Rng) -> Attacker:
            return lambda outputs: outputs[:, 0].astype(np.float64)

    audits = [
        measure_loss(Alike(), rng=seeded_rng(s), draws=200, confidence=0.9) for s in range(99)
    ]
    assert sum(audit.loss > 0 for audit in audits) <= 10


def test_bags_of_many_words_fall_back_to_a_weaker_attacker() -> None:
    blur = inkblur.Privatizer(inkblur.Laplace(line(), epsilon=2.0), release="bag")
    pair = DocumentPair(blur, "a b c d e f g h i j k l", "f g h i j k l m n o p q")
    game = play(pair, rng=seeded_rng(2), trials=300, lessons=2_000)
    assert game.accuracy > 0.9


def test_a_released_text_is_read_back() -> None:
    table = inkblur.Embedding(["u.s.", "cat", "."], [[0.0], [1.0], [2.0]], name="dots")
    assert read_back(table, "Cat u.s. cat. dog") == [1, 0, 1, -1]


def test_fixed_lengths_are_padded_like_the_privatizer_pads() -> None:
    blur = inkblur.Privatizer(inkblur.Laplace(line(), epsilon=1.0), release="bag", length=3)
    pair = DocumentPair(blur, "a", "b c d e")
    out = pair.draw(np.array([False, True]), seeded_rng(1))
    assert out.shape == (2, 3)
    assert (out >= 0).all()


def test_pairs_that_the_guarantee_does_not_compare_are_refused() -> None:
    blur = inkblur.Privatizer(inkblur.Laplace(line(), epsilon=1.0))
    with pytest.raises(ParameterError, match="2 and 3 words"):
        audit_documents(blur, "a b", "a b c", rng=seeded_rng(1))
    shown = TokenPolicies.of(keep=["sentence-ends"])
    stopped = inkblur.Privatizer(inkblur.Laplace(line(), epsilon=1.0), policies=shown)
    with pytest.raises(ParameterError, match="sentence ends"):
        audit_documents(stopped, "a. b", "a b", rng=seeded_rng(1))
    with pytest.raises(ParameterError, match="above 0"):
        audit_documents(blur, "", "", rng=seeded_rng(1))


def test_bad_requests_are_refused() -> None:
    mechanism = inkblur.Laplace(line(), epsilon=1.0)
    rng = seeded_rng(1)
    with pytest.raises(ParameterError, match="'zebra' is not among the 21 words of line"):
        audit_mechanism(mechanism, rng=rng, pair=("a", "zebra"))
    with pytest.raises(ParameterError, match="not a pair"):
        audit_mechanism(mechanism, rng=rng, pair=("a", "a"))
    with pytest.raises(ParameterError, match="at least 40 draws"):
        audit_mechanism(mechanism, rng=rng, draws=10)
    with pytest.raises(ParameterError, match="confidence"):
        audit_mechanism(mechanism, rng=rng, confidence=1.0)
    with pytest.raises(ParameterError, match="even"):
        play(WordPair(mechanism, "a", "b"), rng=rng, trials=3)


def test_no_guarantee_means_no_bound_and_no_look_inside() -> None:
    mechanism = AngularLaplace(cloud(4), epsilon=2.0, accept_no_guarantee=True)
    audit = audit_mechanism(mechanism, rng=seeded_rng(1), draws=4_000)
    assert audit.loss.bound == math.inf
    assert audit.loss.loss > 0
    assert not audit.flagged
    assert audit.inside is None
    assert "no bound" in audit.loss.verdict()
    assert json.loads(json.dumps(audit.to_json(), allow_nan=False))["loss"]["bound"] is None
    with pytest.raises(ParameterError, match="no vector noise"):
        audit_noise(mechanism, rng=seeded_rng(1))  # type: ignore[arg-type]


def test_an_audit_without_power_says_so() -> None:
    audit = audit_mechanism(inkblur.Laplace(cloud(), epsilon=5.0), rng=seeded_rng(1), draws=400)
    assert audit.loss.powerless
    assert "says nothing for or against" in audit.loss.verdict()


@pytest.mark.parametrize("dimension", [1, 2, 40])
@pytest.mark.parametrize("kind", [inkblur.Laplace, inkblur.Mahalanobis, inkblur.ComponentLaplace])
def test_the_law_tests_run_in_every_dimension(kind: type[Perturbation], dimension: int) -> None:
    mechanism = kind(cloud(dimension), epsilon=2.0)  # type: ignore[call-arg]
    audit = audit_noise(mechanism, rng=seeded_rng(6), draws=3_000, decoding_draws=200)
    assert not audit.flagged, audit.findings
    assert audit.mean_radius == pytest.approx(dimension / 2, rel=0.1)
    assert len(audit.laws) == 12 - (dimension == 1)  # one axis has no correlation with another


class Halved(LaplaceNoise):
    def around(self, centers: Points, rng: Rows) -> Points:
        return centers + (super().around(centers, rng) - centers) / 2


class Lopsided(LaplaceNoise):
    """The right radius, but never a negative last coordinate."""

    def around(self, centers: Points, rng: Rows) -> Points:
        noise = super().around(centers, rng) - centers
        noise[:, -1] = np.abs(noise[:, -1])
        return centers + noise


class Sorted(LaplaceNoise):
    """Radii and directions with their own laws, but the largest radii lie along the last axis."""

    def around(self, centers: Points, rng: Rows) -> Points:
        noise = super().around(centers, rng) - centers
        radii = np.linalg.norm(noise, axis=1)
        directions = noise / radii[:, None]
        order = np.argsort(np.abs(directions[:, -1]))
        out = np.empty_like(noise)
        out[order] = directions[order] * np.sort(radii)[:, None]
        return centers + out


@pytest.mark.parametrize(
    ("noise", "convicting", "passing"),
    [
        (Halved, "radius", "a pair of neighboring rows"),
        (Lopsided, "mean along axis 9", "radius"),
        (Sorted, "spread along axis 9", "radius"),
    ],
)
def test_each_test_of_the_law_sees_its_own_fault(
    noise: type[LaplaceNoise], convicting: str, passing: str
) -> None:
    mechanism = inkblur.Laplace(cloud(10), epsilon=2.0)
    mechanism.noise = noise(10, epsilon=2.0)
    audit = audit_noise(mechanism, rng=seeded_rng(6), draws=3_000, decoding_draws=10)
    values = {law.name: law.p_value for law in audit.laws}
    assert values[convicting] < audit.threshold < values[passing]
    assert any(convicting in finding for finding in audit.findings)


class Slanted(LaplaceNoise):
    """A density that says less distance than there is, so that ratios exceed their bound."""

    def log_density(self, points: Points, centers: Points) -> Array:
        return 1.5 * super().log_density(points, centers)


def test_a_density_above_its_bound_is_a_finding() -> None:
    mechanism = inkblur.Laplace(cloud(10), epsilon=2.0)
    mechanism.noise = Slanted(10, epsilon=2.0)
    audit = audit_noise(mechanism, rng=seeded_rng(6), draws=3_000, decoding_draws=10)
    assert audit.excess > audit.tolerance
    assert audit.density_error > audit.tolerance
    assert len(audit.findings) == 2


def test_the_same_seed_gives_the_same_audit() -> None:
    mechanism = inkblur.Laplace(line(), epsilon=1.0)
    once, again = (
        audit_mechanism(mechanism, rng=seeded_rng(4), draws=400, inside_draws=500) for _ in range(2)
    )
    assert once == again
