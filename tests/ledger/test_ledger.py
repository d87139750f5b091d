"""The ledger: what counts as spent, who may spend, and what tampering leaves behind."""

from __future__ import annotations

import hashlib
import json
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
from collections import Counter
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkblur.errors import InputError, OutputError, ParameterError
from inkblur.ledger import (
    Budget,
    Charge,
    Ledger,
    ReleaseAccount,
    history,
    micros,
    open_ledger,
)
from inkblur.ledger.secret import secret_beside, secret_from_environment
from inkblur.ledger.store import MIGRATIONS, PostgresStore, SqliteStore, migrate

SPACE = "discrete, a word"


def charge(record: str, content: str | None = None, loss: float = 8.0, **rest: str) -> Charge:
    text = f"text of {record}" if content is None else content
    return Charge(record, rest.get("column", "text"), text, 10, micros(loss), rest.get("person"))


def opened(ledger: Ledger, draw: str = "key a", space: str = SPACE) -> ReleaseAccount:
    return ledger.open_release({"spec": {"mechanism": "staircase"}}, space=space, draw=draw)


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
    assert not result.granted
    with opened(ledger, "key b") as release:  # it has spent more than this
        (over,) = release.charge([charge("a")], Budget.of(10.0, None)).exceeded
        release.void()
    assert over.left == 0


def test_partial_releases_those_that_fit(ledger: Ledger) -> None:
    assert spend(ledger, [charge("a", loss=15.0)])
    with opened(ledger, "key b") as release:
        charges = [charge("a"), charge("b")]
        result = release.charge(charges, Budget.of(20.0, None), partial=True)
        release.confirm()
    assert result.granted == {1}
    assert not spend(ledger, [charge("b", loss=13.0)], 20.0, draw="key c")


def test_neither_a_new_id_nor_an_edited_letter_resets_a_budget(ledger: Ledger) -> None:
    assert spend(ledger, [charge("a", "my text", 15.0)])
    assert not spend(ledger, [charge("another id", "my text")], 20.0, draw="key b")
    assert not spend(ledger, [charge("a", "my texts")], 20.0, draw="key b")
    assert spend(ledger, [charge("another id", "my texts")], 20.0, draw="key b")


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.integers(1, 9)),
        min_size=1,
        max_size=12,
    )
)
def test_no_id_and_no_content_ever_spends_more_than_its_budget(
    releases: list[tuple[str, str, int]],
) -> None:
    """Whatever is released under whichever id, in any order: the larger of two sums governs."""
    with TemporaryDirectory() as folder, open_ledger(Path(folder, "ledger.db")) as ledger:
        spent: Counter[str] = Counter()
        for turn, (record, content, loss) in enumerate(releases):
            fits = max(spent[record], spent[content]) + loss <= 20
            asked = [charge(record, content, float(loss))]
            assert spend(ledger, asked, 20.0, draw=f"key {turn}") == fits
            if fits:
                spent.update({record: loss, content: loss})
        assert max(spent.values()) <= 20
        assert ledger.verify() == []


def test_a_replay_costs_nothing_and_anything_else_does(ledger: Ledger) -> None:
    for _ in range(3):
        assert spend(ledger, [charge("a", loss=15.0)], 20.0)
    assert not spend(ledger, [charge("a", loss=15.0)], 20.0, draw="key b")
    with opened(ledger) as release:
        assert release.charge([charge("a", loss=15.0)]).replayed == 1
        assert release.charge([charge("a", "changed", 15.0)]).replayed == 0


def test_a_repeat_counts_when_what_it_repeats_is_voided(ledger: Ledger) -> None:
    """Two runs of one release at a time: the first fails, and the second's output is visible."""
    first = opened(ledger)
    assert first.charge([charge("a", loss=15.0, person="p")]).replayed == 0
    with opened(ledger) as second:
        assert second.charge([charge("a", loss=15.0, person="p")]).replayed == 1
        second.confirm()
    assert ledger.spent("p") == {SPACE: micros(15.0)}
    first.void()
    assert ledger.spent("p") == {SPACE: micros(15.0)}
    assert not spend(ledger, [charge("a")], 20.0, draw="key b")


def test_a_retry_within_a_release_is_not_written_again(ledger: Ledger) -> None:
    with opened(ledger) as release:
        release.charge([charge("a"), charge("b")])
        again = release.charge([charge("b"), charge("c")])
        release.confirm()
    assert (again.replayed, len(again.granted), again.most_releases) == (1, 2, 1)
    assert len(list(ledger.export())) == 1 + 3


