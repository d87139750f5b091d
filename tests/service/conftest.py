from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx")

from fastapi.testclient import TestClient

from inkblur.rng import keyed_rng
from inkblur.service.application import ServiceSettings, make_application
from tests.ledger.conftest import postgres_url

__all__ = ["postgres_url"]
MakeClient = Callable[..., TestClient]


@pytest.fixture(scope="module")
def make_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeClient]:
    """Real servers without a socket, each with a ledger and a folder of its own."""
    with ExitStack() as opened:

        def make(folder: Path | None = None, **settings: Any) -> TestClient:
            place = tmp_path_factory.mktemp("service") if folder is None else folder
            application = make_application(
                ServiceSettings(
                    keyed_rng(os.urandom(32)),
                    place / "uploads",
                    str(place / "ledger.db"),
                    **settings,
                )
            )
            # Without this, what fails inside would fail the test instead of being answered.
            client = TestClient(application, "http://127.0.0.1:8642", raise_server_exceptions=False)
            return opened.enter_context(client)

        yield make


@pytest.fixture(scope="module")
def client(make_client: MakeClient) -> TestClient:
    return make_client()
