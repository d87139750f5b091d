"""Ledgers in both stores."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from inkblur.ledger import Ledger, open_ledger
from inkblur.ledger.store import VARIABLE
from tests.ledger.stores import postgres, postgres_programs


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    pytest.importorskip("psycopg")
    if postgres_programs() is None:
        pytest.skip("PostgreSQL is not installed (Debian: postgresql)")
    with postgres() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def place(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """Where a new ledger may be made."""
    if request.param == "sqlite":
        yield str(tmp_path / "ledger.db")
        return
    url = request.getfixturevalue("postgres_url")
    monkeypatch.setenv(VARIABLE, secrets.token_hex(32))
    import psycopg

    name = f"test_{secrets.token_hex(6)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    yield url.removesuffix("postgres") + name


@pytest.fixture
def ledger(place: str) -> Iterator[Ledger]:
    with open_ledger(place) as opened:
        yield opened
