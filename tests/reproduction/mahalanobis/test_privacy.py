"""The grid, its claims and the sanity point."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reproduction.context import Context
from reproduction.corpora import VARIABLE
from reproduction.datasets import Datasets
from reproduction.mahalanobis import privacy
from reproduction.mahalanobis.published import EPSILONS, LAMBDAS
from reproduction.result import ExperimentRecord, Verdict
from reproduction.runner import reproduce


def _grid(survived: list[int], distinct: list[int]) -> privacy.WordCounts:
    """Every word at the same numbers; lambda lowers N_w by 10 and raises S_w by 5 at 1."""
    return {
        (lam, epsilon): {
            "survived": [round(n - 10 * lam) for n in survived],
            "distinct": [round(n + 5 * lam) for n in distinct],
            "null": [90, 90],
        }
        for lam in LAMBDAS
        for epsilon in EPSILONS
    }


def test_claims_are_paired_differences_with_the_papers_sign() -> None:
    claims = {c.name: c for c in privacy._claims("glove", _grid([10, 50, 90], [5, 40, 80]))}
    assert len(claims) == 6
    fewer = claims["lower-survival-at-epsilon-10-glove"]
    more = claims["more-substitutes-at-epsilon-10-glove"]
    assert (fewer.found.value, fewer.found.low) == (10.0, 10.0)  # paired: the words' spread is gone
    assert (more.found.value, more.found.high) == (5.0, 5.0)
    assert fewer.verdict is more.verdict is Verdict.HOLDS


@pytest.mark.parametrize(("gain", "verdict"), [(5, Verdict.HOLDS), (-5, Verdict.FAILS)])
def test_percentiles_are_compared_on_the_same_words(
    gain: int, verdict: Verdict, tmp_path: Path
) -> None:
    """Of N_w the lower one wins, of S_w the higher."""
    words = list(range(20, 80))
    found = {
        (lam, epsilon): {
            "survived": [n - round(gain * lam) for n in words],
            "distinct": [n + round(gain * lam) for n in words],
        }
        for lam in LAMBDAS
        for epsilon in EPSILONS
    }
    work = Context("mahalanobis/x", Datasets(tmp_path), seed=1, quick=True, folder=tmp_path)
    claims = privacy._percentile_claims(work, "glove", found)
    assert [claim.verdict for claim in claims] == [verdict] * 2
    assert [claim.found.value for claim in claims] == [gain, gain]


def test_words_without_a_vector_count_as_never_surviving() -> None:
    readings = privacy._tables("glove", _grid([40, 40], [20, 20]), 0.25)
    at = {(r.measure, r.where["lambda"], r.where["epsilon"]): r for r in readings}
    taken_in = "mean {}, null word for words without a vector"
    assert at["mean N_w", 0.0, 5.0].found.value == 40.0
    assert at[taken_in.format("N_w"), 0.0, 5.0].found.value == 10.0
    assert at[taken_in.format("S_w"), 0.0, 5.0].found.value == 0.25 * 20 + 0.75 * 90
    assert at["mean N_w", 1.0, 20.0].paper == 60.27


@pytest.mark.skipif(VARIABLE not in os.environ, reason=f"{VARIABLE} is not set")
def test_a_quick_look_has_every_part(tmp_path: Path) -> None:
    (record,) = reproduce(["mahalanobis/privacy"], tmp_path, quick=True)
    assert ExperimentRecord.from_json(record.to_json()) == record
    assert len(record.outcome.claims) == 12 + 4
    tables = {reading.table for reading in record.outcome.readings}
    assert len(tables) == 6
    assert len(record.outcome.drawings) == 4
