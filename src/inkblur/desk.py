"""Where several callers ask for releases of texts in memory, and each is counted: for a server.

Requests that wait together are drawn together and entered in the ledger in one transaction. Each
is released and charged whole, or refused; a refused draw is thrown away, so nobody sees it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace

import pyarrow as pa

from inkblur.blas import one_thread
from inkblur.documents.privatizer import Privatizer
from inkblur.errors import InkblurError, NoGuarantee, ParameterError
from inkblur.files.arrow_rows import ArrowColumns, ArrowRows
from inkblur.files.formats import layout_of
from inkblur.files.summary import Fate, warning_lines
from inkblur.guarantees import Guarantee
from inkblur.ledger import Budget, Ledger
from inkblur.pools import PoolPrivatizer
from inkblur.release import Checked, Drawn, Limits, Release, draw_together, prepare
from inkblur.rng import Rng
from inkblur.spec import ReleaseSpec
from inkblur.types import ReleaseKind

_KEPT = 6  # settings whose tables are held at a time


@dataclass(frozen=True, slots=True)
class ReleaseOrder:
    """What one caller asks for: rows with texts, and how to release them."""

    rows: pa.RecordBatch
    spec: ReleaseSpec
    caller: str = ""  # whose ids, texts and people these are; see `privatize_file`


@dataclass(frozen=True, slots=True)
class CountedRelease:
    """Rows that may leave the house, what is promised about them, and what they cost."""

    rows: pa.RecordBatch
    guarantee: Guarantee
    release: str  # its name in the ledger
    words: int  # drawn
    replayed: int  # texts that repeat an earlier draw and cost nothing
    largest_loss: float  # of a record, over all its releases so far
    warnings: tuple[str, ...] = ()  # about columns that were named to be copied


class ReleaseDesk:
    """Releases texts under one key and enters every release in one ledger.

    `limits` are the budgets that hold for every caller. One thread at a time may ask for releases.

    >>> import os, tempfile, inkblur
    >>> folder = tempfile.TemporaryDirectory()
    >>> with inkblur.open_ledger(f"{folder.name}/ledger.db") as ledger:
    ...     desk = ReleaseDesk(inkblur.keyed_rng(os.urandom(32)), ledger)
    ...     rows = pa.record_batch({"text": ["the doctor was angry"]})
    ...     spec = inkblur.ReleaseSpec("staircase", strength="medium")
    ...     [answer] = desk.release([ReleaseOrder(rows, spec)])
    >>> len(answer.rows["text"][0].as_py().split()), answer.words
    (4, 4)
    >>> folder.cleanup()
    """

    def __init__(self, rng: Rng, ledger: Ledger, *, limits: Limits | None = None) -> None:
        if not (rng.kept or rng.seeded):
            # The guarantee of a fresh key does not say that equal requests get equal answers.
            raise ParameterError("a desk keeps its key: use `keyed_rng(os.urandom(32))`")
        self.rng, self.ledger = rng, ledger
        self.limits = Limits() if limits is None else limits
        Budget.of(self.limits.budget, self.limits.person_budget)  # refuses what is no budget now
        self._made: OrderedDict[ReleaseSpec, Future[Release]] = OrderedDict()
        self._looked_up = threading.Lock()

    def privatizer(self, spec: ReleaseSpec) -> Privatizer | PoolPrivatizer:
        """What draws for this spec; see :meth:`prepared`."""
        made: Privatizer | PoolPrivatizer = self.prepared(spec).privatizer
        return made

    def prepared(self, spec: ReleaseSpec) -> Release:
        """What draws for this spec; made once, as long as it is among those used last.

        Any thread may ask. While one is made, which takes seconds, others are found at once.
        """
        plain = spec.law  # requests that differ only in columns are drawn together
        with self._looked_up:
            found = self._made.get(plain)
            if found is not None:
                self._made.move_to_end(plain)
            else:
                making = self._made[plain] = Future()
                while len(self._made) > _KEPT:
                    self._made.popitem(last=False)
        if found is not None:
            return found.result()
        try:
            making.set_result(self._make(plain))
        except BaseException as error:
            with self._looked_up:
                if self._made.get(plain) is making:
                    del self._made[plain]
            making.set_exception(error)
        return making.result()

    def _make(self, spec: ReleaseSpec) -> Release:
        if spec.kind is ReleaseKind.TF:
            raise ParameterError("a tf release holds no texts: use `privatize_file`")
        made = prepare(spec, self.rng)
        promised = made.promised
        if not promised.private:
            raise NoGuarantee(promised.sentence())
        made.budget(self.limits, "any", "")  # what cannot be counted shows here
        return made

    def release(self, orders: Sequence[ReleaseOrder]) -> list[CountedRelease | InkblurError]:
        """An answer for each order, or why it was refused. What comes back is in the ledger."""
        answers: list[CountedRelease | InkblurError | None] = [None] * len(orders)
        together: defaultdict[int, list[_Read]] = defaultdict(list)
        for place, order in enumerate(orders):
            try:
                read = self._read(place, order)
                together[id(read.checked.stream.release.privatizer)].append(read)
            except InkblurError as error:
                answers[place] = error
        drawn: list[tuple[_Read, Drawn]] = []
        for group in together.values():
            with one_thread():
                parts = draw_together([read.checked for read in group])
            drawn += zip(group, parts, strict=True)
        with self.ledger.store.transaction():
            for read, part in sorted(drawn, key=lambda one: one[0].place):
                try:
                    with self.ledger.store.transaction():
                        answers[read.place] = self._counted(read, part)
                except InkblurError as error:
                    answers[read.place] = error
        return [answer for answer in answers if answer is not None]

    def _read(self, place: int, order: ReleaseOrder) -> _Read:
        """The rows of an order as records, refused where a file with them would be."""
        spec = order.spec
        made = self.prepared(spec)
        mechanism = made.privatizer.mechanism
        resolved = spec.resolved(mechanism.embedding, mechanism)
        stream = replace(made, spec=resolved).for_caller(order.caller).stream()
        rows = ArrowRows(order.rows.schema, layout_of(spec))
        return _Read(place, stream.check(rows.batch(order.rows)), rows.copied)

    def _counted(self, read: _Read, drawn: Drawn) -> CountedRelease:
        """Enter a release in the ledger, or raise where a budget does not allow it."""
        stream = read.checked.stream
        with stream.release.charged_to(
            self.ledger,
            self.limits,
            ids=stream.columns.id,
            option="`ids=`, or `id_column=` for the rows of a table,",
        ) as release:
            stream.release = release
            texts = drawn.texts(stream.charge(drawn))
        assert release.account is not None
        columns = read.checked.batch.columns
        assert isinstance(columns, ArrowColumns)
        spent = release.account.to_json()
        return CountedRelease(
            columns.with_texts(texts),
            release.guarantee(Fate(stream.columns.texts, read.copied)),
            release.account.release,
            sum(drawn.draws),
            spent["replayed"],
            spent["largest_loss_of_a_record"],
            tuple(warning_lines(stream.telling)),
        )


@dataclass(frozen=True, slots=True)
class _Read:
    """An order that can be drawn."""

    place: int  # among the orders
    checked: Checked
    copied: tuple[str, ...]
