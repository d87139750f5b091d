"""Budgets hold for Arrow batches: all rows or none, before anything is drawn.

Spark and Ray, which start processes of their own, are asked the same in test_spark and test_ray.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from inkblur import Limits, Privatizer, ReleaseSpec, arrow
from inkblur.arrow import one_batch, plan_release
from inkblur.errors import BudgetExceeded, ParameterError
from inkblur.ledger import Ledger, micros
from inkblur.rng import write_key
from tests.engines.made import charged, rows

EPSILON = 8.0
SPEC = ReleaseSpec("staircase", EPSILON, id_column="id", keep_columns=("id", "stars"))
MOST = 12  # words of the longest text


def release(table: pa.Table, spec: ReleaseSpec, limits: Limits) -> pa.Table:
    return pa.Table.from_batches([arrow.release(one_batch(table), spec, limits=limits)])


@pytest.fixture
def table() -> pa.Table:
    """Sixty texts of at most twelve words, no two of them alike, of three people."""
    given = rows(60)
    texts = [
        f"{text or ''} {'cold ' * (i % 3)}" for i, text in enumerate(given["text"].to_pylist())
    ]
    numbered = pa.array([" ".join(text.split()[:MOST]) for text in texts])
    people = pa.array([f"person {i % 3}" for i in range(60)])
    return given.set_column(1, "text", numbered).append_column("who", people)


@pytest.fixture
def spec() -> ReleaseSpec:
    return SPEC.varied(person_column="who")


def test_over_budget_nothing_is_drawn_and_nothing_is_charged(
    table: pa.Table,
    spec: ReleaseSpec,
    key_file: Path,
    ledger: Ledger,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*arguments: object, **more: object) -> None:
        raise AssertionError("drawn before the budget was checked")

    monkeypatch.setattr(Privatizer, "release_batch", refuse)
    with pytest.raises(BudgetExceeded, match="record 77: 4 left of the record's budget"):
        release(table.slice(11, 1), spec, Limits(budget=4.0))
    with pytest.raises(BudgetExceeded, match="person's budget"):
        release(table, spec, Limits(person_budget=EPSILON * MOST))
    assert [entry["state"] for entry in ledger.history()] == ["void"] * 2
    assert ledger.spent("person 0").amount == 0
    assert ledger.verify() == []


def test_within_budget_everything_is_released_once(
    table: pa.Table,
    spec: ReleaseSpec,
    key_file: Path,
    ledger: Ledger,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    enough = Limits(budget=EPSILON * MOST * 4, person_budget=1e6)  # a few texts are alike
    first = release(table, spec, enough)
    assert first.num_rows == 60
    once = charged(ledger)
    spent = [ledger.spent(f"person {i}").amount for i in range(3)]
    assert once == sum(spent)
    tight = Limits(person_budget=max(spent) / 1_000_000)
    again = release(table, spec, tight)  # a replay: nothing is left, and nothing is needed
    assert again.to_pydict() == first.to_pydict()
    assert charged(ledger) == once
    other = tmp_path / "other"
    write_key(other)
    monkeypatch.setenv("INKBLUR_KEY_FILE", str(other))
    with pytest.raises(BudgetExceeded):
        release(table, spec, tight)
    assert charged(ledger) == once
    assert ledger.verify() == []


def test_rows_that_were_not_there_when_the_budget_was_checked_are_held_to_it(
    table: pa.Table,
    spec: ReleaseSpec,
    key_file: Path,
    ledger: Ledger,
) -> None:
    """A lazy plan may read other rows later than those that were reserved."""
    few = one_batch(table.slice(0, 3))  # of at most six words
    planned = plan_release(spec.varied(length="exact"))
    plan = planned.begun(
        True,
        Limits(budget=EPSILON * 6),
        repeated=False,
        missing=False,
        over=lambda reservation: reservation.over_budget(few.select(planned.needed)),
    )
    plan(few)
    with pytest.raises(BudgetExceeded):
        plan(one_batch(table.slice(9, 2)))
    for row in list(ledger.export())[1:]:
        assert int(row[-1]) <= micros(EPSILON * 6)


def test_without_a_ledger_there_is_no_budget(
    table: pa.Table,
    spec: ReleaseSpec,
    key_file: Path,
) -> None:
    with pytest.raises(ParameterError, match="needs a ledger"):
        arrow.release(one_batch(table), spec, ledger=False, limits=Limits(budget=10.0))
