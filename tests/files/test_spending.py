"""Releases of files are charged to the ledger before anyone can see them."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from inkblur import (
    BudgetExceeded,
    Embedding,
    Limits,
    ParameterError,
    PrivacyError,
    Privatizer,
    ReleaseSpec,
    privatize_file,
)
from inkblur.cli.app import app
from inkblur.embeddings.store import write_store
from inkblur.errors import OutputError
from inkblur.files.delimited import DelimitedEncoder
from inkblur.files.records import Batch
from inkblur.ledger import Charged, ReleaseAccount, Spent, micros, open_ledger
from inkblur.release import Stream
from inkblur.rng import Rng, keyed_rng, secure_rng, seeded_rng

WORDS = ["good", "fine", "bad", "poor", "soup", "bread"]
EPSILON = 2.0
KEY = bytes(range(32))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(3)
    table = Embedding(WORDS, rng.normal(size=(len(WORDS), 4)), name="six")
    write_store(tmp_path / "six.ink", table)
    (tmp_path / "in.csv").write_text(
        "id,who,text\n1,ada,good soup\n2,ada,bad bread and poor soup\n3,bob,fine\n"
    )
    return tmp_path


def spec(folder: Path, mechanism: str = "exponential", **more: object) -> ReleaseSpec:
    fields = {
        "embedding": str(folder / "six.ink"),
        "id_column": "id",
        "person_column": "who",
        "keep_columns": ("id",),
        **more,
    }
    return ReleaseSpec(mechanism, EPSILON, **{"length": "exact", **fields})  # type: ignore[arg-type]


def release(folder: Path, rng: Rng | None = None, **more: object) -> Path:
    """One release of the file at the ledger beside it."""
    chosen = more.pop("spec", None) or spec(folder)
    privatize_file(
        folder / "in.csv",
        folder / "out.csv",
        chosen,  # type: ignore[arg-type]
        rng=secure_rng() if rng is None else rng,
        ledger=folder / "ledger.db",
        **more,  # type: ignore[arg-type]
    )
    return folder / "out.csv"


def a_word(folder: Path) -> float:
    from inkblur import load_embedding

    return float(spec(folder).privatizer(load_embedding(folder / "six.ink")).guarantee.epsilon)


def test_every_word_of_every_release_is_charged_to_its_person(folder: Path) -> None:
    release(folder)
    release(folder)
    with open_ledger(folder / "ledger.db") as ledger:
        expected = 2 * (micros(a_word(folder), 2) + micros(a_word(folder), 5))
        assert ledger.spent("ada").amount == expected
        assert ledger.spent("bob").amount == 2 * micros(a_word(folder), 1)
        assert [entry["state"] for entry in ledger.history()] == ["confirmed"] * 2
        assert ledger.verify() == []


def test_the_guarantee_says_how_often_and_how_much(folder: Path) -> None:
    first = privatize_file(
        folder / "in.csv", folder / "a.csv", spec(folder), ledger=folder / "l.db"
    )
    again = privatize_file(
        folder / "in.csv", folder / "a.csv", spec(folder), ledger=folder / "l.db"
    )
    uncounted = privatize_file(folder / "in.csv", folder / "a.csv", spec(folder), ledger=False)
    assert "first recorded release of these texts" in " ".join(first.guarantee.lines())
    assert "released 2 times" in " ".join(again.guarantee.lines())
    assert "no ledger was used" in " ".join(uncounted.guarantee.lines())


def test_an_entry_says_what_was_released_and_how_but_not_the_key(folder: Path) -> None:
    release(folder, keyed_rng(KEY))
    with open_ledger(folder / "ledger.db") as ledger:
        (entry,) = ledger.history()
        held = b"".join(path.read_bytes() for path in folder.glob("ledger.db*"))
        held += json.dumps(entry).encode()
    assert entry["opened"].startswith("20")
    assert entry["spec"]["mechanism"] == "exponential"
    assert entry["guarantee"]["epsilon"] == a_word(folder)
    assert entry["embedding"] == entry["spec"]["embedding_sha256"]
    for fingerprint in ("key", "file"):
        assert len(entry[fingerprint]) == 32
    assert (entry["records"], entry["words"]) == (3, 8)
    for secret in (KEY, KEY.hex().encode(), b"bread and poor soup"):
        assert secret not in held


def test_a_home_that_cannot_be_written_stops_the_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "home").touch()  # no folder, so nothing can be made in it, not even by root
    monkeypatch.setenv("XDG_DATA_HOME", str(folder / "home"))
    options = ["-m", "exponential", "-e", "2", "--set", f"embedding={folder / 'six.ink'}"]
    given = ["privatize", str(folder / "in.csv"), "-o", str(folder / "out.csv"), *options]
    given += ["--id", "id"]
    result = CliRunner().invoke(app, given)
    assert result.exit_code == 1
    assert "release without one" in " ".join(result.output.split())
    assert not (folder / "out.csv").exists()
    assert CliRunner().invoke(app, [*given, "--ledger", "none"]).exit_code == 0


def test_a_replay_under_one_key_costs_nothing(folder: Path) -> None:
    first = release(folder, keyed_rng(KEY)).read_bytes()
    limits = Limits(budget=5 * a_word(folder) + 0.001)
    assert release(folder, keyed_rng(KEY), limits=limits).read_bytes() == first
    with pytest.raises(BudgetExceeded, match="line 3: record 2"):
        release(folder, keyed_rng(KEY[::-1]), limits=limits)


@pytest.mark.parametrize("limits", [None, Limits(budget=100.0)], ids=["as drawn", "ahead"])
def test_a_text_that_is_read_otherwise_is_no_replay(
    folder: Path, limits: Limits | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later list of names finds other words in a text. They meet other noise, so it is another
    release, also under the same key; only a text that reads as before is a repeat.
    """
    vectors = spec(folder, release="tf", length=3)
    for again, names in enumerate(([], ["soup"])):
        monkeypatch.setattr("inkblur.documents.analysis.is_name", names.__contains__)
        monkeypatch.setattr("inkblur.documents.vectorizer.is_name", names.__contains__)
        release(folder, keyed_rng(KEY), limits=limits)
        with open_ledger(folder / "ledger.db") as ledger:
            ada, bob = (ledger.spent(who).amount for who in ("ada", "bob"))
        a_text = micros(a_word(folder), 2) + micros(a_word(folder), 5)
        assert (ada, bob) == ((1 + again) * a_text, micros(a_word(folder), 1))
        privatize_file(
            folder / "in.csv",
            folder / "out.npz",
            vectors,
            rng=keyed_rng(KEY),
            ledger=folder / "vectors.db",
            limits=limits,
        )
        with open_ledger(folder / "vectors.db") as ledger:
            ada, bob = (ledger.spent(who).amount for who in ("ada", "bob"))
        assert ada == (1 + again) * 2 * bob


