"""What was spent before: balances must be those of the charges, whatever happens."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from inkblur.ledger import Budget, Charge, Ledger, micros, open_ledger
from tests.ledger.test_ledger import charge, opened, spend

LIMITS = (20.0, 30.0)  # a record's, a person's
LOSSES = {"x": 3, "y": 5}  # by text


class Row(NamedTuple):
    """A charge in plain words."""

    turn: int
    record: str
    person: str
    draw: str
    loss: int


class Plain:
    """The ledger as a list of charges that is read from the start every time."""

    def __init__(self) -> None:
        self.charges: list[Row] = []
        self.void: set[int] = set()

    def counted(self, **wanted: str) -> list[Row]:
        rows = [row for row in self.charges if row.turn not in self.void]
        return [r for r in rows if all(getattr(r, name) == it for name, it in wanted.items())]

    def spent(self, **wanted: str) -> int:
        largest: dict[str, int] = {}
        for row in self.counted(**wanted):
            largest[row.draw] = max(largest.get(row.draw, 0), row.loss)
        return sum(largest.values())

    def fits(self, rows: list[Row]) -> bool:
        new = sum(row.loss for row in rows if not self.counted(draw=row.draw))
        if new and self.spent(record=rows[0].record) + new > LIMITS[0]:
            return False
        for who in {row.person for row in rows}:
            own = [r for r in rows if r.person == who]
            new = sum(r.loss for r in own if not self.counted(draw=r.draw, person=who))
            if new and self.spent(person=who) + new > LIMITS[1]:
                return False
        return True

    def charge(self, rows: list[Row], limited: bool) -> int | None:
        """How many repeat an earlier draw; None where a limit allows none of them."""
        before, replayed, granted = [*self.charges], 0, True
        for _, group in groupby(rows, key=lambda row: row.record):
            together = [*group]
            if limited and not self.fits(together):
                granted = False
                continue
            for row in together:
                own = row in self.charges
                replayed += bool(self.counted(draw=row.draw)) and not own
                if not own:
                    self.charges.append(row)
        if granted:
            return replayed
        self.charges = before
        return None


ASKED = st.tuples(
    st.sampled_from("ab"),  # record
    st.sampled_from("xy"),  # content
    st.sampled_from("pq"),  # person
    st.sampled_from(["title", "body"]),
    st.booleans(),  # named, or by its text
)
STEP = st.tuples(
    st.lists(ASKED, min_size=1, max_size=4),
    st.sampled_from(["key 1", "key 2", "key 3"]),
    st.sampled_from(["limited", "counted", "void", "again"]),
)


@settings(deadline=None, max_examples=100)
@given(st.lists(STEP, min_size=3, max_size=20))
def test_a_balance_grants_what_reading_every_charge_would(steps: list[Any]) -> None:
    """Several columns and people in a call, repeats, other people's names, releases without a
    budget, voids and retries, in any order.
    """
    plain = Plain()
    with TemporaryDirectory() as folder, open_ledger(Path(folder, "ledger.db")) as ledger:
        for turn, (asked, key, then) in enumerate(steps):
            charges, rows = [], []
            for record, text, person, column, named in sorted(asked, key=lambda a: (a[4], a[:2])):
                id, loss = (record if named else "a digest"), LOSSES[text]
                charges.append(
                    charge(id, text, float(loss), person=person, column=column)._replace(
                        named=named
                    )
                )
                name = f"id {id}" if named else f"text {text}"
                rows.append(Row(turn, name, person, f"{key} {column} {id} {text}", loss))
            order = sorted(range(len(rows)), key=lambda place: rows[place].record)
            charges, rows = [charges[i] for i in order], [rows[i] for i in order]
            limits = Budget() if then == "counted" else Budget.of(*LIMITS)
            replayed = plain.charge(rows, bool(limits))
            with opened(ledger, key) as release:
                result = release.charge(charges, limits)
                assert (not result.exceeded) == (replayed is not None)
                if replayed is None:
                    release.void()
                    continue
                assert result.replayed == replayed
                names = {row.record for row in rows}
                assert result.most_spent == max(micros(plain.spent(record=name)) for name in names)
                times = max(len({r.turn for r in plain.counted(record=name)}) for name in names)
                assert result.most_releases == times
                if then == "again":
                    again = release.charge(charges, limits)
                    assert (again.replayed, again.most_releases) == (0, times)
                if then == "void":
                    release.void()
                    plain.void.add(turn)
                else:
                    release.confirm()
            assert ledger.verify() == []
        assert len(list(ledger.export())) == 1 + len(plain.charges)  # no retry is written
        for person in "pq":
            assert ledger.spent(person).amount == micros(plain.spent(person=person))


def _statements(ledger: Ledger, act: Callable[[], Any]) -> list[str]:
    """The statements that SQLite runs."""
    seen: list[str] = []
    connection = ledger.store._connection
    connection.set_trace_callback(seen.append)
    act()
    connection.set_trace_callback(None)
    return seen


def test_a_record_that_was_released_often_is_read_no_slower(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "ledger.db") as ledger:
        for turn in range(20):
            assert spend(ledger, [charge("a", person="p")], draw=f"key {turn}")
        kept = ledger.store.run("SELECT amount, releases FROM balance ORDER BY person")
        assert kept == [(str(micros(8.0) * 20), 20), (str(micros(8.0) * 20), 0)]
        seen = _statements(ledger, lambda: spend(ledger, [charge("a")], draw="new"))
        assert not [sql for sql in seen if "SUM(" in sql or "COUNT(" in sql]


def test_a_balance_that_was_changed_is_found(ledger: Ledger) -> None:
    assert spend(ledger, [charge("a", person="p")])
    assert ledger.verify() == []
    ledger.store.run("UPDATE balance SET amount = '1'")
    assert len(ledger.verify()) == 2
    ledger.store.run("DELETE FROM balance")
    assert len(ledger.verify()) == 2


def test_sums_past_64_bits_stay_exact(ledger: Ledger) -> None:
    most = (1 << 62) - 1
    for turn in range(5):
        with opened(ledger, f"key {turn}") as release:
            asked = Charge("a", "text", "x", 1, most, "p")
            result = release.charge([asked], Budget(record=5 * most, person=5 * most))
            assert not result.exceeded
            assert result.most_spent == (turn + 1) * most
            release.confirm()
    assert spend(ledger, [charge("b", person="q")])
    assert ledger.spent("p").amount == 5 * most
    assert ledger.most_spent()["record"].amount == ledger.most_spent()["person"].amount == 5 * most
    with opened(ledger, "one more") as release:
        assert release.charge([Charge("a", "text", "y", 1, 1)], Budget(record=5 * most)).exceeded
        release.void()
    assert ledger.verify() == []
