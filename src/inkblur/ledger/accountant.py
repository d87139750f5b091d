"""What it costs: the balance of each record and person, changed in the transaction that charges.

A balance is a copy of what the charges say, so that reading one takes the same time however often a
record was released; `Ledger.verify` adds the charges up again and compares.

Entries of before there was one currency are `legacy`: what they counted is added up once, by name,
and again when a table tells what distances were worth.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import groupby, islice
from typing import Any

from inkblur.ledger.events import (
    CURRENCY,
    UNBOUNDED,
    Budget,
    Charge,
    Charged,
    ChargeRow,
    Exceeded,
    Spent,
)
from inkblur.ledger.store import Store

# A charge with its entry, unless its release was voided.
COUNTED = (
    "FROM charge JOIN entry ON entry.number = charge.entry WHERE NOT EXISTS (SELECT 1 FROM entry "
    "AS other WHERE other.release = entry.release AND other.kind = 'void')"
)
_NEW = f"entry.space IN ('{CURRENCY}', '{UNBOUNDED}')"
_OWN = "(SELECT number FROM entry WHERE release = ? AND kind = 'charge')"  # a release's entries
_INSERT = "INSERT INTO balance (name, person, amount, releases, unbounded) VALUES (?, ?, ?, ?, ?)"
_UPDATE = "UPDATE balance SET amount = ?, releases = ?, unbounded = ? WHERE name = ?"
_NOTHING = Spent()
_TOGETHER = 4096  # names whose charges are added up at a time
_DISCRETE = "between any two texts"  # how a legacy space begins that is this currency
_PATTERN = "repetition pattern"  # in one that is not: equal words were drawn once


class Accountant:
    """Says whether charges may be entered, each knowing what those before it took."""

    def __init__(self, store: Store, release: str, *, unbounded: bool, first: bool) -> None:
        self._store, self._release, self._unbounded = store, release, unbounded
        self._first = first  # nothing was charged to this release so far, by anybody
        self.kept: list[ChargeRow] = []  # to be written: a retry is not written again
        self.fresh = self.replayed = 0  # micro-units that are new; charges that repeat a draw
        self._spent: dict[bytes, int] = {}  # so far, of those who have spent anything
        self._endless: set[bytes] = set()  # those who have a release without a bound
        self._most_spent = self._most_of_a_person = 0
        # Draws that were charged before: each alone, and followed by each person it was charged to.
        self._drawn: set[bytes] = set()
        self._own: set[bytes] = set()  # this release's, followed by the person if there is one
        self._counted: set[bytes] = set()  # records that this release was counted for

    def charge(
        self,
        charges: Sequence[Charge],
        rows: Sequence[ChargeRow],
        limits: Budget,
        legacy: Mapping[bytes, Spent],
    ) -> Charged:
        """What entering all of these comes to; nothing is written yet. `legacy` is what records
        and people have spent besides.
        """
        self._read(rows, legacy)
        exceeded = self._grant(charges, rows, limits) if limits else self._spend(rows)
        known = self._balances.keys() | legacy.keys()
        known = known & {row.id for row in rows} if known else known
        times = [legacy.get(name, _NOTHING).releases + self._releases(name) for name in known]
        return Charged(
            tuple(exceeded),
            self.replayed,
            self._most_spent,
            self._most_of_a_person,
            max((*times, int(bool(rows)))),
            not self._endless.isdisjoint(known),
        )

    def keep(self) -> None:
        """Bring the balances up to date with what was kept."""
        people = {row.person for row in self.kept if row.person is not None}
        legacy, old, spent, endless = self._legacy, self._balances, self._spent, self._unbounded
        fresh, more = [], []
        for name in sorted(people | {row.id for row in self.kept}):  # as the table is
            amount = spent.get(name, 0)
            if name in legacy:
                amount -= legacy[name].amount
            if name in old:
                times = 0 if name in people else self._releases(name)
                more.append((str(amount), times, int(endless or old[name].unbounded), name))
            else:
                person = int(name in people)
                fresh.append((name, person, str(amount), 1 - person, int(endless)))
        self._store.run_many(_INSERT, fresh)
        self._store.run_many(_UPDATE, more)

    def _grant(
        self, charges: Sequence[Charge], rows: Sequence[ChargeRow], limits: Budget
    ) -> list[Exceeded]:
        """Spend for each record all its charges, or none; what was refused."""
        exceeded, start = [], 0
        for _, group in groupby(rows, key=lambda row: row.id):
            stop = start + sum(1 for _ in group)
            over = self._over(charges[start].id, start, rows[start:stop], limits)
            if over is None:
                self._spend(rows[start:stop])
            else:
                exceeded.append(over)
            start = stop
        return exceeded

    def _read(self, rows: Sequence[ChargeRow], legacy: Mapping[bytes, Spent]) -> None:
        names = {row.id for row in rows} | {row.person for row in rows if row.person is not None}
        self._legacy, self._balances = legacy, read_spent(self._store, "balance", names)
        for spent in (legacy, self._balances):
            for name, each in spent.items():
                self._spent[name] = self._spent.get(name, 0) + each.amount
                if each.unbounded:
                    self._endless.add(name)
        again = [row for row in rows if row.id in self._balances or row.id in legacy]
        if again:
            self._read_draws(again)
        if again and not self._first:
            known = [[name for name in {row.id for row in again} if name in self._balances]]
            self._counted = {
                bytes(name)
                for (name,) in self._store.among(
                    f"SELECT DISTINCT id FROM charge WHERE id {{0}} AND entry IN {_OWN}",
                    known,
                    (self._release,),
                )
            }

    def _read_draws(self, rows: Sequence[ChargeRow]) -> None:
        """Those of these draws that were made before. One may have been repeated often: the first
        that is found will do.
        """
        one = f"EXISTS (SELECT 1 {COUNTED} AND charge.id = asked.id AND draw = asked.draw"
        whose = "AND (person = asked.person OR (person IS NULL AND asked.person IS NULL))"
        own = "0" if self._first else f"{one} {whose} AND release = ?)"
        for draw, person, mine, ours in self._store.asked(
            f"SELECT asked.draw, asked.person, {one} {whose}), {own} FROM {{0}} AS asked "
            f"WHERE {one})",
            [(row.id, row.draw, row.person) for row in rows],
            () if self._first else (self._release,),
        ):
            drawn = bytes(draw)
            whose_draw = drawn + bytes(person or b"")
            self._drawn.add(drawn)
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
                self.replayed += whose not in own  # or this release has charged it before
            else:
                drawn.add(draw)
                self.fresh += amount
                spent[record] = total = total + amount
            if total > most:
                most = total
            if whose not in own:
                own.add(whose)
                self.kept.append(row)
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
        if limits.record is not None:
            take = sum(row.amount for row in rows if row.draw not in self._drawn)
            over = self._exceeds(id, place, "record", limits.record, {rows[0].id: take})
            if over is not None:
                return over
        if limits.person is not None:
            # A draw that was charged to somebody else is new to this person.
            takes: dict[bytes, int] = {}
            for row in rows:
                who = row.person or b""
                takes.setdefault(who, 0)
                takes[who] += row.amount if row.draw + who not in self._drawn else 0
            return self._exceeds(id, place, "person", limits.person, takes)
        return None

    def _exceeds(
        self, id: str, place: int, limit: str, most: int, takes: Mapping[bytes, int]
    ) -> Exceeded | None:
        for name, take in takes.items():
            spent, unbounded = self._spent.get(name, 0), name in self._endless
            if take and (unbounded or spent + take > most):
                left = 0 if unbounded else max(0, most - spent)
                return Exceeded(place, id, limit, left, take, unbounded)
        return None

    def _releases(self, name: bytes) -> int:
        """How many charged a record, this one included, since there is one currency."""
        return self._balances.get(name, _NOTHING).releases + (name not in self._counted)


def read_spent(store: Store, table: str, names: Collection[bytes]) -> dict[bytes, Spent]:
    """What those of these names have spent that are in one of the tables, balance or legacy."""
    return {
        bytes(name): Spent(int(amount), releases, bool(unbounded))
        for name, amount, releases, unbounded in store.among(
            f"SELECT name, amount, releases, unbounded FROM {table} WHERE name {{0}}", [[*names]]
        )
    }


def give_back(store: Store, release: str) -> None:
    """Add up again what those have spent whom a voided release was charged to."""
    for column in ("id", "person"):
        names = [
            bytes(name)
            for (name,) in store.run(
                f"SELECT DISTINCT {column} FROM charge WHERE entry IN {_OWN} "
                f"AND {column} IS NOT NULL",
                (release,),
            )
        ]
        for start in range(0, len(names), _TOGETHER):
            part = names[start : start + _TOGETHER]
            store.among("DELETE FROM balance WHERE name {0}", [part])
            store.run_many(
                _INSERT,
                [
                    (name, int(person), str(spent.amount), spent.releases, int(spent.unbounded))
                    for name, person, spent in _added_up(store, column, part)
                ],
            )


def _added_up(
    store: Store, column: str, names: Sequence[bytes] | None = None
) -> Iterator[tuple[bytes, bool, Spent]]:
    """The balances of these names, or of all, from the charges. A draw that a legacy entry has was
    counted there.
    """
    person = column == "person"
    new = f"HAVING MIN(CASE WHEN {_NEW} THEN 1 ELSE 0 END) = 1"
    for name, spent in _totals(store, column, f"AND {_NEW}", names, having=new).items():
        yield name, person, spent._replace(releases=0) if person else spent


def _totals(
    store: Store,
    column: str,
    where: str,
    names: Sequence[bytes] | None = None,
    values: Sequence[str] = (),
    *,
    having: str = "",
) -> dict[bytes, Spent]:
    """What each name in a column was charged, in these entries. A draw that was repeated counts
    once; `having` chooses draws in place of entries.
    """

    def asked(sql: str, *values: str) -> list[tuple[Any, ...]]:
        return store.run(sql, values) if names is None else store.among(sql, [names], (), values)

    only = (
        f"AND charge.{column} IS NOT NULL{'' if names is None else f' AND charge.{column} {{0}}'}"
    )
    draws = (
        f"SELECT charge.{column} AS who, MAX(amount) AS amount {COUNTED} "
        f"{'' if having else where} {only} GROUP BY who, draw {having}"
    )
    # A sum in two parts that no 64-bit sum overflows.
    sums = {
        bytes(name): (int(high) << 32) + int(low)
        for name, high, low in asked(
            f"SELECT who, SUM(amount >> 32), SUM(amount & 4294967295) FROM ({draws}) AS draws "
            "GROUP BY who",
            *values,
        )
    }
    return {
        bytes(name): Spent(sums.get(bytes(name), 0), releases, bool(unbounded))
        for name, releases, unbounded in asked(
            f"SELECT charge.{column} AS who, COUNT(DISTINCT release), "
            f"MAX(CASE WHEN entry.space = '{UNBOUNDED}' THEN 1 ELSE 0 END) {COUNTED} {where} "
            f"{only} GROUP BY who",
            *values,
        )
    }


def wrong_balances(store: Store) -> Iterator[str]:
    """The balances that are not those of the charges, in words."""
    stored = {
        (bytes(name), bool(person), Spent(int(amount), releases, bool(unbounded)))
        for name, person, amount, releases, unbounded in store.run(
            "SELECT name, person, amount, releases, unbounded FROM balance"
        )
    }
    right = {*_added_up(store, "id"), *_added_up(store, "person")}
    for name in sorted({row[0] for row in stored ^ right}):
        yield f"the balance that is kept for {name.hex()} is not that of its charges"
    kept = {
        (bytes(name), Spent(int(amount), releases, bool(unbounded)))
        for name, amount, releases, unbounded in store.run(
            "SELECT name, amount, releases, unbounded FROM legacy"
        )
    }
    for name in sorted({row[0] for row in kept ^ set(legacy_sums(store).items())}):
        yield f"what is kept of {name.hex()} from earlier versions is not that of its charges"


def settle(store: Store) -> None:
    """Keep what the entries of earlier versions counted, by name; within a transaction."""
    store.run("DELETE FROM legacy")
    sums = iter(sorted(legacy_sums(store).items()))
    while part := list(islice(sums, _TOGETHER)):
        store.run_many(
            "INSERT INTO legacy (name, amount, releases, unbounded) VALUES (?, ?, ?, ?)",
            [
                (name, str(spent.amount), spent.releases, int(spent.unbounded))
                for name, spent in part
            ],
        )


def legacy_spaces(store: Store) -> dict[str, Fraction | None]:
    """What entries of earlier versions were added up in, and what a unit of it is worth: one where
    any two texts were compared, the diameter of a table where distances were, once it was entered
    (`Ledger.convert`); None where nobody knows.
    """
    worth = {
        body.get("space"): Fraction(body.get("diameter", 0))
        for (text,) in store.run("SELECT body FROM entry WHERE kind = 'convert' ORDER BY number")
        for body in [json.loads(text)]
    }
    found: dict[str, Fraction | None] = {}
    for (space,) in store.run(
        f"SELECT DISTINCT space FROM entry WHERE space IS NOT NULL AND NOT {_NEW} ORDER BY space"
    ):
        if _PATTERN in space:
            found[space] = None
        else:
            found[space] = Fraction(1) if space.startswith(_DISCRETE) else worth.get(space)
    return found


def legacy_sums(store: Store) -> dict[bytes, Spent]:
    """What each id, content and person has spent in entries of earlier versions."""
    sums: dict[bytes, Spent] = {}
    for space, worth in legacy_spaces(store).items():
        for column in ("id", "content", "person"):
            for name, spent in _totals(
                store, column, "AND entry.space = ?", values=[space]
            ).items():
                before = sums.get(name, Spent())
                amount = 0 if worth is None else math.ceil(spent.amount * worth)
                sums[name] = Spent(
                    before.amount + amount,
                    before.releases + spent.releases,
                    before.unbounded or worth is None,
                )
    return sums
