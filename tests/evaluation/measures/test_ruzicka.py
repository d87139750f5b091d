"""Ruzicka and the n-grams it is taken over: against the definition, and its laws."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from inkblur.errors import ParameterError
from inkblur.evaluation.measures import ngrams
from inkblur.evaluation.measures import ruzicka as rz
from inkblur.types import Array


@pytest.fixture
def tables(rng: np.random.Generator) -> tuple[Array, Array]:
    x, y = rng.poisson(0.7, (2, 6, 30)) * rng.uniform(0, 3, (2, 6, 30))
    x[0] = 0.0  # an empty text
    return x, y


def by_definition(x: Array, y: Array) -> float:
    return float(1 - np.minimum(x, y).sum() / np.maximum(x, y).sum())


def test_agrees_with_the_definition_dense_and_sparse(tables: tuple[Array, Array]) -> None:
    x, y = tables
    expected = [[by_definition(a, b) for b in y] for a in x]
    np.testing.assert_allclose(rz.ruzicka_distances(x, y), expected, atol=1e-12)
    np.testing.assert_allclose(
        rz.ruzicka_distances(csr_array(x), csr_array(y)), expected, atol=1e-12
    )


def test_metric_laws(tables: tuple[Array, Array]) -> None:
    rows = np.vstack(tables)
    d = rz.ruzicka_distances(rows, rows)
    np.testing.assert_allclose(d, d.T, atol=1e-12)
    np.testing.assert_allclose(np.diag(d), 0, atol=1e-12)  # even of the empty text to itself
    assert d[0, 1] == 1
    assert (d[:, None, :] <= d[:, :, None] + d[None, :, :] + 1e-12).all()


@pytest.mark.parametrize("bad", [[[-1.0]], [[np.nan]], [[np.inf]]])
def test_what_has_no_ruzicka_is_refused(bad: list[list[float]]) -> None:
    with pytest.raises(ParameterError, match="not negative"):
        rz.ruzicka_distances(bad, [[1.0]])


def test_shapes_must_fit() -> None:
    with pytest.raises(ParameterError, match="same features"):
        rz.ruzicka_distances([[1.0]], [[1.0, 2.0]])
    with pytest.raises(ParameterError, match="expected a table"):
        rz.ruzicka_distances([1.0], [[1.0]])


def test_no_ngram_crosses_a_space_and_short_pieces_stay_whole() -> None:
    counts = ngrams.space_free_ngrams("I am\nhere,\u00a0Today today")
    assert counts == {"I": 1, "am": 1, "here": 1, "ere,": 1, "Toda": 1, "oday": 2, "toda": 1}
    assert not ngrams.space_free_ngrams(" \t\n")


def test_most_frequent_breaks_ties_by_spelling() -> None:
    counts = [ngrams.space_free_ngrams("b a c c"), ngrams.space_free_ngrams("d")]
    assert ngrams.most_frequent(counts, 3) == {"c": 0, "a": 1, "b": 2}
    table = ngrams.count_matrix(counts, {"c": 0, "d": 1})
    assert table.toarray().tolist() == [[2, 0], [0, 1]]


def test_texts_by_counts_and_by_shares() -> None:
    once, twice = "some words", "some words some words"
    assert rz.text_distances([once], [twice])[0, 0] == pytest.approx(0.5)
    assert rz.text_distances([once], [twice], relative=True)[0, 0] == pytest.approx(0)
    assert rz.text_distances([once, ""], ["other"]).tolist() == [[1.0], [1.0]]
