"""Laws of the staircase by label, in exact arithmetic over whole vocabularies."""

from __future__ import annotations

import math
import pickle
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.linalg import helmert

from inkblur import ReleaseSpec, make_mechanism
from inkblur.embeddings.adaptation import adapt_embedding
from inkblur.embeddings.table import Adaptation, Embedding, LabelColumn
from inkblur.errors import ParameterError
from inkblur.mechanisms.staircase.by_label import (
    ClassSets,
    ClassStaircase,
    class_units,
    log_odds,
    word_classes,
)
from inkblur.mechanisms.staircase.units import Draw, Steps, safe_for_null
from inkblur.mechanisms.strengths import usual_epsilons
from inkblur.rng import keyed_rng, seeded_rng
from inkblur.types import NULL_ID

TOTAL = 1 << 64


def adapted(seed: int, words: int, labels: tuple[int, ...], *, counts: bool = True) -> Embedding:
    """Random word vectors of two dimensions, and a random profile for each column of labels; one
    word in four has none.
    """
    rng = np.random.default_rng(seed)
    size = sum(count - 1 for count in labels)
    vectors = rng.standard_normal((words, 2 + size))
    vectors[1::4, 2:] = 0.0
    columns = tuple(
        LabelColumn(f"column {place}", {f"label {i}": 5 for i in range(count)}, count - 1, "none")
        for place, count in enumerate(labels)
    )
    told = Adaptation("toy", "0" * 64, "0" * 64, 10, 0, words, columns, 0.1, 3.0, 10.0)
    return Embedding(
        [f"w{i}" for i in range(words)],
        vectors,
        name="adapted",
        provenance={"adapted": [told.to_json()]},
        corpus=np.zeros((1, 2), dtype=np.uint64),
        counts=rng.integers(1, 10**6, words) if counts else None,
    )


tables = st.builds(
    adapted,
    st.integers(0, 10**6),
    st.integers(4, 40),
    st.sampled_from([(2,), (3,), (20,), (2, 2), (3, 5)]),
    counts=st.booleans(),
)
epsilons = st.one_of(st.floats(0.05, 12), st.floats(12, 60))


def made(table: Embedding, epsilon: float, **more: Any) -> ClassStaircase:
    mechanism = make_mechanism("staircase", table, epsilon=epsilon, near="label", **more)
    assert isinstance(mechanism, ClassStaircase)
    return mechanism


def all_weights(mechanism: ClassStaircase) -> list[list[int]]:
    inputs = range(NULL_ID, len(mechanism.embedding))
    return [[int(w) for w in mechanism.weights(word)] for word in inputs]


def largest_ratio(rows: list[list[int]]) -> Fraction:
    return max(Fraction(max(column), min(column)) for column in zip(*rows, strict=True))


@settings(max_examples=120, deadline=None)
@given(tables, epsilons, st.sampled_from([0.0, 0.5, 1.0]))
@example(adapted(1, 30, (20,)), 5.5, 0.0)
@example(adapted(2, 30, (2,)), 6.8, 0.0)
def test_no_output_of_any_two_words_beats_the_ratio(
    table: Embedding, epsilon: float, power: float
) -> None:
    """All inputs, the null word among them, against all inputs, for all outputs."""
    mechanism = made(table, epsilon, frequency_power=power)
    steps, rows = mechanism.steps, all_weights(mechanism)
    assert {sum(row) for row in rows} == {TOTAL}  # one Z for all inputs, and it is 2^64
    assert all(min(row) > 0 for row in rows)
    assert math.log(steps.high / steps.low) <= mechanism.guarantee.epsilon <= epsilon
    assert largest_ratio(rows) == Fraction(steps.high, steps.low)  # attained, and never exceeded


