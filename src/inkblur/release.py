"""The one way to a release: checked, charged and drawn, and shown only against a receipt.

Every door (command, file, folder, list, table, engine, HTTP) reads batches and writes what comes
out; what protects somebody stands here, once:

    with prepare(spec, rng).charged_to(ledger, limits) as release:
        stream = release.stream()
        checked = stream.check(batch)  # refuses; nothing is drawn or written
        drawn = stream.draw(checked)  # may run before or beside charging
        receipt = stream.charge(drawn)  # it is in the ledger, or BudgetExceeded
        drawn.texts(receipt)
"""

from __future__ import annotations

import math
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from inkblur.documents.analysis import folded
from inkblur.documents.base import AnyPrivatizer, BatchRelease
from inkblur.documents.fingerprints import among
from inkblur.embeddings.table import Fingerprints
from inkblur.errors import BudgetExceeded, InputError, ParameterError, PrivacyError
from inkblur.files.records import Batch, Occurrences, cuts
from inkblur.files.summary import Fate, stated, warning_lines
from inkblur.guarantees import NOBODY_COUNTS, Guarantee
from inkblur.ledger import Budget, Charge, Exceeded, Ledger, ReleaseAccount, micros, open_ledger
from inkblur.ledger.events import UNIT, shown
from inkblur.mechanisms.base import require_rng
from inkblur.rng import Rng, secure_rng
from inkblur.spec import ReleaseSpec
from inkblur.types import Record, counted

