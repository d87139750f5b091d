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

import pytest

from inkblur.ledger import micros, open_ledger

ROUNDS = int(os.environ.get("INKBLUR_RACE_ROUNDS", "2"))
LIMIT = 1000 if ROUNDS > 2 else 60


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_a_budget_is_never_over_granted_and_nothing_confirmed_is_lost(
    place: str, turn: int
) -> None:
    limited = ("record", "people")[turn % 2]
    open_ledger(place).close()
    command = [sys.executable, "-m", "tests.ledger.race", place, str(LIMIT), limited]
    racers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(8)]
    chance = random.Random(turn)
    for racer in racers[:3]:
        time.sleep(chance.uniform(0.1, 0.5))
        racer.send_signal(signal.SIGKILL)
    printed = [racer.communicate(timeout=600)[0].count("granted") for racer in racers]
    assert [racer.returncode for racer in racers[3:]] == [0] * 5
    with open_ledger(place) as ledger:
        assert ledger.verify() == []
        spent = ledger.spent("p")["race"]
        confirmed = sum(r["amount"] for r in ledger.history() if r["state"] == "confirmed")
    assert spent <= micros(float(LIMIT))
    # Killed between charge and confirm at most once each; killed before printing likewise.
    assert spent - 3 * micros(1.0) <= confirmed <= spent
    assert sum(printed) * micros(1.0) <= confirmed <= (sum(printed) + 3) * micros(1.0)
    assert spent == micros(float(LIMIT))  # those who were not killed went on to the end
