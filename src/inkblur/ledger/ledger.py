"""The ledger: every release is charged before anyone can see it, and nothing is ever erased.

Every entry carries a keyed hash of itself, its charges and the entry before it, so a changed or
missing row is found (`Ledger.verify`). A removed tail shows only against an anchor kept elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from inkblur.errors import InputError, OutputError, ParameterError
from inkblur.ledger.accountant import ReleaseAccount
from inkblur.ledger.balances import (
    legacy_spaces,
    open_schema,
    read_spent,
    settle,
    wrong_balances,
)
from inkblur.ledger.events import Budget, ChargeRow, Spent, owned
from inkblur.ledger.store import (
    CHARGE,
    VARIABLE,
    PostgresStore,
    Secret,
    SqliteStore,
    Store,
    secret_beside,
    secret_from_environment,
)
from inkblur.types import counted, positive

PLACE = "INKBLUR_LEDGER"  # the environment's word for where the ledger is
_ANCHOR = re.compile("[0-9]{1,18}:[0-9a-f]{64}")
_UNLIMITED = Budget()
_START = b"\0" * 32  # what the first entry is chained to
EntryFields = tuple[int, str, str, str, str]  # number, release, kind, when it was written, body


def open_ledger(place: str | Path | None = None) -> Ledger:
    """A ledger by path or by a `postgresql://` URL; by default the one that INKBLUR_LEDGER names,
    or one file in the user's data folder.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, open_ledger(f"{folder}/ledger.db") as ledger:
    ...     ledger.verify()
    []
    """
    secret, chosen = secret_from_environment(), _chosen(place)
    if isinstance(chosen, str):
        if secret is None:
            raise ParameterError(
                f"a ledger in PostgreSQL needs its secret in {VARIABLE}: 64 hexadecimal digits, "
                "the same for everyone who writes to it"
            )
        return Ledger(PostgresStore(chosen), secret)
    try:
        chosen.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"cannot make the ledger's folder {chosen.parent}: {error.strerror}. Name another "
            "place for the ledger, or release without one"
        ) from None
    secret = secret_beside(chosen) if secret is None else secret
    return Ledger(SqliteStore(chosen), secret)


def ledger_files(place: str | Path | None = None) -> list[Path]:
    """The files of the ledger that `open_ledger` would open, the database first; none for a URL."""
    path = _chosen(place)
    if isinstance(path, str):
        return []
    return [path, *(path.with_name(path.name + end) for end in (".secret", "-wal", "-shm"))]


def _chosen(place: str | Path | None) -> str | Path:
    """A PostgreSQL URL as text, or the path of a file."""
    place = os.environ.get(PLACE) if place is None else place
    if place is None:
        from platformdirs import user_data_path

        return user_data_path("inkblur", appauthor=False) / "ledger.db"
    if isinstance(place, str) and "://" in place:
        scheme = place.partition("://")[0]  # alone: the rest may hold a password
        if scheme not in ("postgresql", "postgres"):
            raise ParameterError(
                f"a ledger is a file or a postgresql:// URL, and no {scheme}:// URL; give one of "
                "these"
            )
        return place
    path = Path(place)
    if not path.name or str(place) == "-":  # "", of a variable that is not set, or a folder
        raise ParameterError(f"a ledger is a file or a postgresql:// URL, got {str(place)!r}")
    return path


class Ledger:
    """An open ledger; close it, or use it as a context."""

    def __init__(self, store: Store, secret: Secret) -> None:
        self.store, self.secret, self.place = store, secret, store.place
        check = secret.hash("check", "inkblur ledger").hex()
        try:
            with store.transaction():  # one, because each is a write to the disk
                open_schema(store)
                known = store.run("SELECT value FROM about WHERE name = 'check'")
                if not known:
                    store.run("INSERT INTO about VALUES ('check', ?)", (check,))
            if known and known[0][0] != check:
                raise InputError(f"the secret is not that of the ledger {store.place}")
        except BaseException:
            store.close()
            raise
        self.has_legacy = bool(store.run("SELECT 1 FROM legacy LIMIT 1"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @cached_property
    def legacy_columns(self) -> tuple[str, ...]:
        """The columns that earlier versions may have named a record by, besides its id: the first
        of several.
        """
        opened = self.store.run("SELECT body FROM entry WHERE kind = 'open' ORDER BY number")
        bodies = [json.loads(body) for (body,) in opened]
        chosen: list[list[str]] = [
            body.get("spec", {}).get("columns", []) for body in bodies if "space" in body
        ]
        return tuple({columns[0] for columns in chosen if len(columns) > 1})

    def close(self) -> None:
        """Let go of the database."""
        self.store.close()

    def open_release(
        self,
        description: Mapping[str, Any],
        *,
        draw: str,
        caller: str = "",
        unbounded: str = "",
        budget: Budget = _UNLIMITED,
    ) -> ReleaseAccount:
        """Begin a release; :class:`ReleaseAccount` says what the others mean."""
        release = os.urandom(12).hex()
        with self.store.transaction():
            why = {"unbounded": unbounded} if unbounded else {}
            self.append(release, "open", {**description, **why})
        own = {"draw": draw, "caller": caller, "unbounded": unbounded}
        return ReleaseAccount(self, release, **own, budget=budget, first=True)

    def continue_release(
        self,
        release: str,
        *,
        draw: str,
        caller: str = "",
        unbounded: str = "",
        budget: Budget = _UNLIMITED,
    ) -> ReleaseAccount:
        """A release that was begun elsewhere, to charge more to it."""
        state = self.state_of(release)
        if state is None:
            raise InputError(
                f"the ledger {self.place} does not know this release: it was begun in another one. "
                f"Name one ledger for all processes in {PLACE}"
            )
        if state == "void":
            raise InputError("this release was given up: begin it again")
        own = {"draw": draw, "caller": caller, "unbounded": unbounded}
        return ReleaseAccount(self, release, **own, budget=budget, first=False)

    def state_of(self, release: str) -> str | None:
        """reserved, confirmed or void; None where the ledger does not know it."""
        rows = self.store.run("SELECT DISTINCT kind FROM entry WHERE release = ?", (release,))
        kinds = {kind for (kind,) in rows}
        if "open" not in kinds:
            return None
        return "void" if "void" in kinds else "confirmed" if "confirm" in kinds else "reserved"

    def confirm(self, name: str) -> str:
        """Say that the output of a reserved release exists; `name` is how its name begins. For what
        a lazy engine released, and for a run that was killed after its output was complete.
        """
        found = self.store.run(
            "SELECT release FROM entry WHERE kind = 'open' AND substr(release, 1, ?) = ?",
            (len(name), name),
        )
        if len(found) != 1:
            wrong = "several releases begin" if found else "no release begins"
            raise InputError(f"{wrong} with {name!r}: see `inkblur ledger show`")
        release: str = found[0][0]
        with self.store.transaction():
            state = self.state_of(release)
            if state != "reserved":
                raise InputError(f"release {release} is {state}, not reserved")
            self.append(release, "confirm", {})
        return release

    def confirm_repeated(self, release: str) -> None:
        """Confirm what an earlier run of the same release, one that was cut off, left reserved: the
        same spec, key and file, so its output is this one's.
        """
        with self.store.transaction():
            for (earlier,) in self.store.run(
                "SELECT before.release FROM entry AS now JOIN entry AS before "
                "ON before.body = now.body AND before.kind = 'open' "
                "WHERE now.release = ? AND now.kind = 'open' AND NOT EXISTS (SELECT 1 FROM entry "
                "AS done WHERE done.release = before.release AND done.kind IN ('confirm', 'void'))",
                (release,),
            ):
                self.append(earlier, "confirm", {"by": release})

    def key_fingerprint(self, key_digest: bytes) -> str:
        """What the ledger calls a key: tells two keys apart and nothing more."""
        return self.secret.hash("key", key_digest).hex()

    def file_fingerprint(self, path: str | Path) -> str | None:
        """What the ledger calls a file's content; None for what can be read only once."""
        if str(path) == "-" or not Path(path).is_file():
            return None
        with Path(path).open("rb") as file:
            return self.secret.hash("file", hashlib.file_digest(file, "blake2b").digest()).hex()

    def history(self) -> list[dict[str, Any]]:
        """Every release, oldest first: when, what, how much, and whether it was confirmed."""
        releases: dict[str, dict[str, Any]] = {}
        for release, kind, written, body in self.store.run(
            "SELECT release, kind, written, body FROM entry WHERE kind <> 'convert' ORDER BY number"
        ):
            detail = json.loads(body)
            if kind == "open":
                releases[release] = {
                    "release": release,
                    "opened": written,
                    "state": "reserved",
                    "records": 0,
                    "words": 0,
                    "amount": 0,  # of all its records together
                    **detail,
                }
            elif kind == "charge":
                for name in ("records", "words", "amount"):
                    releases[release][name] += detail[name]
            elif releases[release]["state"] != "void":
                releases[release]["state"] = "confirmed" if kind == "confirm" else "void"
        return list(releases.values())

    def spent(self, person: str, caller: str = "") -> Spent:
        """What a person's records have spent."""
        name = self.secret.hash("person", owned(person, caller))
        new, old = (
            read_spent(self.store, table, [name]).get(name, Spent())
            for table in ("balance", "legacy")
        )
        return Spent(new.amount + old.amount, 0, new.unbounded or old.unbounded)

    def most_spent(self) -> dict[str, Spent]:
        """The largest loss of a record and of a person, over all releases; and whether any of them
        was released without a bound.
        """
        largest = {}
        for who, person in (("record", 0), ("person", 1)):
            rows = self.store.run(
                "SELECT amount, releases, (SELECT MAX(unbounded) FROM balance WHERE person = ?) "
                "FROM balance WHERE person = ? ORDER BY LENGTH(amount) DESC, amount DESC LIMIT 1",
                (person, person),
            )
            for amount, releases, unbounded in rows:
                largest[who] = Spent(int(amount), releases, bool(unbounded))
        return largest

    def unknown_spaces(self) -> list[str]:
        """What earlier versions added losses up in that nobody can convert yet: it counts as more
        than any budget.
        """
        return [space for space, worth in legacy_spaces(self.store).items() if worth is None]

    def convert(self, space: str, diameter: float) -> None:
        """Say how far apart two words of a table can be at most, for losses that were counted per
        unit of distance: what they come to counts from now on.
        """
        if space not in self.unknown_spaces():
            raise InputError(f"nothing to convert: the ledger {self.place} has no {space!r}")
        body = {"space": space, "diameter": positive(diameter, "diameter")}
        with self.store.transaction():
            self.append(os.urandom(12).hex(), "convert", body)
            settle(self.store)

    def export(self) -> Iterator[tuple[str, ...]]:
        """Every charge as text, header first; hashes in hexadecimal. Rows with one draw released
        the same words again, and count once. `space` is what the amount is counted in.
        """
        hashes = ("id", "content", "person", "draw")
        yield ("entry", "release", "space", *hashes, "words", "amount_micro")
        for row in self.store.run(
            f"SELECT entry, release, space, {', '.join(hashes)}, words, amount FROM charge "
            "JOIN entry ON entry.number = charge.entry ORDER BY charge.number"
        ):
            hexadecimal = ["" if each is None else bytes(each).hex() for each in row[3:7]]
            yield (*map(str, row[:3]), *hexadecimal, *map(str, row[7:]))

    def anchor(self) -> str:
        """The newest entry's number and hash: kept elsewhere, it shows a tail that was removed."""
        rows = self.store.run("SELECT number, hash FROM entry ORDER BY number DESC LIMIT 1")
        return f"{rows[0][0]}:{bytes(rows[0][1]).hex()}" if rows else f"0:{_START.hex()}"

    def verify(self, anchor: str | None = None) -> list[str]:
        """What was changed or removed since it was written, in words; empty where nothing was."""
        if anchor is not None and not _ANCHOR.fullmatch(anchor.strip()):
            raise ParameterError(
                f"{anchor.strip()[:80]!r} is not an anchor, so nothing was checked; give the line "
                "that `inkblur ledger anchor` printed"
            )
        with self.store.transaction():  # others write meanwhile: entries and charges of one moment
            return [*self._problems(anchor)]

    def _problems(self, anchor: str | None) -> Iterator[str]:
        before, expected = _START, 1
        seen = {0: _START}
        charges: dict[int, list[ChargeRow]] = defaultdict(list)
        for entry, *row in self.store.run(
            f"SELECT {', '.join(CHARGE)} FROM charge ORDER BY number"
        ):
            charges[entry].append(ChargeRow(*row))
        for number, release, kind, written, body, count, stored, space in self.store.run(
            "SELECT number, release, kind, written, body, charges, hash, space FROM entry "
            "ORDER BY number"
        ):
            if number != expected:
                yield f"entries {expected} to {number - 1} are missing"
            rows = charges.pop(number, [])
            if len(rows) != count:
                yield (
                    f"entry {number} has {counted(len(rows), 'charge')} where {count} were written"
                )
            made = self._hash(before, (number, release, kind, written, body), space, rows)
            if made != bytes(stored) or (space is not None and not rows):
                yield f"entry {number} or one of its charges was changed"
            before, expected = bytes(stored), number + 1
            seen[number] = before
        for number in sorted(charges):
            yield f"charges of entry {number}, which is missing"
        yield from wrong_balances(self.store)
        if anchor is not None:
            number, _, kept = anchor.strip().partition(":")
            if seen.get(int(number), b"").hex() != kept:
                yield f"entry {number} is not the one that the anchor was made from"

    def append(
        self,
        release: str,
        kind: str,
        body: Mapping[str, Any],
        space: str | None = None,
        charges: Sequence[ChargeRow] = (),
    ) -> None:
        """Write the next entry and its charges; within a transaction."""
        last = self.store.run("SELECT number, hash FROM entry ORDER BY number DESC LIMIT 1")
        number, before = (last[0][0] + 1, bytes(last[0][1])) if last else (1, _START)
        written = datetime.now(UTC).isoformat(timespec="seconds")
        text = json.dumps(body, sort_keys=True, allow_nan=False)
        made = self._hash(before, (number, release, kind, written, text), space, charges)
        self.store.run(
            "INSERT INTO entry (number, release, kind, written, body, charges, hash, space) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (number, release, kind, written, text, len(charges), made, space),
        )
        if charges:
            self.store.insert_charges(number, charges)

    def _hash(
        self, before: bytes, entry: EntryFields, space: str | None, charges: Sequence[ChargeRow]
    ) -> bytes:
        number, release, *rest = entry
        digest = hashlib.blake2b(_packed(release, space or "", charges), digest_size=32).digest()
        return self.secret.hash("entry", before, str(number), release, *rest, digest, size=32)


def _packed(release: str, space: str, charges: Sequence[ChargeRow]) -> bytes:
    """The charges of an entry as bytes that no others have."""
    names = f"{len(release)} {len(space)} {release}{space}".encode()
    line = b"%b %%d %%d %%b%%b%%b%%b" % names.replace(b"%", b"%%")
    return b"".join(
        [
            line % (words, amount, id, content, draw, b"-" if person is None else b"+" + person)
            for id, content, person, draw, words, amount in charges
        ]
    )
