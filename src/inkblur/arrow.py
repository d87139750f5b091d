"""Arrow rows in, the same rows with released texts out: for every engine, and for a server.

Engines run a task again whenever they like: after a lost worker, speculatively, for a second action
on a lazy plan. With fresh noise each of these would be another release of the same texts. Here a
text's noise is a function of key, id, content and spec, so a task that runs again gives the same
bytes and costs nothing. That is why an id column and a kept key are required.

What travels to a worker is a `ReleasePlan`: the spec as JSON and the fingerprint of the key. The
key itself comes from the worker's environment or from a file there, and the tables are loaded once
a process.
"""

from __future__ import annotations

import json
import os
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from inkblur.blas import one_thread
from inkblur.errors import InkblurError, InputError, NoGuarantee, ParameterError
from inkblur.files.arrow_rows import ArrowColumns, ArrowRows
from inkblur.files.formats import layout_of
from inkblur.files.run import no_collection, search_beside_others
from inkblur.files.summary import Fate, stated, warning_lines
from inkblur.guarantees import NOBODY_COUNTS, Guarantee
from inkblur.ledger import Budget, Ledger, ReleaseAccount, open_ledger
from inkblur.ledger.ledger import PLACE
from inkblur.release import (
    ROWS,
    Checked,
    Drawn,
    Limits,
    Release,
    draw_together,
    over_budget,
    prepare,
    warn_of,
)
from inkblur.rng import Rng, key_from_digits, keyed_rng, read_key
from inkblur.spec import ReleaseSpec
from inkblur.types import ReleaseKind

__all__ = [
    "KEY",
    "KEY_FILE",
    "CountedRelease",
    "ReleasePlan",
    "plan_release",
    "prepare",
    "release",
    "release_together",
]

KEY = "INKBLUR_KEY"  # 64 hexadecimal digits
KEY_FILE = "INKBLUR_KEY_FILE"
OVER = "over"  # the only column of what a reservation gives
_UNLIMITED = Budget()
_NAMED = 20  # records over budget that are named of each batch
_KEPT = 4  # specs whose tables a process holds at a time


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
    `plan(batch)` for each batch, and `plan.confirm()` at the end. Nobody looks for ids that repeat
    in another batch then.

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
    >>> [len(text.as_py().split()) for text in out["text"]], out["id"].to_pylist()
    ([8, 8], [7, 8])
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
    counted = plan.begun(
        ledger, limits, over=lambda reserving: reserving.over_budget(batch.select(plan.needed))
    )
    out = counted(batch)
    counted.confirm()
    return out


