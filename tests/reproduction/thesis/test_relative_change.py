"""Falls are ratios with intervals that cover; nothing counted is trusted too much."""

from __future__ import annotations

import numpy as np
import pytest

from reproduction.thesis.relative_change import (
    fall_gap,
    mean_kept,
    relative_fall,
    share_kept,
    success,
    unchanged,
)


def test_the_fall_is_one_minus_the_ratio_of_means() -> None:
    before, after = np.array([1.0, 1.0, 1.0, 0.0]), np.array([0.4, 0.2, 0.0, 0.6])
    assert relative_fall(before, after).mean() == pytest.approx(1 - 1.2 / 3)


def test_the_interval_of_the_share_kept_covers_the_truth() -> None:
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(60):
        before = (rng.random(200) < 0.6).astype(float)
        after = before * (rng.random(200) < 0.5)  # half of what was right stays right
        found = share_kept(before, after)
        assert found is not None
        covered += found.low <= 0.5 <= found.high
    assert covered / 60 > 0.85


def test_nothing_right_before_has_no_share_kept() -> None:
    assert share_kept(np.zeros(5), np.ones(5)) is None


def test_the_gap_pairs_texts_and_leaves_out_empty_baselines() -> None:
    rng = np.random.default_rng(5)
    before = (rng.random(100) < 0.5).astype(float)
    after = before * (rng.random(100) < 0.5)
    same = fall_gap([(before, after, before, after), (np.zeros(100), after, before, after)])
    assert (same.value, same.low, same.high) == (0.0, 0.0, 0.0)
    assert fall_gap([(before, 0 * before, before, before)]).value == pytest.approx(1.0)


def test_what_is_kept_is_the_mean_over_forms_that_had_something() -> None:
    half, all_ = np.array([1.0, 0.0] * 10), np.ones(20)
    found = mean_kept([(all_, half), (all_, all_), (np.zeros(20), half)])
    assert found.value == pytest.approx(0.75)
    assert found.low < 0.75 < found.high


def test_no_hit_at_all_is_not_certainty() -> None:
    found = success([[0] * 20, [0] * 20])
    assert found.value == 0.0
    assert found.high > 0.1  # 20 texts, not 40: runs on one text are no new texts


def test_unchanged_words_are_counted_over_runs() -> None:
    runs = [{"words": 10, "unchanged": 4}, {"words": 30, "unchanged": 6}]
    reading = unchanged("T", {}, runs)
    assert reading is not None
    assert reading.found.value == 0.25
    assert unchanged("T", {}, [{"words": 0, "unchanged": 0}]) is None
