"""Guarantees add up, travel as JSON, and refuse what does not add up."""

from __future__ import annotations

import json
import math
import re
from dataclasses import fields, replace
from typing import Any

import pytest

from inkblur import Privatizer
from inkblur.documents import TokenPolicies
from inkblur.embeddings.table import Embedding
from inkblur.errors import Incomposable, NoGuarantee, ParameterError
from inkblur.guarantees import SEEDED, Guarantee, compose, rounded_down, rounded_up
from inkblur.mechanisms.angular import AngularLaplace
from inkblur.mechanisms.laplace import Laplace
from inkblur.mechanisms.mahalanobis import Mahalanobis
from inkblur.types import Metric, Unit
from tests.laws.catalogue import ALL, PRIVATE, label, make


def all_units(setting: tuple[str, dict[str, Any]], table: Embedding) -> list[Guarantee]:
    word = make(setting, table, 0.3)
    return [
        word.guarantee,
        Privatizer(word).guarantee,
        Privatizer(word, release="bag", length=9).guarantee,
        Privatizer(word, release="bag").guarantee,
    ]


@pytest.mark.parametrize("setting", ALL, ids=label)
def test_scaling_is_composition(setting: tuple[str, dict[str, Any]], toy: Embedding) -> None:
    for guarantee in all_units(setting, toy):
        ten = guarantee.scaled(10)
        assert ten == compose([guarantee] * 10)
        parts = compose([guarantee.scaled(4), guarantee.scaled(6)])
        assert parts.releases == ten.releases
        assert parts.epsilon == pytest.approx(ten.epsilon)
        assert ten.euclidean == (guarantee.euclidean and tuple(10 * e for e in guarantee.euclidean))
        assert dict(ten.bounds) == {name: 10 * bound for name, bound in guarantee.bounds}
        assert ten.epsilon == 10 * guarantee.epsilon
        assert ten.releases == 10


@pytest.mark.parametrize("setting", ALL, ids=label)
def test_json_both_ways(setting: tuple[str, dict[str, Any]], toy: Embedding) -> None:
    for guarantee in all_units(setting, toy):
        text = json.dumps(guarantee.to_json(), allow_nan=False)
        assert Guarantee.from_json(json.loads(text)) == guarantee


def test_no_field_is_lost_on_the_way_through_json() -> None:
    """What a metric blurs less on purpose would be promised by whoever reads the report."""
    whole = Guarantee(
        epsilon=2.0,
        metric=Metric.MAHALANOBIS,
        unit=Unit.BAG,
        size=9,
        metric_detail="lambda 0.5",
        space="ab" * 32,
        euclidean=(1.0, 4.0),
        bounds=(("standard", 3.0),),
        delta=2.0**-40,
        typical_words=12,
        assumptions=("a",),
        reveals=("b",),
        passed=("c",),
        releases=3,
        void="seeded",
    )
    plain = Guarantee(epsilon=1.0, metric=Metric.EUCLIDEAN)
    assert not [f.name for f in fields(whole) if getattr(whole, f.name) == getattr(plain, f.name)]
    assert Guarantee.from_json(json.loads(json.dumps(whole.to_json()))) == whole


def test_what_is_shown_is_never_forgotten() -> None:
    """A release that shows more still shows what it showed before."""
    word = Guarantee(epsilon=1.0, metric=Metric.DISCRETE).passing(["a"])
    assert word.passing(["b", "a"]).passed == ("a", "b")
    assert word.lifted(Unit.SEQUENCE, passed=["c"]).passed == ("a", "c")
    assert word.assuming("x").assuming("y").assumptions == ("x", "y")
    assert word.revealing("x").revealing("y").reveals == ("x", "y")


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan])
def test_no_guarantee_promises_by_such_an_epsilon(epsilon: float) -> None:
    with pytest.raises(ParameterError, match="finite number above 0"):
        Guarantee(epsilon=epsilon, metric=Metric.DISCRETE)


@pytest.mark.parametrize("setting", PRIVATE, ids=label)
def test_bags_bound_n_times_earth_movers_and_sequences_the_sum(
    setting: tuple[str, dict[str, Any]], toy: Embedding
) -> None:
    word, sequence, bag, _ = all_units(setting, toy)
    discrete = word.metric is Metric.DISCRETE
    assert word.unit is Unit.WORD
    assert sequence.loss(4.0) == pytest.approx(word.loss(4.0))
    assert bag.loss(2.0) == pytest.approx(word.epsilon * 9 * (1 if discrete else 2.0))
    assert "Earth Mover" in bag.statement() or discrete


