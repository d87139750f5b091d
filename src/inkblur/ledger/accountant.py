"""One release's account: charge, show, confirm.

*Charge* reserves what the release's records will cost, before anyone sees what came out, and
refuses what a budget does not allow. *Confirm* says that the output exists. A crash in between
leaves a reservation, which counts as spent, because nobody can know who saw what; running the same
release again under the same key draws the same words, costs nothing, and confirms it. Only a run
that knows that no byte of its output was visible may *void* its reservation.

What is spent is the sum over different draws, not over rows: a draw that was repeated is written
down again in full and counts once. So if the first of two releases is voided, the repeat still
counts for what both of them drew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Self

from inkblur.errors import InputError, ParameterError
from inkblur.ledger.balances import (
    COUNTED,
    INSERT,
    OF_RELEASE,
    give_back,
    legacy_spent,
    read_spent,
)
from inkblur.ledger.events import (
    CURRENCY,
    MOST,
    UNBOUNDED,
    UNIT,
    Budget,
    Charge,
    Charged,
    ChargeRow,
    Exceeded,
    Spent,
    normalized,
    owned,
    shown,
)
from inkblur.ledger.store import Store, framed

if TYPE_CHECKING:
    from inkblur.ledger.ledger import Ledger

_UPDATE = "UPDATE balance SET amount = ?, releases = ?, unbounded = ? WHERE name = ?"
_NOTHING, _UNLIMITED = Spent(), Budget()


class ReleaseAccount:
    """One release's charges. Leaving the context by an error voids them, unless output showed."""

    def __init__(
        self,
        ledger: Ledger,
        release: str,
        *,
        draw: str,
        first: bool,
        caller: str = "",
        unbounded: str = "",
        budget: Budget = _UNLIMITED,
    ) -> None:
        """`draw` names everything a draw depends on but record and content (key, mechanism,
        tables): a record and content charged again under the same `draw` is a replay. Records and
        people are those of `caller`. `unbounded` says why no finite loss covers what it shows, if
        none does: from then on no budget of its records allows anything. `first`: nobody has
        charged anything to it.
        """
        self._ledger, self.release, self._draw = ledger, release, draw
        self._prefix, self.unbounded, self.budget = owned("", caller), unbounded, budget
        self._first, self._finished, self._visible = first, False, False
        self.so_far = Charged()  # the largest of all calls

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is not None and not self._finished and not self._visible:
            self.void()

    def about_to_show(self) -> None:
        """Output may be visible from here on, so an error voids nothing any more."""
        self._visible = True

    def charge(self, charges: Sequence[Charge], budget: Budget | None = None) -> Charged:
        """Reserve what these charges cost, all of them or none, under the release's budget or
        another. A record's charges stand next to each other. What was granted counts as spent from
        here on.
        """
        limits = self.budget if budget is None else budget
        if limits.person is not None:
            for charge in charges:
                if charge.person is None:
                    raise ParameterError(
                        f"record {charge.id} belongs to nobody: under a budget for people every "
                        "record needs a person, from a column (`person_column=`) or from a list "
                        "beside the texts (people)"
                    )
        rows, ledger = self._rows(charges), self._ledger
        with ledger.store.transaction():
            if ledger.state_of(self.release) == "void":  # by another process that shares it
                raise InputError("this release was given up: begin it again")
            legacy = legacy_spent(ledger, self._prefix, charges, rows) if ledger.has_legacy else {}
            accountant = Accountant(ledger.store, self.release, rows, legacy, first=self._first)
            charged = accountant.charge(charges, limits)
            entered = accountant.entered
            if entered and not charged.exceeded:
                body = {
                    "records": len({row.id for row in entered}),
                    "words": sum(row.words for row in entered),
                    "amount": accountant.fresh,
                    "replayed": charged.replayed,
                }
                mark = UNBOUNDED if self.unbounded else CURRENCY
                ledger.append(self.release, "charge", body, mark, entered)
                accountant.keep(unbounded=bool(self.unbounded))
                self._first = False
        self.so_far = self.so_far.joined(charged)
        return charged

    @property
    def endless(self) -> str:
        """Why no bound holds for the total loss of a record; empty where one does."""
        earlier = "an earlier release of one of them has no finite loss"
        return self.unbounded or (earlier if self.so_far.unbounded else "")

    def to_json(self) -> dict[str, Any]:
        """For the report."""
        return {
            "release": self.release,
            "most_releases_of_a_record": self.so_far.most_releases,
            "largest_loss_of_a_record": self.so_far.most_spent / UNIT,
            "largest_loss_of_a_person": self.so_far.most_of_a_person / UNIT,
            "unbounded": self.endless,
            "replayed": self.so_far.replayed,
        }

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
                    f"record {id}: {words} words and a loss of {shown(amount)} are too much to "
                    "keep account of"
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


