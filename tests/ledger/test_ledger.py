"""The ledger: what counts as spent, who may spend, and what tampering leaves behind."""

from __future__ import annotations

import math
import os
import random
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkblur.errors import InputError, OutputError, ParameterError
from inkblur.ledger import (
    Budget,
    Charge,
    Ledger,
    ReleaseAccount,
    Spent,
    micros,
    open_ledger,
)
from inkblur.ledger.store import SqliteStore
from tests.ledger.stores import Old, write_first_version

SPACE = "between any two texts"  # what earlier versions counted such losses in


def charge(record: str, content: str | None = None, loss: float = 8.0, **rest: str) -> Charge:
    text = f"text of {record}" if content is None else content
    return Charge(record, rest.get("column", "text"), text, 10, micros(loss), rest.get("person"))


def opened(ledger: Ledger, draw: str = "key a", unbounded: str = "") -> ReleaseAccount:
    described = {"spec": {"mechanism": "staircase"}}
    return ledger.open_release(described, draw=draw, unbounded=unbounded)


def spend(
    ledger: Ledger, charges: list[Charge], limit: float | None = None, draw: str = "key a"
) -> bool:
    with opened(ledger, draw) as release:
        result = release.charge(charges, Budget.of(limit, None))
        if result.exceeded:
            release.void()
            return False
        release.confirm()
        return True


@given(st.floats(min_value=1e-12, max_value=1e6), st.integers(0, 10_000))
def test_losses_are_whole_numbers_rounded_up(loss: float, times: int) -> None:
    amount = micros(loss, times)
    assert Fraction(amount, 1_000_000) >= Fraction(loss) * times
    assert Fraction(amount - 1, 1_000_000) < Fraction(loss) * times or amount == 0


@pytest.mark.parametrize("loss", [-1.0, -0.1, math.nan, math.inf, -math.inf, 5e-324, 1e300])
def test_losses_that_would_refill_or_vanish_are_refused(loss: float) -> None:
    with pytest.raises(ParameterError):
        micros(loss)


@given(st.floats(min_value=1e-7, max_value=1e6))
def test_budgets_are_whole_numbers_rounded_down(limit: float) -> None:
    for amount in (Budget.of(limit, None).record, Budget.of(None, limit).person):
        assert amount is not None
        assert 0 <= Fraction(limit) * 1_000_000 - amount < 1


@pytest.mark.parametrize("limit", [0.0, -5.0, math.nan, math.inf])
def test_budgets_are_positive_numbers(limit: float) -> None:
    with pytest.raises(ParameterError):
        Budget.of(limit, None)


def test_a_release_over_budget_spends_nothing(ledger: Ledger) -> None:
    assert spend(ledger, [charge("a")], 20.0)
    assert spend(ledger, [charge("a")], 20.0, draw="key b")
    assert not spend(ledger, [charge("a"), charge("b")], 20.0, draw="key c")
    assert spend(ledger, [charge("b", loss=20.0)], 20.0, draw="key d")  # b had spent nothing
    assert ledger.verify() == []


def test_the_records_over_budget_are_named_with_what_is_left(ledger: Ledger) -> None:
    assert spend(ledger, [charge("a", loss=15.0)])
    with opened(ledger, "key b") as release:
        result = release.charge([charge("a"), charge("b")], Budget.of(20.0, None))
        release.void()
    assert [(e.id, e.left, e.asked) for e in result.exceeded] == [("a", micros(5.0), micros(8.0))]
    assert "record a: 5 left" in result.exceeded[0].sentence()
    with opened(ledger, "key b") as release:  # it has spent more than this
        (over,) = release.charge([charge("a")], Budget.of(10.0, None)).exceeded
        release.void()
    assert over.left == 0


def by_text(content: str, loss: float, record: str = "a digest") -> Charge:
    return charge(record, content, loss)._replace(named=False)


