"""One more entry in the catalogue takes part everywhere, without any other change."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import inkblur
from inkblur.mechanisms import catalogue
from inkblur.mechanisms.base import WordMechanism
from inkblur.mechanisms.calibration import survival_rate
from inkblur.mechanisms.catalogue import CATALOGUE, Entry
from inkblur.mechanisms.parameters import Parameter, Value
from inkblur.spec import ReleaseSpec
from inkblur.types import Metric
from reproduction.contenders import contenders, entrants
from reproduction.context import Context
from reproduction.datasets import Datasets


@pytest.fixture
def work(tmp_path: Path) -> Context:
    return Context("made/up", Datasets(tmp_path), seed=1, quick=True, folder=tmp_path)


@pytest.fixture
def table() -> inkblur.Embedding:
    vectors = np.random.default_rng(5).normal(size=(300, 8))
    return inkblur.Embedding([f"w{i}" for i in range(300)], vectors, name="made")


def test_every_mechanism_takes_part_at_equal_survival(
    work: Context, table: inkblur.Embedding
) -> None:
    found = contenders(work, table, survival=0.4)
    assert {setting.mechanism for setting in found} == set(CATALOGUE)
    for setting in found:
        assert survival_rate(setting.mechanism_on(table)) == pytest.approx(0.4, abs=0.1)


def test_a_new_entry_joins(
    work: Context, table: inkblur.Embedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = Entry("mine", Metric.EUCLIDEAN, "as Laplace's", "here", inkblur.Laplace)
    monkeypatch.setitem(catalogue.CATALOGUE, "mine", entry)
    names = [setting.mechanism for setting in contenders(work, table, survival=0.4)]
    assert names.count("mine") == 1


def test_a_new_entry_races_with_options_of_its_own(
    work: Context, table: inkblur.Embedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two variants of one mechanism stay two: in their names, families and releases."""
    made = []

    def make(
        embedding: inkblur.Embedding, *, epsilon: float, stretch: float = 1.0, kind: str = "a"
    ) -> WordMechanism:
        made.append((stretch, kind))
        return inkblur.Laplace(embedding, epsilon=epsilon * stretch)

    raced: tuple[dict[str, Value], ...] = ({"stretch": 2.0, "kind": "b"}, {"stretch": 4.0})
    own = (
        Parameter("stretch", 1.0, "How far."),
        Parameter("kind", "a", "Which.", choices=("a", "b")),
    )
    entry = Entry("mine", Metric.EUCLIDEAN, "stretched", "here", make, own, raced)
    monkeypatch.setitem(catalogue.CATALOGUE, "mine", entry)
    mine = [s for s in contenders(work, table, survival=0.4) if s.mechanism == "mine"]
    families = ["mine, stretch 2, kind b", "mine, stretch 4"]
    assert [setting.family for setting in mine] == families
    assert mine[0].epsilon == pytest.approx(2 * mine[1].known_epsilon, rel=0.02)
    assert [s.family for s in entrants() if s.mechanism == "mine"] == families
    made.clear()
    for setting in mine:
        setting.mechanism_on(table)
        assert ReleaseSpec.from_json(json.loads(json.dumps(setting.to_json()))) == setting
    assert made == [(2.0, "b"), (4.0, "a")]


def test_a_mechanism_that_cannot_be_so_strong_is_left_out(
    work: Context, table: inkblur.Embedding
) -> None:
    names = {setting.mechanism for setting in contenders(work, table, survival=0.02)}
    assert "laplace" in names
    assert "angular-laplace" not in names
