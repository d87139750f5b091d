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
from inkblur.files.identifiers import telling_of, warning_lines
from inkblur.files.occurrences import Occurrences, refuse_ids
from inkblur.files.records import Batch
from inkblur.files.run import release_records
from inkblur.files.spending import (
    DrawnBatch,
    Limits,
    Spending,
    accounted,
    open_account,
    owned,
)
from inkblur.files.summary import Fate, stated
from inkblur.guarantees import Guarantee
from inkblur.ledger import Budget, Ledger
from inkblur.pools import PoolPrivatizer
from inkblur.rng import Rng
from inkblur.spec import ReleaseSpec
from inkblur.types import Record, ReleaseKind

_KEPT = 6  # settings whose tables are held at a time
# Which columns mean what changes no draw: requests that differ only in these are drawn together.
_LAYOUT = {
    "columns": ("text",),
    "id_column": None,
    "person_column": None,
    "keep_columns": (),
}


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
        if self.limits.partial:
            raise ParameterError("a request is released whole or not at all: leave out `partial=`")
        Budget.of(self.limits.budget, self.limits.person_budget)  # refuses what is no budget now
        self._made: OrderedDict[ReleaseSpec, Future[Privatizer | PoolPrivatizer]] = OrderedDict()
        self._looked_up = threading.Lock()

    def privatizer(self, spec: ReleaseSpec) -> Privatizer | PoolPrivatizer:
        """What draws for this spec; made once, as long as it is among those used last.

        Any thread may ask. While one is made, which takes seconds, others are found at once.
        """
        plain = spec.varied(**_LAYOUT)
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

    def _make(self, spec: ReleaseSpec) -> Privatizer | PoolPrivatizer:
        if spec.kind is ReleaseKind.TF:
            raise ParameterError("a tf release holds no texts: use `privatize_file`")
        blur = spec.releaser(spec.table())
        blur.refuse_weak(accept_weak=spec.accept_weak)
        promised = blur.guaranteed(self.rng)
        if not promised.private:
            raise NoGuarantee(promised.sentence())
        self.limits.for_guarantee(promised, "any")  # what cannot be counted shows here
        return blur

    def release(self, orders: Sequence[ReleaseOrder]) -> list[CountedRelease | InkblurError]:
        """An answer for each order, or why it was refused. What comes back is in the ledger."""
        answers: list[CountedRelease | InkblurError | None] = [None] * len(orders)
        together: defaultdict[int, list[_Read]] = defaultdict(list)
        for place, order in enumerate(orders):
            try:
                read = self._read(place, order)
                together[id(read.blur)].append(read)
            except InkblurError as error:
                answers[place] = error
        drawn: list[_Drawn] = []
        for group in together.values():
            try:
                drawn += _draw(group, self.rng)
            except InkblurError:  # of one of them; the others are drawn
                for read in group:
                    try:
                        drawn += _draw([read], self.rng)
                    except InkblurError as error:
                        answers[read.place] = error
        with self.ledger.store.transaction():
            for read, part, texts in sorted(drawn, key=lambda one: one[0].place):
                try:
                    with self.ledger.store.transaction():
                        answers[read.place] = self._counted(read, part, texts)
                except InkblurError as error:
                    answers[read.place] = error
        return [answer for answer in answers if answer is not None]

    def _read(self, place: int, order: ReleaseOrder) -> _Read:
        """The rows of an order as records, refused where a file with them would be."""
        blur, layout = self.privatizer(order.spec), layout_of(order.spec)
        rows = ArrowRows(order.rows.schema, layout)
        batch = rows.batch(order.rows)
        blur.refuse_own(batch.texts, batch.width)
        telling = telling_of(batch)
        if layout.id_column is None:
            batch = batch.with_ids(Occurrences().ids(batch.texts, layout.columns))
        else:
            ids = [record.id for record in batch.records[:: batch.width]]
            refuse_ids(len(set(ids)) != len(ids), False, layout.id_column)
            batch = batch.with_ids_by_column(layout.columns)
        entering = batch.entering(blur.hides_length)
        return _Read(place, order, blur, entering, rows.copied, tuple(warning_lines(telling)))

    def _counted(self, read: _Read, part: DrawnBatch, texts: Sequence[str]) -> CountedRelease:
        """Enter a release in the ledger, or raise where a budget does not allow it."""
        spec, promised = read.order.spec, read.blur.guaranteed(self.rng)
        mechanism, caller = read.blur.mechanism, read.order.caller
        resolved = spec.resolved(mechanism.embedding, mechanism)
        account = open_account(self.ledger, read.blur, resolved, self.rng, caller=caller)
        limits = self.limits.for_guarantee(
            promised, spec.id_column, "`ids=`, or `id_column=` for the rows of a table,"
        )
        spending = Spending(account, promised, spec.columns, limits, caller=caller)
        spending.charge(part)
        account.confirm()
        fate = Fate(spec.columns, read.copied)
        guarantee = stated(read.blur, fate, self.rng)
        columns = read.batch.columns
        assert isinstance(columns, ArrowColumns)
        spent = spending.to_json()
        return CountedRelease(
            columns.with_texts(read.batch.released(texts)),
            accounted(guarantee, spending),
            account.release,
            sum(part[1]),
            spent["replayed"],
            spent["largest_loss_of_a_record"],
            read.warnings,
        )


@dataclass(frozen=True, slots=True)
class _Read:
    """An order that can be drawn."""

    place: int  # among the orders
    order: ReleaseOrder
    blur: Privatizer | PoolPrivatizer
    batch: Batch
    copied: tuple[str, ...]
    warnings: tuple[str, ...]

    def records(self) -> list[Record]:
        """As they are drawn: no caller can ask for another's noise by using its ids."""
        caller = self.order.caller
        if not caller:
            return list(self.batch.records)
        return [replace(record, id=owned(record.id, caller)) for record in self.batch.records]


_Drawn = tuple[_Read, DrawnBatch, Sequence[str]]  # an order, what it costs, its released texts


def _draw(group: Sequence[_Read], rng: Rng) -> list[_Drawn]:
    """Draw orders of one setting together."""
    with one_thread():
        records = [record for read in group for record in read.records()]
        whole = release_records(group[0].blur, records, rng)
    drawn: list[_Drawn] = []
    first = 0
    for read in group:
        here = slice(first, first + len(read.batch.records))
        part = read.batch, whole.words[here], whole.bases[here]
        drawn.append((read, part, whole.texts[here]))
        first = here.stop
    return drawn
