"""Eight processes race for one budget, some are killed: never over-granted, never lost.

INKBLUR_RACE_ROUNDS=100 runs the long form, with a budget of 1,000: a record's and a person's in turn.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from inkblur.errors import OutputError
from inkblur.ledger import micros, open_ledger
from inkblur.ledger.store import PostgresStore

ROUNDS = int(os.environ.get("INKBLUR_RACE_ROUNDS", "2"))
LIMIT = 1000 if ROUNDS > 2 else 60


def _started(command: list[str], output: Path) -> subprocess.Popen[bytes]:
    with output.open("wb") as file:
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=file)


def test_a_writer_keeps_others_out_from_its_first_read(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If two could read what is left before either writes, both would be granted it; SQLite notices
    and refuses the second one's charge, which is no better for who is refused.
    """
    monkeypatch.setattr("inkblur.ledger.store._WAIT_SECONDS", 0.0)
    with open_ledger(place) as one, open_ledger(place) as other:
        if isinstance(other.store, PostgresStore):
            other.store.run("SET lock_timeout = 1")  # ms, the least that is not forever
        with one.store.transaction():
            one.store.run("SELECT COUNT(*) FROM charge")
            with pytest.raises(OutputError, match="lock"), other.store.transaction():
                pytest.fail("both are inside")
        with other.store.transaction():
            pass


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_a_budget_is_never_over_granted_and_nothing_confirmed_is_lost(
    place: str, turn: int, tmp_path: Path
) -> None:
    limited = ("record", "people")[turn % 2]
    open_ledger(place).close()
    command = [sys.executable, "-m", "tests.ledger.race", place, str(LIMIT), limited]
    outputs = [tmp_path / f"racer-{number}" for number in range(8)]
    racers = [_started(command, output) for output in outputs]
    while not all(output.read_text() for output in outputs):
        assert all(racer.poll() is None for racer in racers)
        time.sleep(0.01)
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.close()
    chance = random.Random(turn)
    for racer in racers[:3]:
        time.sleep(chance.uniform(0, LIMIT * 0.0002))  # a tenth of what a whole race takes, or less
        racer.kill()
    ends = [racer.wait(600) for racer in racers]
    assert ends[3:] == [0] * 5
    printed = [output.read_text().count("granted") for output in outputs]
    print(f"killed {ends[:3].count(-signal.SIGKILL)} after {printed[:3]} grants")
    with open_ledger(place) as ledger:
        assert ledger.verify() == []
        spent = ledger.spent("p").amount
        confirmed = sum(r["amount"] for r in ledger.history() if r["state"] == "confirmed")
    assert spent <= micros(float(LIMIT))
    # Killed between charge and confirm at most once each; killed before printing likewise.
    assert spent - 3 * micros(1.0) <= confirmed <= spent
    assert sum(printed) * micros(1.0) <= confirmed <= (sum(printed) + 3) * micros(1.0)
    assert spent == micros(float(LIMIT))  # those who were not killed went on to the end
