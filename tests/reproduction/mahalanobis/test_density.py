"""Table 5 for both collections in both sets of vectors."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from inkblur import Embedding
from reproduction.corpora import VARIABLE
from reproduction.mahalanobis.density import MEASURES, claims, density, nearest_distances
from reproduction.result import ExperimentRecord, Verdict
from reproduction.runner import reproduce


def test_a_missing_ratio_supports_nothing() -> None:
    (claim,) = claims([3.0, None, 4.0])
    assert claim.found.value == 3.0
    assert "of the 2 vocabularies" in claim.statistic
    assert claims([None, None]) == ()


@pytest.mark.skipif(VARIABLE not in os.environ, reason=f"{VARIABLE} is not set")
@pytest.mark.long
def test_table_5_stands_beside_the_papers(tmp_path: Path) -> None:
    (record,) = reproduce(["mahalanobis/density"], tmp_path, quick=True)
    assert ExperimentRecord.from_json(record.to_json()) == record
    at = {(r.where["vectors"], r.where["data"], r.measure): r for r in record.outcome.readings}
    for vectors in ("glove", "word2vec"):
        for data in ("tweets", "SMS"):
            for measure in MEASURES[1:]:  # d_min is 0 where two words share a vector
                assert (vectors, data, measure) in at
    assert at["glove", "SMS", "d_:50 / d_-50:"].paper == 5.67
    assert [claim.verdict for claim in record.outcome.claims] == [Verdict.HOLDS]


@pytest.mark.parametrize("words", [2, 7, 1500])
def test_nearest_distances_are_those_of_plain_loops(words: int) -> None:
    points = np.random.default_rng(words).normal(size=(words, 4)).astype(np.float32) + 100
    table = Embedding([f"w{i}" for i in range(words)], points, name="far out")
    exact, found = points.astype(np.float64), nearest_distances(table)
    for row in range(0, words, max(1, words // 50)):
        gaps = np.linalg.norm(exact - exact[row], axis=1)
        gaps[row] = np.inf
        assert found[row] == pytest.approx(gaps.min(), rel=1e-9)


def test_ratios_and_shares_are_those_of_the_extreme_words() -> None:
    # Nearest-word distances: a and b 1, c 3, d 7, e 7 (to d).
    table = Embedding(list("abcde"), [[0.0], [1.0], [4.0], [11.0], [18.0]], name="line")
    found = density(table, ["D d a", "a b", "d, e!", "nothing"], extremes=2)
    assert found["extreme_ratio"] == found["mean_ratio"] == 7.0
    assert found["mean_share"] == pytest.approx((2 / 4 + 1 / 4) / 2)
    twins = Embedding(list("abcd"), [[0.0], [0.0], [4.0], [9.0]], name="twins")
    assert density(twins, ["a"], extremes=1)["extreme_ratio"] is None
