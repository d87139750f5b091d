"""One process of the race for a budget: spend 1 at a time until told that nothing is left.

Waits for a line when it is ready, so that all begin together. Prints a line for every unit that it
was granted and confirmed; it may be killed at any moment.
"""

from __future__ import annotations

import os
import sys

from inkblur.ledger import Budget, Charge, micros, open_ledger


def main(place: str, limit: float, people: bool) -> None:
    budget = Budget.of(None, limit) if people else Budget.of(limit, None)
    with open_ledger(place) as ledger:
        print("ready", flush=True)
        sys.stdin.readline()
        turn = 0
        while True:
            turn += 1
            draw = f"{os.getpid()} {turn}"
            with ledger.open_release({}, draw=draw) as release:
                record = f"{draw}" if people else "the record"
                asked = Charge(record, "text", f"{draw}" if people else "x", 1, micros(1.0), "p")
                if release.charge([asked], budget).exceeded:
                    release.void()
                    return
                release.confirm()
            print("granted", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), sys.argv[3] == "people")
