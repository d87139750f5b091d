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
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from inkblur.errors import ParameterError
from inkblur.ledger.charges import Budget, Charge, Exceeded
from inkblur.ledger.secret import framed

if TYPE_CHECKING:
    from inkblur.ledger.ledger import Ledger

# A charge with its entry, unless its release was voided.
COUNTED = (
    "FROM charge JOIN entry ON entry.number = charge.entry WHERE NOT EXISTS (SELECT 1 FROM entry "
    "AS other WHERE other.release = entry.release AND other.kind = 'void')"
)


class ChargeRow(NamedTuple):
    """A charge as it is kept: hashes in place of everything that names someone."""

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
        rows = self._rows(charges)
        with self._ledger.store.transaction():
            grant = _Grant(charges, limits, self._history(rows, limits), self.release)
            grant.all_records(rows)
            if grant.exceeded and not partial:
                return grant.result(granted=())
            if grant.kept:
                body = {
                    "records": len({row.id for row in grant.kept}),
                    "words": sum(row.words for row in grant.kept),
                    "amount": grant.fresh,
                    "replayed": grant.replayed,
                }
                self._ledger.append(self.release, "charge", body, self._space, grant.kept)
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

    def _rows(self, charges: Sequence[Charge]) -> list[ChargeRow]:
        """The charges with everything hashed. A hash that was begun is copied, and a text encoded
        once: this is most of what a ledger costs.
        """
        secret = self._ledger.secret
        of_id, of_content = secret.begun("id"), secret.begun("content")
        of_draw = {c: secret.begun("draw", self._draw, c) for c in {c.column for c in charges}}
        people = {c.person for c in charges if c.person is not None}
        of_person = {person: secret.hash("person", person) for person in people}
        unbound = framed("")
        rows = []
        for id, column, content, words, amount, who, base in charges:
            name, text = framed(id), framed(content)
            hashed = of_id.copy(), of_content.copy(), of_draw[column].copy()
            hashed[0].update(name)
            hashed[1].update(text)
            hashed[2].update(name + text + (framed(base) if base else unbound))
            person = None if who is None else of_person[who]
            ids, contents, draws = [each.digest() for each in hashed]
            rows.append(ChargeRow(ids, contents, person, draws, words, amount))
        return rows

    def _history(self, rows: Sequence[ChargeRow], limits: Budget) -> _History:
        """What the ledger knows about the records, contents and people of these rows."""
        history = _History(self._ledger, self._space)
        history.read("id", {row.id for row in rows})
        history.read("content", {row.content for row in rows})
        if limits.person is not None:
            history.read_people({row.person for row in rows if row.person is not None})
        return history


class _History:
    """Earlier charges in one space, by hash. Hashes of ids, contents and people never meet, so one
    table holds them all.
    """

    def __init__(self, ledger: Ledger, space: str) -> None:
        self._store, self._space = ledger.store, space
        self.spent: dict[bytes, int] = {}
        self.releases: defaultdict[bytes, set[str]] = defaultdict(set)
        self.draws: dict[bytes, _Draw] = {}

    def read(self, column: str, hashes: Collection[bytes]) -> None:
        """Add the charges that have one of these hashes in a column."""
        seen: set[tuple[bytes, bytes]] = set()
        for value, draw, person, amount, release in self._store.among(
            f"SELECT charge.{column}, draw, person, amount, release {COUNTED} "
            f"AND charge.{column} {{among}} AND entry.space = ? ORDER BY amount DESC",
            hashes,
            (self._space,),
        ):
            who, drawn = bytes(value), bytes(draw)
            known = self.draws.setdefault(drawn, _Draw(set(), set()))
            known.people.add(None if person is None else bytes(person))
            known.releases.add(release)
            self.releases[who].add(release)
            if (who, drawn) not in seen:
                seen.add((who, drawn))
                self.spent[who] = self.spent.get(who, 0) + amount

    def read_people(self, hashes: Collection[bytes]) -> None:
        """Add what these people have spent."""
        for person, amount in self._store.among(
            "SELECT person, SUM(amount) FROM (SELECT person, draw, MAX(amount) AS amount "
            f"{COUNTED} AND person {{among}} AND entry.space = ? GROUP BY person, draw) AS draws "
            "GROUP BY person",
            hashes,
            (self._space,),
        ):
            self.spent[bytes(person)] = int(amount)


