"""What was spent before: the earlier charges of some records, contents and people.

Reading them all would take longer with every release of a text, so the database adds them up, and
the sum of what has been charged often is kept beside the charges. A kept sum is a copy, never the
account itself: `Ledger.verify` compares it with the charges, and where one is missing the charges
are added up again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from inkblur.ledger.store import Store

# A charge with its entry, unless its release was voided.
COUNTED = (
    "FROM charge JOIN entry ON entry.number = charge.entry WHERE NOT EXISTS (SELECT 1 FROM entry "
    "AS other WHERE other.release = entry.release AND other.kind = 'void')"
)
# A sum of amounts, in two parts that no 64-bit sum overflows; see `added`.
SUM = "SUM(amount >> 32), SUM(amount & 4294967295)"
# The entries with charges of one release, in one space.
_OWN = "(SELECT number FROM entry WHERE release = ? AND kind = 'charge' AND space = ?)"
_OFTEN = 64  # charges from which on a sum is kept


def added(high: int, low: int) -> int:
    """The two parts of a `SUM` as one exact number.

    >>> added(1, 2) == 2**32 + 2
    True
    """
    return (int(high) << 32) + int(low)


class ChargeRow(NamedTuple):
    """A charge as it is kept: hashes in place of everything that names someone."""

    id: bytes
    content: bytes
    person: bytes | None
    draw: bytes
    words: int
    amount: int


class History:
    """Earlier charges in one space, by hash. Hashes of ids, contents and people never meet, so one
    table holds them all.
    """

    def __init__(self, store: Store, space: str, release: str) -> None:
        self._store, self._space, self._release = store, space, release
        self._sums = bool(store.run("SELECT 1 FROM spent WHERE space = ? LIMIT 1", (space,)))
        self._often: set[bytes] = set()  # what has a kept sum, or is to have one
        self.spent: dict[bytes, int] = {}
        self.releases: dict[bytes, int] = {}  # how many others there were
        # Draws that were charged before: each alone, and followed by each person it was charged to.
        self.charged: set[bytes] = set()
        self.own: set[bytes] = set()  # this release's: followed by the person, where there is one

    def read(self, column: str, hashes: Collection[bytes], *, all: bool = True) -> None:
        """Add what was spent under these hashes in a column; or, unless `all`, only under those
        whose sums are kept, and must go on to be right.
        """
        kept = self._kept_sums(column, hashes) if self._sums else set()
        self._often |= kept
        if not all:
            return
        known = []
        for who, charges, amount in added_up(
            self._store, self._space, column, [each for each in hashes if each not in kept]
        ):
            known.append(who)
            self.spent[who] = amount
            if charges >= _OFTEN:
                self._often.add(who)
        for who, releases in self._store.among(
            f"SELECT charge.{column} AS who, COUNT(DISTINCT release) {COUNTED} "
            f"AND charge.{column} {{0}} AND entry.space = ? AND release <> ? GROUP BY who",
            [known],
            (self._space, self._release),
        ):
            self.releases[bytes(who)] = releases

    def _kept_sums(self, column: str, hashes: Collection[bytes]) -> set[bytes]:
        kept = set()
        for name, amount, releases in self._store.among(
            "SELECT name, amount, releases FROM spent WHERE name {0} AND space = ?",
            [list(hashes)],
            (self._space,),
        ):
            who = bytes(name)
            kept.add(who)
            self.spent[who], self.releases[who] = int(amount), releases
        for (name,) in self._store.among(
            f"SELECT DISTINCT {column} FROM charge WHERE {column} {{0}} AND entry IN {_OWN}",
            [list(kept)],
            (self._release, self._space),
        ):
            self.releases[bytes(name)] -= 1  # this very release
        return kept

    def read_draws(self, rows: Sequence[ChargeRow]) -> None:
        """Add the draws of these rows that were made before, and to whom they were charged. A draw
        is of one record, and the database has an index of records.
        """
        for row in rows:
            if row.id in self._often:
                self._find_draw(row)
        rows = [row for row in rows if row.id not in self._often]
        for draw, person, own in self._store.among(
            "SELECT draw, person, MAX(CASE WHEN release = ? THEN 1 ELSE 0 END) "
            f"{COUNTED} AND charge.id {{0}} AND draw {{1}} AND entry.space = ? "
            "GROUP BY draw, person",
            [[row.id for row in rows], [row.draw for row in rows]],
            (self._space,),
            before=(self._release,),
        ):
            drawn = bytes(draw)
            whose = drawn + bytes(person or b"")
            self.charged |= {drawn, whose}
            if own:
                self.own.add(whose)

    def _find_draw(self, row: ChargeRow) -> None:
        """The same for a draw that may have been repeated often: the first that is found will do.
        This looks for its own person alone, which is all that anyone asks.
        """
        drawn = f"{COUNTED} AND charge.id = ? AND draw = ? AND entry.space = ?"
        whose = "person IS NULL" if row.person is None else "person = ?"
        values = (row.id, row.draw, self._space)
        who = () if row.person is None else (row.person,)
        if not self._store.run(f"SELECT 1 {drawn} LIMIT 1", values):
            return
        self.charged.add(row.draw)
        if self._store.run(f"SELECT 1 {drawn} AND {whose} LIMIT 1", (*values, *who)):
            self.charged.add(row.draw + (row.person or b""))
        if self._store.run(
            f"SELECT 1 FROM charge WHERE id = ? AND draw = ? AND {whose} AND entry IN {_OWN}",
            (row.id, row.draw, *who, self._release, self._space),
        ):
            self.own.add(row.draw + (row.person or b""))

    def keep_sums(self, written: Sequence[ChargeRow]) -> None:
        """Bring the kept sums up to date with charges that were written, and entered in `spent`."""
        if not self._often:
            return
        names = {name for row in written for name in (row.id, row.content, row.person)}
        self._store.run_many(
            "INSERT INTO spent (space, name, amount, releases) VALUES (?, ?, ?, ?) ON CONFLICT "
            "(name, space) DO UPDATE SET amount = excluded.amount, releases = excluded.releases",
            [
                (self._space, name, str(self.spent[name]), self.releases.get(name, 0) + 1)
                for name in sorted(self._often & names)
            ],
        )


def added_up(
    store: Store, space: str, column: str, hashes: Sequence[bytes]
) -> Iterator[tuple[bytes, int, int]]:
    """For each of these hashes in a column: how many charges it has, and what they come to. A draw
    that was repeated counts once.
    """
    for who, charges, high, low in store.among(
        f"SELECT who, SUM(charges), {SUM} FROM (SELECT charge.{column} AS who, COUNT(*) AS charges,"
        f" MAX(amount) AS amount {COUNTED} AND charge.{column} {{0}} AND entry.space = ? "
        "GROUP BY who, draw) AS draws GROUP BY who",
        [hashes],
        (space,),
    ):
        yield bytes(who), int(charges), added(high, low)


def forget_sums(store: Store, release: str) -> None:
    """Forget the kept sums in the spaces that a voided release was charged in: they count it."""
    store.run(
        "DELETE FROM spent WHERE space IN (SELECT space FROM entry WHERE release = ? "
        "AND kind = 'charge')",
        (release,),
    )


def wrong_sums(store: Store) -> Iterator[str]:
    """The kept sums that are not those of the charges, in words."""
    for space, name, amount in store.run("SELECT space, name, amount FROM spent ORDER BY name"):
        who = bytes(name)
        found = [
            total
            for column in ("id", "content", "person")
            for _, _, total in added_up(store, space, column, [who])
        ]
        if found != [int(amount)]:
            yield f"the sum that is kept for {who.hex()} is not that of its charges"
