"""Laws of the staircase, in exact arithmetic over whole vocabularies."""

from __future__ import annotations

import json
import math
from dataclasses import fields
from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.mechanisms.staircase import Staircase
from inkblur.mechanisms.staircase.nearness import Grid, Nearness
from inkblur.mechanisms.staircase.sets import (
    PLAIN_VARIABLE,
    NearSets,
    Part,
    UnsoundSets,
    kernel,
)
from inkblur.mechanisms.staircase.units import Draw, Steps, high_half, safe_for_null, word_units
from inkblur.rng import keyed_rng, seeded_rng
from inkblur.types import NULL_ID, Ids, Vectors

EXACT = Context(prec=60)
TOTAL = 1 << 64


def table(seed: int, words: int, counts: str, *, twins: bool = False) -> Embedding:
    """Random vectors; the first half of the words have their twins' in the second, if asked."""
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((words, 3)).astype(np.float32)
    if twins:
        vectors[words // 2 : 2 * (words // 2)] = vectors[: words // 2]
    known = {
        "none": None,
        "zipf": (10**6 / (np.arange(words) + 2.7)).astype(np.int64),
        "one heavy word": np.array([10**9] + [1] * (words - 1)),
        "all kinds": rng.integers(1, 10**6, words) ** 2,
    }
    names = [f"w{i}" for i in range(words)]
    return Embedding(names, vectors, name="random", counts=known[counts])


tables = st.builds(
    table,
    st.integers(0, 10**6),
    st.integers(2, 30),
    st.sampled_from(["none", "zipf", "one heavy word", "all kinds"]),
    twins=st.booleans(),
)
epsilons = st.one_of(st.floats(0.01, 12), st.floats(12, 60))
taus = st.one_of(st.floats(0.001, 0.9), st.sampled_from([0.25, 0.5]))


def all_weights(mechanism: Staircase) -> list[list[int]]:
    """Whole-number weights: the null word's and every word's, of all outputs."""
    inputs = range(NULL_ID, len(mechanism.embedding))
    return [[int(w) for w in mechanism.weights(word)] for word in inputs]


def largest_ratio(rows: list[list[int]]) -> Fraction:
    return max(Fraction(max(column), min(column)) for column in zip(*rows, strict=True))


def logarithm(ratio: Fraction) -> Decimal:
    return EXACT.ln(EXACT.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)))


@settings(max_examples=150, deadline=None)
@given(tables, epsilons, taus, st.sampled_from([0.0, 0.5, 1.0]))
@example(table(1, 12, "one heavy word"), 3.0, 0.01, 1.0)  # c(x) > T for the first
@example(table(2, 12, "zipf", twins=True), 8.0, 0.2, 1.0)
@example(table(3, 8, "none"), 2.0, 0.25, 0.0)  # two words exactly, but for rounding
def test_no_output_of_any_two_words_beats_the_ratio(
    embedding: Embedding, epsilon: float, tau: float, power: float
) -> None:
    """All inputs, the null word among them, against all inputs, for all outputs."""
    mechanism = Staircase(embedding, epsilon=epsilon, tau=tau, frequency_power=power, cache=None)
    steps = mechanism.steps
    rows = all_weights(mechanism)
    assert {sum(row) for row in rows} == {TOTAL}  # one Z for all inputs, and it is 2^64
    assert all(min(row) > 0 for row in rows)  # every output stays reachable
    claimed = Fraction(steps.high, steps.low)
    assert EXACT.divide(Decimal(steps.high), Decimal(steps.low)) <= EXACT.exp(Decimal(epsilon))
    found = largest_ratio(rows)
    assert found <= claimed
    stated = mechanism.guarantee.epsilon
    assert Decimal(stated) >= logarithm(found)
    # Attained where one set has all of some word and another none of it.
    shares = [mechanism._sets.shares(word) for word in range(len(embedding))]
    together = np.stack(shares)
    if ((together == mechanism.units).any(axis=0) & (together == 0).any(axis=0)).any():
        assert found == claimed
    # And what is stated is, but for heights that are whole numbers, wherever two sets differ so.
    rarest = int(mechanism.units.argmin())
    if (together[:, rarest] == 0).any():
        assert stated - float(logarithm(found)) < 2**-18