@pytest.mark.parametrize(
    "other",
    ["My text", "my  text", " my text\n", "my\u00a0text", "\uff4dy text", "MY\u2003TEXT\t"],
)
def test_a_text_that_names_itself_is_one_record_however_it_is_written(
    ledger: Ledger, other: str
) -> None:
    """Another space, letter form or case is no new record, with a budget of its own."""
    assert spend(ledger, [by_text("my text", 15.0)])
    assert not spend(ledger, [by_text(other, 8.0, "another digest")], 20.0, draw="key b")
    assert spend(ledger, [by_text("my texts", 15.0)], 20.0, draw="key b")


def test_callers_have_accounts_of_their_own(ledger: Ledger) -> None:
    for caller in ("", "a", "alice"):
        with ledger.open_release({}, draw="key a", caller=caller) as release:
            asked = [charge("alice:1", loss=15.0, person="p"), by_text("alice:1", 15.0)]
            result = release.charge(asked, Budget.of(20.0, None))
            assert (
                (result.exceeded, result.replayed) == ((), 0) if caller else result.exceeded == ()
            )
            release.confirm()
        assert ledger.spent("p", caller).amount == micros(15.0)


def test_what_has_no_bound_leaves_no_budget(ledger: Ledger) -> None:
    """And takes none: the amount is what its draws cost. What was granted before stays free."""
    assert spend(ledger, [charge("a", loss=5.0, person="p")], 20.0)
    with opened(ledger, "key b", unbounded="words are copied") as release:
        result = release.charge([charge("a", loss=2.0, person="p")])
        assert (result.most_spent, result.most_releases) == (micros(7.0), 2)
        release.confirm()
    assert ledger.history()[1]["unbounded"] == "words are copied"
    assert ledger.spent("p") == Spent(micros(7.0), 0, True)
    for limits in (Budget.of(1000.0, None), Budget.of(None, 1000.0)):
        with opened(ledger, "key c") as release:
            [over] = release.charge([charge("a", person="p")], limits).exceeded
            assert (over.left, over.unbounded) == (0, True)
            release.void()
    assert spend(ledger, [charge("a", loss=5.0, person="p")], 20.0)  # a replay
    assert spend(ledger, [charge("b", person="q")], 20.0)
    with opened(ledger, "key c") as release:
        assert release.charge([charge("a", person="p")]).unbounded
        release.void()
    assert ledger.verify() == []
    with opened(ledger, "key d", unbounded="words are copied") as release:
        release.charge([charge("b", person="q")])
        release.void()
    assert spend(ledger, [charge("b", person="q")], 20.0, draw="key c")  # nobody saw it
    assert ledger.verify() == []


def test_records_that_read_alike_when_joined_are_told_apart(ledger: Ledger) -> None:
    """Else the second would pass for a replay of the first, and cost nothing."""
    with opened(ledger) as release:
        result = release.charge([charge("ab", "c"), charge("a", "bc"), charge("abc", "")])
        release.confirm()
    assert (result.replayed, result.most_spent) == (0, micros(8.0))
    assert ledger.history()[0]["amount"] == micros(24.0)


def test_an_id_and_an_equal_content_have_accounts_of_their_own(ledger: Ledger) -> None:
    with opened(ledger) as release:
        assert release.charge([charge("same", "same", person="same")]).most_spent == micros(8.0)
        release.confirm()
    assert spend(ledger, [charge("same", "same", person="same")], 16.0, draw="key b")


def test_only_what_is_reserved_can_be_confirmed_later(ledger: Ledger) -> None:
    """What was given up does not count: to confirm it would say that its output exists."""
    reserved, void = opened(ledger), opened(ledger)
    void.void()
    with pytest.raises(InputError, match="is void, not reserved"):
        ledger.confirm(void.release)
    assert ledger.confirm(reserved.release) == reserved.release
    with pytest.raises(InputError, match="is confirmed, not reserved"):
        ledger.confirm(reserved.release)
    again = opened(ledger)  # described like the two before
    before = ledger.anchor()
    ledger.confirm_repeated(again.release)
    assert [each["state"] for each in ledger.history()] == ["confirmed", "void", "confirmed"]
    assert int(ledger.anchor().partition(":")[0]) == int(before.partition(":")[0]) + 1


