"""Laws of releases from a pool, in exact arithmetic: any two texts, whatever their words and length."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from inkblur.mechanisms.nearest.engine import Device
from inkblur.mechanisms.staircase.units import Steps
from inkblur.pools import PoolPrivatizer, PoolStaircase
from inkblur.pools.mechanism import Encoded
from inkblur.pools.order import Nearest, Order, TorchSearch, owner, text_units
from inkblur.rng import keyed_rng, seeded_rng
from inkblur.types import NULL_ID, Ids, Record, Unit
from tests.pools.made import WORDS, pool, table

EXACT = Context(prec=60)
TOTAL = 1 << 64
TABLE = table()

private = st.one_of(
    st.lists(st.sampled_from([*WORDS, "unheard", "12", "a@b.org"]), max_size=12).map(" ".join),
    st.text(max_size=20),
)
sizes = st.lists(st.integers(1, 9), min_size=1, max_size=5).map(tuple).filter(lambda s: sum(s) > 1)


def mechanism(
    sizes: tuple[int, ...],
    epsilon: float,
    tau: float,
    *,
    twins: bool = False,
    cells: int = 1,
    order: str = "label",
) -> PoolStaircase:
    made = pool(TABLE, sizes, twins=twins, cells=cells)
    return PoolStaircase(made, TABLE, epsilon=epsilon, tau=tau, order=order)


@settings(max_examples=150, deadline=None)
@given(
    sizes,
    st.one_of(st.floats(0.01, 12), st.floats(12, 60)),
    st.floats(0.001, 0.9),
    st.booleans(),
    st.integers(1, 4),
    st.lists(private, min_size=1, max_size=6),
    st.sampled_from(["label", "meaning"]),
)
@example((9, 1), 3.0, 0.5, False, 1, ["alpha", "beta gamma"], "label")  # a heavy text; share 1
@example((8, 8), 6.0, 0.15, True, 3, ["alpha beta", "alpha beta"], "label")  # ties
def test_no_output_of_any_two_texts_beats_the_ratio(
    sizes: tuple[int, ...],
    epsilon: float,
    tau: float,
    twins: bool,
    cells: int,
    texts: list[str],
    order: str,
) -> None:
    """Null, texts of the pool itself and any others against each other, for every output."""
    made = mechanism(sizes, epsilon, tau, twins=twins, cells=cells, order=order)
    encoded = made.encode(["", *made.pool.texts, *texts])
    rows = [[int(w) for w in made.weights(encoded, row)] for row in range(len(encoded))]
    assert {sum(row) for row in rows} == {TOTAL}
    assert all(min(row) > 0 for row in rows)
    steps = made.steps
    worst = max(Fraction(max(column), min(column)) for column in zip(*rows, strict=True))
    assert worst <= Fraction(steps.high, steps.low)
    stated = EXACT.exp(Decimal(made.guarantee.epsilon))
    assert Decimal(steps.high) <= stated * steps.low


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 60), st.floats(0.001, 18), st.floats(0.0001, 0.9), st.integers(60, 10**6))
def test_every_label_owns_exactly_the_same_units(
    labels: int, epsilon: float, tau: float, texts: int
) -> None:
    steps = Steps.fit(epsilon=epsilon, tau=tau, words=texts, parts=labels)
    assert steps.units % labels == 0
    assert steps.low * steps.units + steps.step * steps.near == TOTAL
    assert Decimal(steps.high) <= EXACT.exp(Decimal(epsilon)) * steps.low
    assert float(steps.tau) == pytest.approx(tau, rel=0.05)


@pytest.mark.parametrize("epsilon", [0.1, 8.0, 14.0, 1e9])
@pytest.mark.parametrize("tau", [1e-9, 1e-7, 0.01, 0.9])
@pytest.mark.parametrize("order", ["label", "meaning"])
def test_every_text_owns_its_numbers_at_any_epsilon_and_tau(
    epsilon: float, tau: float, order: str
) -> None:
    """The first and the last of the numbers that draw each text: near, far, and for null."""
    made = mechanism((5, 3, 2), epsilon, tau, cells=2, order=order)
    encoded, steps = made.encode(["alpha beta"]), made.steps
    units = made._order.units.tolist()
    cut, ends = steps.step * steps.near, [0, *accumulate(units)]
    far = [(cut + steps.low * first, cut + steps.low * end) for first, end in pairwise(ends)]
    of_null = list(pairwise(-(-end * TOTAL // steps.units) for end in ends))
    whole = made._order.whole(int(encoded.labels[0]), encoded.points[0].astype(np.float32)).tolist()
    reached = [0, *(min(r, steps.near) for r in accumulate(units[text] for text in whole))]
    near = [(steps.step * first, steps.step * end) for first, end in pairwise(reached)]
    draw = made._drawing(encoded).words
    for word, texts, numbers in (
        (0, range(len(units)), far),
        (NULL_ID, range(len(units)), of_null),
        (0, whole, near),
    ):
        some = [(text, *edges) for text, edges in zip(texts, numbers, strict=True)]
        owned = [(text, first, end) for text, first, end in some if first < end]
        edges = [edge for _, first, end in owned for edge in (first, end - 1)]
        drawn = draw(np.full(len(edges), word), np.array(edges, dtype=np.uint64))
        assert drawn.tolist() == [text for text, _, _ in owned for _ in range(2)]


@pytest.mark.parametrize("tau", [None, 0.25])
def test_a_number_of_numpy_is_the_number_that_it_is(tau: float | None) -> None:
    made = pool(TABLE, (5, 6))
    given = None if tau is None else np.float32(tau)
    plain = PoolStaircase(made, TABLE, epsilon=2.0, tau=tau)
    assert PoolStaircase(made, TABLE, epsilon=np.float32(2), tau=given).spec == plain.spec  # type: ignore[arg-type]


def test_heavy_and_light_labels_weigh_alike() -> None:
    made = pool(TABLE, (40, 3, 7))
    units = text_units(made, 3 * 1_000_003)
    starts = made.label_starts
    owned = [int(units[a:b].sum()) for a, b in pairwise(starts)]
    assert owned == [1_000_003] * 3
    assert units.min() >= 1


@pytest.mark.parametrize("cells", [1, 3])
def test_a_draw_counts_units_in_the_order_of_nearness(cells: int) -> None:
    """Every text owns exactly the places between its predecessors' units and its own."""
    made = mechanism((12, 5, 8), 4.0, 0.3, twins=True, cells=cells)
    order = Order(made.pool, text_units(made.pool, made.steps.units))
    encoded = made.encode(["alpha beta", "kappa kappa sigma"])
    points = encoded.points.astype(np.float32)
    for row in range(2):
        label = int(encoded.labels[row])
        whole = order.whole(label, points[row])
        assert sorted(whole.tolist()) == list(range(25))
        own = made.pool.labels[whole] == label
        assert own[: int(own.sum())].all()  # the label first
        ends = np.cumsum(order.units[whole])
        for places in (ends - 1, ends - order.units[whole]):
            same = (
                np.full(len(places), label),
                np.repeat(points[row : row + 1], len(places), axis=0),
            )
            assert order.at(*same, places).tolist() == whole.tolist()


