"""Meaning kept: right numbers on known movements, against a plain linear program and the paper."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from inkblur.embeddings.table import Embedding
from inkblur.errors import MissingExtra, ParameterError
from inkblur.evaluation.measures.meaning import earth_movers, euclidean_costs, meaning_kept
from inkblur.types import Array


def test_one_word_moves_by_its_vectors_and_order_costs_nothing(toy: Embedding) -> None:
    still = meaning_kept(["wordaa wordab wordac"], ["wordac wordaa wordab"], toy)
    assert still.earth_movers == 0.0
    assert still.cosine == pytest.approx(1.0)
    apart = np.linalg.norm(toy.vectors[0].astype(float) - toy.vectors[3].astype(float))
    assert meaning_kept(["wordaa"], ["wordad"], toy).earth_movers == pytest.approx(apart)
    half = meaning_kept(["wordaa wordab"], ["wordad wordab"], toy)
    assert half.earth_movers == pytest.approx(apart / 2)
    pytest.importorskip("ot", reason="needs POT")
    shares = meaning_kept(["wordaa"], ["wordaa wordad"], toy)
    assert shares.earth_movers == pytest.approx(apart / 2)


def test_the_cosine_does_not_see_the_vocabulary_s_mean(toy: Embedding) -> None:
    far = Embedding(toy.words, toy.vectors + 100.0, name="shifted")
    plain = meaning_kept(["wordaa wordbf"], ["wordam wordbq"], toy).cosine
    shifted = meaning_kept(["wordaa wordbf"], ["wordam wordbq"], far).cosine
    assert shifted == pytest.approx(plain, abs=1e-3)
    assert plain < 0.9


def test_texts_without_a_known_word_are_counted_not_scored(toy: Embedding) -> None:
    found = meaning_kept(["wordaa", "", "zebra", "wordab"], ["wordaa", "wordaa", "wordaa", ""], toy)
    assert (found.compared, found.left_out) == (1, 3)
    assert found.earth_movers == 0.0
    with pytest.raises(ParameterError, match="nothing can be"):
        meaning_kept(["zebra"], ["wordaa"], toy)
    with pytest.raises(ParameterError, match="do not match"):
        meaning_kept(["wordaa"], [], toy)
    table = Embedding(["the", "a", "cat"], [[0.0, 0.0], [3.0, 4.0], [1.0, 1.0]], name="tiny")
    assert meaning_kept(["the cat"], ["a cat"], table).earth_movers == 0.0


def by_linear_program(costs: Array, left: Array, right: Array) -> float:
    """Definition 3, written out: the reference for both fast paths."""
    n, m = costs.shape
    rows = np.kron(np.eye(n), np.ones(m))
    columns = np.kron(np.ones(n), np.eye(m))
    shares = np.concatenate([left / left.sum(), right / right.sum()])
    solved = linprog(costs.ravel(), A_eq=np.vstack([rows, columns]), b_eq=shares)
    assert solved.fun is not None
    return solved.fun


def test_earth_movers_agrees_with_the_definition(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    for size in (1, 2, 5, 12):
        costs = rng.uniform(0, 10, (size, size))
        expected = by_linear_program(costs, np.ones(size), np.ones(size))
        with monkeypatch.context() as without:
            without.setitem(sys.modules, "ot", None)  # equal sizes need no further library
            assert earth_movers(costs, left=np.full(size, 2.0)) == pytest.approx(expected, rel=1e-9)
    pytest.importorskip("ot")
    for n, m in ((1, 4), (3, 7), (9, 5), (6, 6)):
        costs = rng.uniform(0, 10, (n, m))
        left, right = rng.integers(1, 5, n) / 1.0, rng.integers(1, 5, m) / 1.0
        expected = by_linear_program(costs, left, right)
        assert earth_movers(costs, left=left, right=right) == pytest.approx(expected, rel=1e-8)


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
        earth_movers(costs, **weights)


def test_without_pot_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ot", None)
    with pytest.raises(MissingExtra, match="evaluation"):
        earth_movers(np.ones((1, 2)))


def test_the_three_sentences_of_the_paper() -> None:
    """Section 2, with GloVe in place of word2vec: other numbers, the same order."""
    data = os.environ.get("INKBLUR_DATA")
    if not data:
        pytest.skip("set INKBLUR_DATA to the data folder for the GloVe vectors")
    folder = Path(data) / "vectors"
    words = (folder / "glove-6b-300d.vocab.txt").read_text(encoding="utf-8").splitlines()
    index = {word: i for i, word in enumerate(words)}
    table = np.load(folder / "glove-6b-300d.npy", mmap_mode="r")
    bags = ("president greets press chicago", "chief speaks media illinois",
            "chef breaks cooking record")  # fmt: skip
    one, two, three = (table[[index[word] for word in bag.split()]] for bag in bags)
    for left, right, wanted in ((one, two, 6.66), (one, three, 8.61), (two, three, 8.43)):
        assert earth_movers(euclidean_costs(left, right)) == pytest.approx(wanted, abs=0.005)
