"""Collections drawn again: the first row is the real one, F1 is the usual one on each."""

from __future__ import annotations

import numpy as np
import pytest

from inkblur.evaluation.measures.utility import rates
from inkblur.rng import seeded_rng
from reproduction.estimate import Estimate
from reproduction.resampled_texts import COLLECTIONS, mean_f1, over_texts, share, times_drawn


def test_f1_and_share_are_those_of_each_collection() -> None:
    rng = np.random.default_rng(3)
    truth, answers = rng.integers(0, 3, 12), rng.integers(0, 3, 12)
    times = times_drawn(12, seeded_rng(1))
    assert (times[0] == 1).all()
    for row in (0, 1, 500):
        drawn = np.repeat(np.arange(12), times[row].astype(int))
        expected = rates(truth[drawn], answers[drawn])
        assert mean_f1(times, truth, answers)[row] == pytest.approx(expected.f1)
        right = (truth == answers).tolist()
        assert share(times, right)[row] == pytest.approx(expected.accuracy)


def test_the_interval_is_that_of_a_share_of_texts() -> None:
    """With one run it is about Clopper and Pearson's; a second run with its own noise narrows it."""
    rng = np.random.default_rng(4)
    runs = [(rng.random(400) < 0.3).astype(int) for _ in range(4)]
    times = times_drawn(400, seeded_rng(2))
    one = over_texts([share(times, runs[0].tolist())])
    counted = Estimate.of_share(int(runs[0].sum()), 400)
    assert one.low == pytest.approx(counted.low, abs=0.012)
    assert one.high == pytest.approx(counted.high, abs=0.012)
    four = over_texts([share(times, run.tolist()) for run in runs])
    assert four.high - four.low < 0.7 * (one.high - one.low)
    assert len(times) == 1 + COLLECTIONS