def test_a_record_without_a_person_is_refused_under_a_budget_for_people(ledger: Ledger) -> None:
    with opened(ledger) as release, pytest.raises(ParameterError, match="record a"):
        release.charge([charge("a")], Budget.of(None, 20.0))


def test_output_that_may_have_been_seen_stays_spent_after_an_error(ledger: Ledger) -> None:
    def fail(show: bool, confirm: bool) -> None:
        with opened(ledger, f"key {show} {confirm}") as release:
            release.charge([charge("a", person="p")])
            if show:
                release.about_to_show()
            if confirm:
                release.confirm()
            raise RuntimeError

    for show, confirm in ((False, False), (True, False), (False, True)):
        with pytest.raises(RuntimeError):
            fail(show, confirm)
    assert [r["state"] for r in ledger.history()] == ["void", "reserved", "confirmed"]
    assert ledger.spent("p").amount == micros(16.0)


def _fail_before_anything_is_visible(ledger: Ledger) -> None:
    with opened(ledger, "key c") as release:
        release.charge([charge("b", loss=15.0)])
        raise RuntimeError


def test_a_reservation_counts_until_it_is_voided(ledger: Ledger) -> None:
    opened(ledger).charge([charge("a", loss=15.0)])  # and then the machine lost power
    assert not spend(ledger, [charge("a")], 20.0, draw="key b")
    assert spend(ledger, [charge("a", loss=15.0)], 20.0)  # the replay finishes it for nothing
    with pytest.raises(RuntimeError):
        _fail_before_anything_is_visible(ledger)
    assert spend(ledger, [charge("b", loss=15.0)], 20.0, draw="key d")
    assert [r["state"] for r in ledger.history()].count("void") == 2


def test_nothing_in_the_file_names_a_record(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "ledger.db") as ledger:
        with opened(ledger) as release:
            release.charge([charge("id-of-ada", "a secret text", person="ada lovelace")])
            release.confirm()
        exported = "\n".join(",".join(row) for row in ledger.export())
    held = b"".join(path.read_bytes() for path in tmp_path.iterdir()) + exported.encode()
    for word in (b"id-of", b"secret text", b"lovelace"):  # no hexadecimal digits
        assert word not in held
    for path in tmp_path.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


def test_the_same_record_has_another_hash_under_another_secret(tmp_path: Path) -> None:
    hashes = []
    for name in ("one.db", "two.db"):
        with open_ledger(tmp_path / name) as ledger, opened(ledger) as release:
            release.charge([charge("a")])
            hashes.append([row[3] for row in ledger.export()][1])
    assert hashes[0] != hashes[1]


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE charge SET amount = 1 WHERE number = 2",
        "UPDATE charge SET words = 1 WHERE number = 2",
        "UPDATE charge SET draw = id WHERE number = 2",
        "UPDATE entry SET space = 'x' WHERE number = 2",
        "UPDATE entry SET space = 'x' WHERE number = 1",
        "DELETE FROM charge WHERE number = 2",
        "UPDATE charge SET person = NULL WHERE number = 2",
        "UPDATE entry SET body = '{{}}' WHERE number = 2",
        "UPDATE entry SET kind = 'void' WHERE number = 3",
        "UPDATE entry SET written = '2000' WHERE number = 2",
        "DELETE FROM entry WHERE number = 3",
        "INSERT INTO entry SELECT 99, release, 'void', written, body, 0, hash, NULL FROM entry "
        "WHERE number = 3",
    ],
)
def test_a_changed_or_missing_row_is_found(place: str, harm: str) -> None:
    with open_ledger(place) as ledger:
        for draw in ("key a", "key b"):
            assert spend(ledger, [charge("a", person="p"), charge("b", person="p")], draw=draw)
        assert ledger.verify() == []
        ledger.store.run(harm)
        assert ledger.verify() != []


