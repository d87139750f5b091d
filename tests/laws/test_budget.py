"""A budget is a budget: whatever is granted of one record, and however it is asked for, the losses
add up to at most that.

What a draw can lose is computed here from the tables themselves: the largest ratio between the
probabilities of an output, or the largest distance between two words.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import inkblur
from inkblur import BudgetExceeded, Limits, PrivacyError, ReleaseSpec
from inkblur.embeddings.store import write_store
from inkblur.mechanisms.base import DiscreteMechanism, WordMechanism
from inkblur.mechanisms.exponential import Exponential
from inkblur.mechanisms.laplace import Laplace
from inkblur.mechanisms.perturbation import Perturbation
from tests.laws import catalogue
from tests.laws.test_draws import WORDS, toy

TABLE = toy()
EVERY = np.arange(-1, len(TABLE))  # the null word among them
TEXTS = {"a": "the doctor was angry and the cat was hungry", "b": "winter night"}
BUDGET = 40.0


def lost(mechanism: WordMechanism) -> float:
    """The largest loss of one draw between any two words, over all outputs."""
    if isinstance(mechanism, Perturbation):
        centers = TABLE.centers(EVERY)
        return mechanism.noise.epsilon * float(mechanism.noise.pairwise(centers, centers).max())
    if not isinstance(mechanism, DiscreteMechanism):  # other laws compare what it draws with this
        return mechanism.guarantee.epsilon
    shares = np.log(mechanism.probabilities(EVERY))
    return float((shares.max(axis=0) - shares.min(axis=0)).max())


@pytest.mark.parametrize("setting", catalogue.PRIVATE, ids=catalogue.label)
def test_no_draw_loses_more_than_is_charged(setting: tuple[str, dict[str, Any]]) -> None:
    mechanism = catalogue.make(setting, TABLE, 2.0)
    charged = inkblur.Privatizer(mechanism).largest_loss
    assert lost(mechanism) <= charged * (1 + 1e-9)
    assert charged <= 2 * lost(mechanism) * 1.01 + 4.0  # a bound, and no excuse


def test_a_mechanism_that_tells_no_diameter_has_no_bound() -> None:
    class Mine(Laplace):
        diameter = math.inf

    privatizer = inkblur.Privatizer(Mine(TABLE, epsilon=2.0))
    assert privatizer.unbounded
    assert not inkblur.Privatizer(Laplace(TABLE, epsilon=2.0)).unbounded


@pytest.mark.parametrize(
    "kept",
    ["stop-words", "unknown", "numbers", "addresses", "punctuation", "sentence-ends"],
)
def test_what_is_copied_has_no_bound(kept: str) -> None:
    policies = inkblur.TokenPolicies.of(keep=[kept])
    law = Exponential(TABLE, epsilon=2.0)
    assert inkblur.Privatizer(law, policies=policies).unbounded


class Desk:
    """One record, with two texts, and a budget."""

    def __init__(self, folder: Path, budget: float = BUDGET) -> None:
        self.folder, self.limits, self.spent = folder, Limits(budget=budget), 0.0
        write_store(folder / "toy.ink", TABLE)
        with (folder / "in.csv").open("w", newline="") as file:
            csv.writer(file).writerows([["id", *TEXTS], ["7", *TEXTS.values()]])

    def ask(self, **law: Any) -> bool:
        """Release it by this law, under a fresh key; whether that was granted."""
        spec = self._spec(**law)
        try:
            inkblur.privatize_file(
                self.folder / "in.csv",
                self.folder / "out.csv",
                spec,
                ledger=self.folder / "ledger.db",
                limits=self.limits,
            )
        except (BudgetExceeded, PrivacyError):
            return False
        self.spent += self._losses(spec)
        return True

    def _losses(self, spec: ReleaseSpec) -> float:
        """Of the release that was written: so many draws were shown."""
        with (self.folder / "out.csv").open(newline="") as file:
            (row,) = csv.DictReader(file)
        assert not spec.keep
        draws = sum(len(row[column].split()) for column in spec.columns)
        return draws * lost(spec.privatizer(TABLE).mechanism)

    def _spec(self, **law: Any) -> ReleaseSpec:
        described = {"epsilon": 1.0, "columns": ("a",), "id_column": "id", "accept_weak": True}
        return ReleaseSpec.of(embedding=str(self.folder / "toy.ink"), **{**described, **law})


CLASSES = ["stop-words", "unknown", "numbers", "addresses"]
LAWS = st.one_of(
    [
        st.fixed_dictionaries(
            {"mechanism": st.just(name), **{k: st.just(v) for k, v in own.items()}}
        )
        for name, own in catalogue.PRIVATE
    ]
    + [
        st.fixed_dictionaries(
            {
                "mechanism": st.just("mahalanobis"),
                "lam": st.floats(0.0, 1.0).map(lambda x: x or 0.0),
            }
        ),
        st.fixed_dictionaries({"mechanism": st.just("staircase"), "tau": st.floats(0.01, 0.5)}),
    ]
)
OPTIONS = st.fixed_dictionaries(
    {
        "epsilon": st.sampled_from([0.25, 1.0, 1.000001]),
        "columns": st.sampled_from([("a",), ("b",), ("a", "b"), ("b", "a")]),
        "drop": st.lists(st.sampled_from(CLASSES), unique=True, max_size=3).map(tuple),
        "length": st.sampled_from([None, None, 1, 4, 12]),
        "release": st.sampled_from(["sequence", "bag"]),
        "names": st.sampled_from(["null", "blur"]),
    }
)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(LAWS, OPTIONS), min_size=2, max_size=7))
def test_the_losses_of_all_that_is_granted_are_within_the_budget(
    asked: list[tuple[Mapping[str, Any], Mapping[str, Any]]],
) -> None:
    with TemporaryDirectory() as folder:
        desk = Desk(Path(folder))
        for law, options in asked:
            desk.ask(**law, **options)
            assert desk.spent <= BUDGET * (1 + 1e-9)
        with inkblur.open_ledger(Path(folder, "ledger.db")) as ledger:
            assert ledger.verify() == []


STAIRCASE = {"mechanism": "staircase", "tau": 0.2}
WAYS: dict[str, list[dict[str, Any]]] = {
    "every combination of dropped classes": [
        {**STAIRCASE, "drop": tuple(c for n, c in enumerate(CLASSES) if subset >> n & 1)}
        for subset in range(16)
    ],
    "every lambda": [
        {"mechanism": "mahalanobis", "lam": lam} for lam in (0.5, 0.500001, 0.500002, 0.4, 0.6)
    ],
    "columns apart and together": [
        {**STAIRCASE, "columns": columns}
        for columns in (("a", "b"), ("a",), ("b",), ("b", "a"), ("a", "b"))
    ],
    "every mechanism": [{"mechanism": name, **own} for name, own in catalogue.PRIVATE],
    "every length and kind": [
        {**STAIRCASE, "length": length, "release": kind}
        for length in (9, 10, 11)
        for kind in ("sequence", "bag")
    ],
    "what is copied": [{**STAIRCASE, "keep": ("stop-words",)}],
}


@pytest.mark.parametrize("way", WAYS)
def test_no_way_opens_a_fresh_account(way: str, tmp_path: Path) -> None:
    """Each was granted again and again: a record's budget could be spent 32 times over."""
    desk = Desk(tmp_path, 25.0)
    granted = [desk.ask(**law) for law in WAYS[way]]
    assert desk.spent <= 25.0
    if way == "what is copied":
        assert granted == [False]
    else:
        assert not all(granted)


