"""Resampled scores are those of the drawn postings, paired between methods, and cover the truth."""

from __future__ import annotations

import numpy as np
import pytest

from inkblur.rng import seeded_rng
from reproduction.newsgroups import SCENARIOS
from reproduction.syntf import gaps
from reproduction.syntf.resampling import (
    NONE,
    Resamples,
    RunScores,
    ScoreView,
    as_they_are,
    lettered,
)
from reproduction.syntf.study import MODELS, weighted

pytest.importorskip("sklearn")


def found_of(draws: np.random.Generator, right: float, asked: int = 120) -> RunScores:
    """Answers on the same postings, each right with one probability."""
    truth = [number % 5 for number in range(asked)]

    def answers() -> dict[str, list[int]]:
        hit = draws.random((len(MODELS), asked)) < right
        guess = draws.integers(-1, 5, (len(MODELS), asked))
        rows = np.where(hit, truth, guess).tolist()
        return dict(zip(MODELS, rows, strict=True))

    parts = {name: answers() for name in ("utility", *SCENARIOS)}
    scores = {
        name: {model: weighted(truth, said) for model, said in part.items()}
        for name, part in parts.items()
    }
    kept = {name: lettered(truth, part) for name, part in parts.items()}
    return {
        "utility": scores.pop("utility"),
        "attack": scores,
        "answers": {"utility": kept.pop("utility"), "attack": kept},
    }


def test_a_resample_has_the_score_of_its_postings() -> None:
    found = found_of(np.random.default_rng(1), 0.5)
    resamples = Resamples(seeded_rng(1), 20)
    again = resamples(found)
    for name, kept in (("analyst", found["answers"]["utility"]),):
        times = resamples._weights[name].astype(int)
        for model in MODELS:
            for row in range(20):
                places = np.repeat(np.arange(120), times[row])
                assert len(places) == 120
                truth, said = ([kept[key][p] for p in places] for key in ("truth", model))
                expected = weighted(truth, said)[0]
                assert again["utility"][model][0][row] == pytest.approx(expected, abs=1e-6)


def test_an_answer_outside_the_true_classes_is_only_wrong() -> None:
    assert lettered([4, 2], {"svm": [2, 9]}) == {"truth": "ba", "svm": "a" + NONE}


def test_equal_methods_differ_by_nothing_in_any_resample() -> None:
    found = found_of(np.random.default_rng(2), 0.5)
    twin = {**found}  # another object with the same answers
    resamples = Resamples(seeded_rng(3), 50)
    for scenario in SCENARIOS:
        left = gaps.attack_left(resamples(found), resamples(twin), scenario, "svm")
        assert np.allclose(left, 1.0)


def test_other_postings_widen_what_other_runs_leave_narrow() -> None:
    """Runs that answer alike have no spread; with few postings nothing is certain yet."""
    draws = np.random.default_rng(5)
    before, after = found_of(draws, 0.6, 60), found_of(draws, 0.5, 60)

    def gap(look: ScoreView, found: RunScores) -> float:
        return gaps.gap(look(found), look(before), "top-5", "svm")  # type: ignore[no-any-return]

    exact = gaps.over_postings(gap, [after, after], as_they_are)
    assert exact.low == exact.value == exact.high
    wide = gaps.over_postings(gap, [after, after], Resamples(seeded_rng(1)))
    assert wide.value == exact.value
    assert wide.low < wide.value - 0.1 < wide.value + 0.1 < wide.high
    shaky = [after, found_of(draws, 0.1, 60)]  # two runs: Student's interval is the wider
    runs = gaps.over_postings(gap, shaky, as_they_are)
    both = gaps.over_postings(gap, shaky, Resamples(seeded_rng(1)))
    assert (both.low, both.high) == (runs.low, runs.high)


@pytest.mark.long
def test_the_interval_covers_the_gap_of_all_postings() -> None:
    draws = np.random.default_rng(11)
    truth = gaps.gap(found_of(draws, 0.4, 40_000), found_of(draws, 0.6, 40_000), "top-5", "svm")
    covered = 0
    for trial in range(60):
        before, after = found_of(draws, 0.6), found_of(draws, 0.4)

        def gap(look: ScoreView, found: RunScores, before: RunScores = before) -> float:
            return gaps.gap(look(found), look(before), "top-5", "svm")  # type: ignore[no-any-return]

        found = gaps.over_postings(gap, [after], Resamples(seeded_rng(trial), 300))
        covered += found.low <= truth <= found.high
    assert covered / 60 > 0.85
