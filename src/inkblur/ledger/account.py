"""One release's account: open, charge, confirm.

*Open* writes what is being released. *Charge* reserves what its records will cost and refuses,
before anything is drawn, what a budget does not allow. *Confirm* says that the output exists. A
crash in between leaves a reservation, which counts as spent, because nobody can know who saw what;
running the same release again under the same key draws the same words, costs nothing, and confirms
it. Only a run that knows that no byte of its output was visible may *void* its reservation.

What is spent is the sum over different draws, not over rows: a draw that was repeated is written
down again in full and counts once. So if the first of two releases is voided, the repeat still
counts for what both of them drew.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from inkblur.errors import InputError, ParameterError
from inkblur.ledger.accountant import Accountant, give_back, read_spent
from inkblur.ledger.events import (
    CURRENCY,
    MOST,
    UNBOUNDED,
    Budget,
    Charge,
    Charged,
    ChargeRow,
    Spent,
    normalized,
    owned,
)
from inkblur.ledger.secret import framed

if TYPE_CHECKING:
    from inkblur.ledger.ledger import Ledger


class ReleaseAccount:
    """One release's charges. Leaving the context by an error voids them, unless output showed."""

    def __init__(
        self, ledger: Ledger, release: str, draw: str, caller: str, *, unbounded: bool, first: bool
    ) -> None:
        self._ledger, self.release, self._draw = ledger, release, draw
        self._prefix, self._unbounded, self._first = owned("", caller), unbounded, first
        self._finished = self._visible = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is not None and not self._finished and not self._visible:
            self.void()

    def about_to_show(self) -> None:
        """Output may be visible from here on, so an error voids nothing any more."""
        self._visible = True

    def charge(self, charges: Sequence[Charge], budget: Budget | None = None) -> Charged:
        """Reserve what these charges cost, all of them or none. A record's charges stand next to
        each other. What was granted counts as spent from here on.
        """
        limits = budget if budget is not None else Budget()
        if limits.person is not None:
            for charge in charges:
                if charge.person is None:
                    raise ParameterError(
                        f"record {charge.id} belongs to nobody: under a budget for people every "
                        "record needs a person, from a column (`person_column=`) or from a list "
                        "beside the texts (people)"
                    )
        rows = self._rows(charges)
        accountant = Accountant(
            self._ledger.store, self.release, unbounded=self._unbounded, first=self._first
        )
        with self._ledger.store.transaction():
            if self._ledger.is_void(self.release):  # by another process that shares it
                raise InputError("this release was given up: begin it again")
            result = accountant.charge(charges, rows, limits, self._legacy(charges, rows))
            kept = accountant.kept
            if kept and not result.exceeded:
                body = {
                    "records": len({row.id for row in kept}),
                    "words": sum(row.words for row in kept),
                    "amount": accountant.fresh,
                    "replayed": accountant.replayed,
                }
                mark = UNBOUNDED if self._unbounded else CURRENCY
                self._ledger.append(self.release, "charge", body, mark, kept)
                accountant.keep()
                self._first = False
        return result

    def confirm(self) -> None:
        """The output exists."""
        with self._ledger.store.transaction():
            self._ledger.append(self.release, "confirm", {})
        self._finished = True

    def void(self) -> None:
        """No byte of the output was visible to anyone: what was reserved is free again."""
        with self._ledger.store.transaction():
            self._ledger.append(self.release, "void", {})
            give_back(self._ledger.store, self.release)
        self._finished = True

    def _rows(self, charges: Sequence[Charge]) -> list[ChargeRow]:
        """The charges with everything hashed. A hash that was begun is copied, and a text encoded
        once: this is a third of what a ledger costs.
        """
        secret, prefix = self._ledger.secret, self._prefix
        of_id, of_content = secret.begun("id"), secret.begun("content")
        of_draw = {c: secret.begun("draw", self._draw, c) for c in {c.column for c in charges}}
        people = {c.person for c in charges if c.person is not None}
        of_person = {person: secret.hash("person", prefix + person) for person in people}
        of_base = {base: framed(base) for base in {c.base for c in charges}}
        rows = []
        for id, column, content, words, amount, who, base, named in charges:
            if words >= MOST or amount >= MOST:
                raise ParameterError(
                    f"record {id}: {words} words and a loss of {amount} micro-units are too much "
                    "to keep account of"
                )
            name, text = framed(prefix + id), framed(prefix + content)
            contents, draws = of_content.copy(), of_draw[column].copy()
            contents.update(text)
            draws.update(name + text + of_base[base])
            if named:
                records = of_id.copy()
                records.update(name)
            else:
                records = of_content.copy()
                records.update(framed(prefix + normalized(content)))
            person = None if who is None else of_person[who]
            row = records.digest(), contents.digest(), person, draws.digest(), words, amount
            rows.append(ChargeRow._make(row))
        return rows

    def _legacy(self, charges: Sequence[Charge], rows: Sequence[ChargeRow]) -> dict[bytes, Spent]:
        """What earlier versions counted for these records and people. An id, and a text, had an
        account each, of which the larger counted; several columns made an id of their own.
        """
        if not self._ledger.has_legacy:
            return {}
        names: defaultdict[bytes, set[bytes]] = defaultdict(set)
        contents: defaultdict[bytes, set[bytes]] = defaultdict(set)
        for charge, row in zip(charges, rows, strict=True):
            contents[row.id].add(row.content)
            names[row.id].add(row.id)
            if row.person is not None:
                names[row.person].add(row.person)
            for column in self._ledger.legacy_columns if charge.named else ():
                before = f"{self._prefix}{len(column)}:{column}:{charge.id}"
                names[row.id].add(self._ledger.secret.hash("id", before))
        every = {name for group in (*names.values(), *contents.values()) for name in group}
        known = read_spent(self._ledger.store, "legacy", every)
        legacy = {}
        for name, own in names.items():
            by_name = [known[each] for each in own if each in known]
            by_text = [known[each] for each in contents[name] if each in known]
            if by_name or by_text:
                amounts = [spent.amount for spent in by_text]
                legacy[name] = Spent(
                    max(sum(spent.amount for spent in by_name), *amounts, 0),
                    max(spent.releases for spent in (*by_name, *by_text)),
                    any(spent.unbounded for spent in (*by_name, *by_text)),
                )
        return legacy