def test_a_removed_tail_is_found_only_against_an_anchor(ledger: Ledger) -> None:
    assert spend(ledger, [charge("a")])
    anchor = ledger.anchor()
    assert spend(ledger, [charge("a")], draw="key b")
    assert ledger.verify(anchor) == []  # it grew since
    later = ledger.anchor()
    ledger.store.run("DELETE FROM entry WHERE number > 3")
    assert "charges of entry 5, which is missing" in ledger.verify()  # unless these go too
    ledger.store.run("DELETE FROM charge WHERE entry > 3")
    assert len(ledger.verify()) == 1  # the balance
    ledger.store.run("UPDATE balance SET amount = ?, releases = 1", (str(micros(8.0)),))
    assert ledger.verify() == []
    assert ledger.verify(anchor) == []
    assert ledger.verify(later) != []


def test_an_amount_below_nothing_refills_no_budget(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "ledger.db") as ledger, opened(ledger) as release:
        with pytest.raises(sqlite3.IntegrityError):
            release.charge([Charge("a", "text", "a", 1, -5)])
        assert len(list(ledger.export())) == 1  # the header


def test_many_charges_of_one_call_are_kept_as_they_were_given(ledger: Ledger) -> None:
    chance = random.Random(5)
    given = [
        Charge(
            f"record {i}",
            "text",
            f"text {i}",
            chance.randrange(1000),
            chance.randrange(1 << chance.randrange(1, 62)),
            chance.choice([None, "p", "q"]),
        )
        for i in range(2000)
    ]
    for replayed in (0, 2000):
        with opened(ledger) as release:
            assert release.charge(given).replayed == replayed
            release.confirm()
    hashed = ledger.secret.hash
    expected = [
        (
            hashed("id", each.id).hex(),
            hashed("content", each.content).hex(),
            "" if each.person is None else hashed("person", each.person).hex(),
            hashed("draw", "key a", "text", each.id, each.content, "").hex(),
            str(each.words),
            str(each.amount),
        )
        for each in given
    ]
    assert [row[3:] for row in ledger.export()][1:] == expected * 2
    assert ledger.verify() == []


@pytest.mark.parametrize("most", [(1 << 62, 1), (1, 1 << 62), (1, 10**30)])
def test_what_no_column_holds_is_refused(ledger: Ledger, most: tuple[int, int]) -> None:
    """SQLite cuts charges at fixed places: a longer number would move all that follow it."""
    with opened(ledger) as release:
        with pytest.raises(ParameterError, match=r"record a: .* too much"):
            release.charge([Charge("a", "text", "a", *most), charge("b")])
        release.charge([Charge("a", "text", "a", (1 << 62) - 1, (1 << 62) - 1), charge("b")])
        release.confirm()
    kept = [row[-2:] for row in ledger.export()]
    assert kept[1:] == [(str((1 << 62) - 1),) * 2, ("10", str(micros(8.0)))]
    assert ledger.verify() == []


def test_a_ledger_needs_its_own_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ledger.db"
    open_ledger(path).close()
    secret = tmp_path / "ledger.db.secret"
    kept = secret.read_text()
    secret.unlink()
    with pytest.raises(InputError, match="lost its secret"):
        open_ledger(path)
    monkeypatch.setenv("INKBLUR_LEDGER_SECRET", "ab" * 32)
    with pytest.raises(InputError):
        open_ledger(path)
    monkeypatch.setenv("INKBLUR_LEDGER_SECRET", bytes(range(32)).hex())
    with pytest.raises(InputError, match="not that of the ledger"):
        open_ledger(path)
    monkeypatch.setenv("INKBLUR_LEDGER_SECRET", kept.strip())
    open_ledger(path).close()


def test_a_secret_that_others_may_read_is_refused(tmp_path: Path) -> None:
    open_ledger(tmp_path / "ledger.db").close()
    (tmp_path / "ledger.db.secret").chmod(0o644)
    with pytest.raises(InputError, match="chmod 600"):
        open_ledger(tmp_path / "ledger.db")


