"""Table 5 for both collections in both sets of vectors."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reproduction.corpora import VARIABLE
from reproduction.mahalanobis.density import MEASURES, claims
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