LETTERS = 5  # of a word and the space after it: how much text holds so many words
ROWS = 1000  # of a file that are looked at before anything of it is shown,
_LETTERS_HELD = 1 << 23  # or as many as have so many letters
_FEWEST_ROWS = 20  # by which a column is said to differ nearly everywhere
_FEWEST_LETTERS = 8  # of a text whose repetition in another column is no accident
_CARRIED = 200  # texts of the files before that are looked at with the next
_NAMED = 20  # records over budget that an error names
_UNLIMITED = Budget()
COUNTED = "according to the ledger"


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns mean what: the same four names at every door."""

    texts: tuple[str, ...] = ("text",)
    id: str | None = None
    person: str | None = None
    keep: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Limits:
    """What records and people may spend in all, as a privacy loss between any two texts of one
    size.
    """

    budget: float | None = None  # a record's
    person_budget: float | None = None

    def __bool__(self) -> bool:
        return self.budget is not None or self.person_budget is not None


def described_spec(
    spec: ReleaseSpec | None, strength: str | None, described: Mapping[str, Any]
) -> ReleaseSpec:
    """What a caller described: by a spec, or by `strength`, fields and parameters side by side."""
    if spec is None:
        return ReleaseSpec.of(strength=strength, **described)
    if strength is not None or described:
        raise ParameterError("`spec=` describes the whole release: leave out the other arguments")
    return spec


def prepare(spec: ReleaseSpec, rng: Rng | None = None) -> Release:
    """What draws by this spec, from a fresh secret key if none is given; refused where nearly
    every word would stay, unless the spec accepts that.
    """
    table = spec.table()
    made = spec.privatizer(table)
    made.refuse_weak(accept_weak=spec.accept_weak)
    resolved = spec.resolved(table, made.mechanism)
    return Release(made, secure_rng() if rng is None else require_rng(rng), resolved)


@dataclass(frozen=True, slots=True)
class Release:
    """What draws, from which key, and whose account pays."""

    privatizer: Any  # an AnyPrivatizer
    rng: Rng
    spec: ReleaseSpec | None = None  # resolved
    account: ReleaseAccount | None = None  # None: nobody counts
    caller: str = ""  # whose records and people these are, where several share a ledger

    def for_caller(self, caller: str) -> Release:
        """The same for one of several callers: their records have accounts and noise of their own,
        so that nobody learns from a budget or from equal outputs what another has released.
        """
        own = self.rng.child("caller", caller) if caller else self.rng
        return replace(self, caller=caller, rng=own)

    @property
    def resolved(self) -> ReleaseSpec:
        """The spec with every number filled in: what repeats the release."""
        if self.spec is None:
            raise ParameterError("this release was described by no spec")
        return self.spec

    @property
    def promised(self) -> Guarantee:
        """What is promised about each text, but for what a file or an account adds."""
        promised: Guarantee = self.privatizer.guaranteed(self.rng)
        return promised

    @property
    def unbounded(self) -> str:
        """Why no finite loss covers all that is shown of a text; empty where one does."""
        why: str = self.privatizer.unbounded
        return self.promised.void or why

    @property
    def loss(self) -> float:
        """Of one draw, between any two words or texts; 0 where nobody knows a bound."""
        loss: float = self.privatizer.largest_loss
        return loss if self.promised.private and math.isfinite(loss) else 0.0

    def budget(self, limits: Limits | None, ids: object, option: str) -> Budget:
        """The limits as the ledger counts. Where nothing names a record, it changes with one letter
        of its text, so a record's budget needs `ids`, which the caller sets with `option`; a
        person's does not.
        """
        if not limits:
            return Budget()
        if limits.budget is not None and ids is None:
            raise ParameterError(
                f"without {option} a text with one letter changed would be a new record, with a "
                "fresh budget: give what tells records apart, or limit what a person may spend "
                "with `person_budget=`"
            )
        if self.unbounded:
            raise PrivacyError(f"this release has no finite loss to budget: {self.unbounded}")
        return Budget.of(limits.budget, limits.person_budget)

    def stream(self, columns: Columns | None = None, *, vouched: bool = False) -> Stream:
        """Batches of one file, list or table. `vouched`: somebody has seen that no id repeats."""
        if columns is None and self.spec is not None:
            own = self.spec
            columns = Columns(own.columns, own.id_column, own.person_column, own.keep_columns)
        return Stream(self, Columns() if columns is None else columns, vouched)

    @contextmanager
    def charged_to(
        self,
        ledger: Ledger | str | Path | bool,
        limits: Limits | None = None,
        *,
        ids: object,
        option: str = "`id_column=`",
        source: str | Path = "-",
        **described: Any,
    ) -> Iterator[Release]:
        """The release with an account in a ledger (True: the user's own; False: nobody counts).
        What fails before anything showed gives back what it charged.

        A budget for records needs `ids`, which the caller sets with `option`. The entry holds the
        spec, and what else is `described`.
        """
        budget = self.budget(limits, ids, option)
        if ledger is False:
            if budget:
                raise ParameterError("a budget needs a ledger that counts what was spent")
            yield self
            return
        place = None if ledger is True else ledger
        opened = place if isinstance(place, Ledger) else open_ledger(place)
        try:
            described["file"] = opened.file_fingerprint(source)
            with self.opened(opened, budget, **described) as account:
                yield replace(self, account=account)
                account.about_to_show()  # what fails from here on fails after all was written
                account.confirm()
                if account.so_far.replayed and described["file"] is not None:
                    opened.confirm_repeated(account.release)
        finally:
            if opened is not place:
                opened.close()

    def resumed(self, ledger: Ledger, begun: str, budget: Budget) -> Release:
        """The release with the account that another process has begun."""
        account = ledger.continue_release(begun, **self._account(ledger), budget=budget)
        return replace(self, account=account)

    def opened(
        self, ledger: Ledger, budget: Budget = _UNLIMITED, **described: Any
    ) -> ReleaseAccount:
        """An entry of its own in a ledger; it holds the spec, and what is `described`."""
        spec = self.spec  # None: it was brought
        law = {"mechanism": self.privatizer.mechanism.name}
        description = {
            "spec": law if spec is None else spec.to_json(),
            "embedding": None if spec is None else spec.embedding_sha256,
            "guarantee": self.promised.to_json(),
            "key": ledger.key_fingerprint(self.rng.fingerprint()),
            **({"caller": self.caller} if self.caller else {}),
            **described,
        }
        return ledger.open_release(description, **self._account(ledger), budget=budget)

    def _account(self, ledger: Ledger) -> dict[str, str]:
        """Whose account it is, and all that a draw depends on besides record and content."""
        key = ledger.key_fingerprint(self.rng.fingerprint())
        draw = f"{key} {self.privatizer.spec}"
        return {"draw": draw, "caller": self.caller, "unbounded": self.unbounded}

    def about_to_show(self) -> None:
        """Output may be visible from here on: what was charged stays spent."""
        if self.account is not None:
            self.account.about_to_show()

    def guarantee(self, fate: Fate, also: Sequence[str] | None = None) -> Guarantee:
        """What is promised, with what a whole file shows and the account so far."""
        promised = stated(self.privatizer, fate, self.rng, also)
        if not promised.private:
            return promised
        return promised.revealing(
            NOBODY_COUNTS if self.account is None else _spent_so_far(self.account)
        )


class Stream:
    """One release's state over the batches of a file, list or table."""

    def __init__(self, release: Release, columns: Columns, vouched: bool) -> None:
        self.release, self.columns, self._vouched = release, columns, vouched
        self.left_out = self.documents = 0
        self.counts: Counter[str] = Counter()  # what became of the words; for the owner alone
        self.lengths: Counter[int] = Counter()  # texts by the number of their draws
        self._names, self._ids = Occurrences(), Occurrences()
        self._name = ""  # of the file that is read, for messages
        self._look = ColumnLook()
        self._first: list[str] = []  # texts that are looked at
        self._newest = 0  # so many of them came last

    @property
    def repeated(self) -> int:
        """Texts that had occurred before, blank ones aside."""
        return self._names.repeated

    @property
    def telling(self) -> dict[str, str]:
        """Copied columns that tell whose a text is, or what it says, each with the reason."""
        return self._look.telling

    def check(self, batch: Batch) -> Checked:
        """A whole table as it may be drawn; or raise, and nothing was drawn or written."""
        privatizer, columns = self.release.privatizer, self.columns
        if self._look.rows < ROWS and batch.records:
            # A pool that was made of the texts shows in all of them that are known so far; of very
            # long ones two batches are held, and if it holds most of all, then most of some.
            if self._look.done:
                del self._first[: -self._newest]
            self._look.read(batch)
            self._first += batch.texts
            self._newest = len(batch.records)
            privatizer.refuse_own(self._first, batch.width)
        if self.release.spec is not None and self.release.spec.skip_public:
            rows = len(batch)
            batch = without_public(batch, privatizer.corpora)
            self.left_out += rows - len(batch)
        privatizer.check_records(batch.records)
        rows_named: list[str] | None = None
        if columns.id is None:
            batch = batch.with_ids(self._names.ids(batch.texts, columns.texts))
        else:
            rows_named = [record.id for record in batch.records[:: batch.width]]
            # Who vouches for a whole table has still no say within a batch.
            refuse_repeat(
                Occurrences() if self._vouched else self._ids, batch, columns.id, self._name
            )
            self._names.ids(batch.texts, columns.texts)  # counts texts that repeat
            batch = batch.with_ids_by_column(columns.texts)
        if privatizer.hides_length:  # a missing text must not show: it is filled like an empty one
            batch = replace(batch, nulls=frozenset())
        return Checked(self, batch, rows_named)

    def check_all(self, batches: Iterable[Batch]) -> Iterator[Checked]:
        """Batch after batch, the first held back until enough rows were looked at: a refusal comes
        before anything is shown, and a pipe shows at once.
        """
        waiting: list[Checked] = []
        for batch in batches:
            checked = self.check(batch)
            if checked.batch.records:
                waiting.append(checked)
            if self._look.done:
                yield from waiting
                waiting.clear()
        yield from waiting

    def draw(self, checked: Checked) -> Drawn:
        """What comes out for it; any thread may do that."""
        return draw_together([checked])[0]

    def charge(self, *parts: Checked | Drawn) -> Receipt:
        """Enter batches in the ledger, all or none of them: what is drawn may be shown then. A
        draw that was charged before, by this release or under the same key, costs nothing.
        """
        if any(_of(part).stream is not self for part in parts):
            raise ParameterError("another release drew this: its own account has to pay")
        if exceeded := self.reserve(*parts):
            raise over_budget(*_said(exceeded))
        for part in parts:
            if isinstance(part, Drawn):
                part.count(self)
        return Receipt(parts)

    def charge_all(self, batches: Iterable[Batch]) -> None:
        """Check everything and, under a budget, charge it, before anything is drawn; or raise with
        all that is over budget.
        """
        account = self.release.account
        limited = account is not None and bool(account.budget)
        exceeded: list[tuple[str, Exceeded]] = []
        for checked in self.check_all(batches):
            if limited:
                exceeded += self.reserve(checked)
        if exceeded:
            raise over_budget(*_said(exceeded))

    def reserve(self, *parts: Checked | Drawn) -> list[tuple[str, Exceeded]]:
        """Enter batches, all or none; what would exceed a budget, and where it stands."""
        account = self.release.account
        if account is None:
            return []
        result = account.charge([charge for part in parts for charge in _charges(part)])
        if not result.exceeded:
            return []
        places = [record.place for part in map(_of, parts) for record in part.batch.records]
        return [(places[over.position], over) for over in result.exceeded]

    def begin(self, name: str) -> None:
        """The next batches are of this file: its first rows are looked at as well."""
        self._name = name
        self._look.rows = self._look.letters = 0
        del self._first[:-_CARRIED]  # small files are judged together


@dataclass(frozen=True, slots=True, repr=False)
class Checked:
    """A batch that may be drawn; it is not printed, nor is what came out for it."""

    stream: Stream
    batch: Batch
    rows: Sequence[str] | None  # the ids of its rows; None: their content names its texts


@dataclass(frozen=True, slots=True, repr=False)
class Receipt:
    """What was charged, or what nobody counts. Made by :meth:`Stream.charge`."""

    parts: tuple[Checked | Drawn, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Drawn:
    """What came out for a batch; nobody sees it who has no receipt."""

    checked: Checked
    _result: BatchRelease

    @property
    def draws(self) -> tuple[int, ...]:
        """How many each text took."""
        return self._result.words

    @property
    def bases(self) -> tuple[str, ...]:
        """What each draw was bound to besides key, id, text and settings."""
        return self._result.bases

    def texts(self, receipt: Receipt) -> list[Any]:
        """The released texts, one a record; None where one was missing and may show."""
        if not any(part is self for part in receipt.parts):
            raise ParameterError("these texts were not charged: give the receipt that covers them")
        return self.checked.batch.released(self._result.texts)

    def count(self, stream: Stream) -> None:
        """Add what became of the words to what the owner is told."""
        records = self.checked.batch.records
        stream.counts.update(self._result.counts)
        stream.counts["empty"] += sum(not record.text.strip() for record in records)
        stream.lengths.update(self.draws)
        stream.documents += len(records)


class ColumnLook:
    """What the columns tell that were named to be copied, by the first rows: for a warning.

    >>> from inkblur.files.records import Rows
    >>> look = ColumnLook()
    >>> born = Rows([{"born": str(1960 + n), "stars": "5"} for n in range(20)])
    >>> look.read(Batch(tuple(Record(str(n), "a text") for n in range(20)), born))
    >>> look.telling
    {'born': 'nearly every value differs, so it may tell whose a text is'}
    """

    def __init__(self) -> None:
        self.rows = self.letters = 0
        self._values: defaultdict[str, list[str]] = defaultdict(list)
        self._holding: Counter[str] = Counter()  # values of a column that hold a text of their row

    @property
    def done(self) -> bool:
        """Whether enough rows were seen."""
        return self.rows >= ROWS or self.letters >= _LETTERS_HELD

    def read(self, batch: Batch) -> None:
        """The next rows of a file; those after its first thousand, or many letters, are passed
        over.
        """
        most = 0 if self.done else ROWS - self.rows
        for row, cells in enumerate(islice(batch.columns.others(), most)):
            texts: list[str] | None = None
            for name, value in cells:
                if texts is None:
                    records = batch.records[row * batch.width : (row + 1) * batch.width]
                    texts = [_letters(record.text) for record in records]
                written = "" if value is None else str(value)
                letters = _letters(written)
                self._values[name].append(written)
                self._holding[name] += any(
                    len(text) >= _FEWEST_LETTERS and text in letters for text in texts
                )
        self.rows += len(batch)
        self.letters += sum(map(len, batch.texts))

    @property
    def telling(self) -> dict[str, str]:
        """The columns that tell whose a text is, or what it says, each with the reason."""
        reasons: dict[str, str] = {}
        for name, values in self._values.items():
            filled = [value for value in values if value.strip()]
            if 10 * self._holding[name] > len(values):
                reasons[name] = "it holds the words of the texts"
            elif len(filled) >= _FEWEST_ROWS and 10 * len(set(filled)) >= 9 * len(filled):
                reasons[name] = "nearly every value differs, so it may tell whose a text is"
        return reasons


def warn_of(telling: Mapping[str, str]) -> None:
    """The warnings, where no summary says them: of the line that called the library."""
    for line in warning_lines(telling):
        warnings.warn(line, stacklevel=4)


def _letters(text: str) -> str:
    """The letters alone, as if nothing stood between them."""
    return "".join(filter(str.isalpha, folded(text)))


def refuse_repeat(seen: Occurrences, batch: Batch, column: str, name: str = "") -> None:
    """Raise where a row of the file of this name has no id, or one that another had."""
    of_file = f" of {name}" if name else ""
    ids = [record.id for record in batch.records[:: batch.width]]
    missing = next((row for row, id in enumerate(ids) if not id.strip()), None)
    if missing is not None:
        raise InputError(
            f"{batch.place(missing)}{of_file} has an empty id in column {column!r}; fill it in, or "
            "leave out `id_column=`"
        )
    repeat = seen.repeat(ids)
    if repeat is not None:
        place = batch.place(repeat) + of_file
        raise InputError(
            f"{place} repeats an id of column {column!r}: equal texts under one id would be given "
            "the same noise. Ids must differ, or leave out `id_column=`"
        )


def without_public(batch: Batch, corpora: Sequence[tuple[Fingerprints, str]]) -> Batch:
    """A batch without the records of public corpora that something was learned from."""
    public = np.zeros(len(batch), dtype=bool)
    for corpus, _ in corpora:
        public |= among(batch.texts, corpus).reshape(len(batch), batch.width).any(axis=1)
    return batch.take(np.flatnonzero(~public).tolist()) if public.any() else batch


def draw_together(parts: Sequence[Checked]) -> list[Drawn]:
    """What comes out for batches of one privatizer, whoever they belong to, in few large calls.
    Of several, nobody is told what became of their words.
    """
    records = [record for part in parts for record in part.batch.records]
    keys = [part.stream.release.rng for part in parts for _ in part.batch.records]
    whole = draw_records(parts[0].stream.release.privatizer, records, keys)
    if len(parts) == 1:
        return [Drawn(parts[0], whole)]
    drawn, first = [], 0
    for part in parts:
        here = slice(first, first + len(part.batch.records))
        own = whole.texts[here], Counter[str](), whole.words[here], whole.bases[here]
        drawn.append(Drawn(part, BatchRelease(*own)))
        first = here.stop
    return drawn


def draw_records(
    made: AnyPrivatizer, records: Sequence[Record], rng: Rng | Sequence[Rng]
) -> BatchRelease:
    """What comes out for checked records, in pieces that suit the mechanism."""
    sizes = [max(len(record.text), LETTERS * made.fewest) for record in records]
    texts: list[Any] = []
    counts: Counter[str] = Counter()
    words: list[int] = []
    bases: list[str] = []
    for start, stop in cuts(sizes, LETTERS * made.mechanism.batch):
        some = records[start:stop]
        reading = made.read([record.text for record in some])
        out, became = made.draw(
            reading, made.streams(some, reading, rng if isinstance(rng, Rng) else rng[start:stop])
        )
        texts += out
        counts.update(became)
        words += reading.draws
        bases += reading.bases
    return BatchRelease(tuple(texts), counts, tuple(words), tuple(bases))


def _charges(part: Checked | Drawn) -> Iterator[Charge]:
    """What a batch costs, a charge a text."""
    checked = _of(part)
    batch, stream = checked.batch, checked.stream
    release, names = stream.release, stream.columns.texts
    if isinstance(part, Drawn):
        draws, bases = part.draws, part.bases
    else:
        reading = release.privatizer.read(batch.texts)
        draws, bases = reading.draws, reading.bases
    if release.privatizer.bound and release.account is not None and release.account.budget:
        # What places a text may differ when it is drawn: no draw of another release repeats it.
        bases = (release.account.release,) * len(bases)
    loss = release.loss
    amounts = {count: micros(loss, count) for count in set(draws)}
    for place, (record, count, base) in enumerate(zip(batch.records, draws, bases, strict=True)):
        row, column = divmod(place, batch.width)
        yield Charge(
            record.id if checked.rows is None else checked.rows[row],
            names[column],
            record.text,
            count,
            amounts[count],
            record.person,
            record.id + base if batch.width > 1 else base,
            checked.rows is not None,
        )


def _of(part: Checked | Drawn) -> Checked:
    return part.checked if isinstance(part, Drawn) else part


def _spent_so_far(account: ReleaseAccount) -> str:
    """The account, for the guarantee: the text that was released most often decides."""
    so_far, times = account.so_far, account.so_far.most_releases
    which = (
        "this is the first recorded release of these texts"
        if times <= 1
        else f"one of these texts has now been released {times:,} times"
    )
    most = f"at most {shown(so_far.most_spent)} of a record" + (
        f", of a person at most {shown(so_far.most_of_a_person)}" if so_far.most_of_a_person else ""
    )
    if why := account.endless:
        return (
            f"{COUNTED}, {which}, and no bound holds for the total loss of a record: {why}. The "
            f"draws alone come to {most}"
        )
    return f"{COUNTED}, {which}, and the total loss between any two texts of one size is now {most}"


def over_budget(
    sentences: Sequence[str], left: Mapping[str, float] | None = None
) -> BudgetExceeded:
    """The error about records over budget; `left` is what each still has."""
    named = "; ".join(sentences[:_NAMED])
    more = f"; and {len(sentences) - _NAMED:,} more" if len(sentences) > _NAMED else ""
    records = counted(len(sentences), "record would exceed its", "records would exceed their")
    return BudgetExceeded(
        f"{records} budget, so nothing was released: {named}{more}. Raise the budget, or leave "
        "these records out",
        left=left,
    )


def _said(exceeded: Sequence[tuple[str, Exceeded]]) -> tuple[list[str], dict[str, float]]:
    sentences = [f"{place}: {over.sentence()}" for place, over in exceeded]
    return sentences, {over.id: over.left / UNIT for _, over in exceeded}