def test_different_metrics_units_and_sizes_do_not_add(toy: Embedding) -> None:
    word = Laplace(toy, epsilon=1.0)
    base = Privatizer(word, release="bag", length=9).guarantee
    others = [
        Privatizer(Mahalanobis(toy, epsilon=1.0), release="bag", length=9).guarantee,
        Privatizer(word, release="bag", length=8).guarantee,
        Privatizer(word).guarantee,
    ]
    for other in others:
        with pytest.raises(Incomposable):
            compose([base, other])
    with pytest.raises(Incomposable):
        compose(
            [
                m.guarantee
                for m in (
                    Mahalanobis(toy, epsilon=1, lam=0.2),
                    Mahalanobis(toy, epsilon=1, lam=0.3),
                )
            ]
        )


def test_what_is_dropped_leaves_its_place_and_its_charge() -> None:
    """The null word stands there, so a text is released as large as it is, whatever is dropped."""
    table = Embedding(["the", "cat", "dog"], [[0.0], [10.0], [0.0]], name="line")
    word = Laplace(table, epsilon=1.0)
    policies = TokenPolicies.of(drop=["stop-words", "numbers"])
    blur = Privatizer(word, policies=policies, length="exact")
    assert blur.ids("the cat 7 dog").tolist() == [-1, 1, -1, 2]
    assert blur.read(["the cat 7 dog", "the 12"]).draws == (4, 2)
    assert blur.guarantee == Privatizer(word, length="exact").guarantee
    text = json.dumps(blur.guarantee.to_json(), allow_nan=False)
    assert Guarantee.from_json(json.loads(text)) == blur.guarantee
    earlier = {**blur.guarantee.to_json(), "without": ["stop words"]}  # counted after dropping
    with pytest.raises(ParameterError, match="earlier version"):
        Guarantee.from_json(earlier)


@pytest.mark.parametrize("epsilon", [0.1, 1.23449, 84.98123, 3e-7, 123456.7])
def test_a_printed_bound_is_a_bound(epsilon: float) -> None:
    word = Guarantee(epsilon=epsilon, metric=Metric.EUCLIDEAN, euclidean=(epsilon, epsilon))
    printed = [float(number) for number in re.findall(r"\d[\d.e+-]*\d", word.statement())]
    assert len(printed) == 3
    for number in printed:
        assert epsilon <= number <= epsilon * 1.001


def test_distances_in_two_spaces_do_not_add(toy: Embedding) -> None:
    """A pair of words may be near in one embedding and far in the other."""
    other = Embedding(toy.words, toy.vectors * 2, name="stretched")
    with pytest.raises(Incomposable, match="space"):
        compose([Laplace(toy, epsilon=1.0).guarantee, Laplace(other, epsilon=1.0).guarantee])


@pytest.mark.parametrize("setting", ALL, ids=label)
def test_one_void_release_voids_the_sum_and_every_reason_is_named(
    setting: tuple[str, dict[str, Any]], toy: Embedding
) -> None:
    for guarantee in all_units(setting, toy):
        seeded = guarantee.voided(SEEDED)
        for order in ([guarantee, seeded], [seeded, guarantee]):
            assert not compose(order).private
        assert SEEDED in seeded.statement()
        assert guarantee.void in seeded.void
    other = all_units(setting, toy)[0].voided("another reason")
    both = compose([all_units(setting, toy)[0].voided(SEEDED), other])
    assert SEEDED in both.void
    assert "another reason" in both.void


@pytest.mark.parametrize("setting", PRIVATE, ids=label)
def test_the_sentence_says_what_it_rests_on_and_leaves_open(
    setting: tuple[str, dict[str, Any]], toy: Embedding
) -> None:
    for guarantee in all_units(setting, toy):
        sentence = guarantee.statement()
        assert guarantee.assumptions
        for line in (*guarantee.assumptions, *guarantee.passed):
            assert line in sentence


def test_the_mechanism_without_a_guarantee_says_so(toy: Embedding) -> None:
    with pytest.raises(NoGuarantee, match="accept"):
        AngularLaplace(toy, epsilon=1.0)
    accepted = AngularLaplace(toy, epsilon=1.0, accept_no_guarantee=True).guarantee
    assert not accepted.private
    assert accepted.sentence().startswith("No privacy guarantee")
    assert accepted.loss(0.1) == math.inf


def test_the_euclidean_terms_are_of_the_same_vectors(toy: Embedding) -> None:
    """Of an adapted table these are the adapted ones, not plain word vectors."""
    sentence = Mahalanobis(toy, epsilon=0.3, lam=0.5).guarantee.statement()
    assert "Measured by Euclidean distance between the same vectors, epsilon is at" in sentence


