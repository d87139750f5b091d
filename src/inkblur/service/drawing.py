"""One thread draws, under one key, and callers take turns: nobody waits for all of another's texts.

A request is drawn a slice at a time, the slices of several requests together, and is entered in the
ledger when its last slice was drawn: whole, or refused, and nobody sees a refused draw. Requests
that end together are entered in one transaction.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, defaultdict, deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

from inkblur.blas import one_thread
from inkblur.errors import InkblurError
from inkblur.files.records import Batch
from inkblur.files.summary import Fate
from inkblur.guarantees import Guarantee
from inkblur.ledger import Ledger
from inkblur.release import LETTERS, Checked, Columns, Drawn, Limits, Release, draw_together
from inkblur.service.metrics import ServiceMetrics
from inkblur.types import Record

_QUANTUM = 12_000 * LETTERS  # of one caller's texts, before the next caller's turn
_SLICE = 4 * _QUANTUM  # drawn at a time: about a quarter of a second


@dataclass(frozen=True, slots=True)
class Answer:
    """Texts that may leave the house, what is promised about them, and what they cost."""

    texts: list[str | None]
    guarantee: Guarantee
    release: str  # its name in the ledger
    words: int  # drawn
    replayed: int  # texts that repeat an earlier draw and cost nothing
    largest_loss: float  # of a record, over all its releases so far


class Order:
    """What one caller wants released, and how far it is."""

    def __init__(
        self,
        release: Release,
        texts: Sequence[str | None],
        ids: Sequence[str] | None = None,
        people: Sequence[str] | None = None,
    ) -> None:
        self.release = release
        self.stream = release.stream(Columns(id=None if ids is None else "ids"))
        self.answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.error: Exception | None = None
        self.drawn: list[Drawn] = []
        self._nulls = {place for place, text in enumerate(texts) if text is None}
        self._records = [
            Record(
                "" if ids is None else ids[place],
                text or "",
                f"text {place}",
                None if people is None else people[place],
            )
            for place, text in enumerate(texts)
        ]
        self._fewest = LETTERS * release.privatizer.fewest
        self._next = 0

    @property
    def at_end(self) -> bool:
        """Whether no text is left to draw."""
        return self._next == len(self._records)

    def take(self, letters: int) -> tuple[Batch, int]:
        """The next texts, at least one, and how many letters they stand for."""
        first, size = self._next, 0
        while not self.at_end and (self._next == first or size < letters):
            size += max(len(self._records[self._next].text), self._fewest)
            self._next += 1
        nulls = frozenset(place - first for place in self._nulls if first <= place < self._next)
        some = tuple(self._records[first : self._next])
        return Batch(some, nulls=nulls), size

    def charge(self, ledger: Ledger, limits: Limits) -> Answer:
        """Enter it in the ledger, or raise where a budget does not allow it."""
        stream = self.stream
        with self.release.charged_to(
            ledger, limits, ids=stream.columns.id, option="`ids=`"
        ) as release:
            stream.release = release
            receipt = stream.charge(*self.drawn)
            texts = [text for part in self.drawn for text in part.texts(receipt)]
        assert release.account is not None
        spent = release.account.to_json()
        return Answer(
            texts,
            release.guarantee(Fate(stream.columns.texts)),
            release.account.release,
            sum(sum(part.draws) for part in self.drawn),
            spent["replayed"],
            spent["largest_loss_of_a_record"],
        )


Turn = list[tuple[Order, Batch]]


class Queue:
    """Orders by caller, and the thread that draws them."""

    def __init__(self, ledger: Ledger, limits: Limits, metrics: ServiceMetrics) -> None:
        self.ledger, self._limits, self._metrics = ledger, limits, metrics
        self._waiting: OrderedDict[str, deque[Order]] = OrderedDict()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="draw")
        self._working: asyncio.Task[None] | None = None

    async def release(self, order: Order) -> Answer:
        """Its answer, or raise why it was refused. What comes back is in the ledger."""
        self._waiting.setdefault(order.release.caller, deque()).append(order)
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work())
        return await order.answer

    async def close(self) -> None:
        """Finish what was accepted."""
        if self._working is not None:
            with suppress(asyncio.CancelledError):  # by a second Ctrl-C
                await self._working
        self._thread.shutdown()

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while turn := self._turn():
            ended = [order for order in dict.fromkeys(order for order, _ in turn) if order.at_end]
            self._metrics.batch.observe(len(turn))
            answers = await loop.run_in_executor(self._thread, self._draw, turn, ended)
            for order in {order for order, _ in turn}:
                if order.answer.done():  # whoever asked has gone; it may be in the ledger already
                    continue
                if order.error is not None:
                    order.answer.set_exception(order.error)
                elif order in answers:
                    self._metrics.texts.inc(len(answers[order].texts))
                    self._metrics.words.inc(answers[order].words)
                    order.answer.set_result(answers[order])

    def _turn(self) -> Turn:
        """The next slices, of one caller after another. Orders whose caller has gone are dropped:
        they would cost for nothing; and so are those that were refused.
        """
        turn: Turn = []
        size = 0
        while self._waiting and size < _SLICE:
            caller, orders = next(iter(self._waiting.items()))
            order = orders[0]
            if not order.answer.done():
                batch, letters = order.take(_QUANTUM)
                turn.append((order, batch))
                size += letters
            if order.answer.done() or order.at_end:
                orders.popleft()
            if orders:
                self._waiting.move_to_end(caller)
            else:
                del self._waiting[caller]
        return turn

    def _draw(self, turn: Turn, ended: Sequence[Order]) -> dict[Order, Answer]:
        """In the thread: draw a turn, and enter the orders that end with it."""
        answers: dict[Order, Answer] = {}
        try:
            together: defaultdict[int, list[tuple[Order, Checked]]] = defaultdict(list)
            for order, batch in turn:
                try:
                    if order.error is None:
                        checked = order.stream.check(batch)
                        together[id(order.release.privatizer)].append((order, checked))
                except InkblurError as error:
                    order.error = error
            for group in together.values():
                with one_thread():
                    parts = draw_together([checked for _, checked in group])
                for (order, _), drawn in zip(group, parts, strict=True):
                    order.drawn.append(drawn)
            with self.ledger.store.transaction():
                for order in ended:
                    try:
                        with self.ledger.store.transaction():
                            if order.error is None:
                                answers[order] = order.charge(self.ledger, self._limits)
                    except InkblurError as error:
                        order.error = error
        except Exception as error:  # the ledger cannot be written: nobody gets anything
            for order, _ in turn:
                order.error = error
            return {}
        finally:  # by the time that the next takes nobody learns the words of these
            for order, _ in turn:
                order.release.privatizer.forget()
        return answers
