"""The queue before a desk."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest

pytest.importorskip("fastapi")

from inkblur.desk import CountedRelease, ReleaseDesk, ReleaseOrder
from inkblur.errors import InkblurError
from inkblur.ledger import open_ledger
from inkblur.rng import keyed_rng
from inkblur.service.batching import Batches
from inkblur.service.metrics import ServiceMetrics
from inkblur.spec import ReleaseSpec


class HeldDesk(ReleaseDesk):
    """Draws when it is told to."""

    entered, go = threading.Event(), threading.Event()

    def release(self, orders: Sequence[ReleaseOrder]) -> list[CountedRelease | InkblurError]:
        self.entered.set()
        self.go.wait()
        return super().release(orders)


def test_a_request_that_was_given_up_while_it_waited_costs_nothing(tmp_path: Path) -> None:
    """As when the server stops: whoever asked was told to send it again."""
    spec = ReleaseSpec("staircase", strength="medium")
    orders = [ReleaseOrder(pa.record_batch({"text": [text]}), spec) for text in ("one", "two")]

    async def ask(desk: HeldDesk) -> None:
        batches = Batches(desk, ServiceMetrics())
        answered = asyncio.create_task(batches.release(orders[0]))
        await asyncio.to_thread(desk.entered.wait)
        given_up = asyncio.create_task(batches.release(orders[1]))
        await asyncio.sleep(0)  # it waits
        given_up.cancel()
        desk.go.set()
        assert (await answered).words == 1
        await batches.close()

    with open_ledger(tmp_path / "ledger.db") as ledger:
        asyncio.run(ask(HeldDesk(keyed_rng(os.urandom(32)), ledger)))
        assert len(ledger.history()) == 1
