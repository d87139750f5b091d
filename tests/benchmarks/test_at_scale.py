"""The benchmarks of the ledger and of engines run, at a size that says nothing about speed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

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
    pytest.importorskip("polars")
    printed = run("benchmarks.engines", "polars", "--rows", "2000", "--workers", "1")
    bare, polars, again = printed.splitlines()[1:]
    assert bare.startswith("bare, 1 workers")
    assert polars.startswith("polars, 1 workers")
    assert "us of processors a row" in polars
    assert "failed" not in polars + again
