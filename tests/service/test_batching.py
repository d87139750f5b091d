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

from inkblur.arrow import CountedRelease
from inkblur.errors import InkblurError
from inkblur.ledger import Ledger, open_ledger
from inkblur.release import Limits
from inkblur.rng import keyed_rng
from inkblur.service.batching import Batches, Desk, ReleaseOrder
from inkblur.service.metrics import ServiceMetrics
from inkblur.spec import ReleaseSpec


class HeldDesk(Desk):
    """Draws when it is told to."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(keyed_rng(os.urandom(32)), ledger, Limits())
        self.entered, self.go = threading.Event(), threading.Event()

    def release(self, orders: Sequence[ReleaseOrder]) -> list[CountedRelease | InkblurError]:
        self.entered.set()
        self.go.wait()
        return super().release(orders)


def order(text: str) -> ReleaseOrder:
    spec = ReleaseSpec("staircase", strength="medium")
    return ReleaseOrder(pa.record_batch({"text": [text]}), spec)


def test_a_request_that_was_given_up_while_it_waited_costs_nothing(tmp_path: Path) -> None:
    """As when the server stops: whoever asked was told to send it again."""

    async def ask(desk: HeldDesk) -> None:
        batches = Batches(desk, ServiceMetrics())
        answered = asyncio.create_task(batches.release(order("one")))
        await asyncio.to_thread(desk.entered.wait)
        given_up = asyncio.create_task(batches.release(order("two")))
        await asyncio.sleep(0)  # it waits
        given_up.cancel()
        desk.go.set()
        assert (await answered).words == 1
        await batches.close()

    with open_ledger(tmp_path / "ledger.db") as ledger:
        asyncio.run(ask(HeldDesk(ledger)))
        assert len(ledger.history()) == 1


def test_closing_waits_for_the_draw_under_way_when_all_tasks_are_cancelled(tmp_path: Path) -> None:
    """As on a second Ctrl-C: the ledger is closed next, and the thread still writes to it."""

    async def ask(desk: HeldDesk) -> None:
        batches = Batches(desk, ServiceMetrics())
        asked = asyncio.create_task(batches.release(order("one")))
        await asyncio.to_thread(desk.entered.wait)
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        desk.go.set()
        await batches.close()
        assert [each["state"] for each in desk.ledger.history()] == ["confirmed"]
        assert asked in others

    with open_ledger(tmp_path / "ledger.db") as ledger:
        asyncio.run(ask(HeldDesk(ledger)))