@pytest.mark.parametrize("counts", ["none", "zipf"])
@pytest.mark.parametrize("epsilon", [0.5, 3.0, 9.0, 12.0, 14.0, 15.0, 16.5, 18.0, 25.0])
def test_what_is_charged_is_attained_with_the_tau_that_is_chosen(
    epsilon: float, counts: str
) -> None:
    """From some epsilon on, the best near set is smaller than any word: then less is charged."""
    mechanism = Staircase(table(5, 60, counts), epsilon=epsilon, cache=None)
    attained = float(logarithm(largest_ratio(all_weights(mechanism))))
    assert 0 <= mechanism.guarantee.epsilon - attained < 2**-18
    assert mechanism.guarantee.epsilon <= epsilon


def test_a_near_set_smaller_than_every_word_is_charged_less() -> None:
    few = table(5, 60, "none")
    assert Staircase(few, epsilon=5.0, tau=0.01, cache=None).guarantee.epsilon < 4.6
    assert Staircase(few, epsilon=5.0, tau=0.02, cache=None).guarantee.epsilon == 5.0


def test_the_ratio_is_attained_and_nearly_e_to_the_epsilon() -> None:
    for epsilon in (0.1, 1.0, 5.0, 6.5, 8.0, 9.0, 18.0):
        mechanism = Staircase(table(5, 25, "zipf"), epsilon=epsilon, tau=0.1, cache=None)
        ratio = largest_ratio(all_weights(mechanism))
        assert ratio == Fraction(mechanism.steps.high, mechanism.steps.low)
        short = EXACT.exp(Decimal(epsilon)) - EXACT.divide(
            Decimal(ratio.numerator), Decimal(ratio.denominator)
        )
        assert 0 < short < EXACT.exp(Decimal(epsilon)) / 2**20


@settings(max_examples=100, deadline=None)
@given(tables, st.floats(0.01, 12), taus, st.sampled_from([0.0, 0.5, 1.0]))
def test_near_sets_are_the_nearest_units(
    embedding: Embedding, epsilon: float, tau: float, power: float
) -> None:
    """Exactly T units; x before all others; no word while a nearer one is not full; ties by id."""
    mechanism = Staircase(embedding, epsilon=epsilon, tau=tau, frequency_power=power, cache=None)
    mechanism.prepare()
    points = [[int(v) for v in row] for row in mechanism._sets.grid.points]
    lengths = [sum(v * v for v in row) for row in points]
    angles = mechanism.nearness is Nearness.COSINE
    for x in range(len(embedding)):
        left, expected = mechanism.steps.near, [0] * len(embedding)

        def rank(y: int, x: int = x) -> tuple[bool, int, int]:
            product = sum(a * b for a, b in zip(points[x], points[y], strict=True))
            return y != x, (0 if angles else lengths[y]) - 2 * product, y

        for y in sorted(range(len(embedding)), key=rank):
            expected[y] = min(left, int(mechanism.units[y]))
            left -= expected[y]
        assert left == 0
        assert mechanism._sets.shares(x).tolist() == expected


@settings(max_examples=40, deadline=None)
@given(tables, st.floats(0.1, 3), st.floats(0.05, 0.8), st.sampled_from([0.0, 1.0]))
def test_every_number_of_a_small_total_draws_as_the_weights_say(
    embedding: Embedding, epsilon: float, tau: float, power: float
) -> None:
    """All 2^14 numbers, for every word and the null word: the map has exactly the weights."""
    bits = 14
    steps = Steps.fit(epsilon=epsilon, tau=tau, words=len(embedding), bits=bits, precision=4)
    assert steps.low * steps.units + steps.step * steps.near == 1 << bits
    units = word_units(embedding.counts, len(embedding), power, steps.units)
    assert units.min() >= 1
    assert units.sum() == steps.units
    grid = Grid(embedding, Nearness.EUCLIDEAN)
    near = NearSets(grid, units, steps.near, 0)
    everyone = np.arange(len(embedding))
    near.add(everyone, near.build(everyone))
    draw = Draw(steps, near)
    numbers = np.arange(1 << bits, dtype=np.uint64) << np.uint64(64 - bits)
    rows = []
    for word in range(NULL_ID, len(embedding)):
        drawn = draw.words(np.full(len(numbers), word, dtype=np.int64), numbers)
        counts = np.bincount(drawn, minlength=len(embedding)).tolist()
        assert counts == draw.weights(word).tolist()
        if word != NULL_ID:
            shares = near.shares(word).tolist()
            assert counts == [
                steps.low * int(c) + steps.step * s for c, s in zip(units, shares, strict=True)
            ]
        rows.append(counts)
    safe = safe_for_null(steps, int(units.min()))
    checked = rows if safe else rows[1:]
    assert largest_ratio(checked) <= Fraction(steps.high, steps.low)


