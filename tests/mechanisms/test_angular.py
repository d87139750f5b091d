from __future__ import annotations

import numpy as np

from inkblur.embeddings.table import Embedding
from inkblur.mechanisms.angular import AngularLaplace, truncated_angle
from inkblur.rng import seeded_rng


def test_it_picks_the_word_whose_cosine_is_closest_to_the_drawn_one(toy: Embedding) -> None:
    mechanism = AngularLaplace(toy, epsilon=2.0, accept_no_guarantee=True)
    ids = np.arange(-1, len(toy), dtype=np.int64).repeat(5)
    targets = np.cos(truncated_angle(len(ids), 0.5, seeded_rng(1)))
    centers = toy.centers(ids)
    lengths = np.linalg.norm(centers, axis=1)[:, None] * np.linalg.norm(toy.vectors, axis=1)
    cosines = centers @ toy.vectors.T.astype(np.float64) / lengths
    expected = np.abs(cosines - targets[:, None]).argmin(axis=1)
    assert np.array_equal(mechanism.replace(ids, seeded_rng(1)), expected)


def test_words_without_a_direction_are_no_error() -> None:
    table = Embedding(["zero", "one", "two"], [[0, 0], [1, 0], [0, 1]], name="zeros")
    mechanism = AngularLaplace(table, epsilon=1.0, accept_no_guarantee=True)
    assert set(mechanism.replace(np.zeros(50, dtype=np.int64), seeded_rng(1))) <= {0, 1, 2}
