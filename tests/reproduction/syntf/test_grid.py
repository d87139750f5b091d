"""A sample of SynTF's grid sees every level, and the model finds effects that were put there."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from reproduction.syntf.grid import POINTS, RELEASED, GridPoint, effects, spread
from reproduction.syntf.published import BIGRAMS, EPSILONS, LENGTHS, MORPHOLOGIES

PAPER = GridPoint(0.3, 47.5, "lemma", similar=False)


def test_the_grid_is_the_papers() -> None:
    assert len(POINTS) * len(LENGTHS) == 810
    assert PAPER in POINTS


def test_the_sample_fills_the_grid() -> None:
    chosen = spread(POINTS, RELEASED, PAPER)
    assert chosen[0] == PAPER
    assert len(set(chosen)) == RELEASED
    assert {point.bigram for point in chosen} == set(BIGRAMS)
    assert {point.epsilon for point in chosen} == set(EPSILONS)
    forms = Counter(point.morphology for point in chosen)
    assert set(forms) == set(MORPHOLOGIES.values())
    assert max(forms.values()) < RELEASED / 2  # a third each, about
    assert RELEASED / 3 < sum(point.similar for point in chosen) < RELEASED * 2 / 3


def test_effects_that_were_put_there_are_found() -> None:
    noise = np.random.default_rng(1)

    def gap(point: GridPoint, length: int) -> float:
        s, epsilon, lemma, _, _ = point.coded()
        return 0.1 * s - 0.05 * epsilon + 0.03 * s * lemma + float(noise.normal(0, 0.01))

    gaps = {
        (point, length): [gap(point, length) for _ in range(2)]
        for point in spread(POINTS, RELEASED, PAPER)
        for length in LENGTHS
    }
    found = effects(gaps)
    true = {"s": 0.2, "epsilon": -0.1, "s x lemma": 0.06}
    for name, value in true.items():
        assert found[name].value == pytest.approx(value, abs=0.01)
        assert found[name].low < value < found[name].high
    assert "lemma x lower rather than as it is" not in found  # one parameter
    covered = [name not in true and found[name].low < 0 < found[name].high for name in found]
    assert sum(covered) >= 0.8 * (len(found) - len(true))
