"""A run's account: what each record will have spent is in the ledger before anyone sees the output.

Without a budget, records are charged batch by batch, each before it is written. With one, the whole
file is read and charged first: it is released whole or not at all, and what it may not spend is
known before the first draw.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from inkblur.documents.base import AnyPrivatizer
from inkblur.errors import BudgetExceeded, ParameterError, PrivacyError
from inkblur.files.records import Batch
from inkblur.guarantees import NOBODY_COUNTS, Guarantee
from inkblur.ledger import (
    Budget,
    Charge,
    Charged,
    Exceeded,
    Ledger,
    ReleaseAccount,
    micros,
    open_ledger,
)
from inkblur.ledger.charges import UNIT, shown
from inkblur.rng import Rng
from inkblur.spec import ReleaseSpec
from inkblur.types import Metric, counted, positive

_NAMED = 20  # records over budget that an error names
DrawnBatch = tuple[Batch, Sequence[int], Sequence[str]]  # with each text's words drawn, and base
COUNTED = "according to the ledger"


@dataclass(frozen=True, slots=True)
class Limits:
    """What records and people may spend in all.

    A metric mechanism's loss depends on how far apart two texts are, so for one a budget needs a
    `radius`: the distance between words within which it is to hold.
    """

    budget: float | None = None  # a record's, as a privacy loss
    person_budget: float | None = None
    radius: float | None = None
    partial: bool = False  # leave out the records that would exceed it, instead of refusing all

    def __bool__(self) -> bool:
        return self.budget is not None or self.person_budget is not None

    def for_guarantee(
        self, guarantee: Guarantee, ids: object, option: str = "`id_column=`"
    ) -> Budget:
        """The limits in what the ledger counts for this guarantee.

        A record is known by its id and by its text. Where nothing names it, both change with one
        letter of the text, so a record's budget needs `ids`, which the caller sets with `option`;
        a person's does not.
        """
        if not self:
            if self.partial:
                raise ParameterError("`partial=` needs a budget that some records may exceed")
            if self.radius is not None:
                raise ParameterError("a radius without a budget limits nothing; give a budget")
            return Budget()
        if self.budget is not None and ids is None:
            raise ParameterError(
                f"without {option} a text with one letter changed would be a new record, with a "
                "fresh budget: give what tells records apart, or limit what a person may spend "
                "with `person_budget=`"
            )
        if not guarantee.private:
            raise PrivacyError(f"this release has no finite loss to budget: {guarantee.void}")
        discrete = guarantee.metric is Metric.DISCRETE
        if discrete and self.radius is not None:
            raise ParameterError("a budget's radius is for mechanisms that measure distances")
        if not discrete and self.radius is None:
            raise ParameterError(
                "this mechanism's loss grows with distance, so a budget needs a radius: the "
                "distance between two words within which it is to hold"
            )
        radius = 1.0 if self.radius is None else positive(self.radius, "a budget's radius")
        scaled = (
            None if limit is None else limit / radius for limit in (self.budget, self.person_budget)
        )
        return Budget.of(*scaled)


def space_of(guarantee: Guarantee) -> str:
    """What this guarantee's losses add up with: one metric on one table, or any discrete ones."""
    if guarantee.metric is Metric.DISCRETE:
        return f"between any two texts{_counted(guarantee)}"
    detail = f" ({guarantee.metric_detail})" if guarantee.metric_detail else ""
    return (
        f"{guarantee.metric.value}{detail} on {guarantee.space[:12]}, {guarantee.unit.value}"
        f"{_counted(guarantee)}, per unit of distance"
    )


def _counted(guarantee: Guarantee) -> str:
    return f" without {', '.join(guarantee.without)}" if guarantee.without else ""


def owned(name: str, caller: str) -> str:
    """A record's id, text or person as one caller's own: no other caller can name it.

    >>> owned("7", "alice"), owned("7", "")
    ('5:alice:7', '7')
    """
    return f"{len(caller)}:{caller}:{name}" if caller else name


