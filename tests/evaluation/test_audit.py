"""The audit: any function and claim, its parts, refusals, honesty about power; the laws' tools."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta, binom

import inkblur
from inkblur.errors import ParameterError
from inkblur.evaluation.audit import ASSUMED, Audit, Scores, measure_loss
from inkblur.evaluation.claimed_metric import (
    ClaimedMetric,
    word_claim,
    word_function,
    words_to_compare,
)
from inkblur.evaluation.measures.intervals import (
    clopper_pearson_lower,
    clopper_pearson_upper,
    log_ratio_lower,
)
from inkblur.mechanisms.angular import AngularLaplace
from inkblur.mechanisms.component import ComponentLaplace
from inkblur.mechanisms.laplace import Laplace
from inkblur.mechanisms.mahalanobis import Mahalanobis
from inkblur.mechanisms.perturbation import Perturbation
from inkblur.mechanisms.staircase import Staircase
from inkblur.rng import seeded_rng
from inkblur.types import Ids, Unit
from tests.laws.document_audit import (
    document_bound,
    permanents,
    word_bounds,
)

LETTERS = list("abcdefghijklmnopqrstu")


def line() -> inkblur.Embedding:
    return inkblur.Embedding(LETTERS, np.arange(21)[:, None] / 2, name="line")


def cloud(dimension: int = 60) -> inkblur.Embedding:
    points = np.random.default_rng(5).normal(size=(100, dimension))
    return inkblur.Embedding([f"c{i}" for i in range(100)], points, name="cloud")


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
    Laplace(cloud(), epsilon=2.0),
    Mahalanobis(cloud(), epsilon=2.0, lam=0.7),
    ComponentLaplace(cloud(), epsilon=2.0),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=[m.name for m in MECHANISMS])
def test_claimed_distances_written_twice_agree(mechanism: Perturbation) -> None:
    left, right = np.arange(50), np.arange(50, 100)
    table = mechanism.embedding
    told = mechanism.noise.distance(table.centers(left), table.centers(right))
    np.testing.assert_allclose(ClaimedMetric(mechanism).between(left, right), told, rtol=1e-9)
    np.testing.assert_allclose(word_bounds(mechanism, left, right), 2.0 * told, rtol=1e-9)


def test_bounds_of_documents_add_over_positions_or_take_the_cheapest_flow() -> None:
    mechanism = Laplace(line(), epsilon=3.0)
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


def words_audited(
    mechanism: Laplace | AngularLaplace, pair: tuple[str, str], draws: int, seed: int = 2
) -> Audit:
    return inkblur.audit(
        word_function(mechanism, seeded_rng(seed)),
        word_claim(mechanism),
        inputs=pair,
        draws=draws,
    )


def test_the_measured_loss_is_a_lower_bound_that_comes_close() -> None:
    audit = words_audited(Laplace(line(), epsilon=1.0), ("i", "m"), 60_000)  # distance 2
    assert audit.bound == pytest.approx(2.0)
    assert 1.7 < audit.loss <= 2.0
    assert audit.confirmed_on == 30_000
    # Of the larger of two bounds, so each may err half as often.
    ways = (audit.hits, audit.hits[::-1])
    assert audit.loss == max(log_ratio_lower(*hits, 30_000, 30_000, 0.005) for hits in ways)
    assert not audit.powerless
    body = json.loads(json.dumps(audit.to_json(), allow_nan=False))
    assert (body["flagged"], body["assumed"]) == (False, ASSUMED)


class Response:
    """Randomized response over so many answers: the truth with probability `truth`."""

    def __init__(self, truth: float, answers: str = "abcd") -> None:
        self.truth, self.answers = truth, list(answers)
        self._generator = np.random.default_rng(3)
        others = (1 - truth) / (len(answers) - 1)
        self.epsilon = math.log(truth / others)

    def __call__(self, texts: list[str]) -> list[str]:
        lies = self._generator.random(len(texts)) >= self.truth
        picks = self._generator.integers(1, len(self.answers), len(texts))
        truths = [self.answers.index(text) for text in texts]
        moved = (np.array(truths) + lies * picks) % len(self.answers)
        return [self.answers[place] for place in moved.tolist()]


@pytest.mark.parametrize("inputs", ["ab", "abcd"])
def test_any_function_and_claim_can_be_audited(inputs: str) -> None:
    """True at its own epsilon, false where more was promised."""
    answer = Response(0.7)

    def audited(epsilon: float) -> Audit:
        claim = inkblur.Claim(epsilon=epsilon, metric="discrete", unit="text")
        return inkblur.audit(answer, claim, inputs=list(inputs), draws=8_000)

    assert not audited(answer.epsilon).flagged
    false = audited(answer.epsilon - 0.3)
    assert false.flagged
    assert answer.epsilon - 0.3 < false.loss <= answer.epsilon
    assert all(word in str(false) for word in ("discrete", "text", "THE CLAIM IS FALSE", ASSUMED))


def test_of_several_inputs_the_two_that_stand_out_are_audited() -> None:
    """Only c comes out as it is: no other pair can be told apart."""
    generator = np.random.default_rng(4)

    def leaks(texts: list[str]) -> list[str]:
        return [t if t == "c" else str(generator.integers(3)) for t in texts]

    claim = inkblur.Claim(epsilon=1.0, metric="discrete", unit="text")
    audit = inkblur.audit(leaks, claim, inputs=list("abcd"), draws=4_000)
    assert "'c'" in audit.subject
    assert audit.flagged


def test_a_claim_says_what_two_inputs_may_lose() -> None:
    text = inkblur.Claim(epsilon=2.0, metric="discrete", unit="text")
    assert (text.bound("a b", "c d"), text.bound("a", "a")) == (2.0, 0.0)
    word = inkblur.Claim(epsilon=2.0, metric="discrete", unit="word")
    assert word.bound("a b c", "a x y") == 4.0
    far = inkblur.Claim(epsilon=2.0, metric="road", unit="person", distance=lambda a, b: abs(a - b))
    assert far.bound(1, 4) == 6.0
    with pytest.raises(ParameterError, match="2 and 1 words"):
        word.bound("a b", "a")


@pytest.mark.parametrize(
    ("function", "inputs", "more", "message"),
    [
        (lambda texts: texts[1:], "ab", {}, "one for each"),
        (lambda texts: 3, "ab", {}, "returned int"),
        (list, "a", {}, "two or more"),
        (list, "aa", {}, "the same"),
        (list, "ab", {"draws": 10}, "40"),
        (list, "ab", {"confidence": 1.0}, "confidence"),
    ],
)
def test_what_cannot_be_audited_is_refused(
    function: Any, inputs: str, more: dict[str, Any], message: str
) -> None:
    claim = inkblur.Claim(epsilon=1.0, metric="discrete", unit="text")
    with pytest.raises(ParameterError, match=message):
        inkblur.audit(function, claim, inputs=list(inputs), **{"draws": 400, **more})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"metric": "euclidean"}, "distance="),
        ({"unit": "person"}, "distance="),
    ],
)
def test_claims_that_say_nothing_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        inkblur.Claim(**{"epsilon": 1.0, "metric": "discrete", "unit": "text", **change})


class OnlyAtFirst:
    """Two inputs that can be told apart until an event is chosen, and not afterwards."""

    subject, bound = "two inputs", 1.0

    def __init__(self) -> None:
        self._calls = 0

    def draw(self, right: bool, draws: int) -> Ids:
        self._calls += 1
        shows = np.full(draws, right) if self._calls <= 2 else np.arange(draws) % 2
        return np.asarray(shows, dtype=np.int64)

    def learn(self, draws: int) -> Scores:
        return lambda outputs: (1 - 2 * outputs).astype(np.float64)


def test_the_draws_that_chose_an_event_do_not_confirm_it() -> None:
    """The event promises a loss of 5 on the draws that chose it, and none on fresh ones."""
    audit = measure_loss(OnlyAtFirst(), draws=4_000)
    assert audit.ceiling > 5
    assert audit.hits == (1_000, 1_000)
    assert audit.confirmed_on == 2_000
    assert audit.loss == 0


def test_an_audit_of_two_equal_inputs_errs_no_oftener_than_it_says() -> None:
    """Nine times in ten no loss is found where there is none, though 50 events promise one."""

    class Alike(OnlyAtFirst):
        def __init__(self, seed: int) -> None:
            self._generator = np.random.default_rng(seed)

        def draw(self, right: bool, draws: int) -> Ids:
            return self._generator.integers(0, 50, draws)

        def learn(self, draws: int) -> Scores:
            return lambda outputs: outputs.astype(np.float64)

    audits = [measure_loss(Alike(seed), draws=200, confidence=0.9) for seed in range(99)]
    assert sum(audit.loss > 0 for audit in audits) <= 10


def test_no_guarantee_means_no_bound() -> None:
    mechanism = AngularLaplace(cloud(4), epsilon=2.0, accept_no_guarantee=True)
    audit = words_audited(mechanism, ("c1", "c2"), 4_000)
    assert audit.bound == math.inf
    assert audit.loss > 0
    assert not audit.flagged
    assert "no bound" in audit.verdict()
    assert json.loads(json.dumps(audit.to_json(), allow_nan=False))["bound"] is None


def test_an_audit_without_power_says_so() -> None:
    audit = words_audited(Laplace(cloud(), epsilon=5.0), ("c1", "c2"), 400)
    assert audit.powerless
    assert "says nothing for or against" in audit.verdict()


@pytest.mark.parametrize("kind", [Laplace, Mahalanobis, Staircase])
def test_words_of_a_large_vocabulary_are_compared_with_their_neighbors(kind: Any) -> None:
    mechanism = kind(cloud(), epsilon=2.0)
    words = words_to_compare(mechanism, seeded_rng(1))
    assert len(set(words)) == len(words)
    ids = np.array([cloud().id(word) for word in words])
    if kind is Staircase:  # any two words are at distance 1
        assert len(words) == 12
        return
    metric = ClaimedMetric(mechanism)
    for id in ids[:12]:
        apart = metric.between(np.full(100, id), np.arange(100))
        apart[id] = np.inf
        assert apart.argmin() in ids
    assert len(words_to_compare(kind(line(), epsilon=2.0), seeded_rng(1))) == 21
