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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Self

from inkblur.errors import InputError, ParameterError
from inkblur.ledger.charges import MOST, Budget, Charge, Exceeded
from inkblur.ledger.history import ChargeRow, History, forget_sums
from inkblur.ledger.secret import framed

if TYPE_CHECKING:
    from inkblur.ledger.ledger import Ledger


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
                        "record needs a person, from a column (`person_column=`) or from a list "
                        "beside the texts (people)"
                    )
        rows = self._rows(charges)
        with self._ledger.store.transaction():
            if self._ledger.is_void(self.release):  # by another process that shares it
                raise InputError("this release was given up: begin it again")
            history = self._history(rows, limits)
            grant = _Grant(charges, limits, history)
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
                history.keep_sums(grant.kept)
        return grant.result(grant.granted)

    def confirm(self) -> None:
        """The output exists."""
        with self._ledger.store.transaction():
            self._ledger.append(self.release, "confirm", {})
        self._finished = True

    def void(self) -> None:
        """No byte of the output was visible to anyone: what was reserved is free again."""
        with self._ledger.store.transaction():
            self._ledger.append(self.release, "void", {})
            forget_sums(self._ledger.store, self.release)
        self._finished = True

    def _rows(self, charges: Sequence[Charge]) -> list[ChargeRow]:
        """The charges with everything hashed. A hash that was begun is copied, and a text encoded
        once: this is a third of what a ledger costs.
        """
        secret = self._ledger.secret
        of_id, of_content = secret.begun("id"), secret.begun("content")
        of_draw = {c: secret.begun("draw", self._draw, c) for c in {c.column for c in charges}}
        people = {c.person for c in charges if c.person is not None}
        of_person = {person: secret.hash("person", person) for person in people}
        of_base = {base: framed(base) for base in {c.base for c in charges}}
        rows = []
        for id, column, content, words, amount, who, base in charges:
            if words >= MOST or amount >= MOST:
                raise ParameterError(
                    f"record {id}: {words} words and a loss of {amount} micro-units are too much "
                    "to keep account of"
                )
            name, text = framed(id), framed(content)
            ids, contents, draws = of_id.copy(), of_content.copy(), of_draw[column].copy()
            ids.update(name)
            contents.update(text)
            draws.update(name + text + of_base[base])
            person = None if who is None else of_person[who]
            row = ids.digest(), contents.digest(), person, draws.digest(), words, amount
            rows.append(ChargeRow._make(row))
        return rows

    def _history(self, rows: Sequence[ChargeRow], limits: Budget) -> History:
        """What the ledger knows about the records, contents and people of these rows."""
        history = History(self._ledger.store, self._space, self.release)
        history.read("id", {row.id for row in rows})
        history.read("content", {row.content for row in rows})
        people = {row.person for row in rows if row.person is not None}
        history.read("person", people, all=limits.person is not None)
        history.read_draws([row for row in rows if row.id in history.spent])
        return history


class _Grant:
    """Who may spend, record by record, each knowing what those before it took."""

    def __init__(self, charges: Sequence[Charge], limits: Budget, history: History) -> None:
        self._charges, self._limits, self._history = charges, limits, history
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
        stop = 0
        for _, group in groupby(rows, key=lambda row: row.id):
            record = range(stop, stop + sum(1 for _ in group))
            over = self._over(record, rows)
            if over is None:
                self._spend(record, rows)
            else:
                self.exceeded.append(over)
            stop = record.stop

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
        charged, spent, own = self._history.charged, self._history.spent, self._history.own
        most = self._most_spent
        self.granted += positions
        for row in rows[positions.start : positions.stop]:
            record, content, person, draw, _, amount = row
            whose = draw if person is None else draw + person
            if draw in charged:
                self.replayed += whose not in own  # or this release has charged it before
            else:
                charged.add(draw)
                self.fresh += amount
                spent[record] = spent.get(record, 0) + amount
                spent[content] = spent.get(content, 0) + amount
            if whose not in own:  # a retry is not written again
                own.add(whose)
                self.kept.append(row)
            if person is not None and whose not in charged:
                charged.add(whose)
                spent[person] = spent.get(person, 0) + amount
            if spent[record] > most:
                most = spent[record]
            if spent[content] > most:
                most = spent[content]
        self._most_spent = most
        self._count_releases(rows[positions.start : positions.stop])

    def _count_releases(self, rows: Sequence[ChargeRow]) -> None:
        earlier = self._history.releases
        most = 0
        if earlier:
            for row in rows:
                for name in (row.id, row.content):
                    most = max(most, earlier.get(name, 0))
        self._most_releases = max(self._most_releases, most + 1)

    def _over(self, positions: range, rows: Sequence[ChargeRow]) -> Exceeded | None:
        """The limit that this record would pass. Neither a new id nor an edited letter resets it:
        the larger of what the id and what the content have spent counts.
        """
        charged, spent = self._history.charged, self._history.spent
        record = rows[positions.start : positions.stop]
        if self._limits.record is not None:
            take = sum(row.amount for row in record if row.draw not in charged)
            before = max(max(spent.get(row.id, 0), spent.get(row.content, 0)) for row in record)
            if take and before + take > self._limits.record:
                return self._exceeded(positions, "record", self._limits.record, before, take)
        if self._limits.person is not None:
            # A draw that was charged to somebody else is new to this person.
            people = [row.person or b"" for row in record]
            take = sum(
                row.amount
                for row, who in zip(record, people, strict=True)
                if row.draw + who not in charged
            )
            before = max(spent.get(who, 0) for who in people)
            if take and before + take > self._limits.person:
                return self._exceeded(positions, "person", self._limits.person, before, take)
        return None

    def _exceeded(
        self, positions: range, name: str, limit: int, before: int, take: int
    ) -> Exceeded:
        first = positions[0]
        return Exceeded(first, self._charges[first].id, name, max(0, limit - before), take)
