"""One release's account: open, charge, confirm.

*Open* writes what is being released. *Charge* reserves what its records will cost and refuses,
before anything is drawn, what a budget does not allow. *Confirm* says that the output exists. A
crash in between leaves a reservation, which counts as spent, because nobody can know who saw what;
running the same release again under the same key draws the same words, costs nothing, and confirms
it. Only a run that knows that no byte of its output was visible may *void* its reservation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from inkblur.errors import ParameterError
from inkblur.ledger.charges import Budget, Charge, Exceeded

if TYPE_CHECKING:
    from inkblur.ledger.ledger import Ledger

NOT_VOID = "release NOT IN (SELECT release FROM entry WHERE kind = 'void')"
_ASKED = 900  # values in one statement: SQLite's smallest limit is 999


class ChargeRow(NamedTuple):
    """A charge as it is kept: hashes in place of everything that names someone."""

    release: str
    space: str
    id: bytes
    content: bytes
    person: bytes | None
    draw: bytes
    words: int
    amount: int


@dataclass(frozen=True, slots=True)
class Charged:
    """What a batch of charges came to."""

    granted: frozenset[int]  # positions of the charges that may be released
    exceeded: tuple[Exceeded, ...]
    replayed: int  # charges that repeat an earlier draw and cost nothing
    most_spent: int  # micro-units of the record that has spent most, this release included
    most_releases: int  # releases of the record that was released most often, this one included


class ReleaseAccount:
    """One release's charges. Leaving the context by an error voids them, unless output showed."""

    def __init__(self, ledger: Ledger, release: str, space: str, draw: str) -> None:
        self._ledger, self.release, self._space, self._draw = ledger, release, space, draw
        self._finished = self._visible = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is not None and not self._finished and not self._visible:
            self.void()

    def about_to_show(self) -> None:
        """Output may be visible from here on, so an error voids nothing any more."""
        self._visible = True

    def charge(
        self, charges: Sequence[Charge], budget: Budget | None = None, *, partial: bool = False
    ) -> Charged:
        """Reserve what these charges cost. A record's charges stand next to each other.

        Over budget, nothing of this call is charged, unless `partial`: then the records that fit
        are. What was granted counts as spent from here on.
        """
        limits = budget if budget is not None else Budget()
        if limits.person is not None:
            for charge in charges:
                if charge.person is None:
                    raise ParameterError(
                        f"record {charge.id} belongs to nobody: under a budget for people every "
                        "record needs a person"
                    )
        rows = [self._row(charge) for charge in charges]
        with self._ledger.store.transaction():
            grant = _Grant(charges, limits, self._spent(rows, limits), self._draws(rows))
            for _, positions in groupby(range(len(rows)), key=lambda position: rows[position].id):
                grant.record([(position, rows[position]) for position in positions])
            if grant.exceeded and not partial:
                return grant.result(granted=())
            if grant.kept:
                body = {
                    "records": len({row.id for row in grant.kept}),
                    "words": sum(row.words for row in grant.kept),
                    "amount": sum(row.amount for row in grant.kept),
                    "replayed": grant.replayed,
                }
                self._ledger.append(self.release, "charge", body, grant.kept)
        return grant.result(grant.granted)

    def confirm(self, **counts: Any) -> None:
        """The output exists."""
        with self._ledger.store.transaction():
            self._ledger.append(self.release, "confirm", counts)
        self._finished = True

    def void(self) -> None:
        """No byte of the output was visible to anyone: what was reserved is free again."""
        with self._ledger.store.transaction():
            self._ledger.append(self.release, "void", {})
        self._finished = True

    def _row(self, charge: Charge) -> ChargeRow:
        keyed = self._ledger.secret.hash
        return ChargeRow(
            self.release,
            self._space,
            keyed("id", charge.id),
            keyed("content", charge.content),
            None if charge.person is None else keyed("person", charge.person),
            keyed("draw", self._draw, charge.column, charge.id, charge.content, charge.base),
            charge.words,
            charge.amount,
        )

    def _spent(self, rows: Sequence[ChargeRow], limits: Budget) -> _Spent:
        """What the records, contents and people of these rows have spent in this space."""
        spent = _Spent()
        spent.read(self._ledger, "id", self._space, {row.id for row in rows})
        spent.read(self._ledger, "content", self._space, {row.content for row in rows})
        if limits.person is not None:
            people = {row.person for row in rows if row.person is not None}
            spent.read(self._ledger, "person", self._space, people)
        return spent

    def _draws(self, rows: Sequence[ChargeRow]) -> set[bytes]:
        """The draws that these records have had."""
        found: set[bytes] = set()
        for some, marks in _in_pieces({row.id for row in rows}):
            query = f"SELECT draw FROM charge WHERE id IN ({marks}) AND {NOT_VOID}"
            found.update(bytes(draw) for (draw,) in self._ledger.store.run(query, some))
        return found


