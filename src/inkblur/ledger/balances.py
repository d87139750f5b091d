"""What everybody has spent: balances, and what earlier versions counted.

A balance is a copy of what the charges say, so that reading one takes the same time however often a
record was released; `Ledger.verify` adds the charges up again. A ledger of an earlier version is
brought up to date when it is opened. What its entries counted is added up once, by name, and again
when a table tells what distances were worth. An id, and a text, had an account each there, of which
the larger counts; several columns made an id of their own.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from inkblur.errors import InputError
from inkblur.ledger.events import CURRENCY, UNBOUNDED, Charge, ChargeRow, Spent
from inkblur.ledger.store import SCHEMA, VERSION, Store

if TYPE_CHECKING:
    from inkblur.ledger.ledger import Ledger

# A charge with its entry, unless its release was voided.
COUNTED = (
    "FROM charge JOIN entry ON entry.number = charge.entry WHERE NOT EXISTS (SELECT 1 FROM entry "
    "AS other WHERE other.release = entry.release AND other.kind = 'void')"
)
OF_RELEASE = "(SELECT number FROM entry WHERE release = ? AND kind = 'charge')"
INSERT = "INSERT INTO balance (name, person, amount, releases, unbounded) VALUES (?, ?, ?, ?, ?)"
_TOGETHER = 4096  # names whose charges are added up at a time
_DISCRETE = "between any two texts"  # how a space of losses begins that is today's currency
_PATTERN = "repetition pattern"  # in one that is not: equal words were drawn once
_INDEXES = ("entry_release", "charge_id", "charge_content", "charge_person")
_ENTRY = "number, release, kind, written, body, charges, hash, space"
_CHARGE = "entry, id, content, person, draw, words, amount"


def read_spent(store: Store, table: str, names: Collection[bytes]) -> dict[bytes, Spent]:
    """What those of these names have spent that are in one of the tables, balance or legacy."""
    return {
        bytes(name): Spent(int(amount), releases, bool(unbounded))
        for name, amount, releases, unbounded in store.among(
            f"SELECT name, amount, releases, unbounded FROM {table} WHERE name {{0}}", names
        )
    }


def give_back(store: Store, release: str) -> None:
    """Add up again what those have spent whom a voided release was charged to."""
    for column in ("id", "person"):
        found = store.run(
            f"SELECT DISTINCT {column} FROM charge WHERE entry IN {OF_RELEASE} "
            f"AND {column} IS NOT NULL",
            (release,),
        )
        names = [bytes(name) for (name,) in found]
        for start in range(0, len(names), _TOGETHER):
            part = names[start : start + _TOGETHER]
            store.among("DELETE FROM balance WHERE name {0}", part)
            store.run_many(
                INSERT,
                [
                    (name, int(column == "person"), str(amount), releases, int(unbounded))
                    for name, (amount, releases, unbounded) in added_up(store, column, part).items()
                ],
            )


def added_up(
    store: Store, column: str, names: Sequence[bytes] | None = None, *, space: str | None = None
) -> dict[bytes, Spent]:
    """What these names, or all, of a column were charged, from the charges: in entries of today's
    currency, or in an earlier one's `space`. A draw that was repeated counts once, and one that an
    earlier entry has was counted there.
    """
    sql = f"SELECT charge.{column}, draw, amount, release, entry.space {COUNTED}"
    if names is None:
        rows = store.run(f"{sql} AND charge.{column} IS NOT NULL")
    else:
        rows = store.among(f"{sql} AND charge.{column} {{0}}", names)
    wanted = (CURRENCY, UNBOUNDED) if space is None else (space,)
    amounts: defaultdict[bytes, dict[bytes, int]] = defaultdict(dict)
    releases: defaultdict[bytes, set[str]] = defaultdict(set)
    unbounded: set[bytes] = set()
    for who, draw, amount, release, counted_in in rows:
        name, own = bytes(who), amounts[bytes(who)]
        if counted_in in wanted:
            own[bytes(draw)] = max(own.get(bytes(draw), 0), amount)
            releases[name].add(release)
            if counted_in == UNBOUNDED:
                unbounded.add(name)
    if space is None:
        for who, draw, *_, counted_in in rows:
            if counted_in not in wanted:
                amounts[bytes(who)].pop(bytes(draw), None)
    person = column == "person" and space is None
    return {
        name: Spent(sum(amounts[name].values()), 0 if person else len(own), name in unbounded)
        for name, own in releases.items()
    }


def wrong_balances(store: Store) -> Iterator[str]:
    """The balances that are not those of the charges, in words."""
    stored = {
        (bytes(name), bool(person), Spent(int(amount), releases, bool(unbounded)))
        for name, person, amount, releases, unbounded in store.run(
            "SELECT name, person, amount, releases, unbounded FROM balance"
        )
    }
    right = {
        (name, column == "person", spent)
        for column in ("id", "person")
        for name, spent in added_up(store, column).items()
    }
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


def open_schema(store: Store) -> None:
    """Make the tables of a new store, or bring those of an old one up to date; refuse one that is
    newer than this program. Within a transaction.
    """
    version = store.version()
    if version > VERSION:
        raise InputError(
            f"the ledger {store.place} has version {version}; this program knows {VERSION}: use a "
            "newer inkblur"
        )
    if version == VERSION:
        return
    if version == 0:
        store.run("CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
    else:
        for name in _INDEXES:
            store.run(f"DROP INDEX IF EXISTS {name}")
        for table in ("entry", "charge"):
            store.run(f"ALTER TABLE {table} RENAME TO {table}_before")
        store.run("DROP TABLE IF EXISTS spent")
    if version == 1:  # what losses were counted in stood with each charge
        store.run("ALTER TABLE entry_before ADD COLUMN space TEXT")
        store.run(
            "UPDATE entry_before SET space = one.space FROM (SELECT entry AS number, MIN(space) AS "
            "space FROM charge_before GROUP BY entry) AS one WHERE one.number = entry_before.number"
        )
    for statement in SCHEMA:
        store.run(statement)
    if version:
        store.run(f"INSERT INTO entry ({_ENTRY}) SELECT {_ENTRY} FROM entry_before")
        store.run(
            f"INSERT INTO charge ({_CHARGE}) SELECT {_CHARGE} FROM charge_before ORDER BY number"
        )
        store.run("DROP TABLE charge_before")
        store.run("DROP TABLE entry_before")
        settle(store)
    store.run("DELETE FROM about WHERE name = 'version'")
    store.run("INSERT INTO about VALUES ('version', ?)", (str(VERSION),))


def settle(store: Store) -> None:
    """Keep what the entries of earlier versions counted, by name; within a transaction."""
    store.run("DELETE FROM legacy")
    store.run_many(
        "INSERT INTO legacy (name, amount, releases, unbounded) VALUES (?, ?, ?, ?)",
        [
            (name, str(spent.amount), spent.releases, int(spent.unbounded))
            for name, spent in sorted(legacy_sums(store).items())
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
    spaces: dict[str, Fraction | None] = {}
    for (space,) in store.run(
        "SELECT DISTINCT space FROM entry WHERE space NOT IN (?, ?) ORDER BY space",
        (CURRENCY, UNBOUNDED),
    ):
        known = Fraction(1) if space.startswith(_DISCRETE) else worth.get(space)
        spaces[space] = None if _PATTERN in space else known
    return spaces


def legacy_sums(store: Store) -> dict[bytes, Spent]:
    """What each id, content and person has spent in entries of earlier versions."""
    sums: dict[bytes, Spent] = {}
    for space, worth in legacy_spaces(store).items():
        for column in ("id", "content", "person"):
            for name, spent in added_up(store, column, space=space).items():
                before = sums.get(name, Spent())
                sums[name] = Spent(
                    before.amount + (0 if worth is None else math.ceil(spent.amount * worth)),
                    before.releases + spent.releases,
                    before.unbounded or worth is None,
                )
    return sums


def legacy_spent(
    ledger: Ledger, prefix: str, charges: Sequence[Charge], rows: Sequence[ChargeRow]
) -> dict[bytes, Spent]:
    """What earlier versions counted for these records and people, whatever they named them by."""
    names: defaultdict[bytes, set[bytes]] = defaultdict(set)
    contents: defaultdict[bytes, set[bytes]] = defaultdict(set)
    for charge, row in zip(charges, rows, strict=True):
        contents[row.id].add(row.content)
        names[row.id].add(row.id)
        if row.person is not None:
            names[row.person].add(row.person)
        for column in ledger.legacy_columns if charge.named else ():
            before = f"{prefix}{len(column)}:{column}:{charge.id}"
            names[row.id].add(ledger.secret.hash("id", before))
    known = read_spent(ledger.store, "legacy", set().union(*names.values(), *contents.values()))
    spent = {}
    for name, own in names.items():
        by_name = [known[each] for each in own if each in known]
        by_text = [known[each] for each in contents[name] if each in known]
        if by_name or by_text:
            spent[name] = Spent(
                max(sum(one.amount for one in by_name), *(one.amount for one in by_text), 0),
                max(one.releases for one in (*by_name, *by_text)),
                any(one.unbounded for one in (*by_name, *by_text)),
            )
    return spent