def test_places_that_cannot_hold_a_ledger_are_refused_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError, match="ledger"):
        open_ledger(tmp_path / "file" / "ledger.db")
    (tmp_path / "not.db").write_bytes(b"no database" * 100)
    (tmp_path / "not.db.secret").write_text(bytes(range(32)).hex())
    (tmp_path / "not.db.secret").chmod(0o600)
    with pytest.raises(InputError, match="not a ledger"):
        open_ledger(tmp_path / "not.db")


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_ledger_of_an_earlier_version_is_brought_up_to_date(place: str, version: int) -> None:
    first: Old = (SPACE, "a", "text of a", "p", "key a", 8_000_000)
    again = (*first[:-1], 0)  # a replay
    write_first_version(place, [first, again], version=version)
    with open_ledger(place) as ledger:
        assert ledger.verify() == []
        assert ledger.spent("p").amount == micros(8.0)
        assert spend(ledger, [charge("a", person="p")], 8.0)  # a replay still
        assert ledger.spent("p").amount == micros(8.0)
        assert not spend(ledger, [charge("a", person="p")], 15.0, draw="key b")
        assert not spend(ledger, [charge("a", "other text")], 15.0, draw="key b")
        assert not spend(ledger, [charge("other id", "text of a")], 15.0, draw="key b")
        assert not spend(ledger, [by_text("text of a", 8.0)], 15.0, draw="key b")
        assert spend(ledger, [charge("other id", "other text")], 15.0, draw="key b")
        assert spend(ledger, [charge("other id", "text of a", loss=1.0)], 17.0, draw="key c")
        assert not spend(ledger, [charge("other id", "text of a")], 17.0, draw="key d")
        assert ledger.verify() == []
    with open_ledger(place) as ledger:
        assert not spend(ledger, [charge("a", person="p")], 15.0, draw="key b")
        ledger.store.run("UPDATE legacy SET amount = '1'")
        assert len(ledger.verify()) == 3
        ledger.store.run("UPDATE charge SET amount = 1 WHERE entry = 2")
        assert ledger.verify() != []


def test_columns_drops_and_orders_of_earlier_versions_add_up(place: str) -> None:
    """Each had an account of its own."""
    write_first_version(
        place,
        [
            (f"{SPACE} without stop words", "5:alice:7", "5:alice:x", "5:alice:p", "k1", 4_000_000),
            (SPACE, "5:alice:4:body:7", "5:alice:y", "5:alice:p", "k2", 4_000_000),
            (SPACE, "5:alice:7", "5:alice:z", "5:alice:q", "k3", 4_000_000),
        ],
        {"columns": ["body", "title"]},
    )
    with open_ledger(place) as ledger:
        assert ledger.spent("p", "alice").amount == micros(8.0)

        def left(limit: float, caller: str) -> list[int]:
            with ledger.open_release({}, draw="new", caller=caller) as release:
                result = release.charge([charge("7", "new", loss=1.0)], Budget.of(limit, None))
                release.void()
            return [each.left for each in result.exceeded]

        assert left(12.5, "alice") == [micros(0.5)]
        assert left(13.0, "alice") == left(1.0, "bob") == []


@pytest.mark.parametrize(
    "space",
    [
        "euclidean on 0123456789ab, sequence, per unit of distance",
        "between any two texts of one repetition pattern",
        "discrete, a word",
    ],
)
def test_what_earlier_versions_counted_otherwise_leaves_no_budget_until_it_is_converted(
    place: str, space: str
) -> None:
    write_first_version(place, [(space, "a", "x", "p", "key a", 3_000_000)])
    with open_ledger(place) as ledger:
        assert ledger.unknown_spaces() == [space]
        assert ledger.spent("p") == Spent(0, 0, True)
        for asked in (charge("a"), charge("b", "x"), charge("c", person="p")):
            limits = Budget.of(None, 1000.0) if asked.person else Budget.of(1000.0, None)
            with opened(ledger, "key b") as release:
                assert release.charge([asked], limits).exceeded
                release.void()
        assert spend(ledger, [charge("b", "y")], 1000.0)
        with pytest.raises(InputError, match="nothing to convert"):
            ledger.convert("another", 1.0)
        ledger.convert(space, 2.5)
        if "pattern" in space:  # no table tells what that is worth
            assert ledger.unknown_spaces() == [space]
            assert ledger.verify() == []
            return
        assert ledger.unknown_spaces() == []
        assert ledger.spent("p") == Spent(micros(7.5), 0, False)
        assert ledger.verify() == []
    with open_ledger(place) as ledger:
        assert not spend(ledger, [charge("a")], 15.0, draw="key b")
        assert spend(ledger, [charge("a")], 15.5, draw="key b")
        ledger.store.run("UPDATE entry SET body = '{{}}' WHERE kind = 'convert'")
        assert ledger.verify() != []