def test_the_euclidean_sandwich_holds(toy: Embedding) -> None:
    import numpy as np

    generator = np.random.default_rng(3)
    x, y = generator.normal(size=(2, 2000, toy.dimension))
    for lam in (0.0, 0.3, 1.0):
        noise = Mahalanobis(toy, epsilon=2.0, lam=lam).noise
        assert noise.guarantee.euclidean is not None
        low, high = noise.guarantee.euclidean
        euclidean = np.linalg.norm(x - y, axis=1)
        loss = 2.0 * noise.distance(x, y)
        assert (loss <= high * euclidean * (1 + 1e-12)).all()
        assert (loss >= low * euclidean * (1 - 1e-12)).all()
        # Lemma 3 of the paper, with c the smallest eigenvalue and m the trace, is implied.
        c, m = np.linalg.eigvalsh(toy.covariance)[0], toy.dimension
        assert high <= 2.0 / math.sqrt(lam * c + 1 - lam) * (1 + 1e-9)
        assert low >= 2.0 / math.sqrt(lam * m + 1 - lam) * (1 - 1e-9)


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf])
@pytest.mark.parametrize("setting", ALL, ids=label)
def test_epsilon_must_be_a_finite_number_above_zero(
    setting: tuple[str, dict[str, Any]], epsilon: float, toy: Embedding
) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        make(setting, toy, epsilon)


@pytest.mark.parametrize("setting", ALL, ids=label)
def test_the_promise_is_one_sentence_and_the_rest_is_a_list(
    setting: tuple[str, dict[str, Any]], toy: Embedding
) -> None:
    for guarantee in all_units(setting, toy):
        first = guarantee.sentence()
        assert re.search(r"[.;] ", first.removeprefix("No privacy guarantee:")) is None
        assert first.endswith(".")
        assert ("epsilon = " in first) == guarantee.private
        assert all(line.endswith(".") and "\n" not in line for line in guarantee.lines())
        assert guarantee.statement().splitlines()[0] == first
        assert len(guarantee.statement().splitlines()) == 1 + len(guarantee.lines())


def test_deltas_add_and_are_stated() -> None:
    word = Guarantee(epsilon=1.0, metric=Metric.EUCLIDEAN, delta=2.0**-40)
    assert word.scaled(3).delta == 3 * 2.0**-40
    assert "delta = 9.095e-13 in total variation" in word.statement()
    assert Guarantee.from_json(json.loads(json.dumps(word.to_json()))) == word
    with pytest.raises(ParameterError, match="delta"):
        Guarantee(epsilon=1.0, metric=Metric.EUCLIDEAN, delta=1.0)


def test_a_discrete_guarantee_states_what_a_typical_text_spends() -> None:
    word = Guarantee(epsilon=2.5, metric=Metric.DISCRETE, typical_words=120)
    assert "120" not in word.statement()  # a word is no text
    assert "factor" not in word.sentence()
    text = word.lifted(Unit.SEQUENCE)
    assert text.sentence().endswith(
        "where epsilon = 2.5 per word: a factor of 12.19 if they differ in one word, and exp(300) "
        "if they are released as 120 words, a typical size, and differ in every one."
    )
    fixed = word.lifted(Unit.BAG, size=10)
    assert fixed.sentence().endswith("in one word, and exp(25) if they differ in every word.")
    assert "For bags that differ in only k words, k replaces 10." in fixed.lines()
    assert "For texts that differ in only k positions, k replaces N." in text.lines()
    one = replace(word, typical_words=1).lifted(Unit.SEQUENCE)
    assert one.sentence().endswith("a factor of 12.19 if they differ in one word.")
    assert text.loss(120) == 300


@pytest.mark.parametrize("value", [0.1, 1.23449, 84.98123, 3e-7, 123456.7, 0.5])
def test_bounds_are_rounded_away_from_the_truth(value: float) -> None:
    assert value * 0.999 <= float(rounded_down(value)) <= value
    assert value <= float(rounded_up(value)) <= value * 1.001