class Spending:
    """Charges a run's batches to its account.

    Where several callers share a ledger, each has records of its own: what is left of a budget
    would tell one caller whether another had released a text that it guesses.
    """

    def __init__(
        self,
        account: ReleaseAccount,
        guarantee: Guarantee,
        columns: Sequence[str],
        limits: Budget,
        *,
        caller: str = "",
    ) -> None:
        self._account, self._guarantee = account, guarantee
        self._columns, self._limits, self._caller = tuple(columns), limits, caller
        self._most_spent = self._most_releases = 0
        self.replayed = 0  # texts that were released before with the same words, and cost nothing
        self._ahead = False  # everything was charged before the run began
        self.left_out: int | None = None  # records over budget; None: they would refuse the run

    def about_to_show(self) -> None:
        """Output may be visible from here on: what was charged stays spent."""
        self._account.about_to_show()

    def charge(self, *parts: DrawnBatch) -> None:
        """Charge batches that are about to be written in one entry of the ledger, unless that was
        done ahead. Over budget, none of them is charged, and this raises.
        """
        if not self._ahead:
            result = self._charge(parts, partial=False)
            if result.exceeded:
                raise _over_budget(_placed(parts, result), partly=False)

    def over_budget(self, part: DrawnBatch) -> list[str]:
        """Charge a batch that is not drawn yet, all of it or none; what would exceed a budget."""
        return [over.sentence() for over in self._charge([part], partial=False).exceeded]

    def charge_ahead(
        self, batches: Iterator[Batch], made: AnyPrivatizer, *, partial: bool | None
    ) -> frozenset[int] | None:
        """Charge everything before anything is drawn.

        Over budget, everything is refused with the list of records; or, if `partial`, those: the
        answer is then which rows may be released, by number. None: nobody can ask for `partial`.
        """
        exceeded: list[tuple[str, Exceeded]] = []
        granted: set[int] = set()
        row = 0
        for batch in batches:
            parts = [undrawn(batch, made)]
            result = self._charge(parts, partial=bool(partial))
            exceeded += _placed(parts, result)
            if partial:
                granted.update(row + place // batch.width for place in result.granted)
            row += len(batch)
        if exceeded and not partial:
            raise _over_budget(exceeded, partly=partial is not None)
        self._ahead = True
        self.left_out = len(exceeded) if partial else None
        return frozenset(granted) if partial else None

    def _charge(self, parts: Sequence[DrawnBatch], *, partial: bool) -> Charged:
        charges = [charge for part in parts for charge in self._charges(*part)]
        result = self._account.charge(charges, self._limits, partial=partial)
        self._most_spent = max(self._most_spent, result.most_spent)
        self._most_releases = max(self._most_releases, result.most_releases)
        self.replayed += result.replayed
        return result

    def _charges(self, batch: Batch, words: Sequence[int], bases: Sequence[str]) -> list[Charge]:
        amounts = {count: micros(self._guarantee.epsilon, count) for count in set(words)}
        width, prefix = batch.width, owned("", self._caller)
        names = [prefix + record.id for record in batch.records[::width]]  # a row's texts share one
        return [
            Charge(
                names[place // width],
                self._columns[place % width],
                prefix + record.text,
                count,
                amounts[count],
                None if record.person is None else prefix + record.person,
                # Without an id column each text of a row draws under an id of its own.
                record.id + base if width > 1 else base,
            )
            for place, (record, count, base) in enumerate(
                zip(batch.records, words, bases, strict=True)
            )
        ]

    def sentence(self) -> str:
        """The account so far, for the guarantee: the text that was released most often decides."""
        times = self._most_releases
        so_far = (
            "this is the first recorded release of these texts in this metric"
            if times <= 1
            else f"one of these texts has now been released {times:,} times in this metric"
        )
        unit = "" if self._guarantee.metric is Metric.DISCRETE else " per unit of distance"
        return (
            f"{COUNTED}, {so_far}, and the total loss of a record in it is now at most "
            f"{shown(self._most_spent)}{unit} (releases in another metric, or with other kinds of "
            "words dropped, are added up separately)"
        )

    def to_json(self) -> dict[str, Any]:
        """For the report."""
        return {
            "release": self._account.release,
            "most_releases_of_a_record": self._most_releases,
            "largest_loss_of_a_record": self._most_spent / 1_000_000,
            "replayed": self.replayed,
        }


def undrawn(batch: Batch, made: AnyPrivatizer) -> DrawnBatch:
    """What a batch will cost, before it is drawn.

    Where draws of `made` are bound to what is known only when they are made, nobody can know yet
    whether one will be a replay, so each counts as new.
    """
    reading = made.read(batch.texts)
    bases = [os.urandom(16).hex() for _ in reading.draws] if made.bound else reading.bases
    return batch, reading.draws, bases


def _placed(parts: Sequence[DrawnBatch], result: Charged) -> list[tuple[str, Exceeded]]:
    """The records over budget: where they stand in their file, and the id that its owner knows."""
    if not result.exceeded:
        return []
    rows = [(batch, at // batch.width) for batch, *_ in parts for at in range(len(batch.records))]
    return [
        (batch.place(row), replace(over, id=batch.records[row * batch.width].id))
        for over in result.exceeded
        for batch, row in [rows[over.position]]
    ]


def _over_budget(exceeded: Sequence[tuple[str, Exceeded]], *, partly: bool) -> BudgetExceeded:
    named = [f"{place}: {over.sentence()}" for place, over in exceeded]
    others = "; `partial=True` does that" if partly else ""
    return BudgetExceeded(
        listed_over_budget(named) + others,
        left={over.id: over.left / UNIT for _, over in exceeded},
    )


def listed_over_budget(sentences: Sequence[str]) -> str:
    """What an error says about records over budget."""
    named = "; ".join(sentences[:_NAMED])
    more = f"; and {len(sentences) - _NAMED:,} more" if len(sentences) > _NAMED else ""
    records = counted(len(sentences), "record would exceed its", "records would exceed their")
    return (
        f"{records} budget, so nothing was released: {named}{more}. Raise the budget, or leave "
        "these records out"
    )


@contextmanager
def spending_of(
    ledger: Ledger | str | Path | bool,
    made: AnyPrivatizer,
    spec: ReleaseSpec,
    rng: Rng,
    *,
    limits: Budget,
    source: str | Path,
    caller: str = "",
    begun: str | None = None,
    on_begin: Callable[[str], None] = lambda release: None,
    **described: Any,
) -> Iterator[Spending | None]:
    """The account of a run in a ledger (True: the user's own; False: nobody counts).

    `spec` is resolved, and `made` is what releases by it; the entry holds the spec, and what else
    is `described`. A release that promises nothing has no loss to enter. A run that goes on where
    another was cut off goes on with the entry that was `begun`; `on_begin` is called with the name
    of a new one, before anything is charged.
    """
    guarantee = made.guaranteed(rng)
    if ledger is False or not guarantee.private:
        if limits:
            raise ParameterError("a budget needs a ledger that counts what was spent")
        yield None
        return
    place = None if ledger is True else ledger
    opened = place if isinstance(place, Ledger) else open_ledger(place)
    try:
        described["file"] = opened.file_fingerprint(source)
        if begun is not None and opened.state_of(begun) != "void":
            account = continued_account(opened, begun, made, rng)
            account.about_to_show()  # the run that was cut off may have shown something
        else:
            account = open_account(opened, made, spec, rng, caller=caller, **described)
            on_begin(account.release)
        with account:
            spending = Spending(account, guarantee, spec.columns, limits, caller=caller)
            yield spending
            account.about_to_show()  # what fails from here on fails after the output was complete
            account.confirm()
            if spending.replayed and described["file"] is not None:
                opened.confirm_repeated(account.release)
    finally:
        if opened is not place:
            opened.close()


def open_account(
    ledger: Ledger,
    made: AnyPrivatizer,
    spec: ReleaseSpec,
    rng: Rng,
    *,
    caller: str = "",
    **more: Any,
) -> ReleaseAccount:
    """Begin a release in a ledger: `made` releases by `spec`, which is resolved. The entry holds
    the spec, and `more`.
    """
    guarantee, key = made.guaranteed(rng), ledger.key_fingerprint(rng.fingerprint())
    description = {
        "spec": spec.to_json(),
        "embedding": spec.embedding_sha256,
        "guarantee": guarantee.to_json(),
        "key": key,
        **({"caller": caller} if caller else {}),
        **more,
    }
    draw = f"{key} {made.spec}"  # all that a draw depends on besides record and content
    return ledger.open_release(description, space=space_of(guarantee), draw=draw)


def continued_account(
    ledger: Ledger, release: str, made: AnyPrivatizer, rng: Rng
) -> ReleaseAccount:
    """A release that another process began with `open_account`."""
    key = ledger.key_fingerprint(rng.fingerprint())
    space = space_of(made.guaranteed(rng))
    return ledger.continue_release(release, space=space, draw=f"{key} {made.spec}")


def shown_by(spending: Spending | None) -> Callable[[], None]:
    """What to call before output can be seen."""
    return (lambda: None) if spending is None else spending.about_to_show


def accounted(guarantee: Guarantee, spending: Spending | None) -> Guarantee:
    """The guarantee with the account so far, or with the warning that nobody keeps one."""
    if not guarantee.private:
        return guarantee
    return guarantee.revealing(NOBODY_COUNTS if spending is None else spending.sentence())
