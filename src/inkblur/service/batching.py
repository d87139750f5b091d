"""Requests that wait together are drawn together, in a thread of their own, under one key."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict, deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from inkblur.arrow import CountedRelease, release_together
from inkblur.errors import InkblurError, NoGuarantee, ParameterError
from inkblur.ledger import Budget, Ledger
from inkblur.release import Limits, Release, prepare
from inkblur.rng import Rng
from inkblur.service.metrics import ServiceMetrics
from inkblur.spec import ReleaseSpec
from inkblur.types import ReleaseKind

_BYTES = 4 << 20  # of texts that one batch holds at most, unless a request alone has more
_KEPT = 6  # settings whose tables are held at a time


@dataclass(frozen=True, slots=True)
class ReleaseOrder:
    """What one caller asks for: rows with texts, and how to release them."""

    rows: pa.RecordBatch
    spec: ReleaseSpec
    caller: str = ""  # whose ids, texts and people these are; see `privatize_file`


_Waiting = tuple[ReleaseOrder, asyncio.Future[CountedRelease]]


class Desk:
    """One key, one ledger, budgets for every caller, and the settings that were used last. One
    thread at a time may ask for releases.
    """

    def __init__(self, rng: Rng, ledger: Ledger, limits: Limits) -> None:
        self.rng, self.ledger, self.limits = rng, ledger, limits
        Budget.of(limits.budget, limits.person_budget)  # refuses what is no budget now
        self._settings: OrderedDict[ReleaseSpec, Future[Release]] = OrderedDict()
        self._looked_up = threading.Lock()

    def privatizer(self, spec: ReleaseSpec) -> Any:
        """What draws for this spec; see :meth:`prepared`."""
        return self.prepared(spec).privatizer

    def prepared(self, spec: ReleaseSpec) -> Release:
        """What draws for this spec; made once, as long as it is among those used last.

        Any thread may ask. While one is made, which takes seconds, others are found at once.
        """
        law = spec.law  # requests that differ only in columns are drawn together
        with self._looked_up:
            found = self._settings.get(law)
            if found is not None:
                self._settings.move_to_end(law)
            else:
                making = self._settings[law] = Future()
                while len(self._settings) > _KEPT:
                    self._settings.popitem(last=False)
        if found is not None:
            return found.result()
        try:
            making.set_result(self._prepare(law))
        except BaseException as error:
            with self._looked_up:
                if self._settings.get(law) is making:
                    del self._settings[law]
            making.set_exception(error)
        return making.result()

    def _prepare(self, spec: ReleaseSpec) -> Release:
        if spec.kind is ReleaseKind.TF:
            raise ParameterError("a tf release holds no texts: use `privatize_file`")
        release = prepare(spec, self.rng)
        if not release.promised.private:
            raise NoGuarantee(release.promised.sentence())
        release.budget(self.limits, "any", "")  # what cannot be counted shows here
        return release

    def release(self, orders: Sequence[ReleaseOrder]) -> list[CountedRelease | InkblurError]:
        """An answer for each order, or why it was refused. What comes back is in the ledger."""
        answers: list[CountedRelease | InkblurError | None] = []
        given: list[tuple[Release, pa.RecordBatch]] = []
        for order in orders:
            try:
                release = self.prepared(order.spec)
                mechanism = release.privatizer.mechanism
                spec = order.spec.resolved(mechanism.embedding, mechanism)
                own = replace(release, spec=spec).for_caller(order.caller)
                given.append((own, order.rows))
                answers.append(None)
            except InkblurError as error:
                answers.append(error)
        released = iter(release_together(given, self.ledger, self.limits))
        return [next(released) if answer is None else answer for answer in answers]


class Batches:
    """The queue before a desk. While one batch is drawn, the next one gathers."""

    def __init__(self, desk: Desk, metrics: ServiceMetrics) -> None:
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
