"""Rows that every engine must release as the one-machine run does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from inkblur.arrow import KEY_FILE
from inkblur.ledger import Ledger, open_ledger
from inkblur.rng import write_key
from inkblur.spec import ReleaseSpec
from tests.engines.made import one_machine, rows


@pytest.fixture
def key_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A key that this process and those it starts find in their environment."""
    path = tmp_path / "key"
    write_key(path)
    monkeypatch.setenv(KEY_FILE, str(path))
    return path


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
    """The ledger of this process and of those it starts."""
    monkeypatch.setenv("INKBLUR_LEDGER", str(tmp_path / "ledger.db"))
    with open_ledger() as opened:
        yield opened


@pytest.fixture
def spec() -> ReleaseSpec:
    return ReleaseSpec("staircase", 8.0, id_column="id", keep_columns=("id", "stars"))


@pytest.fixture
def table() -> pa.Table:
    return rows(300)


@pytest.fixture
def expected(table: pa.Table, spec: ReleaseSpec, key_file: Path, tmp_path: Path) -> pa.Table:
    return one_machine(table, spec, key_file, tmp_path)