def test_newer_ledgers_are_refused(place: str) -> None:
    with open_ledger(place) as ledger:
        ledger.store.run("UPDATE about SET value = '5' WHERE name = 'version'")
    with pytest.raises(InputError, match="version 5"):
        open_ledger(place)


def test_a_second_connection_of_a_process_takes_no_lock_from_the_first(tmp_path: Path) -> None:
    """Closing any descriptor of a file drops the locks that the process has on it. Then another
    process, believing itself alone, would remove the log that the first connection writes to.
    """
    place = str(tmp_path / "ledger.db")
    with open_ledger(place) as first:
        assert spend(first, [charge("a", person="p")])
        open_ledger(place).close()
        other = (
            "import sys; from inkblur.ledger import open_ledger; from tests.ledger.test_ledger "
            "import charge, spend\nwith open_ledger(sys.argv[1]) as ledger: "
            "assert spend(ledger, [charge(sys.argv[2], person='p')])"
        )
        subprocess.run([sys.executable, "-c", other, place, "b"], check=True)
        assert spend(first, [charge("c", person="p")])
        subprocess.run([sys.executable, "-c", other, place, "d"], check=True)
    with open_ledger(place) as ledger:
        assert ledger.spent("p").amount == micros(32.0)
        assert ledger.verify() == []


def test_a_batch_is_charged_whole_or_not_at_all(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "ledger.db") as ledger, opened(ledger) as release:
        bad = Charge("b", "text", "b", -1, 5)  # the database refuses it
        with pytest.raises(sqlite3.IntegrityError):
            release.charge([charge("a"), bad])
        assert len(list(ledger.export())) == 1  # the header
        assert ledger.verify() == []


def test_threads_that_share_a_ledger_take_turns(ledger: Ledger) -> None:
    """A charge inside another thread's transaction would be granted, and undone with it."""
    granted: list[bool] = []
    charging = threading.Thread(
        target=lambda: granted.append(spend(ledger, [charge("a", person="p")]))
    )

    def fail_while_charging() -> None:
        with ledger.store.transaction():
            charging.start()
            charging.join(0.3)  # it must not come to its end meanwhile
            raise MemoryError

    with pytest.raises(MemoryError):
        fail_while_charging()
    charging.join()
    assert granted == [True]
    assert ledger.spent("p").amount == micros(8.0)


def test_a_thread_reads_nothing_of_another_ones_unfinished_transaction(ledger: Ledger) -> None:
    """A server reads the ledger while it charges; an engine's tasks share one connection."""
    seen: list[int] = []
    reading = threading.Thread(target=lambda: seen.append(len(ledger.history())))

    def fail_while_reading() -> None:
        with ledger.store.transaction():
            ledger.append("begun", "open", {})
            reading.start()
            reading.join(0.3)  # it must wait for its turn
            raise MemoryError

    with pytest.raises(MemoryError):
        fail_while_reading()
    reading.join()
    assert seen == [0]


def test_a_ledger_is_closed_after_the_charge_under_way(place: str) -> None:
    """After a second Ctrl-C nobody waits for the thread that charges."""
    ledger, entered = open_ledger(place), threading.Event()

    def spend_slowly() -> None:
        with ledger.store.transaction():
            entered.set()
            time.sleep(0.3)
            spend(ledger, [charge("a", person="p")])

    charging = threading.Thread(target=spend_slowly)
    charging.start()
    entered.wait()
    ledger.close()
    charging.join()
    with open_ledger(place) as again:
        assert again.spent("p").amount == micros(8.0)