def test_nearness_is_exact_in_whole_numbers() -> None:
    """One cell a label: the order is that of exact products, ties by place."""
    made = mechanism((15, 15), 4.0, 0.3, twins=True)
    order = Order(made.pool, text_units(made.pool, made.steps.units))
    encoded = made.encode(["alpha beta gamma", "sigma"])
    for row in range(2):
        exact = made.pool.points.astype(np.int64) @ encoded.points[row].astype(np.int64)
        label = int(encoded.labels[row])
        own = [i for i in range(30) if made.pool.labels[i] == label]
        seen = order.whole(label, encoded.points[row].astype(np.float32)).tolist()
        assert seen[: len(own)] == sorted(own, key=lambda i: (-exact[i], i))
    assert (np.square(made.pool.points.astype(np.int64)).sum(axis=1) <= 2**24).all()


@pytest.mark.parametrize("text", ["alpha beta", "", "unheard"])
def test_draws_follow_the_weights(text: str) -> None:
    made = mechanism((6, 3), 2.0, 0.25)
    blur, draws = PoolPrivatizer(made), 4000
    records = [Record(str(i), text) for i in range(draws)]
    out = blur.release_batch(records, seeded_rng(5)).texts
    weights = made.weights(made.encode([text]), 0).astype(np.float64)
    names = list(made.pool.texts)
    assert len(set(names)) == len(names)
    observed = np.bincount([names.index(each) for each in out], minlength=len(names))
    expected = weights / weights.sum() * draws
    assert stats.chisquare(observed, expected).pvalue > 1e-4