def test_a_records_budget_needs_an_id_that_outlives_an_edited_letter(folder: Path) -> None:
    """Where no column names a record, its id is made from its text: both change with one letter."""
    (folder / "in.csv").write_text("who,text\nada,good soup\n")
    unnamed = spec(folder, id_column=None, keep_columns=())
    with pytest.raises(ParameterError, match="id_column"):
        release(folder, spec=unnamed, limits=Limits(budget=100.0))
    enough = Limits(person_budget=3 * a_word(folder))
    release(folder, spec=unnamed, limits=enough)
    (folder / "in.csv").write_text("who,text\nada,good soups\n")
    with pytest.raises(BudgetExceeded):
        release(folder, spec=unnamed, limits=enough)


def test_a_person_has_one_budget_for_all_records(folder: Path) -> None:
    with pytest.raises(BudgetExceeded, match=r"record 2.*person"):
        release(folder, limits=Limits(person_budget=6 * a_word(folder)))
    release(folder, limits=Limits(person_budget=7 * a_word(folder) + 0.001))


@pytest.mark.parametrize("how", [{"keep": ("stop-words",)}, {"seed": 3}], ids=["kept", "seeded"])
def test_what_has_no_bound_is_entered_and_leaves_no_budget(
    folder: Path, how: dict[str, Any]
) -> None:
    rng = seeded_rng(how.pop("seed")) if "seed" in how else None
    chosen = spec(folder, **how)
    with pytest.raises(PrivacyError, match="no finite loss"):
        release(folder, rng, spec=chosen, limits=Limits(budget=1e6))
    release(folder, rng, spec=chosen)
    with open_ledger(folder / "ledger.db") as ledger:
        (entry,) = ledger.history()
        assert entry["unbounded"]
        assert ledger.spent("ada").unbounded
    with pytest.raises(BudgetExceeded, match="no finite loss"):
        release(folder, limits=Limits(budget=1e6))