def test_a_draw_under_another_persons_name_is_charged_to_that_person(ledger: Ledger) -> None:
    assert spend(ledger, [charge("a", loss=15.0, person="p")])
    with opened(ledger) as release:
        mine = [charge("a", loss=15.0, person="q")]
        assert release.charge(mine, Budget.of(None, 10.0)).exceeded
        assert not release.charge(mine, Budget.of(10.0, 15.0)).exceeded  # nothing new for a
        release.confirm()
    assert ledger.spent("q") == {SPACE: micros(15.0)}


def test_columns_of_a_record_add_up(ledger: Ledger) -> None:
    both = [charge("a", "x", 12.0, column="title"), charge("a", "y", 12.0, column="text")]
    assert not spend(ledger, both, 20.0)
    assert spend(ledger, both, 24.0)


def test_the_column_that_has_spent_most_governs_its_record(ledger: Ledger) -> None:
    """The text of one column was released under another id, that of the other never."""
    assert spend(ledger, [charge("before", "y", 15.0, person="q")])
    both = [charge("a", "x", 4.0, column="title"), charge("a", "y", 4.0, column="text")]
    for order in (both, both[::-1]):
        assert not spend(ledger, order, 20.0, draw="key b")
    assert spend(ledger, both, 23.0, draw="key b")


def test_the_person_who_has_spent_most_governs_a_record_of_two(ledger: Ledger) -> None:
    assert spend(ledger, [charge("before", loss=15.0, person="q")])
    both = [charge("a", "x", 4.0, person="p"), charge("a", "y", 4.0, person="q")]
    with opened(ledger, "key b") as release:
        for order in (both, both[::-1]):
            assert release.charge(order, Budget.of(None, 20.0)).exceeded
        release.void()


def test_a_replay_is_granted_to_a_person_who_has_nothing_left(ledger: Ledger) -> None:
    mine = [charge("a", loss=15.0, person="p")]
    assert spend(ledger, mine)
    with opened(ledger) as release:
        assert not release.charge(mine, Budget.of(None, 10.0)).exceeded
        release.confirm()
    assert ledger.spent("p") == {SPACE: micros(15.0)}


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


def test_one_draw_twice_in_a_call_counts_once(ledger: Ledger) -> None:
    with opened(ledger) as release:
        result = release.charge([charge("a", person="p")] * 2)
        release.confirm()
    assert (result.replayed, result.most_spent, len(result.granted)) == (1, micros(8.0), 2)
    assert ledger.history()[0]["amount"] == micros(8.0)
    assert ledger.spent("p") == {SPACE: micros(8.0)}


def test_records_of_one_release_add_up_for_their_person(ledger: Ledger) -> None:
    charges = [charge(str(i), person="p") for i in range(3)]
    with opened(ledger) as release:
        assert release.charge(charges, Budget.of(None, 20.0)).exceeded
        assert not release.charge(charges, Budget.of(None, 24.0)).exceeded
        release.confirm()
    assert ledger.spent("p") == {SPACE: micros(24.0)}
    assert ledger.spent("q") == {}


def test_a_record_without_a_person_is_refused_under_a_budget_for_people(ledger: Ledger) -> None:
    with opened(ledger) as release, pytest.raises(ParameterError, match="record a"):
        release.charge([charge("a")], Budget.of(None, 20.0))


def test_what_cannot_be_added_is_kept_apart(ledger: Ledger) -> None:
    for space in (SPACE, "mahalanobis, lambda 0.5, table 95e1"):
        with opened(ledger, space=space) as release:
            release.charge([charge("a", person="p")])
            release.confirm()
    assert len(ledger.spent("p")) == 2


@pytest.mark.parametrize("often", [1, 64])
def test_a_budget_and_a_replay_are_of_one_space(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, often: int
) -> None:
    """Also where sums are kept. A draw that was charged in one space is not free in another."""
    monkeypatch.setattr(history, "_OFTEN", often)
    losses = {"one": 5.0, "another": 3.0}
    for turn in range(1, 5):
        for space, loss in losses.items():
            with opened(ledger, f"key {turn}", space) as release:
                mine = [charge("a", loss=loss, person="p")]
                result = release.charge(mine, Budget.of(3 * loss, 3 * loss))
                release.confirm()
            if turn == 4:
                assert [each.left for each in result.exceeded] == [0]
                continue
            assert not result.exceeded
            assert result.replayed == 0
            assert result.most_spent == turn * micros(loss)
            assert result.most_releases == turn
    assert ledger.spent("p") == {space: 3 * micros(loss) for space, loss in losses.items()}
    assert ledger.verify() == []


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
    assert ledger.spent("p") == {SPACE: micros(16.0)}


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
    assert ledger.verify() == ["charges of entry 5, which is missing"]  # unless these go too
    ledger.store.run("DELETE FROM charge WHERE entry > 3")
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