@settings(max_examples=50, deadline=None)
@given(tables, epsilons, taus)
def test_the_null_word_draws_from_q(embedding: Embedding, epsilon: float, tau: float) -> None:
    """To the last of 64 bits: each probability is within 2^-64 of c(y) / M."""
    mechanism = Staircase(embedding, epsilon=epsilon, tau=tau, cache=None)
    for weight, units in zip(mechanism.weights(NULL_ID), mechanism.units, strict=True):
        exact = Fraction(int(units) * TOTAL, mechanism.steps.units)
        assert abs(int(weight) - exact) < 1


@settings(max_examples=300, deadline=None)
@given(st.floats(-100, 9), st.floats(-300, -1e-9), st.integers(2, 10**6), st.integers(1, 30))
@example(math.log10(14), -7.0, 50_000, 1)  # with b = 1, more units than 63 bits hold
def test_steps_of_any_height_and_mass_add_up_within_64_bits(
    height: float, mass: float, words: int, parts: int
) -> None:
    """`height` and `mass` are the decimal logarithms of epsilon and tau."""
    epsilon, tau = 10.0**height, 10.0**mass
    try:
        steps = Steps.fit(epsilon=epsilon, tau=tau, words=words, parts=parts)
    except ParameterError:
        return  # too many parts for such a step, or tau nearly 1
    assert steps.low * steps.units + steps.step * steps.near == TOTAL
    assert 0 <= EXACT.divide(Decimal(steps.high), Decimal(steps.low)).ln(EXACT) <= Decimal(epsilon)
    assert 0 < steps.near < steps.units < 2**63
    assert words <= steps.units
    assert steps.units % parts == 0