class _Draw(NamedTuple):
    """Who was charged for a draw, and in which releases."""

    people: set[bytes | None]
    releases: set[str]


class _Grant:
    """Who may spend, record by record, each knowing what those before it took."""

    def __init__(
        self, charges: Sequence[Charge], limits: Budget, history: _History, release: str
    ) -> None:
        self._charges, self._limits, self._history = charges, limits, history
        self._release = release
        self.granted: list[int] = []
        self.exceeded: list[Exceeded] = []
        self.kept: list[ChargeRow] = []
        self.replayed = self.fresh = 0
        self._most_spent = self._most_releases = 0

    def all_records(self, rows: Sequence[ChargeRow]) -> None:
        """Grant each record all its charges, or none."""
        if not self._limits:
            self._spend(range(len(rows)), rows)
            return
        start = 0
        for stop in range(1, len(rows) + 1):
            if stop == len(rows) or rows[stop].id != rows[start].id:
                record = range(start, stop)
                over = self._over(record, rows)
                if over is None:
                    self._spend(record, rows)
                else:
                    self.exceeded.append(over)
                start = stop

    def result(self, granted: Iterable[int]) -> Charged:
        """What it came to."""
        return Charged(
            frozenset(granted),
            tuple(self.exceeded),
            self.replayed,
            self._most_spent,
            self._most_releases,
        )

    def _spend(self, positions: range, rows: Sequence[ChargeRow]) -> None:
        """Enter what these rows add; a draw that was made before adds nothing."""
        draws, spent = self._history.draws, self._history.spent
        self.granted += positions
        for row in rows[positions.start : positions.stop]:
            known = draws.get(row.draw)
            if known is None:
                self.fresh += row.amount
                spent[row.id] = spent.get(row.id, 0) + row.amount
                spent[row.content] = spent.get(row.content, 0) + row.amount
                draws[row.draw] = _Draw({row.person}, {self._release})
                self.kept.append(row)
            else:
                self.replayed += 1
                if self._release not in known.releases:  # or this very release has it already
                    known.releases.add(self._release)
                    self.kept.append(row)
            if row.person is not None and (known is None or row.person not in known.people):
                spent[row.person] = spent.get(row.person, 0) + row.amount
                draws[row.draw].people.add(row.person)
            most = max(spent[row.id], spent[row.content])
            if most > self._most_spent:
                self._most_spent = most
        self._count_releases(rows[positions.start : positions.stop])

    def _count_releases(self, rows: Sequence[ChargeRow]) -> None:
        earlier = self._history.releases
        most = 0
        if earlier:
            for row in rows:
                for name in (row.id, row.content):
                    if name in earlier:
                        most = max(most, len(earlier[name] - {self._release}))
        self._most_releases = max(self._most_releases, most + 1)

    def _over(self, positions: range, rows: Sequence[ChargeRow]) -> Exceeded | None:
        """The limit that this record would pass. Neither a new id nor an edited letter resets it:
        the larger of what the id and what the content have spent counts.
        """
        draws, spent = self._history.draws, self._history.spent
        record = rows[positions.start : positions.stop]
        if self._limits.record is not None:
            take = sum(row.amount for row in record if row.draw not in draws)
            before = max(max(spent.get(row.id, 0), spent.get(row.content, 0)) for row in record)
            if take and before + take > self._limits.record:
                return self._exceeded(positions, "record", self._limits.record, before, take)
        if self._limits.person is not None:
            # A draw that was charged to somebody else is new to this person.
            take = sum(
                row.amount
                for row in record
                if row.draw not in draws or row.person not in draws[row.draw].people
            )
            before = max(spent.get(row.person or b"", 0) for row in record)
            if take and before + take > self._limits.person:
                return self._exceeded(positions, "person", self._limits.person, before, take)
        return None

    def _exceeded(
        self, positions: range, name: str, limit: int, before: int, take: int
    ) -> Exceeded:
        first = positions[0]
        return Exceeded(first, self._charges[first].id, name, max(0, limit - before), take)
