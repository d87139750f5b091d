"""The queue: turns, what costs, and its end."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi")

from inkblur.embeddings.store import load_embedding
from inkblur.errors import InputError
from inkblur.ledger import open_ledger
from inkblur.mechanisms.exponential import Exponential
from inkblur.release import Limits
from inkblur.rng import keyed_rng, seeded_rng
from inkblur.service.drawing import Answer, Order, Queue, Turn
from inkblur.service.metrics import ServiceMetrics
from inkblur.service.settings import Settings


class HeldQueue(Queue):
    """Draws when it is told to, and keeps whose slices were drawn together."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.entered, self.go = threading.Event(), threading.Event()
        self.turns: list[list[str]] = []

    def _draw(self, turn: Turn, ended: Sequence[Order]) -> dict[Order, Answer]:
        self.turns.append([order.release.caller for order, _ in turn])
        self.entered.set()
        self.go.wait()
        return super()._draw(turn, ended)


Make = Callable[..., Order]


def run(tmp_path: Path, ask: Callable[[HeldQueue, Make], Coroutine[Any, Any, None]]) -> Any:
    """What is in the ledger after this was asked."""
    settings = Settings(keyed_rng(os.urandom(32)), Limits(), own={}, open_to_all=True)

    async def asking(queue: HeldQueue) -> None:
        def make(*texts: str, caller: str = "", ids: list[str] | None = None) -> Order:
            return Order(settings.release(settings.named["medium"], caller), texts, ids)

        await ask(queue, make)

    with open_ledger(tmp_path / "ledger.db") as ledger:
        asyncio.run(asking(HeldQueue(ledger, Limits(), ServiceMetrics())))
        return ledger.history()


def test_a_request_that_was_given_up_while_it_waited_costs_nothing(tmp_path: Path) -> None:
    """As when the server stops: whoever asked was told to send it again."""

    async def ask(queue: HeldQueue, make: Make) -> None:
        answered = asyncio.create_task(queue.release(make("one")))
        await asyncio.to_thread(queue.entered.wait)
        given_up = asyncio.create_task(queue.release(make("two")))
        await asyncio.sleep(0)  # it waits
        given_up.cancel()
        queue.go.set()
        assert len((await answered).texts) == 1
        await queue.close()

    assert len(run(tmp_path, ask)) == 1


def test_closing_waits_for_the_draw_under_way_when_all_tasks_are_cancelled(tmp_path: Path) -> None:
    """As on a second Ctrl-C: the ledger is closed next, and the thread still writes to it."""

    async def ask(queue: HeldQueue, make: Make) -> None:
        asked = asyncio.create_task(queue.release(make("one")))
        await asyncio.to_thread(queue.entered.wait)
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        queue.go.set()
        await queue.close()
        assert asked in others

    assert [each["state"] for each in run(tmp_path, ask)] == ["confirmed"]


def test_callers_take_turns(tmp_path: Path) -> None:
    """One with 200,000 words held all others up until they were drawn."""

    async def ask(queue: HeldQueue, make: Make) -> None:
        long = asyncio.create_task(queue.release(make(*["word " * 2_000] * 100, caller="long")))
        await asyncio.to_thread(queue.entered.wait)
        short = asyncio.create_task(queue.release(make("one", "two", caller="short")))
        await asyncio.sleep(0)
        queue.go.set()
        assert len((await short).texts) == 2
        assert not long.done()
        assert len((await long).texts) == 100
        assert "short" in queue.turns[1]
        assert len(queue.turns) >= 4
        await queue.close()

    assert len(run(tmp_path, ask)) == 2


def test_no_word_of_a_caller_is_remembered_for_the_next(tmp_path: Path) -> None:
    """What was met before takes less time, which told whether another caller had released it."""
    rare = "zyzzyva"
    memory: list[bool] = []

    async def ask(queue: HeldQueue, make: Make) -> None:
        queue.go.set()
        order = make(f"{rare} {rare} soup")
        await queue.release(order)
        held = vars(order.release.privatizer._analyst).values()
        memory.extend(rare in each for each in held if isinstance(each, dict | set))
        await queue.close()

    run(tmp_path, ask)
    assert memory
    assert not any(memory)


def test_exponential_weights_are_forgotten() -> None:
    mechanism = Exponential(load_embedding(), epsilon=4.0)
    before = mechanism.replace(np.array([5, 7]), seeded_rng(1).child("a"))
    assert (mechanism._known.slots >= 0).any()
    mechanism.forget()
    assert not (mechanism._known.slots >= 0).any()
    assert np.array_equal(mechanism.replace(np.array([5, 7]), seeded_rng(1).child("a")), before)


def test_a_request_that_is_refused_in_a_later_slice_is_refused_whole(tmp_path: Path) -> None:
    async def ask(queue: HeldQueue, make: Make) -> None:
        queue.go.set()
        ids = [*map(str, range(49)), "0"]
        with pytest.raises(InputError, match="repeats an id"):
            await queue.release(make(*["word " * 2_000] * 50, ids=ids))
        assert len(queue.turns) >= 2
        await queue.close()

    assert run(tmp_path, ask) == []