def test_a_ledger_that_cannot_be_written_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It said only that its disk is full."""
    monkeypatch.setattr("inkblur.ledger.store._WAIT_SECONDS", 0.0)
    place = tmp_path / "ledger.db"
    with open_ledger(place) as ledger, open_ledger(place) as other:
        with other.store.transaction(), pytest.raises(OutputError, match="wait until the other"):
            spend(ledger, [charge("a")])
        ledger.store.run("PRAGMA query_only = ON")
        with pytest.raises(OutputError, match="allow this user to write to it and to its folder"):
            spend(ledger, [charge("a")])
        ledger.store.run("PRAGMA query_only = OFF")
        ledger.store.run("PRAGMA max_page_count = 1")  # no more than it has already
        with pytest.raises(OutputError, match="disk is full; make room on its disk, then try"):
            spend(ledger, [charge(str(place)) for place in range(1000)])
        assert len(list(other.export())) == 1  # the header


def test_ctrl_c_while_another_writes_leaves_no_transaction_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """One left open would keep everybody out, and never commit what is charged inside it."""
    monkeypatch.setattr("inkblur.ledger.store._WAIT_SECONDS", 5.0)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's `&` ignores it
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    place, entered = tmp_path / "ledger.db", threading.Event()
    with open_ledger(place) as ledger, open_ledger(place) as other:

        def write_slowly() -> None:
            with other.store.transaction():
                entered.set()
                time.sleep(0.3)
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.3)

        writing = threading.Thread(target=write_slowly)
        writing.start()
        entered.wait()
        with pytest.raises(KeyboardInterrupt):
            spend(ledger, [charge("a")])
        writing.join()
        assert spend(other, [charge("b", person="p")])
        assert spend(ledger, [charge("c", person="p")])
    with open_ledger(place) as ledger:
        assert ledger.spent("p").amount == micros(16.0)


def test_a_ledger_that_another_process_is_making_is_opened(tmp_path: Path) -> None:
    place = tmp_path / "ledger.db"
    other = sqlite3.connect(place, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")  # as SQLite does to turn on its log
    opening = threading.Thread(target=lambda: SqliteStore(place).close())
    opening.start()
    opening.join(0.3)
    assert opening.is_alive()  # it waits
    other.close()
    opening.join()
    with closing(sqlite3.connect(place)) as made:
        assert made.execute("PRAGMA journal_mode").fetchall() == [("wal",)]


def test_a_ledger_that_was_made_between_two_looks_has_not_lost_its_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look, looks = Path.exists, 0

    def slow_look(self: Path) -> bool:
        nonlocal looks
        found, looks = look(self), looks + 1
        if looks == 1:
            open_ledger(tmp_path / "ledger.db").close()  # by another process
        return found

    monkeypatch.setattr(Path, "exists", slow_look)
    open_ledger(tmp_path / "ledger.db").close()
    assert looks > 1


def test_a_release_that_another_process_gave_up_is_charged_nothing_more(ledger: Ledger) -> None:
    """What is charged to a void release does not count, so nothing may be released for it."""
    release = opened(ledger)
    shared = ledger.continue_release(release.release, draw="key a")
    release.void()
    with pytest.raises(InputError, match="given up"):
        shared.charge([charge("a")])


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_a_connection_that_broke_is_made_again(place: str) -> None:
    """A service runs for longer than its database does."""
    import psycopg

    def break_connections() -> None:
        with psycopg.connect(place, autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

    with open_ledger(place) as ledger:
        assert spend(ledger, [charge("a", person="p")])
        break_connections()
        with pytest.raises(OutputError, match="cannot be reached"):
            spend(ledger, [charge("b", person="p")])
        assert spend(ledger, [charge("c", person="p")])
        break_connections()
        with pytest.raises(OutputError, match="cannot be reached"):
            ledger.spent("p")
        assert ledger.spent("p").amount == micros(16.0)
        assert ledger.verify() == []
