"""What does the ledger cost: a `privatize` run with and without it, and the ledger alone?

The runs take turns, each in a process of its own, so that a busy machine shows in the spread; a
median's interval of 95 % comes from resampling the pairs. The ledger alone is charged as many
records, 10,000 at a time, on SQLite and, given a URL, PostgreSQL; what that takes, as a share of a
run's processor time without it, does not suffer from a machine whose speed changes.
Last, one text is sent 3,000 times: the milliseconds of its charge by then, without the write to
the disk, where each release draws anew and where all are one draw again.

    python -m benchmarks.ledger --repeat 7 --postgres postgresql://me@localhost/empty
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import inkblur
from inkblur.ledger import Charge, micros

WORDS = 50  # a record
DISTINCT = 20_000
TOGETHER = 10_000  # records that are charged at a time
REPEATS = 3_000  # releases of one text


def main(given: Sequence[str] | None = None) -> None:
    """Read the options, measure, print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--records", type=int, default=20_000, help=f"of {WORDS} words each")
    parser.add_argument("--epsilon", type=float, default=8.0)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--postgres", metavar="URL", help="a database without tables")
    options = parser.parse_args(given)
    table = inkblur.load_embedding()
    shares = 1 / (np.arange(DISTINCT) + 2.7)
    ids = np.random.default_rng(0).choice(
        DISTINCT, (options.records, WORDS), p=shares / shares.sum()
    )
    texts = [" ".join(table.words[i] for i in row) for row in ids]
    with TemporaryDirectory() as folder:
        source = Path(folder, "in.csv")
        source.write_text("text\n" + "\n".join(texts) + "\n", encoding="utf-8")
        without, with_ledger, ratios = [], [], []
        for turn in range(options.repeat):
            without.append(_privatized(source, options.epsilon, "--ledger", "none"))
            place = str(Path(folder, f"{turn}.db"))
            with_ledger.append(_privatized(source, options.epsilon, "--ledger", place))
            ratios.append([b / a - 1 for a, b in zip(without[-1], with_ledger[-1], strict=True)])
        places = {"sqlite": [str(Path(folder, f"alone{i}.db")) for i in range(options.repeat)]}
        if options.postgres:
            os.environ.setdefault("INKBLUR_LEDGER_SECRET", secrets.token_hex(32))
            places["postgresql"] = [options.postgres] * options.repeat
        rates = {
            store: [_alone(place, texts) for place in where] for store, where in places.items()
        }
        often = {
            drawn: _repeated(str(Path(folder, f"{drawn}.db")), drawn) for drawn in ("anew", "again")
        }
    alone = options.records / statistics.median(rate for _, rate in rates["sqlite"])
    processor = statistics.median(seconds for _, seconds in without)
    body = {
        "words": options.records * WORDS,
        "load_average": os.getloadavg()[0],
        "seconds_without": _spread([seconds for seconds, _ in without]),
        "seconds_with": _spread([seconds for seconds, _ in with_ledger]),
        "ledger_share_of_the_clock": _spread([clock for clock, _ in ratios]),
        "ledger_share_of_processor_time": _spread([processor for _, processor in ratios]),
        "ledger_alone_as_a_share_of_processor_time": float(f"{alone / processor:.4g}"),
        "records_a_second_by_the_clock": {k: _spread([a for a, _ in v]) for k, v in rates.items()},
        "records_a_processor_second": {k: _spread([b for _, b in v]) for k, v in rates.items()},
        "milliseconds_of_a_charge": often,
    }
    print(json.dumps(body, indent=2))


def _privatized(source: Path, epsilon: float, *more: str) -> tuple[float, float]:
    """Seconds by the clock, and of processor time, for one run of the command."""
    target = source.with_name("out.csv")
    target.unlink(missing_ok=True)
    command = [sys.executable, "-m", "inkblur", "privatize", str(source), "-o", str(target)]
    command += ["--mechanism", "staircase", "--epsilon", str(epsilon), *more]
    before, began = os.times(), time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    seconds, after = time.perf_counter() - began, os.times()
    used = after.children_user + after.children_system
    return seconds, used - before.children_user - before.children_system


def _alone(place: str, texts: Sequence[str]) -> tuple[float, float]:
    """Records a second that a ledger takes, by the clock and by processor time of this process."""
    run = secrets.token_hex(8)  # PostgreSQL's database is the same every time
    with inkblur.open_ledger(place) as ledger:
        clock, processor = time.perf_counter(), time.process_time()
        with ledger.open_release({}, draw=run) as release:
            for start in range(0, len(texts), TOGETHER):
                release.charge(
                    [
                        Charge(f"{run} {i}", "text", text, WORDS, micros(8.0, WORDS))
                        for i, text in enumerate(texts[start : start + TOGETHER], start)
                    ]
                )
            release.confirm()
        seconds = time.perf_counter() - clock, time.process_time() - processor
    return len(texts) / seconds[0], len(texts) / seconds[1]


def _repeated(place: str, drawn: str) -> dict[str, float]:
    """Milliseconds that the charge of one text takes, the first times and the last times."""
    seconds = []
    charge = Charge("a", "text", "a text", WORDS, micros(8.0, WORDS))
    with inkblur.open_ledger(place) as ledger, ledger.store.transaction():
        for turn in range(REPEATS):
            draw = f"{turn}" if drawn == "anew" else "the same"
            with ledger.open_release({}, draw=draw) as release:
                began = time.process_time()
                release.charge([charge])
                seconds.append(time.process_time() - began)
                release.confirm()
    first, last = seconds[:20], seconds[-20:]
    return {
        name: float(f"{statistics.median(some) * 1000:.3g}")
        for name, some in (("first", first), ("last", last))
    }


def _spread(values: Sequence[float]) -> dict[str, float]:
    """The median with its interval, the least and the most, to four digits."""
    drawn = np.random.default_rng(0).choice(values, (10_000, len(values)))
    low, high = np.quantile(np.median(drawn, axis=1), (0.025, 0.975))
    found = {"median": statistics.median(values), "from": low, "to": high}
    found |= {"least": min(values), "most": max(values)}
    return {name: float(f"{value:.4g}") for name, value in found.items()}


if __name__ == "__main__":
    main()