class _Spent:
    """Sums by hash: from the ledger first, then with what is granted. Hashes of ids, contents and
    people never meet, so one table holds them all.
    """

    def __init__(self) -> None:
        self.amounts: defaultdict[bytes, int] = defaultdict(int)
        self.releases: defaultdict[bytes, int] = defaultdict(int)

    def read(self, ledger: Ledger, column: str, space: str, hashes: set[bytes]) -> None:
        """Add what one column of the ledger holds for these hashes."""
        for some, marks in _in_pieces(hashes):
            for value, amount, releases in ledger.store.run(
                f"SELECT {column}, SUM(amount), COUNT(DISTINCT release) FROM charge "
                f"WHERE {column} IN ({marks}) AND space = ? AND {NOT_VOID} GROUP BY {column}",
                (*some, space),
            ):
                self.amounts[bytes(value)] = int(amount)
                self.releases[bytes(value)] = releases


class _Grant:
    """Who may spend, record by record, each knowing what those before it took."""

    def __init__(
        self, charges: Sequence[Charge], limits: Budget, spent: _Spent, drawn: set[bytes]
    ) -> None:
        self._charges, self._limits, self._spent, self._drawn = charges, limits, spent, drawn
        self.granted: list[int] = []
        self.exceeded: list[Exceeded] = []
        self.kept: list[ChargeRow] = []
        self.replayed = 0
        self._most_spent = self._most_releases = 0

    def record(self, rows: Sequence[tuple[int, ChargeRow]]) -> None:
        """Grant all charges of one record, or none."""
        asked = [0 if row.draw in self._drawn else row.amount for _, row in rows]
        over = self._over(rows, sum(asked))
        if over is not None:
            self.exceeded.append(over)
            return
        amounts, releases = self._spent.amounts, self._spent.releases
        for (position, row), amount in zip(rows, asked, strict=True):
            self.granted.append(position)
            self.replayed += row.draw in self._drawn
            self._drawn.add(row.draw)
            self.kept.append(row._replace(amount=amount))
            amounts[row.id] += amount
            amounts[row.content] += amount
            if row.person is not None:
                amounts[row.person] += amount
            self._most_spent = max(self._most_spent, amounts[row.id], amounts[row.content])
            before = max(releases[row.id], releases[row.content])
            self._most_releases = max(self._most_releases, before + 1)

    def result(self, granted: Iterable[int]) -> Charged:
        """What it came to."""
        return Charged(
            frozenset(granted),
            tuple(self.exceeded),
            self.replayed,
            self._most_spent,
            self._most_releases,
        )

    def _over(self, rows: Sequence[tuple[int, ChargeRow]], take: int) -> Exceeded | None:
        """The limit that this record would pass. Neither a new id nor an edited letter resets it:
        the larger of what the id and what the content have spent counts.
        """
        if not take or not self._limits:
            return None
        spent = self._spent.amounts
        for name, limit in (("record", self._limits.record), ("person", self._limits.person)):
            if limit is None:
                continue
            before = max(
                max(spent[row.id], spent[row.content])
                if name == "record"
                else spent[row.person or b""]
                for _, row in rows
            )
            if before + take > limit:
                position = rows[0][0]
                left = max(0, limit - before)
                return Exceeded(position, self._charges[position].id, name, left, take)
        return None


def _in_pieces(hashes: set[bytes]) -> Iterable[tuple[list[bytes], str]]:
    """As many values as one statement takes, with a mark for each."""
    values = list(hashes)
    for start in range(0, len(values), _ASKED):
        some = values[start : start + _ASKED]
        yield some, ", ".join("?" * len(some))
