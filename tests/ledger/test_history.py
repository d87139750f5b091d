"""What was spent before: balances must be those of the charges, whatever happens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from inkblur.ledger import Budget, Charge, Ledger, micros, open_ledger
from tests.ledger.test_ledger import charge, opened, spend

LIMITS = (20.0, 30.0)  # a record's, a person's


class Plain:
    """The ledger as a list of charges that is read from the start every time."""

    def __init__(self) -> None:
        self.charges: list[tuple[int, str, str, str, str, int]] = []
        self.void: set[int] = set()

    def spent(self, place: int, name: str) -> int:
        largest: dict[str, int] = {}
        for row in self.charges:
            if row[0] not in self.void and row[place] == name:
                largest[row[4]] = max(largest.get(row[4], 0), row[5])
        return sum(largest.values())

    def releases(self, place: int, name: str) -> set[int]:
        return {row[0] for row in self.charges if row[0] not in self.void and row[place] == name}

    def known(self, draw: str, person: str | None = None) -> bool:
        return any(
            row[0] not in self.void and row[4] == draw and person in (None, row[3])
            for row in self.charges
        )

    def fits(self, record: str, person: str, draw: str, loss: int) -> bool:
        if not self.known(draw) and self.spent(1, record) + loss > LIMITS[0]:
            return False
        return self.known(draw, person) or self.spent(3, person) + loss <= LIMITS[1]


STEP = st.tuples(
    st.sampled_from("ab"),  # record
    st.sampled_from("xy"),  # content
    st.sampled_from("pq"),  # person
    st.sampled_from(["key 1", "key 2", "key 3"]),
    st.sampled_from(["limited", "counted", "void", "again"]),
)


@settings(deadline=None, max_examples=60)
@given(st.lists(STEP, min_size=4, max_size=25))
def test_a_balance_grants_what_reading_every_charge_would(steps: list[tuple[str, ...]]) -> None:
    """Repeats, other people's names, releases without a budget, voids and retries, in any order."""
    losses = {"x": 3, "y": 5}
    plain = Plain()
    with TemporaryDirectory() as folder, open_ledger(Path(folder, "ledger.db")) as ledger:
        for turn, (record, content, person, key, then) in enumerate(steps):
            loss = losses[content]
            asked = [charge(record, content, float(loss), person=person)]
            row = (turn, record, content, person, f"{key} {record} {content}", loss)
            limits = Budget() if then == "counted" else Budget.of(*LIMITS)
            fits = then == "counted" or plain.fits(record, person, row[4], loss)
            with opened(ledger, key) as release:
                result = release.charge(asked, limits)
                assert (not result.exceeded) == fits
                if not fits:
                    release.void()
                    continue
                plain.charges.append(row)
                assert result.most_spent == micros(float(plain.spent(1, record)))
                assert result.most_releases == len(plain.releases(1, record))
                if then == "again":
                    again = release.charge(asked, limits)
                    times = len(plain.releases(1, record))
                    assert (again.replayed, again.most_releases) == (0, times)
                if then == "void":
                    release.void()
                    plain.void.add(turn)
                else:
                    release.confirm()
            assert ledger.verify() == []
        assert len(list(ledger.export())) == 1 + len(plain.charges)  # no retry is written
        for person in "pq":
            assert ledger.spent(person).amount == micros(float(plain.spent(3, person)))


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


def test_a_draw_under_two_names_in_one_release_is_charged_to_both(ledger: Ledger) -> None:
    with opened(ledger) as release:
        release.charge([charge("a", loss=15.0, person="p")])
        release.charge([charge("a", loss=15.0, person="q")])
        release.confirm()
    assert ledger.spent("q").amount == micros(15.0)
