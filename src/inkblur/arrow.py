"""One function for every engine: an Arrow batch in, the same batch with released texts out.

Engines run a task again whenever they like: after a lost worker, speculatively, for a second action
on a lazy plan. With fresh noise each of these would be another release of the same texts. Here a
text's noise is a function of key, id, content and spec, so a task that runs again gives the same
bytes and costs nothing. That is why an id column and a kept key are required.

What travels to a worker is a `ReleasePlan`: the spec as JSON and the fingerprint of the key. The
key itself comes from the worker's environment or from a file there, and the tables are loaded once
a process.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from inkblur.arrow_worker import KEY, KEY_FILE, as_json, made_from, opened_ledger, worker_key
from inkblur.blas import one_thread
from inkblur.errors import InputError, ParameterError
from inkblur.files.arrow_rows import ArrowColumns, ArrowRows
from inkblur.files.formats import layout_of
from inkblur.files.occurrences import refuse_ids
from inkblur.files.run import no_collection
from inkblur.files.summary import Fate, stated
from inkblur.guarantees import NOBODY_COUNTS, Guarantee
from inkblur.ledger import Budget, open_ledger
from inkblur.ledger.ledger import PLACE
from inkblur.release import ROWS, Account, Limits, Release, over_budget, warn_of
from inkblur.rng import Rng
from inkblur.spec import ReleaseSpec
from inkblur.types import ReleaseKind

__all__ = ["KEY", "KEY_FILE", "ReleasePlan", "plan_release", "release"]

OVER = "over"  # the only column of what a reservation gives
_NAMED = 20  # records over budget that are named of each batch
_UNLIMITED = Budget()


def release(
    batch: pa.RecordBatch,
    spec: ReleaseSpec,
    *,
    key_file: str | Path | None = None,
    ledger: str | Path | bool = True,
    limits: Limits | None = None,
) -> pa.RecordBatch:
    """The batch with every text of `spec.columns` released: the bytes that `privatize_file` gives
    the same rows under the same key.

    The key is read from `key_file`, or from the file that INKBLUR_KEY_FILE names, or from
    INKBLUR_KEY (64 hexadecimal digits). The spec names an id column, whose ids must be unique over
    all batches: a repeat within one is refused, and the adapters in `inkblur.engines` look at all
    batches first.

    The texts come out, and the columns that `spec.keep_columns` names; ids only if it names them.
    A warning says which of these tell whose a text is, or what it says, by the rows of the batch.

    For a stream of small batches: `plan = plan_release(spec).counted_in(True)`, `plan.check(rows)`,
    `plan(batch)` for each batch, and `plan.confirm()` at the end. Nobody looks for repeated ids
    then.

    Each call is entered in the `ledger` as a release of its own; a batch that was released before
    costs nothing. `limits` are the budgets that it keeps to, the whole batch or none of it.

    >>> import tempfile
    >>> from inkblur.rng import write_key
    >>> folder = tempfile.TemporaryDirectory()
    >>> key = Path(folder.name, "key")
    >>> write_key(key)
    >>> spec = ReleaseSpec("laplace", 60.0, id_column="id", keep_columns=("id",))
    >>> rows = pa.record_batch({"id": [7, 8], "text": ["the doctor was angry", None]})
    >>> out = release(rows, spec, key_file=key, ledger=False)
    >>> len(out["text"][0].as_py().split()), out["text"][1].as_py(), out["id"].to_pylist()
    (4, None, [7, 8])
    >>> out == release(rows, spec, key_file=key, ledger=False)
    True
    >>> folder.cleanup()
    """
    if not isinstance(batch, pa.RecordBatch):
        raise ParameterError(
            f"give a pyarrow RecordBatch, not a {type(batch).__name__}: of a table, that is "
            "`[batch] = table.combine_chunks().to_batches()`"
        )
    plan = plan_release(spec, key_file=key_file)
    plan.check(batch)
    ids = batch.column(plan.id_column).to_pylist()
    counted = plan.begun(
        ledger,
        limits,
        repeated=len(set(ids)) < len(ids),
        missing=None in ids,
        over=lambda reservation: reservation.over_budget(batch.select(plan.needed)),
    )
    out = counted(batch)
    counted.confirm()
    return out


@dataclass(frozen=True, slots=True)
class ReleasePlan:
    """A release as it is sent to workers: call it with a batch. Made by `plan_release`."""

    spec: str  # resolved, as JSON: a worker whose table differs refuses
    key: str  # the key's fingerprint: a worker that has another key refuses
    key_file: str | None = None  # on the worker; None: its environment says
    ledger: str | None = None  # where the account is; None: the worker's own ledger
    account: str | None = None  # of this release in the ledger; None: nobody counts
    budget: Budget = _UNLIMITED  # what records and people may spend in all

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch with released texts."""
        stream = self._release().stream(vouched=True)
        rows = ArrowRows(batch.schema, layout_of(stream.release.resolved))
        with one_thread(), no_collection():
            checked = stream.check(rows.batch(batch))
            if not checked.batch.records:
                return pa.RecordBatch.from_pylist([], schema=rows.written)
            drawn = stream.draw(checked)
            assert isinstance(checked.batch.columns, ArrowColumns)
            return checked.batch.columns.with_texts(drawn.texts(stream.charge(drawn)))

    def load(self) -> None:
        """Load the tables into this process now, instead of with the first batch."""
        made_from(self.spec)

    def check(self, sample: pa.RecordBatch) -> pa.Schema:
        """Refuse, before anything runs, what a batch alone would show late or never: columns that
        are not there, texts that are those of a pool. Warn of what copied columns tell. The schema
        of what comes out.
        """
        stream = replace(self, account=None)._release().stream(vouched=True)
        rows = ArrowRows(sample.schema, layout_of(stream.release.resolved))
        stream.check(rows.batch(sample.slice(0, ROWS)))
        warn_of(stream.telling)
        return rows.written

    def counted_in(self, ledger: str | Path | bool, limits: Limits | None = None) -> ReleasePlan:
        """The same plan with an account in a ledger, to which each batch is charged (True: the one
        that INKBLUR_LEDGER names, or the user's own; False: none). All workers must reach it.
        """
        release = replace(self, account=None)._release()
        budget = release.budget(limits, self.id_column, "`id_column=`")
        if ledger is False:
            if budget:
                raise ParameterError("a budget needs a ledger that counts what was spent")
            return replace(self, ledger=None, account=None)
        place = None if ledger is True else str(ledger)
        if place is not None and "://" not in place:
            place = str(Path(place).absolute())
        with open_ledger(place) as opened:
            account = release.opened(opened)
        return replace(self, ledger=place, account=account.release, budget=budget)

    def begun(
        self,
        ledger: str | Path | bool,
        limits: Limits | None,
        *,
        repeated: object,
        missing: object,
        over: Callable[[Reservation], Iterable[str]],
    ) -> ReleasePlan:
        """:meth:`counted_in`, where all rows can be looked at before anything is drawn: refused if
        ids are `repeated` or `missing`, or if a budget does not allow every row.

        Under a budget `over` is called: it gives all batches of the columns `needed` to the
        reservation, and returns what that says would exceed one. If anything does, nothing is
        charged.
        """
        refuse_ids(repeated, missing, self.id_column)
        counted = self.counted_in(ledger, limits)
        if counted.budget:
            try:
                bare = made_from(self.spec).resolved.varied(keep_columns=())
                named = list(over(Reservation(replace(counted, spec=as_json(bare)))))
                if named:
                    raise over_budget(named)
            except BaseException:
                counted._account().void()
                raise
        return counted

    def confirm(self) -> None:
        """The output exists. An engine that is lazy never says so: what it released then stays
        reserved in the ledger, which counts as spent.
        """
        if self.account is not None:
            self._account().confirm()

    def guarantee(self, schema: pa.Schema) -> Guarantee:
        """What is promised about the release of a table of this schema."""
        release = replace(self, account=None)._release()
        spec = release.resolved
        left_out = 0 if spec.skip_public else None  # how many, only a run knows
        fate = Fate(spec.columns, ArrowRows(schema, layout_of(spec)).copied, left_out=left_out)
        promised = stated(release.privatizer, fate, release.rng)
        return promised if self.account is not None else promised.revealing(NOBODY_COUNTS)

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns that a release reads: the id, the person if there is one, and the texts."""
        spec = made_from(self.spec).resolved
        names = (spec.id_column, spec.person_column, *spec.columns)
        return tuple(dict.fromkeys(name for name in names if name is not None))

    @property
    def id_column(self) -> str:
        """The column that names each record."""
        return made_from(self.spec).resolved.id_column or ""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that hold texts."""
        return made_from(self.spec).resolved.columns

    def _rng(self) -> Rng:
        rng = worker_key(self.key_file)
        if rng.fingerprint().hex() != self.key:
            raise InputError(
                "the key on this worker is not the one that the release began with; give every "
                f"worker the same {KEY_FILE} or {KEY}"
            )
        return rng

    def _release(self) -> Release:
        """As this process makes it, with the account that was begun, if there is one."""
        release = replace(made_from(self.spec), rng=self._rng())
        if self.account is None:
            return release
        ledger = opened_ledger(self.ledger or os.environ.get(PLACE), os.getpid())
        return release.resumed(ledger, self.account, self.budget)

    def _account(self) -> Account:
        account = self._release().account
        assert account is not None
        return account


