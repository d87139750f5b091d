"""Requests that wait together are drawn together, in a thread of their own."""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from inkblur.desk import CountedRelease, ReleaseDesk, ReleaseOrder
from inkblur.errors import InkblurError
from inkblur.service.metrics import ServiceMetrics

_Waiting = tuple[ReleaseOrder, asyncio.Future[CountedRelease]]
_BYTES = 4 << 20  # of texts that one batch holds at most, unless a request alone has more


class Batches:
    """The queue before a desk. While one batch is drawn, the next one gathers."""

    def __init__(self, desk: ReleaseDesk, metrics: ServiceMetrics) -> None:
        self._desk, self._metrics = desk, metrics
        self._waiting: deque[_Waiting] = deque()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="draw")
        self._drawing: asyncio.Task[None] | None = None

    async def release(self, order: ReleaseOrder) -> CountedRelease:
        """What the desk answers, or raises."""
        answer: asyncio.Future[CountedRelease] = asyncio.get_running_loop().create_future()
        self._waiting.append((order, answer))
        if self._drawing is None or self._drawing.done():
            self._drawing = asyncio.create_task(self._draw())
        return await answer

    async def close(self) -> None:
        """Finish what was accepted."""
        if self._drawing is not None:
            with suppress(asyncio.CancelledError):  # by a second Ctrl-C
                await self._drawing
        self._thread.shutdown()

    async def _draw(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            batch = self._gathered()
            if not batch:
                continue
            self._metrics.batch.observe(len(batch))
            orders = [order for order, _ in batch]
            try:
                answers = await loop.run_in_executor(self._thread, self._desk.release, orders)
            except Exception as error:  # the ledger cannot be written: nobody gets anything
                for _, waiting in batch:
                    if not waiting.done():
                        waiting.set_exception(error)
                continue
            for (_, waiting), answer in zip(batch, answers, strict=True):
                if waiting.done():  # whoever asked has gone; it is in the ledger all the same
                    continue
                if isinstance(answer, InkblurError):
                    waiting.set_exception(answer)
                else:
                    self._metrics.texts.inc(answer.rows.num_rows)
                    self._metrics.words.inc(answer.words)
                    waiting.set_result(answer)

    def _gathered(self) -> list[_Waiting]:
        """The next requests, without those whose caller has gone: they would cost for nothing."""
        batch: list[_Waiting] = []
        size = 0
        while self._waiting:
            order, answer = self._waiting[0]
            if batch and size + order.rows.nbytes > _BYTES:
                break
            self._waiting.popleft()
            if not answer.done():
                batch.append((order, answer))
                size += order.rows.nbytes
        return batch