@settings(max_examples=80, deadline=None)
@given(tables, st.floats(0.05, 18), st.sampled_from([0.0, 1.0]))
def test_a_word_marks_its_class_and_every_class_owns_as_much(
    table: Embedding, epsilon: float, power: float
) -> None:
    mechanism = made(table, epsilon, frequency_power=power)
    classes, units, near = mechanism.classes, mechanism.units, mechanism.steps.near
    count = int(classes.max()) + 1
    owned = {int(units[classes == number].sum()) for number in range(count)}
    assert owned == {mechanism.steps.units // count}  # equal masses, exactly
    # T = b t, and t is less than K from the one with K T = M, which moves by b K + a - b with it.
    steps = mechanism.steps
    assert abs(near * count - steps.units) <= count * (count * steps.low + steps.step)
    laws: dict[int, list[int]] = {}
    for word in range(len(table)):
        shares = mechanism._draw.sets.shares(word)
        assert int(shares.sum()) == near
        assert (shares >= 0).all()
        assert (shares <= units).all()
        inside = int(shares[classes == classes[word]].sum())
        assert inside == min(near, steps.units // count)  # its own class before any other
        # All words of a class have one law: nothing but the class comes out.
        assert laws.setdefault(int(classes[word]), shares.tolist()) == shares.tolist()


@settings(max_examples=40, deadline=None)
@given(tables, st.floats(0.3, 3))
def test_every_number_of_a_small_total_draws_as_the_weights_say(
    table: Embedding, epsilon: float
) -> None:
    """All 2^14 numbers, for every word and the null word: the map has exactly the weights."""
    bits, classes = 14, word_classes(table)
    count = int(classes.max()) + 1
    tau = 1 / count
    steps = Steps.fit(
        epsilon=epsilon, tau=tau, words=len(table), parts=count, bits=bits, precision=4
    )
    units = class_units(table.counts, classes, 1.0, steps.units)
    sets = ClassSets(classes, units, steps.near)
    draw = Draw(steps, sets)
    numbers = np.arange(1 << bits, dtype=np.uint64) << np.uint64(64 - bits)
    rows = []
    for word in range(NULL_ID, len(table)):
        drawn = draw.words(np.full(len(numbers), word, dtype=np.int64), numbers)
        counts = np.bincount(drawn, minlength=len(table)).tolist()
        assert counts == draw.weights(word).tolist()
        if word != NULL_ID:
            shares = sets.shares(word).tolist()
            assert counts == [
                steps.low * int(c) + steps.step * s for c, s in zip(units, shares, strict=True)
            ]
        rows.append(counts)
    checked = rows if safe_for_null(steps, int(units.min())) else rows[1:]
    assert largest_ratio(checked) <= Fraction(steps.high, steps.low)


@settings(max_examples=50, deadline=None)
@given(tables, epsilons)
def test_the_null_word_draws_from_q(table: Embedding, epsilon: float) -> None:
    mechanism = made(table, epsilon)
    for weight, units in zip(mechanism.weights(NULL_ID), mechanism.units, strict=True):
        exact = Fraction(int(units) * TOTAL, mechanism.steps.units)
        assert abs(int(weight) - exact) < 1


def test_distribution_and_survival_are_what_is_drawn() -> None:
    mechanism = made(adapted(6, 25, (3,)), 3.0)
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


TEXTS = ["cat dog pet", "cat fur", "dog pet fur", "bank loan", "loan rate bank", "rate sun",
         "sun sea", "sea sand sun", "sand sea"]  # fmt: skip
LABELS = ["pets"] * 3 + ["money"] * 3 + ["beach"] * 3


def toy() -> Embedding:
    words = sorted({word for text in TEXTS for word in text.split()} | {"unseen", "unheard"})
    rng = np.random.default_rng(1)
    return Embedding(words, rng.standard_normal((len(words), 3)), name="toy")


def counted_class(labels: list[str], smoothing: float = 2.0) -> dict[str, str]:
    """From the definition of profiles: the label whose odds are the largest, by counting texts."""
    total = Counter[str]()
    seen: dict[str, Counter[str]] = {}
    for text, label in zip(TEXTS, labels, strict=True):
        for word in set(text.split()):
            seen.setdefault(word, Counter())[label] += 1
            total[label] += 1
    names = sorted(total)
    found = {}
    for word, counts in seen.items():
        odds = {
            name: (counts[name] + smoothing * len(names) * (share := total[name] / total.total()))
            / ((counts.total() + smoothing * len(names)) * share)
            for name in names
        }
        found[word] = max(names, key=lambda name: odds[name])
    return found


def test_a_word_has_the_label_whose_texts_have_it_most() -> None:
    """Loud words only: the quieter half of those that the corpus has, and all others, are neutral."""
    table = adapt_embedding(toy(), TEXTS, {"topic": LABELS}, alpha=1.0, smoothing=2.0)
    classes = word_classes(table)
    expected = counted_class(LABELS)
    lengths = np.linalg.norm(table.vectors[:, 3:], axis=1)
    loud = {w for w, length in zip(table.words, lengths, strict=True) if length > 0}
    middle = np.sort(lengths[lengths > 0])[len(loud) // 2]
    by_number: dict[int, set[str]] = {}
    for word, number, length in zip(table.words, classes.tolist(), lengths, strict=True):
        if length < middle:
            assert number == 0, word
        else:
            by_number.setdefault(number, set()).add(expected[word])
    assert all(len(names) == 1 for names in by_number.values())
    assert sum(map(len, by_number.values())) == len(set().union(*by_number.values()))
    assert {"unseen", "unheard"} <= {w for w, c in zip(table.words, classes, strict=True) if c == 0}


@pytest.mark.parametrize("labels", [2, 3, 20, 100])
def test_log_odds_are_those_that_the_profile_was_made_from(labels: int) -> None:
    odds = np.random.default_rng(labels).standard_normal((50, labels))
    odds -= odds.mean(axis=1, keepdims=True)
    assert np.allclose(log_odds(odds @ helmert(labels).T), odds, atol=1e-12)


def test_a_label_that_no_word_speaks_for_has_no_class() -> None:
    table = adapted(3, 40, (20,))
    classes = word_classes(table)
    assert set(classes.tolist()) == set(range(int(classes.max()) + 1))
    few = table.first(6)
    assert set(word_classes(few).tolist()) == set(range(int(word_classes(few).max()) + 1))
    assert {sum(row) for row in all_weights(made(few, 5.5))} == {TOTAL}


def test_classes_do_not_depend_on_blocks_of_words(monkeypatch: pytest.MonkeyPatch) -> None:
    table = adapted(4, 400, (3, 7))
    expected = word_classes(table)
    monkeypatch.setattr("inkblur.mechanisms.staircase.by_label._ROWS", 7)
    assert np.array_equal(word_classes(table), expected)
    assert np.bincount(expected)[0] == 400 // 4 + 150  # without a profile, and half of the others


def test_a_word_of_two_columns_has_the_louder_label() -> None:
    """Two labels a column: a profile of (-5, 1) speaks for the second label of the first column."""
    table = adapted(1, 8, (2, 2))
    vectors = np.zeros((8, 4))
    vectors[:, 2:] = [(5, 1), (-5, 1), (1, 5), (1, -5), (0.1, 0), (0, 0.1), (0.1, 0.1), (0, 0)]
    loud = Embedding(table.words, vectors, name="x", provenance=table.provenance)
    assert word_classes(loud).tolist() == [1, 2, 3, 4, 0, 0, 0, 0]


def test_the_spec_names_all_that_the_law_depends_on(monkeypatch: pytest.MonkeyPatch) -> None:
    table = adapted(1, 30, (3,))
    specs = {
        made(table, 3.0).spec,
        made(table, 3.1).spec,
        made(table, 3.0, frequency_power=1.0).spec,
        made(adapted(2, 30, (3,)), 3.0).spec,
        make_mechanism("staircase", table, epsilon=3.0, tau=0.25, frequency_power=0.0).spec,
    }
    assert len(specs) == 5
    even = adapted(1, 4, (2,), counts=False)
    home = "inkblur.mechanisms.staircase.by_label.word_classes"
    two = []
    for classes in ([0, 0, 1, 1], [0, 1, 1, 0]):
        monkeypatch.setattr(home, lambda embedding, found=classes: np.array(found))
        two.append(made(even, 3.0))
    assert np.array_equal(two[0].units, two[1].units)
    assert two[0].spec != two[1].spec  # the same parameters and units with other classes


def test_a_copy_and_a_report_draw_the_same() -> None:
    table = adapted(1, 30, (3,))
    spec = ReleaseSpec.of(epsilon=4.0, near="label")
    mechanism = spec.mechanism_on(table)
    again = spec.resolved(table, mechanism)
    assert again.parameters["near"] == "label"
    words = [f"w{i}" for i in range(30)] * 4
    expected = mechanism.release(words, keyed_rng(bytes(32))).words
    for copy in (
        pickle.loads(pickle.dumps(mechanism)),
        ReleaseSpec.from_json(again.to_json()).mechanism_on(table),
    ):
        assert copy.spec == mechanism.spec
        assert copy.release(words, keyed_rng(bytes(32))).words == expected


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"tau": 0.1}, "has no tau"),
        ({"frequency_power": 0.3}, "a whole number of sixteenths"),
        ({"near": "labels"}, "choose one of: vector, label"),
    ],
)
def test_what_has_no_meaning_by_label_is_refused(more: dict[str, Any], reason: str) -> None:
    with pytest.raises(ParameterError, match=reason):
        make_mechanism("staircase", adapted(1, 30, (3,)), epsilon=3.0, **{"near": "label", **more})


