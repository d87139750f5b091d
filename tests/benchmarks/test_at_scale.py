"""The benchmarks of the ledger and of engines run, at a size that says nothing about speed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]


def run(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *arguments], capture_output=True, text=True, cwd=CHECKOUT
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_ledgers_cost() -> None:
    found = json.loads(run("benchmarks.ledger", "--records", "20", "--repeat", "1"))
    assert found["words"] == 1000
    assert found["records_a_processor_second"]["sqlite"]["median"] > 0


def test_an_engines_cost() -> None:
    """The bare function, which an engine is compared with: engines take long to start."""
    printed = run("benchmarks.engines", "bare", "--rows", "2000", "--workers", "1")
    bare, again, last = printed.splitlines()[1:]
    for line in (bare, again, last):
        assert line.startswith("bare, 1 workers")
        assert "rows/s" in line
        assert "failed" not in line