@dataclass(frozen=True, slots=True)
class Reservation:
    """Charges a batch before anything is drawn: what would exceed a budget, in sentences."""

    plan: ReleasePlan

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The sentences as a batch of one column; some of them where they are many."""
        return pa.RecordBatch.from_arrays([pa.array(self.over_budget(batch), pa.string())], [OVER])

    def load(self) -> None:
        """Load the tables into this process now."""
        self.plan.load()

    def over_budget(self, batch: pa.RecordBatch) -> list[str]:
        """The sentences."""
        release = self.plan._release()
        assert release.account is not None
        rows = ArrowRows(batch.schema, layout_of(release.resolved))
        checked = release.stream(vouched=True).check(rows.batch(batch))
        return [over.sentence() for _, over in release.account.charge([checked])][:_NAMED]


def plan_release(spec: ReleaseSpec, *, key_file: str | Path | None = None) -> ReleasePlan:
    """The plan of a release: its spec resolved on the tables that it names, and its key known.

    The key is read here and again by each worker; the plan holds its fingerprint alone.
    """
    if spec.kind is ReleaseKind.TF:
        raise ParameterError("a tf release holds no texts: use inkblur.VectorPrivatizer")
    if spec.id_column is None:
        raise ParameterError(
            "an engine may run a task again, so `id_column=` must name a column whose ids tell the "
            "records apart"
        )
    named = None if key_file is None else str(Path(key_file).absolute())
    rng = worker_key(named)
    return ReleasePlan(as_json(made_from(as_json(spec)).resolved), rng.fingerprint().hex(), named)


def one_batch(table: pa.Table) -> pa.RecordBatch:
    """A table as one batch; more text than 32 bits can place does not fit in one."""
    batches = table.combine_chunks().to_batches()
    if len(batches) > 1:
        raise ParameterError("the table has too much text for one batch: give it in parts")
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)
