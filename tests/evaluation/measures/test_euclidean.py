"""Euclidean document distance."""

import numpy as np
import pytest

from inkblur.errors import ParameterError
from inkblur.evaluation.measures import earth_movers, euclidean


def test_batch_is_the_distance_of_the_means_and_below_earth_movers() -> None:
    rng = np.random.default_rng()
    lefts = [rng.normal(size=(5, 3)) for _ in range(2)]
    rights = [rng.normal(size=(5, 3)) for _ in range(3)]
    got = euclidean.document_distances(lefts, rights)
    assert got.shape == (2, 3)
    for a, left in enumerate(lefts):
        for b, right in enumerate(rights):
            expected = np.linalg.norm(left.mean(axis=0) - right.mean(axis=0))
            assert got[a, b] == pytest.approx(expected)
            assert got[a, b] <= earth_movers.document_distance(left, right) + 1e-12
    assert euclidean.document_distance(lefts[1], rights[2]) == pytest.approx(got[1, 2])


def test_empty_documents_are_named() -> None:
    with pytest.raises(ParameterError, match="document 1"):
        euclidean.mean_vectors([np.ones((2, 2)), np.ones((0, 2))])
    with pytest.raises(ParameterError, match="no documents"):
        euclidean.mean_vectors([])