@dataclass(frozen=True)
class ReleasePlan:
    """A release as it is sent to workers: call it with a batch. Made by `plan_release`."""

    spec: str  # resolved, as JSON: a worker whose table differs refuses
    key: str  # the key's fingerprint: a worker that has another key refuses
    key_file: str | None = None  # on the worker; None: its environment says
    ledger: str | None = None  # where the account is; None: the worker's own ledger
    account: str | None = None  # of this release in the ledger; None: nobody counts
    budget: Budget = _UNLIMITED  # what records and people may spend in all
    reserving: bool = False  # charges alone: a batch of what would exceed a budget, in sentences

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch with released texts."""
        if self.reserving:
            over = pa.array(self.over_budget(batch), pa.string())
            return pa.RecordBatch.from_arrays([over], [OVER])
        with one_thread(), no_collection():
            checked, rows = self._checked(batch, self._release())
            if not checked.batch.records:
                return pa.RecordBatch.from_pylist([], schema=rows.written)
            stream = checked.stream
            drawn = stream.draw(checked)
            return _rows_of(drawn, drawn.texts(stream.charge(drawn)))

    def load(self) -> None:
        """Load the tables into this process now, instead of with the first batch."""
        _prepared(self.spec)

    def check(self, sample: pa.RecordBatch) -> pa.Schema:
        """Refuse, before anything runs, what a batch alone would show late or never: columns that
        are not there, texts that are those of a pool. Warn of what copied columns tell. The schema
        of what comes out.
        """
        checked, rows = self._checked(sample.slice(0, ROWS), self._uncounted())
        warn_of(checked.stream.telling)
        return rows.written

    def counted_in(self, ledger: str | Path | bool, limits: Limits | None = None) -> ReleasePlan:
        """The same plan with an account in a ledger, to which each batch is charged (True: the one
        that INKBLUR_LEDGER names, or the user's own; False: none). All workers must reach it.
        """
        release = self._uncounted()
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
        over: Callable[[ReleasePlan], Iterable[str]],
        repeated: object = False,
        missing: object = False,
    ) -> ReleasePlan:
        """:meth:`counted_in`, where all rows can be looked at before anything is drawn: refused if
        ids are `repeated` or `missing`, or if a budget does not allow every row.

        Under a budget `over` is called: it gives all batches of the columns `needed` to a plan that
        reserves, and returns what that says would exceed one. If anything does, nothing is charged.
        """
        if missing:
            raise InputError(f"column {self.id_column!r} has rows with a null id; fill them in")
        if repeated:
            raise InputError(
                f"column {self.id_column!r} repeats an id: equal texts under one id would be given "
                "the same noise. Ids must differ"
            )
        counted = self.counted_in(ledger, limits)
        if counted.budget:
            try:
                bare = _as_json(self.resolved.varied(keep_columns=()))
                named = list(over(replace(counted, spec=bare, reserving=True)))
                if named:
                    raise over_budget(named)
            except BaseException:
                counted._account().void()
                raise
        return counted

    def over_budget(self, batch: pa.RecordBatch) -> list[str]:
        """Charge a batch before anything is drawn: what would exceed a budget, in sentences; some
        of them where they are many.
        """
        checked, _ = self._checked(batch, self._release())
        return [over.sentence() for _, over in checked.stream.reserve(checked)][:_NAMED]

    def confirm(self) -> None:
        """The output exists. An engine that is lazy never says so: what it released then stays
        reserved in the ledger, which counts as spent.
        """
        if self.account is not None:
            self._account().confirm()

    def guarantee(self, schema: pa.Schema) -> Guarantee:
        """What is promised about the release of a table of this schema."""
        release, spec = self._uncounted(), self.resolved
        left_out = 0 if spec.skip_public else None  # how many, only a run knows
        fate = Fate(spec.columns, ArrowRows(schema, layout_of(spec)).copied, left_out=left_out)
        promised = stated(release.privatizer, fate, release.rng)
        return promised if self.account is not None else promised.revealing(NOBODY_COUNTS)

    @property
    def resolved(self) -> ReleaseSpec:
        """The spec with every number filled in."""
        return _prepared(self.spec).resolved

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns that a release reads: the id, the person if there is one, and the texts."""
        spec = self.resolved
        names = (spec.id_column, spec.person_column, *spec.columns)
        return tuple(dict.fromkeys(name for name in names if name is not None))

    @property
    def id_column(self) -> str:
        """The column that names each record."""
        return self.resolved.id_column or ""

    def _checked(self, batch: pa.RecordBatch, release: Release) -> tuple[Checked, ArrowRows]:
        rows = ArrowRows(batch.schema, layout_of(release.resolved))
        return release.stream(vouched=True).check(rows.batch(batch)), rows

    def _uncounted(self) -> Release:
        """As this process makes it; refused where its key is another."""
        rng = _worker_key(self.key_file)
        if rng.fingerprint().hex() != self.key:
            raise InputError(
                "the key on this worker is not the one that the release began with; give every "
                f"worker the same {KEY_FILE} or {KEY}"
            )
        return replace(_prepared(self.spec), rng=rng)

    def _release(self) -> Release:
        """The same with the account that was begun, if there is one."""
        release = self._uncounted()
        if self.account is None:
            return release
        # Opened once by each copy of the plan, and never one that was opened before a fork.
        opened: dict[int, Ledger] = self.__dict__.setdefault("_ledgers", {})
        process = os.getpid()
        if process not in opened:
            opened[process] = open_ledger(self.ledger or os.environ.get(PLACE))
        return release.resumed(opened[process], self.account, self.budget)

    def __getstate__(self) -> dict[str, Any]:
        """What is sent to a worker: no connection."""
        return {name: value for name, value in self.__dict__.items() if name != "_ledgers"}

    def _account(self) -> ReleaseAccount:
        account = self._release().account
        assert account is not None
        return account


def plan_release(spec: ReleaseSpec, *, key_file: str | Path | None = None) -> ReleasePlan:
    """The plan of a release: its spec resolved on the tables that it names, and its key known.

    The key is read here and again by each worker; the plan holds its fingerprint alone.
    """
    if spec.kind is ReleaseKind.TF:
        raise ParameterError('vectors are no texts: use inkblur.TextPrivatizer(release="tf")')
    if spec.id_column is None:
        raise ParameterError(
            "an engine may run a task again, so `id_column=` must name a column whose ids tell the "
            "records apart"
        )
    named = None if key_file is None else str(Path(key_file).absolute())
    rng = _worker_key(named)
    return ReleasePlan(_as_json(_prepared(_as_json(spec)).resolved), rng.fingerprint().hex(), named)


def one_batch(table: pa.Table) -> pa.RecordBatch:
    """A table as one batch; more text than 32 bits can place does not fit in one."""
    batches = table.combine_chunks().to_batches()
    if len(batches) > 1:
        raise ParameterError("the table has too much text for one batch: give it in parts")
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)


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