def test_null_draws_from_q() -> None:
    made = mechanism((6, 3), 2.0, 0.25)
    weights = made.weights(made.encode([""]), 0).astype(np.float64)
    units = text_units(made.pool, made.steps.units)
    assert weights / 2.0**64 == pytest.approx(units / units.sum(), rel=1e-9)


def test_what_comes_out_is_a_text_of_the_pool_and_nothing_else() -> None:
    blur = PoolPrivatizer(mechanism((6, 3), 8.0, 0.1))
    texts = [
        "",
        "alpha",
        "x " * 500,
        "a@b.org 0800 12345\n\n\tALPHA!",
        blur.mechanism.pool.texts[0],
    ]
    for text in texts:
        assert blur.release(text, seeded_rng(3)).text in blur.mechanism.pool.texts
    assert blur.guarantee.passed == ()
    assert blur.guarantee.unit is Unit.TEXT
    assert blur.guarantee.sentence().startswith(
        "For any two texts, whatever their words and length"
    )


def test_a_key_repeats_a_release_in_any_batch_and_binds_id_text_pool_and_settings() -> None:
    key = bytes(range(32))
    blur = PoolPrivatizer(mechanism((40, 30), 3.0, 0.1))
    records = [Record(str(i), " ".join(WORDS[: i % 7])) for i in range(60)]
    together = blur.release_batch(records, keyed_rng(key)).texts
    alone = [blur.release_batch([r], keyed_rng(key)).texts[0] for r in records]
    assert list(together) == alone
    others = [Record(f"x{i}", r.text) for i, r in enumerate(records)]
    assert blur.release_batch(others, keyed_rng(key)).texts != together
    made = blur.mechanism
    changed = [
        PoolStaircase(made.pool, TABLE, epsilon=3.5, tau=0.1),
        PoolStaircase(made.pool, TABLE, epsilon=3.0, tau=0.2),
        PoolStaircase(pool(TABLE, (40, 30), seed=2), TABLE, epsilon=3.0, tau=0.1),
    ]
    assert len({made.spec, *(each.spec for each in changed)}) == 4


def test_a_text_is_one_draw_however_long_it_is() -> None:
    own = PoolPrivatizer(mechanism((6, 3), 2.0, 0.25))
    assert own.read(["Alpha. Beta!", "alpha", ""]).draws == (1, 1, 1)
    assert own.guarantee.unit is Unit.TEXT
    assert own.guarantee.passed == ()
    assert own.guarantee.loss(2) == pytest.approx(2.0)


@given(
    nearness=st.lists(st.integers(-3, 3), min_size=1, max_size=12),
    more=st.integers(0, 12),
    least=st.integers(1, 5),
    by=st.sampled_from([1, 7]),
)
def test_the_owner_of_a_unit_is_that_of_the_whole_order(
    nearness: list[int], more: int, least: int, by: int
) -> None:
    """Texts own nearly the same number of units, the first ones one more; or any number."""
    units = least + (np.arange(len(nearness)) < more) * by
    order = sorted(range(len(nearness)), key=lambda i: (-nearness[i], i))
    expected = [text for text in order for _ in range(int(units[text]))]
    seen = np.array(nearness, dtype=np.float32)
    assert [owner(seen, units, place) for place in range(int(units.sum()))] == expected


@pytest.mark.parametrize("kinds", [3, 3000])
def test_torch_finds_the_owners_that_are_found_without_it(kinds: int) -> None:
    """On the processor, where torch computes alike; many ties with points of three kinds."""
    pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    points = rng.integers(-900, 900, (kinds, 8)).astype(np.int16)[rng.integers(0, kinds, 3000)]
    units = 5 + (np.arange(2000) < 700)
    seen = rng.integers(-900, 900, (200, 8)).astype(np.float32)
    exact = seen @ points[1000:].astype(np.float32).T
    # Few texts are taken for the first places: equally near ones go on beyond them.
    for most in (int(units.sum()), 300):
        places = rng.integers(0, most, 200)
        places[:3] = [0, most - 1, 5]
        found = TorchSearch(points, "cpu").owners(1000, units, seen, places)
        assert found.tolist() == [
            owner(near, units, int(place)) for near, place in zip(exact, places, strict=True)
        ]