def test_releases_that_differ_add_up_field_by_field() -> None:
    """Nothing of the second or third release is lost, and nothing is claimed for all that one
    lacks.
    """
    first = Guarantee(
        epsilon=1.0,
        metric=Metric.EUCLIDEAN,
        euclidean=(0.5, 1.0),
        bounds=(("standard", 3.0), ("improved", 2.0)),
        delta=2.0**-40,
        assumptions=("a",),
        reveals=("b",),
        passed=("c",),
    )
    second = replace(
        first,
        epsilon=2.0,
        euclidean=(1.0, 4.0),
        bounds=(("improved", 5.0),),
        delta=2.0**-42,
        assumptions=("d",),
        reveals=("e",),
        passed=("f",),
        releases=3,
    )
    for order in ([first, second], [second, first]):
        both = compose(order)
        assert (both.epsilon, both.delta, both.releases) == (3.0, 2.0**-40 + 2.0**-42, 4)
        assert both.euclidean == (1.5, 5.0)
        assert both.bounds == (("improved", 7.0),)
        assert set(both.assumptions) == {"a", "d"}
        assert set(both.reveals) == {"b", "e"}
        assert set(both.passed) == {"c", "f"}
        without = replace(second, euclidean=None)
        assert compose([*order, without]).euclidean is None
        assert "the sum of 7 releases" in compose([*order, without]).statement()
        with pytest.raises(Incomposable, match="metric"):
            compose([*order, replace(second, metric=Metric.MANHATTAN)])


def test_a_fixed_size_is_the_one_that_counts() -> None:
    word = Guarantee(epsilon=2.0, metric=Metric.EUCLIDEAN)
    fixed = word.lifted(Unit.BAG, size=9)
    assert fixed.loss(0.5) == fixed.loss(0.5, size=3) == 9.0
    assert word.lifted(Unit.BAG).loss(0.5, size=3) == 3.0
    with pytest.raises(ParameterError, match="no fixed size"):
        word.lifted(Unit.BAG).loss(0.5)


COMPARED = {  # the inputs, the factor between them, and what its symbols mean
    (Metric.EUCLIDEAN, Unit.WORD, None): (
        "words",
        "exp(epsilon x d)",
        " and d is the Euclidean distance between their public vectors",
    ),
    (Metric.MANHATTAN, Unit.SEQUENCE, None): (
        "texts released as the same number of words N",
        "exp(epsilon x D)",
        " and D is the Manhattan distance between the public vectors of their words, added up over "
        "all positions",
    ),
    (Metric.EUCLIDEAN, Unit.BAG, None): (
        "bags released as the same number of words N",
        "exp(epsilon x D)",
        " and D is N times their Earth Mover's distance, which measures words by the Euclidean "
        "distance between their public vectors",
    ),
    (Metric.EUCLIDEAN, Unit.BAG, 9): (
        "bags of 9 words each",
        "exp(epsilon x D)",
        " and D is 9 times their Earth Mover's distance, which measures words by the Euclidean "
        "distance between their public vectors",
    ),
    (Metric.DISCRETE, Unit.WORD, None): ("words", "exp(epsilon)", ""),
    (Metric.DISCRETE, Unit.SEQUENCE, None): (
        "texts released as the same number of words N, whatever they say",
        "exp(N x epsilon)",
        " per word: a factor of 7.39 if they differ in one word",
    ),
    (Metric.DISCRETE, Unit.VECTOR, 9): (
        "documents, whatever they say",
        "exp(9 x epsilon)",
        " per word",
    ),
    (Metric.DISCRETE, Unit.TEXT, None): (
        "texts, whatever their words and length",
        "exp(epsilon)",
        " for the whole text",
    ),
}


@pytest.mark.parametrize("kind", COMPARED, ids=lambda kind: f"{kind[0].value} {kind[1].value}")
def test_the_sentence_names_the_factor_of_each_kind_of_release(
    kind: tuple[Metric, Unit, int | None],
) -> None:
    metric, unit, size = kind
    inputs, factor, meaning = COMPARED[kind]
    assert Guarantee(epsilon=2.0, metric=metric, unit=unit, size=size).sentence() == (
        f"For any two {inputs}, every possible output is at most {factor} times as likely from one "
        f"as from the other, where epsilon = 2{meaning}."
    )


def test_the_larger_euclidean_epsilon_is_the_bound() -> None:
    word = Guarantee(epsilon=2.0, metric=Metric.MAHALANOBIS, euclidean=(1.0, 4.0))
    assert "epsilon is at most 4 (and, in the best protected direction, 1)" in word.statement()
    assert "sum of" not in word.statement()
    assert "This is the sum of 2 releases of the same text." in word.scaled(2).lines()


def test_where_nothing_is_promised_no_line_says_what_it_rests_on() -> None:
    """What is shown is still named: that holds without any promise."""
    word = Guarantee(epsilon=2.0, metric=Metric.DISCRETE, delta=2.0**-40, assumptions=("a",))
    text = word.lifted(Unit.SEQUENCE, passed=["b"]).scaled(2)
    assert len(text.lines()) == 5
    assert text.voided(SEEDED).lines() == [
        "This is the sum of 2 releases of the same text.",
        "Not protected (released as is): b.",
    ]
