"""Laws of the exponential mechanism: the inequality itself, for words and by enumeration."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from inkblur.embeddings.table import Embedding
from inkblur.guarantees import compose
from inkblur.mechanisms.exact_choice import BLOCK, block_sums, blocks_in, word_sums
from inkblur.mechanisms.exponential import Exponential
from inkblur.mechanisms.rating import Rating
from inkblur.rng import keyed_rng
from inkblur.types import Array, Ids


def mechanism(seed: int, words: int, epsilon: float, bigram: float, bounding: str) -> Exponential:
    rng = np.random.default_rng(seed)
    names = ["".join(rng.choice(list("abcd"), 3)) + str(i) for i in range(words)]
    embedding = Embedding(names, rng.standard_normal((words, 3)), name="random")
    return Exponential(embedding, epsilon=epsilon, bigram=bigram, bounding=bounding)


made = st.builds(
    mechanism,
    st.integers(0, 10**6),
    st.one_of(st.integers(2, 12), st.integers(60, 140)),  # one block, or up to three
    st.floats(0.01, 120),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.sampled_from(["clip", "rescale"]),
)


@settings(max_examples=60, deadline=None)
@given(made)
def test_no_output_of_any_two_words_beats_the_guarantee(subject: Exponential) -> None:
    """All inputs, the null word among them, against all inputs, for all outputs, as they are drawn."""
    loss = _drawn_loss(subject)
    assert loss <= subject.guarantee.epsilon
    assert loss >= subject.guarantee.epsilon - 1e-7  # and the bound is tight


class SinglePrecision:
    """A rating of someone else's who computes in float32, as tables of vectors do."""

    spec, symmetric = "single precision", True

    def __init__(self, rating: Rating) -> None:
        self._rating, self.size = rating, rating.size

    def block(self, rows: Ids, columns: slice) -> Any:
        return self._rating.block(rows, columns).astype(np.float32)


@settings(max_examples=30, deadline=None)
@given(made)
@example(mechanism(1, 130, 300.0, 0.0, "clip"))  # exp(-150) is 0 in float32
def test_ratings_in_single_precision_lose_no_word(cosines: Exponential) -> None:
    rating = SinglePrecision(cosines.rating)
    subject = Exponential(cosines.embedding, epsilon=cosines.epsilon, rating=rating)
    everything = subject.probabilities(np.arange(-1, len(subject.embedding)))
    assert everything.dtype == np.float64
    assert (everything > 0).all()
    assert _drawn_loss(subject) <= subject.guarantee.epsilon


def _drawn_loss(subject: Exponential) -> float:
    """The largest log-ratio over all inputs and outputs of the intervals that are drawn from."""
    size = len(subject.embedding)
    ratings = subject.rating.block(np.arange(-1, size), slice(0, size))
    drawn = np.empty((size + 1, size))
    for i, row in enumerate(ratings):
        padded = np.full((blocks_in(size), BLOCK), -1.0)
        padded.reshape(-1)[:size] = row
        inside = _shares(*word_sums(padded, subject.kappa))
        sums, order = block_sums(row, subject.kappa)
        drawn[i] = (_shares(sums[None], order[None]).T * inside).reshape(-1)[:size]
    return float(np.log(drawn.max(axis=0) / drawn.min(axis=0)).max())


def _shares(sums: Array, order: NDArray[np.integer[Any]]) -> Array:
    """The part of the total that each item has, (rows, items)."""
    out = np.empty(sums.shape)
    np.put_along_axis(out, order.astype(np.int64), np.diff(sums, prepend=0.0), axis=1)
    return out / sums[:, -1:]


@settings(max_examples=60, deadline=None)
@given(made)
@example(mechanism(3680, 2, 0.01, 0.0, "clip"))  # both bounds are one number, rounded apart
def test_the_bounds_are_in_order(subject: Exponential) -> None:
    guarantee = subject.guarantee
    bounds = dict(guarantee.bounds)
    assert guarantee.epsilon <= bounds["improved"] <= bounds["standard"]


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6),
    st.floats(0.5, 60),
    st.integers(1, 3),
    st.lists(st.integers(0, 5), min_size=4, max_size=4),
    st.lists(st.integers(0, 5), min_size=4, max_size=4),
)
def test_two_documents_by_enumeration(
    seed: int, epsilon: float, length: int, left: list[int], right: list[int]
) -> None:
    """Every synthetic vector of `length` terms over three words, from any two documents.

    A document is how often it has each of the three words and, last, whether it has none of them at all:
    an empty one is a point mass on the null word.
    """
    subject = mechanism(seed, 3, epsilon, 0.2, "clip")
    table = subject.probabilities(np.array([0, 1, 2, -1]))
    bound = subject.guarantee.epsilon * length
    a, b = (_vector_law(document, table, length) for document in (left, right))
    assert sum(a.values()) == pytest.approx(1)
    for vector in a:
        assert abs(math.log(a[vector] / b[vector])) <= bound * (1 + 1e-12)


def _vector_law(document: list[int], table: Array, length: int) -> dict[tuple[int, ...], float]:
    counts = np.array([*document[:3], 0.0])
    if counts.sum() == 0:
        counts[3] = 1.0
    term = counts / counts.sum() @ table  # one draw: Lemma 3.2's convex combination
    law: dict[tuple[int, ...], float] = {}
    for drawn in itertools.product(range(3), repeat=length):
        vector = tuple(drawn.count(w) for w in range(3))
        law[vector] = law.get(vector, 0.0) + math.prod(float(term[w]) for w in drawn)
    return law


@pytest.mark.parametrize("length", [1, 2, 5])
def test_two_one_word_documents_attain_the_bound(length: int) -> None:
    """Section 3.4.2: the documents "v1" and "v2" of eq. 1, and the vector that is n times w."""
    subject = mechanism(8, 6, 12.0, 0.0, "clip")
    table = subject.probabilities(np.arange(-1, 6))
    ratio = length * math.log((table.max(axis=0) / table.min(axis=0)).max())
    assert ratio == pytest.approx(subject.guarantee.epsilon * length, rel=1e-8)


@settings(max_examples=30, deadline=None)
@given(made, st.integers(1, 5))
def test_repeats_compose(subject: Exponential, times: int) -> None:
    assert subject.guarantee.scaled(times) == compose([subject.guarantee] * times)
    assert subject.guarantee.scaled(times).epsilon == pytest.approx(
        times * subject.guarantee.epsilon
    )


def test_a_key_replays_and_another_does_not() -> None:
    subject = mechanism(1, 12, 3.0, 0.0, "clip")
    words = list(subject.vocabulary) * 5
    first, second = (subject.release(words, keyed_rng(bytes(32))).words for _ in range(2))
    assert first == second
    assert subject.release(words, keyed_rng(bytes(31) + b"1")).words != first