@pytest.mark.parametrize("epsilon", [1e-50, 1e-6, 0.1, 8.0, 13.9, 14.0, 18.0, 1e9])
@pytest.mark.parametrize("tau", [1e-12, 1e-8, 1e-7, 1e-4, 0.5, 0.999])
def test_every_word_owns_its_numbers_at_any_epsilon_and_tau(epsilon: float, tau: float) -> None:
    """The first and the last of the numbers that draw each word, near and far, and for null."""
    mechanism = Staircase(table(4, 70, "zipf"), epsilon=epsilon, tau=tau, cache=None)
    steps, draw = mechanism.steps, mechanism.draw
    cut = steps.step * steps.near
    ends = np.cumsum(mechanism.units.astype(object)).tolist()
    far = [(cut + steps.low * a, cut + steps.low * b) for a, b in pairwise([0, *ends])]
    of_null = [-(-end * TOTAL // steps.units) for end in [0, *ends]]
    for word, numbers in ((7, far), (69, far), (NULL_ID, list(pairwise(of_null)))):
        edges = [edge for first, end in numbers for edge in (first, end - 1)]
        drawn = draw(np.full(len(edges), word), np.array(edges, dtype=np.uint64))
        assert drawn.tolist() == [y for y in range(70) for _ in range(2)]
    assert {sum(row) for row in all_weights(mechanism)} == {TOTAL}


@pytest.mark.parametrize("tau", [1e-9, 1 - 1e-6])
def test_where_the_null_word_has_no_room_a_tau_farther_from_the_ends_has(tau: float) -> None:
    """Between the two steps of a word that owns one unit."""
    few = Embedding(["a", "b"], [[0.0], [1.0]], name="few", counts=[1, 2**60])
    with pytest.raises(ParameterError, match="a larger epsilon, or a tau farther from 0 and 1"):
        Staircase(few, epsilon=0.001, tau=tau, frequency_power=1.0, cache=None)
    Staircase(few, epsilon=0.001, tau=0.5, frequency_power=1.0, cache=None)


def test_numbers_at_the_edges_draw_the_words_at_the_edges() -> None:
    mechanism = Staircase(table(4, 20, "zipf"), epsilon=6.0, tau=0.1, cache=None)
    cut = mechanism.steps.step * mechanism.steps.near
    edges = [0, cut - 1, cut, cut + 1, TOTAL - 1]
    numbers = np.array(edges, dtype=np.uint64)
    shares = mechanism.weights(7)
    drawn = mechanism.draw(np.full(len(edges), 7), numbers)
    near = mechanism._sets.shares(7)
    assert near[drawn[0]] > 0
    assert near[drawn[1]] > 0
    assert drawn[2:].tolist() == [0, 0, 19]  # all units, in order of ids
    assert int(shares.sum(dtype=object)) == TOTAL
    assert mechanism.draw(np.full(2, NULL_ID), numbers[[0, 4]]).tolist() == [0, 19]


@given(st.lists(st.integers(0, TOTAL - 1), min_size=1), st.integers(0, TOTAL - 1))
def test_the_upper_half_of_a_product_is_exact(numbers: list[int], factor: int) -> None:
    found = high_half(np.array(numbers, dtype=np.uint64), factor).tolist()
    assert found == [number * factor >> 64 for number in numbers]


@pytest.mark.parametrize("nearness", list(Nearness))
def test_products_are_exact_whatever_the_order_of_summation(nearness: Nearness) -> None:
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((300, 257)) * rng.uniform(0.1, 30, (300, 1))
    grid = Grid(Embedding([f"w{i}" for i in range(300)], vectors, name="long"), nearness)
    whole = grid.points.astype(np.int64)
    assert (whole == grid.points).all()
    assert (whole**2).sum(axis=1).max() <= 2**24
    products = grid.products(np.arange(300))
    assert (products == whole @ whole.T).all()
    shuffled = rng.permutation(257)
    assert (grid.points[:, shuffled] @ grid.points[:, shuffled].T == products).all()


def test_cosines_are_those_of_the_vectors_however_long_each_is() -> None:
    """One vector that is longer than all others by far must not leave nothing of these."""
    rng = np.random.default_rng(0)
    directions = rng.standard_normal((300, 40))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    vectors = directions * 10.0 ** rng.uniform(-12, 12, (300, 1))
    grid = Grid(Embedding([f"w{i}" for i in range(300)], vectors, name="x"), Nearness.COSINE)
    found = grid.cosines(np.arange(300))
    assert np.abs(found - directions @ directions.T).max() < 0.0005


@settings(max_examples=30, deadline=None)
@given(tables, st.floats(0.5, 9), taus)
def test_sets_and_draws_do_not_depend_on_batches_threads_or_the_kernel(
    embedding: Embedding, epsilon: float, tau: float
) -> None:
    first = Staircase(embedding, epsilon=epsilon, tau=tau, cache=None)
    second = Staircase(embedding, epsilon=epsilon, tau=tau, cache=None)
    rng = np.random.default_rng(1)
    ids = rng.integers(-1, len(embedding), 500)
    bits = seeded_rng(3).bits(500, 1)[:, 0]
    together = first.draw(ids, bits)
    order = rng.permutation(500)
    apart = np.empty(500, dtype=np.int64)
    for part in np.array_split(order, 17):
        apart[part] = second.draw(ids[part], bits[part])
    assert np.array_equal(together, apart)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(PLAIN_VARIABLE, "1")
        plain = Staircase(embedding, epsilon=epsilon, tau=tau, cache=None)
        assert np.array_equal(plain.draw(ids, bits), together)


@pytest.mark.skipif(kernel() is None, reason="the C++ kernel is not built here")
@pytest.mark.parametrize("counts", ["none", "zipf"])
@pytest.mark.parametrize("tau", [0.03, 0.5])  # as ids, and as bits
def test_the_kernel_agrees_with_numpy_on_long_sets(
    counts: str, tau: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sets of so many members that marks are used, many ties among them."""
    made = table(11, 3000, counts, twins=True)
    vectors = np.round(made.vectors, 1)
    rounded = Embedding(made.words, vectors, name="ties", counts=made.counts)
    fast = Staircase(rounded, epsilon=3.0, tau=tau, cache=None)
    ids = np.random.default_rng(2).integers(-1, 3000, 40_000)
    bits = seeded_rng(4).bits(len(ids), 1)[:, 0]
    words = fast.draw(ids, bits)
    assert fast._sets.as_bits == (tau == 0.5)
    assert fast._sets.tables.marks.size > len(rounded)  # more than one a set
    monkeypatch.setenv(PLAIN_VARIABLE, "1")
    plain = Staircase(rounded, epsilon=3.0, tau=tau, cache=None)
    assert np.array_equal(plain.draw(ids, bits), words)
    for column in fields(fast._sets.tables):
        mine, theirs = (getattr(s.tables, column.name) for s in (fast._sets, plain._sets))
        assert np.array_equal(mine, theirs), column.name


@pytest.mark.parametrize("counts", ["none", "zipf", "one heavy word"])
@pytest.mark.parametrize("words", [63, 64, 65, 3000])
def test_sets_as_bits_and_as_ids_draw_the_same_words(
    counts: str, words: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The form saves memory and changes no release."""
    embedding = table(13, words, counts, twins=True)
    ids = np.random.default_rng(2).integers(-1, words, 20_000)
    bits = seeded_rng(4).bits(len(ids), 1)[:, 0]

    def made(packed: bool) -> Staircase:
        home = "inkblur.mechanisms.staircase.sets.shorter_as_bits"
        monkeypatch.setattr(home, lambda tau, words: packed)
        mechanism = Staircase(embedding, epsilon=2.0, tau=0.15, cache=None)
        mechanism.prepare()
        return mechanism

    as_ids, as_bits = made(False), made(True)
    assert (as_ids._sets.as_bits, as_bits._sets.as_bits) == (False, True)
    assert as_ids.spec == as_bits.spec
    assert np.array_equal(as_ids.draw(ids, bits), as_bits.draw(ids, bits))
    for word in range(NULL_ID, words, 7):
        assert np.array_equal(as_ids.weights(word), as_bits.weights(word))


def test_memory_does_not_grow_with_the_vocabulary_squared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words are compared with all others so many at a time that a fixed number of products is held:
    with 3 million words, 192 rows would take 2 GB for each thread.
    """
    embedding = table(12, 300, "zipf")
    held: list[int] = []
    products = Grid.products

    def noted(grid: Grid, ids: Ids) -> Vectors:
        found = products(grid, ids)
        held.append(found.size)
        return found

    monkeypatch.setattr(Grid, "products", noted)
    expected = [all_weights(Staircase(embedding, epsilon=e, cache=None)) for e in (3.0, 9.0)]
    assert max(held) > 3000
    held.clear()
    home = "inkblur.mechanisms.staircase"
    monkeypatch.setattr(f"{home}.sets._PRODUCTS", 3000)
    monkeypatch.setattr(f"{home}.nearness._COSINES", 3000)
    monkeypatch.setattr(f"{home}.nearness._profiles", {})
    made = [Staircase(embedding, epsilon=e, cache=None) for e in (3.0, 9.0)]
    assert [each._sets.as_bits for each in made] == [True, False]
    assert [all_weights(each) for each in made] == expected
    assert max(held) == 3000


@pytest.mark.parametrize(("tau", "room"), [(0.05, 1_000), (0.2, 2_000)])  # as ids, as bits
def test_words_without_room_for_their_sets_draw_alike(
    tau: float, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedding = table(12, 200, "zipf", twins=True)
    ids = np.random.default_rng(2).integers(-1, 200, 3000)
    bits = seeded_rng(4).bits(len(ids), 1)[:, 0]
    roomy = Staircase(embedding, epsilon=3.0, tau=tau, cache=None)
    expected = roomy.draw(ids, bits)
    home = "inkblur.mechanisms.staircase.mechanism"
    monkeypatch.setattr(f"{home}._SMALL", 10)
    monkeypatch.setattr(f"{home}._CHUNK", 16)
    monkeypatch.setattr(f"{home}._STORE_BYTES", room)
    tight = Staircase(embedding, epsilon=3.0, tau=tau, cache=None)
    for _ in range(2):
        assert np.array_equal(tight.draw(ids, bits), expected)
    assert 0 < int(tight._sets.present.sum()) < 200
    assert all_weights(tight) == all_weights(roomy)


def test_distribution_and_survival_are_what_is_drawn() -> None:
    embedding = table(6, 25, "zipf")
    mechanism = Staircase(embedding, epsilon=3.0, tau=0.1, cache=None)
    for word in (NULL_ID, 0, 3, 24):
        ids = np.full(40_000, word, dtype=np.int64)
        counts = np.bincount(mechanism.replace(ids, seeded_rng(word + 9)), minlength=25)
        law = mechanism.probabilities(np.array([word]))[0]
        assert law.sum() == pytest.approx(1)
        assert stats.chisquare(counts, law / law.sum() * 40_000).pvalue > 0.001
    everyone = np.arange(25)
    kept = np.diag(mechanism.probabilities(everyone)).mean()
    assert mechanism.survival(everyone) == pytest.approx(kept, rel=1e-12)
    with_null = np.append(everyone, [NULL_ID] * 25)  # which never comes out as what it stood for
    assert mechanism.survival(with_null) == pytest.approx(kept / 2, rel=1e-12)


def unsound() -> list[tuple[str, bool, Part]]:
    """Sets of a vocabulary of four words, one unit each but for the last's two, T = 3: as ids and
    as bits.
    """

    def ids(lengths: list[int], members: list[int], last: list[int]) -> Part:
        return Part(np.array(lengths), np.array(last), np.array(members, dtype=np.uint8))

    def bits(rows: list[int], last: list[int]) -> Part:
        rows_of_bits = np.array(rows, dtype=np.uint64)[:, None]
        return Part(np.ones(len(rows), dtype=np.int64), np.array(last), rows_of_bits)

    fine = [2, 2, 2, 1], [0, 1, 1, 2, 0, 2, 3], [2, 0, 3, 0]
    rows, last = [0b0011, 0b0110, 0b0101, 0b1000], [2, 0, 3, 0]
    return [
        ("twice", False, ids(fine[0], [0, 0, *fine[1][2:]], fine[2])),
        ("twice", False, ids(fine[0], fine[1], [1, 0, 3, 0])),  # the last is a member too
        ("units", False, ids(fine[0], [0, 3, *fine[1][2:]], fine[2])),  # three without the last
        ("units", False, ids([1, 2, 2, 1], [0, *fine[1][2:]], fine[2])),  # one unit short
        ("vocabulary", False, ids(fine[0], [0, 9, *fine[1][2:]], fine[2])),
        ("vocabulary", False, ids(fine[0], fine[1], [2, 0, 4, 0])),
        ("lengths", False, ids([2, 2, 2, 2], fine[1], fine[2])),
        ("one set", False, ids(fine[0][:3], fine[1], fine[2])),
        ("twice", True, bits(rows, [1, 0, 3, 0])),  # the last is a member too
        ("units", True, bits([0b1001, *rows[1:]], last)),  # three without the last
        ("units", True, bits([0b0001, *rows[1:]], last)),  # one unit short
        ("vocabulary", True, bits([0b10011, *rows[1:]], last)),
        ("vocabulary", True, bits(rows, [2, 0, 4, 0])),
        ("vocabulary", True, bits(rows, [2, 0, 1 << 40, 0])),
        ("one set", True, bits(rows[:3], last)),
    ]


@pytest.mark.parametrize(("reason", "as_bits", "part"), unsound())
def test_sets_that_would_break_the_proof_are_refused(
    reason: str, as_bits: bool, part: Part, monkeypatch: pytest.MonkeyPatch
) -> None:
    units = np.array([1, 1, 1, 2])
    home = "inkblur.mechanisms.staircase.sets.shorter_as_bits"
    monkeypatch.setattr(home, lambda tau, words: as_bits)
    near = NearSets(Grid(table(1, 4, "none"), Nearness.COSINE), units, 3, 0)
    with pytest.raises(UnsoundSets, match=reason):
        near.add(np.arange(4), part)


@pytest.mark.parametrize("tau", [0.05, 0.3])  # as ids, and as bits
def test_stored_sets_serve_again_and_damaged_ones_do_not(
    tau: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inkblur.mechanisms.staircase.mechanism._SMALL", 10)
    embedding = table(8, 60, "zipf")
    ids = np.arange(60)
    bits = seeded_rng(1).bits(60, 1)[:, 0]

    def drawn() -> list[int]:
        mechanism = Staircase(embedding, epsilon=4.0, tau=tau, cache=tmp_path)
        return [int(word) for word in mechanism.draw(ids, bits)]

    expected = drawn()
    (file,) = tmp_path.glob("*.sets")
    stored = file.read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(NearSets, "build", None)  # not called
        assert drawn() == expected
    for damaged in (stored[:-1], stored[:-1] + bytes([stored[-1] ^ 1]), b"", b"{}\n"):
        file.write_bytes(damaged)
        assert drawn() == expected
        assert file.read_bytes() == stored  # written anew


def test_a_forged_file_with_a_good_digest_cannot_break_the_proof(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from inkblur.mechanisms.staircase import sets

    monkeypatch.setattr("inkblur.mechanisms.staircase.mechanism._SMALL", 10)
    embedding = table(8, 60, "zipf")
    mechanism = Staircase(embedding, epsilon=4.0, tau=0.05, cache=tmp_path)
    mechanism.prepare()
    expected = all_weights(mechanism)
    (file,) = tmp_path.glob("*.sets")
    key = json.loads(file.read_bytes().split(b"\n", 1)[0])["key"]
    body = sets.read_sets(tmp_path, key)
    assert body is not None
    good = mechanism._sets.of_bytes(body)
    assert good is not None
    forged = good.entries.copy()
    forged[1] = forged[0]
    sets.write_sets(tmp_path, key, Part(good.lengths, good.last, forged).arrays())
    again = Staircase(embedding, epsilon=4.0, tau=0.05, cache=tmp_path)
    assert all_weights(again) == expected


def test_sound_sets_of_something_else_are_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would keep the guarantee, but the same key would draw other words."""
    monkeypatch.setattr("inkblur.mechanisms.staircase.mechanism._SMALL", 10)
    embedding = table(8, 60, "none")

    def made() -> Staircase:
        mechanism = Staircase(embedding, epsilon=4.0, tau=0.051, cache=tmp_path)
        mechanism.prepare()
        return mechanism

    expected = all_weights(made())
    (file,) = tmp_path.glob("*.sets")
    header, body = file.read_bytes().split(b"\n", 1)
    last = np.frombuffer(body, dtype="<i8", count=60, offset=8 * 60).copy()
    members = made()._sets.shares(0) > 0
    last[0] = np.flatnonzero(~members)[-1]
    changed = body[: 8 * 60] + last.tobytes() + body[16 * 60 :]
    file.write_bytes(header + b"\n" + changed)
    assert all_weights(made()) == expected


def test_only_sets_of_the_whole_vocabulary_are_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inkblur.mechanisms.staircase.mechanism._SMALL", 10)
    mechanism = Staircase(table(8, 60, "zipf"), epsilon=4.0, tau=0.05, cache=tmp_path)
    mechanism.release(["w3", "w5"], keyed_rng(bytes(32)))
    assert int(mechanism._sets.present.sum()) == 2
    assert not list(tmp_path.iterdir())
    mechanism.release(list(mechanism.vocabulary[:20]), keyed_rng(bytes(32)))
    assert int(mechanism._sets.present.sum()) == 60
    assert len(list(tmp_path.glob("*.sets"))) == 1


def test_the_spec_names_all_that_the_law_depends_on(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = table(1, 20, "zipf")
    other = table(1, 20, "all kinds")
    specs = {
        Staircase(plain, epsilon=3.0, tau=0.1, frequency_power=1.0).spec,
        Staircase(other, epsilon=3.0, tau=0.1, frequency_power=1.0).spec,
        Staircase(plain, epsilon=3.1, tau=0.1, frequency_power=1.0).spec,
        Staircase(plain, epsilon=3.0, tau=0.11, frequency_power=1.0).spec,
        Staircase(plain, epsilon=3.0, tau=0.1, frequency_power=0.5).spec,
        Staircase(table(2, 20, "zipf"), epsilon=3.0, tau=0.1, frequency_power=1.0).spec,
    }
    assert len(specs) == 6
    monkeypatch.setattr("inkblur.mechanisms.staircase.units.MOST_EPSILON", 2.0)
    capped = Staircase(plain, epsilon=3.0, tau=0.1, frequency_power=1.0).spec
    assert capped not in specs  # the same parameters with other steps