class Accountant:
    """Says whether charges may be entered, each knowing what those before it took."""

    def __init__(
        self,
        store: Store,
        release: str,
        rows: Sequence[ChargeRow],
        legacy: Mapping[bytes, Spent],
        *,
        first: bool,
    ) -> None:
        """`legacy` is what records and people have spent besides; `first`: nothing was charged to
        this release so far, by anybody.
        """
        self._store, self._release, self._rows = store, release, rows
        self.entered: list[ChargeRow] = []  # to be written: a retry is not written again
        self.fresh = self._replayed = 0  # micro-units that are new; charges that repeat a draw
        names = {row.id for row in rows} | {row.person for row in rows if row.person is not None}
        self._legacy, self._balances = legacy, read_spent(store, "balance", names)
        self._spent: dict[bytes, int] = {}  # so far, of those who have spent anything
        self._endless: set[bytes] = set()  # those who have a release without a bound
        for spent in (legacy, self._balances):
            for name, each in spent.items():
                self._spent[name] = self._spent.get(name, 0) + each.amount
                if each.unbounded:
                    self._endless.add(name)
        self._most_spent = self._most_of_a_person = 0
        # Draws that were charged before: each alone, and followed by each person it was charged to.
        self._drawn: set[bytes] = set()
        self._own: set[bytes] = set()  # this release's, followed by the person if there is one
        self._counted: set[bytes] = set()  # records that this release was counted for
        again = [row for row in rows if row.id in self._balances or row.id in legacy]
        if again:
            self._read_draws(again, first=first)
        if again and not first:
            self._counted = {
                bytes(name)
                for (name,) in store.among(
                    f"SELECT DISTINCT id FROM charge WHERE id {{0}} AND entry IN {OF_RELEASE}",
                    {row.id for row in again},
                    (release,),
                )
            }

    def charge(self, charges: Sequence[Charge], limits: Budget) -> Charged:
        """What entering all of these comes to; nothing is written yet."""
        exceeded = self._grant(charges, limits) if limits else self._spend(self._rows)
        names = {row.id for row in self._rows} & (self._balances.keys() | self._legacy.keys())
        times = [self._legacy.get(name, _NOTHING).releases + self._releases(name) for name in names]
        return Charged(
            tuple(exceeded),
            self._replayed,
            self._most_spent,
            self._most_of_a_person,
            max((*times, int(bool(self._rows)))),
            not self._endless.isdisjoint(names),
        )

    def keep(self, *, unbounded: bool) -> None:
        """Bring the balances up to date with what was entered."""
        people = {row.person for row in self.entered if row.person is not None}
        fresh, more = [], []
        for name in sorted(people | {row.id for row in self.entered}):  # as the table is
            amount = self._spent.get(name, 0) - self._legacy.get(name, _NOTHING).amount
            old = self._balances.get(name)
            if old is not None:
                times = 0 if name in people else self._releases(name)
                more.append((str(amount), times, int(unbounded or old.unbounded), name))
            else:
                person = int(name in people)
                fresh.append((name, person, str(amount), 1 - person, int(unbounded)))
        self._store.run_many(INSERT, fresh)
        self._store.run_many(_UPDATE, more)

    def _grant(self, charges: Sequence[Charge], limits: Budget) -> list[Exceeded]:
        """Spend for each record all its charges, or none; what was refused."""
        exceeded, start = [], 0
        for _, group in groupby(self._rows, key=lambda row: row.id):
            rows = list(group)
            over = self._over(charges[start].id, start, rows, limits)
            if over is None:
                self._spend(rows)
            else:
                exceeded.append(over)
            start += len(rows)
        return exceeded

    def _read_draws(self, rows: Sequence[ChargeRow], *, first: bool) -> None:
        """Those of these draws that were made before. One may have been repeated often: the first
        that is found will do.
        """
        one = f"EXISTS (SELECT 1 {COUNTED} AND charge.id = asked.id AND draw = asked.draw"
        whose = "AND (person = asked.person OR (person IS NULL AND asked.person IS NULL))"
        own = "0" if first else f"{one} {whose} AND release = ?)"
        for draw, person, mine, ours in self._store.asked(
            f"SELECT asked.draw, asked.person, {one} {whose}), {own} FROM {{0}} AS asked "
            f"WHERE {one})",
            [(row.id, row.draw, row.person) for row in rows],
            () if first else (self._release,),
        ):
            whose_draw = bytes(draw) + bytes(person or b"")
            self._drawn.add(bytes(draw))
            if mine:
                self._drawn.add(whose_draw)
            if ours:
                self._own.add(whose_draw)

    def _spend(self, rows: Sequence[ChargeRow]) -> list[Exceeded]:
        """Count what these rows add; a draw that was made before adds nothing."""
        drawn, spent, own = self._drawn, self._spent, self._own
        most, most_of_a_person = self._most_spent, self._most_of_a_person
        for row in rows:
            record, _, person, draw, _, amount = row
            whose = draw if person is None else draw + person
            total = spent.get(record, 0)
            if draw in drawn:
                self._replayed += whose not in own  # or this release has charged it before
            else:
                drawn.add(draw)
                self.fresh += amount
                spent[record] = total = total + amount
            if total > most:
                most = total
            if whose not in own:
                own.add(whose)
                self.entered.append(row)
            if person is not None:
                if whose not in drawn:
                    drawn.add(whose)
                    spent[person] = spent.get(person, 0) + amount
                most_of_a_person = max(most_of_a_person, spent.get(person, 0))
        self._most_spent, self._most_of_a_person = most, most_of_a_person
        return []

    def _over(
        self, id: str, place: int, rows: Sequence[ChargeRow], limits: Budget
    ) -> Exceeded | None:
        """The limit that this record would pass."""
        takes: list[tuple[str, int, bytes, int]] = []
        if limits.record is not None:
            take = sum(row.amount for row in rows if row.draw not in self._drawn)
            takes.append(("record", limits.record, rows[0].id, take))
        if limits.person is not None:
            # A draw that was charged to somebody else is new to this person.
            amounts: dict[bytes, int] = {}
            for row in rows:
                if row.person is not None and row.draw + row.person not in self._drawn:
                    amounts[row.person] = amounts.get(row.person, 0) + row.amount
            takes += [("person", limits.person, who, take) for who, take in amounts.items()]
        for limit, most, name, take in takes:
            spent, unbounded = self._spent.get(name, 0), name in self._endless
            if take and (unbounded or spent + take > most):
                left = 0 if unbounded else max(0, most - spent)
                return Exceeded(place, id, limit, left, take, unbounded)
        return None

    def _releases(self, name: bytes) -> int:
        """How many charged a record, this one included, since there is one currency."""
        return self._balances.get(name, _NOTHING).releases + (name not in self._counted)