def test_a_table_that_says_nothing_of_labels_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"knows no label.*embeddings adapt"):
        made(toy(), 3.0)
    table = adapted(1, 9, (3,))
    zero = np.zeros_like(table.vectors)
    zero[:, 0] = 1.0
    same = Embedding(table.words, zero, name="same", provenance=table.provenance)
    with pytest.raises(ParameterError, match="all say the same"):
        made(same, 3.0)


def test_labels_that_were_projected_are_refused() -> None:
    """Of more than 100 labels 100 axes are kept, and not which axis is whose."""
    texts = [f"{word} w{i}" for i, word in enumerate(["cat", "dog", "pet"] * 80)]
    labels = [f"label {i % 120:03}" for i in range(240)]
    words = ["cat", "dog", "pet", *(f"w{i}" for i in range(240))]
    base = Embedding(words, np.random.default_rng(1).standard_normal((243, 2)), name="many")
    table = adapt_embedding(base, texts, {"topic": labels})
    with pytest.raises(ParameterError, match="100 axes of the 120 labels 'topic'"):
        made(table, 3.0)


def test_no_usual_epsilon_is_found_where_no_word_survives() -> None:
    """A class of many words gives each a small chance, however large epsilon is."""
    with pytest.raises(ParameterError, match="no epsilon lets one word in five survive"):
        usual_epsilons("staircase", adapted(1, 60, (2,)), near="label")