def _first_version(place: str) -> None:
    """A ledger as version 1 wrote it: two releases, the second a replay of the first."""
    migrations = MIGRATIONS[:1]
    url = place.startswith("postgresql")
    store = PostgresStore(place) if url else SqliteStore(Path(place))
    migrate(store, migrations)
    secret = secret_from_environment() or secret_beside(Path(place).with_name("first.db"))
    if not url:
        Path(place).with_name("first.db.secret").rename(f"{place}.secret")
    check = secret.hash("check", "inkblur ledger").hex()
    store.run("INSERT INTO about VALUES ('check', ?)", (check,))
    before, number = b"\0" * 32, 0
    for release, amount in (("r1", 8_000_000), ("r2", 0)):
        for kind in ("open", "charge", "confirm"):
            number += 1
            body = json.dumps({"amount": amount, "records": 1, "words": 10})
            row = [
                secret.hash("id", "a"),
                secret.hash("content", "text of a"),
                secret.hash("person", "p"),
                secret.hash("draw", "key a", "text", "a", "text of a", ""),
            ]
            packed = f"{len(release)} {len(SPACE)} {release}{SPACE} 10 {amount} ".encode()
            packed += row[0] + row[1] + row[3] + b"+" + row[2]
            digest = hashlib.blake2b(packed if kind == "charge" else b"", digest_size=32).digest()
            parts = (before, str(number), release, kind, "2026-01-01", body, digest)
            before = secret.hash("entry", *parts, size=32)
            store.run(
                "INSERT INTO entry VALUES (?, ?, ?, '2026-01-01', ?, ?, ?)",
                (number, release, kind, body, int(kind == "charge"), before),
            )
            if kind == "charge":
                store.run(
                    "INSERT INTO charge (entry, release, space, id, content, person, draw, words, "
                    "amount) VALUES (?, ?, ?, ?, ?, ?, ?, 10, ?)",
                    (number, release, SPACE, *row, amount),
                )
    store.close()


def test_a_ledger_of_the_first_version_is_brought_up_to_date(place: str) -> None:
    _first_version(place)
    with open_ledger(place) as ledger:
        assert ledger.verify() == []
        assert ledger.spent("p") == {SPACE: micros(8.0)}
        assert spend(ledger, [charge("a", person="p")], 8.0)  # a replay still
        assert not spend(ledger, [charge("a", person="p")], 15.0, draw="key b")
        assert ledger.verify() == []
        ledger.store.run("UPDATE charge SET amount = 1 WHERE entry = 2")
        assert ledger.verify() != []


def test_newer_ledgers_are_refused(ledger: Ledger) -> None:
    newer = (*MIGRATIONS, ("ALTER TABLE charge ADD COLUMN note TEXT",))
    migrate(ledger.store, newer)
    assert ledger.store.run("SELECT note FROM charge") == []
    with pytest.raises(InputError, match=f"version {len(newer)}"):
        migrate(ledger.store)


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
        assert ledger.spent("p") == {SPACE: micros(32.0)}
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
    assert ledger.spent("p") == {SPACE: micros(8.0)}


def test_a_thread_reads_nothing_of_another_ones_unfinished_transaction(ledger: Ledger) -> None:
    """A server reads the ledger while it charges; an engine's tasks share one connection."""
    seen: list[int] = []
    reading = threading.Thread(target=lambda: seen.append(len(ledger.history())))

    def fail_while_reading() -> None:
        with ledger.store.transaction():
            ledger.append("begun", "open", {"space": SPACE})
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
        assert again.spent("p") == {SPACE: micros(8.0)}


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
        assert ledger.spent("p") == {SPACE: micros(16.0)}


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
    shared = ledger.continue_release(release.release, space=SPACE, draw="key a")
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
        assert ledger.spent("p") == {SPACE: micros(16.0)}
        assert ledger.verify() == []
