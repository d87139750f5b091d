"""Earth Mover's distance: against a plain linear program, its laws, and the paper's own example."""

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from inkblur.errors import MissingExtra, ParameterError
from inkblur.evaluation.measures import earth_movers as em
from inkblur.types import Array


def by_linear_program(costs: Array, left: Array, right: Array) -> float:
    """Definition 3, written out: the reference for both fast paths."""
    n, m = costs.shape
    rows = np.kron(np.eye(n), np.ones(m))
    columns = np.kron(np.ones(n), np.eye(m))
    shares = np.concatenate([left / left.sum(), right / right.sum()])
    solved = linprog(costs.ravel(), A_eq=np.vstack([rows, columns]), b_eq=shares)
    assert solved.fun is not None
    return solved.fun


def distance(left: Array, right: Array) -> float:
    return em.earth_movers(em.euclidean_costs(left, right))


def test_equal_sizes_agree_with_the_definition(rng: np.random.Generator) -> None:
    for size in (1, 2, 5, 12):
        costs = rng.uniform(0, 10, (size, size))
        expected = by_linear_program(costs, np.ones(size), np.ones(size))
        assert em.earth_movers(costs) == pytest.approx(expected, rel=1e-9)


def test_unequal_sizes_and_counts_agree_with_the_definition(rng: np.random.Generator) -> None:
    pytest.importorskip("ot")
    for n, m in ((1, 4), (3, 7), (9, 5), (6, 6)):
        costs = rng.uniform(0, 10, (n, m))
        left, right = rng.integers(1, 5, n) / 1.0, rng.integers(1, 5, m) / 1.0
        expected = by_linear_program(costs, left, right)
        assert em.earth_movers(costs, left=left, right=right) == pytest.approx(expected, rel=1e-8)


def test_equal_sizes_never_touch_pot(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(em, "solve", lambda *_: pytest.fail("POT was asked"))
    em.earth_movers(rng.uniform(0, 1, (4, 4)), left=[2, 2, 2, 2])


def test_metric_laws_between_bags_of_one_size(rng: np.random.Generator) -> None:
    x, y, z = rng.normal(size=(3, 6, 4))
    assert distance(x, x[rng.permutation(6)]) == pytest.approx(0, abs=1e-12)
    assert distance(x, y) == pytest.approx(distance(y, x))
    assert distance(x, z) <= distance(x, y) + distance(y, z) + 1e-12
    assert distance(x, y) >= np.linalg.norm(x.mean(axis=0) - y.mean(axis=0)) - 1e-12


@pytest.mark.parametrize(
    ("costs", "weights"),
    [
        (np.empty((0, 3)), {}),
        (np.zeros(3), {}),
        ([[np.nan]], {}),
        ([[-1.0]], {}),
        ([[1.0, 2.0]], {"left": [1.0, 1.0]}),
        ([[1.0, 2.0]], {"right": [1.0, 0.0]}),
    ],
)
def test_bad_costs_and_weights_are_refused(costs: Any, weights: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        em.earth_movers(costs, **weights)


def test_without_pot_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ot", None)
    with pytest.raises(MissingExtra, match="evaluation"):
        em.solve(np.ones((1, 2)), np.ones(1), np.full(2, 0.5))


BAGS = (
    ("president", "greets", "press", "chicago"),
    ("chief", "speaks", "media", "illinois"),
    ("chef", "breaks", "cooking", "record"),
)


def test_the_three_sentences_of_the_paper() -> None:
    """Section 2, with GloVe in place of word2vec: other numbers, the same order."""
    data = os.environ.get("INKBLUR_DATA")
    if not data:
        pytest.skip("set INKBLUR_DATA to the data folder for the GloVe vectors")
    folder = Path(data) / "vectors"
    words = (folder / "glove-6b-300d.vocab.txt").read_text(encoding="utf-8").splitlines()
    index = {word: i for i, word in enumerate(words)}
    table = np.load(folder / "glove-6b-300d.npy", mmap_mode="r")
    b1, b2, b3 = (table[[index[word] for word in bag]] for bag in BAGS)
    assert distance(b1, b2) == pytest.approx(6.66, abs=0.005)
    assert distance(b1, b3) == pytest.approx(8.61, abs=0.005)
    assert distance(b2, b3) == pytest.approx(8.43, abs=0.005)
