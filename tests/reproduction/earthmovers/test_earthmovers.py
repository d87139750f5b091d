"""The Earth Mover's experiments: printed numbers, their small parts, and a quick run of each."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inkblur.embeddings.table import Embedding
from inkblur.evaluation.measures.meaning import earth_movers, euclidean_costs
from reproduction.context import Context
from reproduction.datasets import Datasets
from reproduction.earthmovers import snippets
from reproduction.earthmovers.nearness import distances, majority_hits, nearest_hits
from reproduction.earthmovers.published import EPSILONS, MEASURES, TABLE_1
from reproduction.earthmovers.sampled_documents import (
    ENOUGH,
    LENGTHS,
    TOPICS,
    Documents,
    Suspects,
    document,
    plain_words,
)
from reproduction.earthmovers.success import Success
from reproduction.earthmovers.utility_bound import _edge, contradicted
from reproduction.estimate import Estimate
from reproduction.result import Claim, ExperimentRecord, Verdict
from reproduction.runner import record_file, reproduce


def test_table_1_is_complete_and_possible() -> None:
    for size, rows in TABLE_1.items():
        assert list(rows) == ["none", *(str(epsilon) for epsilon in EPSILONS)]
        for counts in rows.values():
            assert len(counts) == len(MEASURES)
            assert all(0 <= count <= size for count in counts)


def test_distances_are_earth_movers_on_the_first_words(toy: Embedding) -> None:
    rng = np.random.default_rng(3)
    left, right = ([" ".join(rng.choice(toy.words, 7)) for _ in range(3)] for _ in range(2))
    found = distances(left, right, toy, words=5)
    for row, text in enumerate(left):
        for column, other in enumerate(right):
            bags = [toy.vectors[toy.ids(t.split()[:5])].astype(float) for t in (text, other)]
            assert found[row, column] == pytest.approx(earth_movers(euclidean_costs(*bags)))


def test_authors_and_topics_are_counted() -> None:
    table = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
    assert nearest_hits(table) == 2
    assert majority_hits(table, ["a", "b", "b"]) == 2


def test_a_document_holds_so_many_words_with_a_vector(toy: Embedding) -> None:
    known = toy.words[:3]
    text = f"The {known[0]} and unheard {known[1]} {known[2]}"
    assert document([text], toy, 2) == f"{known[0]} unheard {known[1]}"
    assert document([text], toy, 4) is None
    assert document([text, known[0]], toy, 4) is not None


def test_a_smaller_set_has_both_topics() -> None:
    suspects = Suspects(("",) * 6, ("",) * 6, ("a", "a", "a", "b", "b", "b"))
    assert suspects.first(4) == [0, 1, 3, 4]


def test_signs_and_numbers_are_no_words() -> None:
    table = Embedding(["cat", ",", "1990", "dog"], np.eye(4), name="mixed")
    assert plain_words(table).words == ("cat", "dog")


def test_what_changes_is_decided_at_the_step_that_is_least_sure() -> None:
    shares = dict(zip(snippets.EPSILONS, (1.0, 0.9, 0.7, 0.5, 0.3, 0.2, 0.0), strict=True))
    kept = {("equal noise for the norm", e): [share] * 50 for e, share in shares.items()}
    near = {"three": [[1.0, 1.05, 1.1]] * 5}
    bags = {"b1 b2": 1.0, "b1 b3": 2.0, "b2 b3": 2.0}

    def verdict() -> Verdict:
        claims = {claim.name: claim for claim in snippets._claims(bags, near, kept)}
        return claims["changes-grow"].verdict

    assert verdict() is Verdict.HOLDS
    kept["equal noise for the norm", 20.0] = [0.0, 0.99] * 25  # the mean falls from 25 to 20
    assert verdict() is Verdict.HOLDS
    kept["equal noise for the norm", 20.0] = [0.0, 1.36] * 25  # to 0.68: too little to be sure of
    assert verdict() is Verdict.OPEN
    kept["equal noise for the norm", 20.0] = [0.8] * 50
    assert verdict() is Verdict.FAILS


def test_so_many_authors_of_newsgroups_have_enough_words(data_folder: Path, tmp_path: Path) -> None:
    datasets = Datasets(data_folder)
    work = Context("earthmovers/inference", datasets, seed=1, quick=False, folder=tmp_path,
                    needs=("newsgroups",))  # fmt: skip
    made = Documents(work, plain_words(datasets.glove), LENGTHS).of("20 Newsgroups", 1_000, 0)
    assert made.topics is not None
    assert {topic: made.topics.count(topic) for topic in TOPICS} == ENOUGH


def _runs(before: list[list[int]], after: list[list[int]]) -> list[dict[str, Any]]:
    """What runs say of author naming; every author is in every run."""
    return [
        {
            "by author": {
                "n": {
                    "authors": [str(a) for a in range(len(clean))],
                    "DRauth": {"none": clean, "10": blurred},
                    "DRtopic": {},
                }
            }
        }
        for clean, blurred in zip(before, after, strict=True)
    ]


def test_a_fall_from_chance_is_left_open() -> None:
    right = [3, 1, 2, 2, 2], [1, 1, 0, 0, 1]  # of 20, as PAN 2018 gave them: each by one author
    before, after = ([[int(a < n) for a in range(20)] for n in side] for side in right)
    success = Success.of(_runs(before, after), "n")
    assert success.fall("DRauth").value == pytest.approx(0.07)
    assert "by chance 0.050" in success.too_low()
    claim = Claim("c", "", "", "", Estimate(0.07, 0.01, 0.2), 0.0, success.too_low())
    assert claim.verdict is Verdict.OPEN


def test_a_fall_is_that_of_authors_and_a_rise_from_nothing_is_seen() -> None:
    clear = Success.of(_runs([[1] * 10 + [0] * 10] * 3, [[1] * 2 + [0] * 18] * 3), "n")
    assert clear.too_low() == ""
    fall = clear.fall("DRauth")
    assert fall.value == pytest.approx(0.4)
    assert 0.1 < fall.low < 0.25  # 20 authors, however often each was asked
    assert clear.kept("DRauth").value == pytest.approx(0.2)
    risen = Success.of(_runs([[0] * 20] * 3, [[1] * 10 + [0] * 10] * 3), "n")
    assert risen.fall("DRauth").high < 0
    assert risen.too_low()


def test_authors_who_are_in_some_runs_only_count_once() -> None:
    runs = _runs([[1, 0], [1, 1]], [[0, 0], [1, 0]])
    runs[1]["by author"]["n"]["authors"] = ["1", "2"]
    shares = Success.of(runs, "n").shares["DRauth"]
    assert shares.tolist() == [[1.0, 0.0], [0.5, 0.5], [1.0, 0.0]]


def test_author_and_topic_are_compared_on_the_same_authors() -> None:
    runs = _runs([[1] * 20 + [0] * 20], [[1] * 5 + [0] * 35])
    runs[0]["by author"]["n"]["DRtopic"] = {"none": [1] * 40, "10": [1] * 30 + [0] * 10}
    success = Success.of(runs, "n")
    assert success.kept("DRtopic").value == 0.75
    gap = success.relative_gap()
    assert gap.value == pytest.approx(0.5)
    assert 0.2 < gap.low < gap.high < 0.8


def test_the_simulation_knows_the_law_of_one_vector(tmp_path: Path) -> None:
    work = Context("earthmovers/utility-bound", Datasets(tmp_path), seed=1, quick=True,
                    folder=tmp_path)  # fmt: skip
    x = 2 / math.e
    hits = _edge(work, 2, 1, 20_000)
    assert hits / 20_000 == pytest.approx(1 - math.exp(-x) * (1 + x), abs=0.012)
    assert contradicted(_edge(work, 2, 2, 20_000), 20_000, 1 - math.exp(-x) * (1 + x))


@pytest.mark.parametrize(
    ("name", "table", "claim"),
    [
        ("inference", "Table 1, 20 Newsgroups, right answers of 8", "author-falls-topic-holds"),
        ("snippets", "Section 3.1: factor between", "example-bags-in-order"),
        ("unknown-words", "Topic accuracy (two topics)", "unknown-words-keep-the-topic"),
        ("utility-bound", "Theorem 3 at the edge of its condition", "bound-as-printed"),
    ],
)
def test_quick(data_folder: Path, tmp_path: Path, name: str, table: str, claim: str) -> None:
    pytest.importorskip("fasttext", reason="fastText classifies the topics")
    (record,) = reproduce([f"earthmovers/{name}"], tmp_path, data=data_folder, quick=True)
    assert any(reading.table.startswith(table) for reading in record.outcome.readings)
    assert claim in {made.name for made in record.outcome.claims}
    written = json.loads(record_file(tmp_path, record.experiment).read_text(encoding="utf-8"))
    assert ExperimentRecord.from_json(written) == record
