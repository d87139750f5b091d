"""The definition of "nearest" itself: plain loops say the same, and NumPy's sums do not drift."""

from fractions import Fraction

import numpy as np
import pytest

from inkblur.mechanisms.nearest import canonical
from inkblur.mechanisms.nearest.canonical import Float32s, Float64s


def by_definition(vectors: Float32s, query: Float64s) -> tuple[int, Float64s]:
    """The sentence at the top of `canonical`, one row at a time."""
    values = [((row.astype(np.float64) - query) ** 2).sum() for row in vectors]
    return int(np.argmin(values)), np.array(values)


@pytest.mark.parametrize("dimension", [1, 2, 3, 7, 8, 9, 127, 128, 129, 300, 301, 1025])
@pytest.mark.parametrize("pairs", [1, 2, 3, 40])
def test_rows_summed_together_have_the_bits_of_rows_summed_alone(
    dimension: int, pairs: int
) -> None:
    rng = np.random.default_rng(dimension * 100 + pairs)
    vectors = rng.normal(size=(50, dimension)).astype(np.float32)
    queries = rng.normal(size=(5, dimension)) * 10
    ids, rows = rng.integers(0, 50, pairs), rng.integers(0, 5, pairs)
    alone = [
        ((vectors[i].astype(np.float64) - queries[b]) ** 2).sum()
        for i, b in zip(ids, rows, strict=True)
    ]
    assert canonical.distances(vectors, queries, ids, rows).tolist() == alone


def test_decide_takes_the_smallest_and_then_the_lowest_id() -> None:
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(30, 5)).astype(np.float32)
    vectors[20] = vectors[3]
    queries = rng.normal(size=(40, 5))
    lists = [rng.permutation(30)[: rng.integers(1, 31)] for _ in queries]
    lists[0] = np.array([20, 3])
    offsets = np.concatenate([[0], np.cumsum([len(x) for x in lists])])
    got = canonical.decide(vectors, queries, np.concatenate(lists), offsets)
    for query, ids, answer in zip(queries, lists, got, strict=True):
        _, values = by_definition(vectors, query)
        assert answer == ids[values[ids] == values[ids].min()].min()


def test_exhaustive_is_the_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    vectors = rng.normal(size=(100, 6)).astype(np.float32)
    vectors[70] = vectors[10]
    queries = np.concatenate([rng.normal(size=(20, 6)), vectors[[70]].astype(np.float64)])
    monkeypatch.setattr(canonical, "_PAIR_VALUES", 60)  # many chunks
    expected = [by_definition(vectors, q)[0] for q in queries]
    assert canonical.exhaustive(vectors, queries).tolist() == expected
    assert expected[-1] == 10


def test_rounding_bound_holds_against_exact_fractions() -> None:
    rng = np.random.default_rng(3)
    for dimension in (1, 3, 300):
        vector = rng.normal(size=(1, dimension)).astype(np.float32)
        query = rng.normal(size=(1, dimension)) * 30
        value = Fraction(canonical.distances(vector, query, np.array([0]), np.array([0]))[0].item())
        true = sum(
            (Fraction(float(a)) - Fraction(float(b))) ** 2
            for a, b in zip(vector[0], query[0], strict=True)
        )
        assert abs(value - true) <= Fraction(canonical.canonical_rounding(dimension)) * true