def test_the_statement_cites_the_ledger_or_says_that_nobody_counts(folder: Path) -> None:
    report = folder / "report.json"

    def statement() -> str:
        told = CliRunner().invoke(app, ["statement", str(report)])
        assert told.exit_code == 0, told.output
        return " ".join(told.output.split())

    for _ in range(3):
        report.unlink(missing_ok=True)
        release(folder, report=report)
    assert "a record has been released up to 3 times" in statement()
    privatize_file(folder / "in.csv", folder / "out.csv", spec(folder), report=report, ledger=False)
    assert "not counted" in statement()


def test_a_replay_confirms_what_a_killed_run_left_reserved(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(self: ReleaseAccount, **counts: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ReleaseAccount, "confirm", killed)
        with pytest.raises(KeyboardInterrupt):
            release(folder, keyed_rng(KEY))
    with open_ledger(folder / "ledger.db") as ledger:
        assert [entry["state"] for entry in ledger.history()] == ["reserved"]
        release(folder, keyed_rng(KEY[::-1]))  # another release altogether
        assert [entry["state"] for entry in ledger.history()] == ["reserved", "confirmed"]
        before = ledger.spent("ada")
        release(folder, keyed_rng(KEY))
        assert [entry["state"] for entry in ledger.history()] == ["confirmed"] * 3
        assert ledger.spent("ada") == before
        assert ledger.verify() == []


def test_over_budget_nothing_is_drawn_and_nothing_is_charged(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object, **more: object) -> None:
        raise AssertionError("drawn before the budget was checked")

    monkeypatch.setattr(Privatizer, "draw", refuse)
    with pytest.raises(BudgetExceeded) as refused:
        release(folder, limits=Limits(budget=4 * a_word(folder)))
    assert "1 record would exceed" in str(refused.value)
    assert not (folder / "out.csv").exists()
    with open_ledger(folder / "ledger.db") as ledger:
        assert ledger.spent("ada") == Spent()


def test_a_crash_before_the_file_appears_gives_back_what_was_reserved(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Privatizer.draw

    def fail(self: object, reading: object, streams: object) -> object:
        raise MemoryError

    monkeypatch.setattr(Privatizer, "draw", fail)
    with pytest.raises(MemoryError):
        release(folder, limits=Limits(budget=100.0))
    monkeypatch.setattr(Privatizer, "draw", real)
    with open_ledger(folder / "ledger.db") as ledger:
        assert ledger.spent("ada") == Spent()
        assert [entry["state"] for entry in ledger.history()] == ["void"]


def test_a_file_that_cannot_be_finished_gives_back_what_was_reserved(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk may be full when the last bytes are written: nothing appeared, nothing is spent."""

    def full(self: DelimitedEncoder) -> str:
        raise OutputError("no space left on device")

    monkeypatch.setattr(DelimitedEncoder, "end", full)
    with pytest.raises(OutputError, match="no space left"):
        release(folder)
    assert not (folder / "out.csv").exists()
    with open_ledger(folder / "ledger.db") as ledger:
        assert [entry["state"] for entry in ledger.history()] == ["void"]


def test_a_second_draw_of_an_equal_text_is_no_replay_whatever_stands_beside_it(
    folder: Path,
) -> None:
    """Without ids, the second row with an equal text in one column draws apart from the first: a
    row that takes its place must be charged for that draw, though all its texts were there before.
    """
    text = " ".join(WORDS)
    file, rng = folder / "in.csv", keyed_rng(KEY)
    chosen = spec(folder, columns=("a", "b"), id_column=None, keep_columns=(), keep_order=True)
    file.write_text(f"who,a,b\nada,good soup,{text}\n")
    before = release(folder, rng, spec=chosen).read_text().splitlines()[1]
    file.write_text(f"who,a,b\nbob,bad,{text}\nada,good soup,{text}\n")
    after = release(folder, rng, spec=chosen).read_text().splitlines()[2]
    assert before.split(",")[0] == after.split(",")[0]
    assert before.split(",")[1] != after.split(",")[1]
    with open_ledger(folder / "ledger.db") as ledger:
        spent = ledger.spent("ada").amount
    assert spent == micros(a_word(folder), 2) + 2 * micros(a_word(folder), len(WORDS))


def test_tf_vectors_are_charged_for_their_length(folder: Path) -> None:
    vectors = spec(folder, release="tf", length=7)
    privatize_file(folder / "in.csv", folder / "out.npz", vectors, ledger=folder / "ledger.db")
    with open_ledger(folder / "ledger.db") as ledger:
        assert [row[7] for row in ledger.export()][1:] == ["7", "7", "7"]


def test_a_run_that_is_stopped_finishes_the_charge_under_way_before_its_release_is_void(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two threads in one connection of SQLite end the process."""
    monkeypatch.setattr("inkblur.files.run._TOGETHER", 1)
    rows = "".join(f"{i},ada,good soup\n" for i in range(3 * 4096))
    (folder / "in.csv").write_text("id,who,text\n" + rows)
    entered: list[str] = []
    charge, void = ReleaseAccount.charge, ReleaseAccount.void

    def slow_charge(self: ReleaseAccount, *given: Any, **named: Any) -> Charged:
        entered.append("charge begins")
        time.sleep(0.3)  # whoever does not wait for it is there first
        charged = charge(self, *given, **named)
        entered.append("charge ends")
        return charged

    def seen_void(self: ReleaseAccount) -> None:
        entered.append("void")
        void(self)

    def stop(done: int, total: int | None, words: int) -> None:
        if words:
            raise KeyboardInterrupt

    monkeypatch.setattr(ReleaseAccount, "charge", slow_charge)
    monkeypatch.setattr(ReleaseAccount, "void", seen_void)
    with pytest.raises(KeyboardInterrupt):
        release(folder, on_progress=stop)
    assert entered == [*["charge begins", "charge ends"] * 2, "void"]
    with open_ledger(folder / "ledger.db") as ledger:
        assert [each["state"] for each in ledger.history()] == ["void"]


def test_a_run_that_is_interrupted_after_its_output_appeared_says_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may wait for the ledger then: whoever stops it must not believe that nothing showed."""

    def interrupted(self: ReleaseAccount) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ReleaseAccount, "confirm", interrupted)
    (folder / "spec.json").write_text(json.dumps(spec(folder).to_json()))
    places = ["-o", str(folder / "out.csv"), "--ledger", str(folder / "ledger.db")]
    done = CliRunner().invoke(
        app, ["privatize", str(folder / "in.csv"), *places, "--spec", str(folder / "spec.json")]
    )
    assert done.exit_code == 130
    assert (folder / "out.csv").exists()
    assert "was written" in done.output
    assert "no output file" not in done.output
    with open_ledger(folder / "ledger.db") as ledger:
        assert [each["state"] for each in ledger.history()] == ["reserved"]


def test_what_went_into_a_pipe_stays_spent_when_the_run_fails(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A named pipe is read while it is written: its reader may have seen what came first."""
    monkeypatch.setattr("inkblur.files.run._TOGETHER", 1)
    rows = "".join(f"{i},ada,good soup\n" for i in range(3 * 4096))
    (folder / "in.csv").write_text("id,who,text\n" + rows)
    os.mkfifo(folder / "out.csv")
    seen: list[bytes] = []
    reading = threading.Thread(target=lambda: seen.append((folder / "out.csv").read_bytes()))
    reading.start()

    def stop(done: int, total: int | None, words: int) -> None:
        if words:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        release(folder, on_progress=stop)
    reading.join()
    assert seen[0].count(b"\n") > 1
    with open_ledger(folder / "ledger.db") as ledger:
        assert [each["state"] for each in ledger.history()] == ["reserved"]


def test_what_went_to_standard_output_stays_spent_when_the_run_fails(
    folder: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    def stop(done: int, total: int | None, words: int) -> None:
        if words:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        privatize_file(
            folder / "in.csv", "-", spec(folder), ledger=folder / "ledger.db", on_progress=stop
        )
    assert capfdbinary.readouterr().out.count(b"\n") > 1
    with open_ledger(folder / "ledger.db") as ledger:
        assert [each["state"] for each in ledger.history()] == ["reserved"]


def test_what_was_not_charged_ahead_is_charged_when_it_is_drawn(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under a budget a file is read twice: another file may have taken its place."""
    real = Stream.charge_all

    def charge(self: Stream, batches: Iterable[Batch]) -> None:
        real(self, (batch.take([2]) for batch in batches))

    monkeypatch.setattr(Stream, "charge_all", charge)
    with pytest.raises(BudgetExceeded, match="record 2"):
        release(folder, limits=Limits(budget=3 * a_word(folder)))
    assert not (folder / "out.csv").exists()
    with open_ledger(folder / "ledger.db") as ledger:
        assert [each["state"] for each in ledger.history()] == ["void"]
