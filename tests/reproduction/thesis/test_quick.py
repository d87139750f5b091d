"""Each experiment of the family runs quick on the real data, and its record comes back whole."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from reproduction.corpora import VARIABLE
from reproduction.result import ExperimentRecord
from reproduction.runner import reproduce

CLAIMS = {
    "thesis/topics": {
        "topic-above-chance",
        "topic-above-chance-as-printed",
        "topic-holds-for-evenly-drawn-postings-at-0.5",
        "topic-holds-for-evenly-drawn-postings-at-0.5-as-printed",
    },
    "thesis/authors": {
        "author-falls-more-than-topic-at-0.2",
        "author-falls-more-than-topic-at-0.5",
        "author-falls-more-than-topic-at-0.2-as-printed",
        "author-falls-more-than-topic-at-0.5-as-printed",
        "topic-holds-at-0.5",
        "topic-holds-at-0.5-as-printed",
    },
    "thesis/angular": {
        "mechanism-1-gives-closer-words",
        "mechanism-1-keeps-more-topic",
        "mechanism-1-hides-more-authors",
    },
    "thesis/metrics": {
        f"{what}-{form}{pairs}"
        for form in ("raw", "content-words")
        for what, pairs in (
            ("strong-correlation", ""),
            ("linear-relation", ""),
            ("linear-relation", "-without-near-duplicates"),
        )
    }
    | {"relation-more-apparent-in-raw-texts"},
    "thesis/examples": {"nearest-words-are-related"},
}
needs_data = pytest.mark.skipif(
    not os.environ.get(VARIABLE), reason=f"{VARIABLE} is not set: no public data to run on"
)


@needs_data
@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.quick) if n == "thesis/examples" else n for n in CLAIMS],
)
def test_it_runs_and_its_record_comes_back(name: str, tmp_path: Path) -> None:
    (record,) = reproduce([name], tmp_path, quick=True)
    assert {claim.name for claim in record.outcome.claims} == CLAIMS[name]
    written = json.loads(json.dumps(record.to_json(), allow_nan=False))
    assert ExperimentRecord.from_json(written).outcome.readings == record.outcome.readings
    (again,) = reproduce([name], tmp_path, quick=True)
    assert again.outcome == record.outcome