def test_a_person_has_one_account_too(tmp_path: Path) -> None:
    """With 400 one person was granted 1,268."""
    table, asked = tmp_path / "toy.ink", 0
    write_store(table, TABLE)
    for turn, law in enumerate(law for laws in WAYS.values() for law in laws):
        spec = ReleaseSpec.of(epsilon=1.0, embedding=str(table), accept_weak=True, **law)
        spec = spec.varied(columns=("text",))
        try:
            inkblur.privatize(
                [TEXTS["a"]],
                spec=spec,
                ids=[str(turn)],
                people=["ada"],
                ledger=tmp_path / "l.db",
                limits=Limits(person_budget=40.0),
            )
            asked += 1
        except (BudgetExceeded, PrivacyError):
            continue
    with inkblur.open_ledger(tmp_path / "l.db") as ledger:
        assert asked >= 2
        assert sum(entry["words"] for entry in ledger.history() if entry["state"] != "void") <= 40
        assert 0 < ledger.spent("ada").amount <= 40_000_000


def test_a_release_without_a_guarantee_is_not_forgotten(tmp_path: Path) -> None:
    """The next one called itself the first recorded release of these texts."""
    write_store(tmp_path / "toy.ink", TABLE)

    def ask(**law: Any) -> str:
        spec = ReleaseSpec.of(epsilon=1.0, embedding=str(tmp_path / "toy.ink"), **law)
        told = inkblur.privatize([" ".join(WORDS[:6])], spec=spec, ledger=tmp_path / "l.db")
        return told.guarantee.statement()

    ask(mechanism="angular-laplace", accept_no_guarantee=True, accept_weak=True)
    assert "released 2 times" in ask(**STAIRCASE)


def test_a_server_grants_a_text_its_budget_once(tmp_path: Path) -> None:
    """With a budget of 30, 32 releases of one text were granted while it said 24."""
    write_store(tmp_path / "toy.ink", TABLE)
    from tests.together import Desk, Order

    pa = pytest.importorskip("pyarrow")
    rows = pa.record_batch({"id": ["7"], "text": [TEXTS["a"]]})
    granted = 0
    with inkblur.open_ledger(tmp_path / "l.db") as ledger:
        desk = Desk(inkblur.keyed_rng(bytes(range(32))), ledger, limits=Limits(budget=30.0))
        for law in WAYS["every combination of dropped classes"]:
            spec = ReleaseSpec.of(
                epsilon=1.0,
                embedding=str(tmp_path / "toy.ink"),
                id_column="id",
                accept_weak=True,
                **law,
            )
            [answer] = desk.release([Order(rows, spec)])
            if not isinstance(answer, Exception):
                granted += answer.words
                assert answer.largest_loss == granted
        assert 0 < granted <= 30
