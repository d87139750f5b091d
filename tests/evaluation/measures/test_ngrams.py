"""The n-grams that authors are compared by."""

import numpy as np

from inkblur.evaluation.measures import ngrams


def test_no_ngram_crosses_a_space_and_short_pieces_stay_whole() -> None:
    counts = ngrams.space_free_ngrams("I am\nhere,\u00a0Today today")
    assert counts == {"I": 1, "am": 1, "here": 1, "ere,": 1, "Toda": 1, "oday": 2, "toda": 1}
    assert not ngrams.space_free_ngrams(" \t\n")


def test_most_frequent_breaks_ties_by_spelling() -> None:
    counts = [ngrams.space_free_ngrams("b a c c"), ngrams.space_free_ngrams("d")]
    assert ngrams.most_frequent(counts, 3) == {"c": 0, "a": 1, "b": 2}
    table = ngrams.count_matrix(counts, {"c": 0, "d": 1})
    assert table.toarray().tolist() == [[2, 0], [0, 1]]


def test_shares_sum_to_one_and_empty_rows_stay() -> None:
    counts = [ngrams.space_free_ngrams(text) for text in ("a a b", "", "b")]
    shares = ngrams.shares(ngrams.count_matrix(counts, {"a": 0, "b": 1})).toarray()
    np.testing.assert_allclose(shares, np.array([[2 / 3, 1 / 3], [0.0, 0.0], [0.0, 1.0]]))