def test_a_release_through_torch_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    blur = PoolPrivatizer(mechanism((40, 30), 6.0, 0.2, twins=True))
    records = [Record(str(i), " ".join(WORDS[i % 5 : i % 7])) for i in range(100)]
    plain = blur.release_batch(records, seeded_rng(1)).texts
    monkeypatch.setattr("inkblur.pools.order.LARGE", 1)
    search = TorchSearch(blur.mechanism.pool.points, "cpu")
    monkeypatch.setattr("inkblur.pools.mechanism.search_on", lambda points, device: search)
    blur.mechanism.search_on(Device.CUDA)
    asked: list[int] = []

    def owners(first: int, *words: Any) -> Ids:
        asked.append(first)
        return TorchSearch.owners(search, first, *words)

    monkeypatch.setattr(search, "owners", owners)
    assert blur.release_batch(records, seeded_rng(1)).texts == plain
    assert asked


def test_by_meaning_alone_the_order_is_that_of_exact_products_over_all_labels() -> None:
    made = mechanism((12, 5, 8), 4.0, 0.3, twins=True, cells=3, order="meaning")
    order = Order(made.pool, text_units(made.pool, made.steps.units), Nearest.MEANING)
    encoded = made.encode(["alpha beta", "kappa kappa sigma"])
    for row in range(2):
        exact = made.pool.points.astype(np.int64) @ encoded.points[row].astype(np.int64)
        whole = order.whole(0, encoded.points[row].astype(np.float32)).tolist()
        assert whole == sorted(range(25), key=lambda i: (-exact[i], i))
        ends = np.cumsum(order.units[whole])
        same = np.repeat(encoded.points[row : row + 1].astype(np.float32), len(ends), axis=0)
        for places in (ends - 1, ends - order.units[whole]):
            assert order.at(np.zeros(25, dtype=np.int64), same, places).tolist() == whole
    by_label = mechanism((12, 5, 8), 4.0, 0.3, twins=True, cells=3)
    assert made.spec != by_label.spec
    said = "is kept first"
    assert [said in each.guarantee.reveals[0] for each in (made, by_label)] == [False, True]


def test_what_a_draw_is_bound_to_is_known_before_it() -> None:
    """A budget is charged ahead: the draw must then be the one that was charged."""
    blur = PoolPrivatizer(mechanism((6, 3), 8.0, 0.1))
    texts = [f"{WORDS[0]} {WORDS[1]}. {WORDS[2]}.", "", "unheard", f"{WORDS[1]}. {WORDS[0]}."]
    drawn = blur.release_batch([Record("", text) for text in texts], seeded_rng(1))
    assert blur.read(texts).bases == drawn.bases
    assert len(set(drawn.bases)) > 2


@pytest.mark.parametrize("what", ["labels", "points"])
def test_bits_never_choose_for_a_text_that_lies_in_two_places(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sentence transformer's floats differ between machines: one text may then lie elsewhere, or
    have another label. The same bits under two laws would tell more than one draw; so it is another
    draw, and another charge.
    """
    made = mechanism((20, 20), 0.1, 0.1)
    blur = PoolPrivatizer(made)
    records = [Record(str(i), " ".join(WORDS[i % 5 : i % 5 + 3])) for i in range(100)]
    texts = [record.text for record in records]
    here, bases = blur.release_batch(records, seeded_rng(1)), blur.read(texts).bases

    def elsewhere(texts: list[str]) -> Encoded:
        found = PoolStaircase.encode(made, texts)
        points, labels = found.points.copy(), found.labels.copy()
        if what == "points":
            points[:, 0] += 1
        else:
            labels[:] = 1 - labels
        return Encoded(labels, points, found.ids != NULL_ID)

    monkeypatch.setattr(made, "encode", elsewhere)
    there = blur.release_batch(records, seeded_rng(1))
    same = sum(one == other for one, other in zip(here.texts, there.texts, strict=True))
    assert same < 20  # of 100: by chance one in forty is
    assert not set(bases) & set(blur.read(texts).bases)


@pytest.mark.parametrize("pair", [("alpha beta", "beta alpha"), ("unheard", "unseen")])
def test_two_texts_that_lie_in_one_place_draw_apart(pair: tuple[str, str]) -> None:
    """Also under one id: equal outputs would tell that they hold the same words, or none."""
    blur = PoolPrivatizer(mechanism((20, 20), 0.1, 0.1))
    one, other = (
        blur.release_batch([Record(str(i), text) for i in range(100)], seeded_rng(1))
        for text in pair
    )
    assert one.bases == other.bases
    assert sum(a == b for a, b in zip(one.texts, other.texts, strict=True)) < 20