def release_together(
    orders: Sequence[tuple[Release, pa.RecordBatch]], ledger: Ledger, limits: Limits | None = None
) -> list[CountedRelease | InkblurError]:
    """Rows of several callers, each with what releases them: an answer for each, or why it was
    refused. What waits together is drawn together and entered in one transaction; each is released
    and charged whole, or not at all. What comes back is in the ledger.
    """
    answers: dict[int, CountedRelease | InkblurError] = {}
    together: defaultdict[int, list[int]] = defaultdict(list)
    checked: dict[int, tuple[Checked, ArrowRows]] = {}
    for place, (release, batch) in enumerate(orders):
        try:
            if not (release.rng.kept or release.rng.seeded):
                # Its guarantee would not say that equal requests get equal answers.
                raise ParameterError("a server keeps its key: use `keyed_rng(os.urandom(32))`")
            if not release.promised.private:
                raise NoGuarantee(release.promised.sentence())
            rows = ArrowRows(batch.schema, layout_of(release.resolved))
            checked[place] = release.stream().check(rows.batch(batch)), rows
            together[id(release.privatizer)].append(place)
        except InkblurError as error:
            answers[place] = error
    drawn: dict[int, Drawn] = {}
    for places in together.values():
        with one_thread():
            parts = draw_together([checked[place][0] for place in places])
        drawn.update(zip(places, parts, strict=True))
    with ledger.store.transaction():
        for place, part in sorted(drawn.items()):
            try:
                with ledger.store.transaction():
                    answers[place] = _counted(part, checked[place][1], ledger, limits)
            except InkblurError as error:
                answers[place] = error
    return [answers[place] for place in range(len(orders))]


def _counted(
    drawn: Drawn, rows: ArrowRows, ledger: Ledger, limits: Limits | None
) -> CountedRelease:
    """Enter a release in the ledger, or raise where a budget does not allow it."""
    stream = drawn.checked.stream
    option = "`ids=`, or `id_column=` for the rows of a table,"
    with stream.release.charged_to(ledger, limits, ids=stream.columns.id, option=option) as release:
        stream.release = release
        texts = drawn.texts(stream.charge(drawn))
    assert release.account is not None
    spent = release.account.to_json()
    return CountedRelease(
        _rows_of(drawn, texts),
        release.guarantee(Fate(stream.columns.texts, rows.copied)),
        release.account.release,
        sum(drawn.draws),
        spent["replayed"],
        spent["largest_loss_of_a_record"],
        tuple(warning_lines(stream.telling)),
    )


def _rows_of(drawn: Drawn, texts: list[Any]) -> pa.RecordBatch:
    columns = drawn.checked.batch.columns
    assert isinstance(columns, ArrowColumns)
    return columns.with_texts(texts)


def _worker_key(key_file: str | Path | None = None) -> Rng:
    """The key of this process: from the file, or from the environment; never a fresh one."""
    path = key_file or os.environ.get(KEY_FILE)
    if path:
        return keyed_rng(read_key(Path(path)))
    digits = os.environ.get(KEY)
    if digits is None:
        raise ParameterError(
            "an engine may run a task again, and a fresh key would draw again: write a key with "
            f"`inkblur keygen FILE`, and name it in `key_file=` or in {KEY_FILE}"
        )
    return keyed_rng(key_from_digits(digits, KEY))


_held: dict[tuple[str, int], Release] = {}  # by spec and process: threads do not survive a fork
_preparing = threading.Lock()


def _prepared(spec: str) -> Release:
    """What draws by a spec, made when a process first needs it; its key is nobody's."""
    process = os.getpid()
    with _preparing:
        if (spec, process) not in _held:
            release = prepare(ReleaseSpec.from_json(json.loads(spec)))
            search_beside_others(release.privatizer)
            if release.privatizer.bound:
                raise ParameterError(
                    "engines run tasks again, and on another machine a sentence transformer may "
                    "place a text elsewhere: use `privatize_file`, or a pool encoded by words"
                )
            _held[spec, process] = _held[_as_json(release.resolved), process] = release
            while len(_held) > 2 * _KEPT:
                del _held[next(iter(_held))]
        return _held[spec, process]


def _as_json(spec: ReleaseSpec) -> str:
    """The spec as it travels; equal ones have equal text."""
    return json.dumps(spec.to_json(), sort_keys=True)
