"""Where a ledger lives: SQLite in one file, or PostgreSQL. The same tables, the same SQL.

Writers take turns: a transaction holds the only write lock from its first read to its commit, so a
budget that was checked cannot be spent by somebody else before the charge is written.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from inkblur.errors import InputError, OutputError, needs
from inkblur.ledger.secret import HASH_BYTES

_WAIT_SECONDS = 120.0  # for other writers
_LOCK = 0x1B10_7E1D  # PostgreSQL's advisory lock: any number that nobody else uses

# What to do where SQLite cannot write, by the reason it gives.
_ADVICE = {
    sqlite3.SQLITE_FULL: "make room on its disk",
    sqlite3.SQLITE_BUSY: "wait until the other program that writes to it is done",
    sqlite3.SQLITE_READONLY: "allow this user to write to it and to its folder",
}

# Pages of a batch stay in memory until its commit (64 MiB), and reach the file when many have
# changed (32 MiB) or the last connection closes: with SQLite's own 2 and 4 MiB most are written
# several times.
_SETTINGS = (
    "journal_mode = WAL",
    "synchronous = FULL",
    "cache_size = -65536",
    "wal_autocheckpoint = 8192",
)

# Version by version; a ledger is brought up to date when it is opened. {bytes}, {key} and the like
# are the two stores' words for the same thing. Sums are text: they may pass 64 bits.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
        """CREATE TABLE entry (
            number BIGINT PRIMARY KEY,
            release TEXT NOT NULL,
            kind TEXT NOT NULL CHECK (kind IN ('open', 'charge', 'confirm', 'void')),
            written TEXT NOT NULL,
            body TEXT NOT NULL,
            charges BIGINT NOT NULL,
            hash {bytes} NOT NULL)""",
        """CREATE TABLE charge (
            number {key},
            entry BIGINT NOT NULL REFERENCES entry (number),
            release TEXT NOT NULL,
            space TEXT NOT NULL,
            id {bytes} NOT NULL,
            content {bytes} NOT NULL,
            person {bytes},
            draw {bytes} NOT NULL,
            words BIGINT NOT NULL CHECK (words >= 0),
            amount BIGINT NOT NULL CHECK (amount >= 0))""",
        "CREATE INDEX charge_id ON charge (id)",
        "CREATE INDEX charge_content ON charge (content)",
        "CREATE INDEX charge_person ON charge (person) WHERE person IS NOT NULL",
    ),
    (  # what all charges of an entry share is kept with the entry, once
        "ALTER TABLE entry ADD COLUMN space TEXT",
        """UPDATE entry SET space = kept.space FROM
            (SELECT entry AS number, MIN(space) AS space FROM charge GROUP BY entry) AS kept
            WHERE kept.number = entry.number""",
        "CREATE INDEX entry_release ON entry (release, kind)",
        "ALTER TABLE charge RENAME TO charge_before",
        "DROP INDEX charge_id",
        "DROP INDEX charge_content",
        "DROP INDEX charge_person",
        """CREATE TABLE charge (
            number {plain_key},
            entry BIGINT NOT NULL,
            id {bytes} NOT NULL,
            content {bytes} NOT NULL,
            person {bytes},
            draw {bytes} NOT NULL,
            words BIGINT NOT NULL CHECK (words >= 0),
            amount BIGINT NOT NULL CHECK (amount >= 0))""",
        """INSERT INTO charge (entry, id, content, person, draw, words, amount)
            SELECT entry, id, content, person, draw, words, amount FROM charge_before
            ORDER BY number""",
        "DROP TABLE charge_before",
        "CREATE INDEX charge_id ON charge (id)",
        "CREATE INDEX charge_content ON charge (content)",
        "CREATE INDEX charge_person ON charge (person) WHERE person IS NOT NULL",
    ),
    (  # sums of what was charged often, and indexes that find what one release was charged
        """CREATE TABLE spent (
            space TEXT NOT NULL,
            name {bytes} NOT NULL,
            amount TEXT NOT NULL,
            releases BIGINT NOT NULL,
            PRIMARY KEY (name, space))""",
        "DROP INDEX charge_id",
        "DROP INDEX charge_content",
        "DROP INDEX charge_person",
        "CREATE INDEX charge_id ON charge (id, entry)",
        "CREATE INDEX charge_content ON charge (content, entry)",
        "CREATE INDEX charge_person ON charge (person, entry) WHERE person IS NOT NULL",
    ),
    (  # one currency: the balance of each record and person, and what it was in earlier versions
        "DROP TABLE spent",
        "DROP INDEX charge_id",
        "DROP INDEX charge_content",
        "DROP INDEX charge_person",
        "CREATE INDEX charge_draw ON charge (id, draw)",
        "CREATE INDEX charge_person ON charge (person, draw) WHERE person IS NOT NULL",
        """CREATE TABLE balance (
            name {bytes} PRIMARY KEY,
            person BIGINT NOT NULL,
            amount TEXT NOT NULL,
            releases BIGINT NOT NULL,
            unbounded BIGINT NOT NULL){rowless}""",
        """CREATE TABLE legacy (
            name {bytes} PRIMARY KEY,
            amount TEXT NOT NULL,
            releases BIGINT NOT NULL,
            unbounded BIGINT NOT NULL){rowless}""",
        "DROP INDEX entry_release",
        "ALTER TABLE entry RENAME TO entry_before",
        """CREATE TABLE entry (
            number BIGINT PRIMARY KEY,
            release TEXT NOT NULL,
            kind TEXT NOT NULL CHECK (kind IN ('open', 'charge', 'confirm', 'void', 'convert')),
            written TEXT NOT NULL,
            body TEXT NOT NULL,
            charges BIGINT NOT NULL,
            hash {bytes} NOT NULL,
            space TEXT)""",
        "INSERT INTO entry SELECT number, release, kind, written, body, charges, hash, space "
        "FROM entry_before",
        "DROP TABLE entry_before",
        "CREATE INDEX entry_release ON entry (release, kind)",
    ),
)
SETTLED = 4  # the version from which on there is one currency
CHARGE = ("entry", "id", "content", "person", "draw", "words", "amount")  # columns, in order

# SQLite is given many hashes, or many charges, as one value, and cuts it into pieces of one size:
# to bind each of them takes longer than to look it up.
_PIECES = "WITH RECURSIVE piece(at) AS (SELECT 1 UNION ALL SELECT at + {size} FROM piece LIMIT ?)"
_DRAWS = f"""{_PIECES.format(size=48)} SELECT substr(?, at, 16) AS id,
    substr(?, at + 16, 16) AS draw,
    nullif(substr(?, at + 32, 16), zeroblob(16)) AS person FROM piece"""
_HASHES = f"{_PIECES.format(size=HASH_BYTES)} SELECT substr(?, at, {HASH_BYTES}) FROM piece"
_NOBODY = bytes(HASH_BYTES)  # in a packed charge, in place of a person
_TOGETHER = 1024  # charges; a value has at most a gigabyte
_PACKED = b"%b%b%b%b%20d%20d"  # a charge: four hashes of 16 bytes, two numbers of 20 digits
_INSERT = f"""INSERT INTO charge ({", ".join(CHARGE)})
    {_PIECES.format(size=104).replace("?", ":count")} SELECT :entry,
    substr(:all, at, 16), substr(:all, at + 16, 16),
    nullif(substr(:all, at + 32, 16), zeroblob(16)),
    substr(:all, at + 48, 16), CAST(substr(:all, at + 64, 20) AS INTEGER),
    CAST(substr(:all, at + 84, 20) AS INTEGER) FROM piece"""


AskedDraw = tuple[bytes, bytes, bytes | None]  # a record, its draw, and for whom


def _place(draw: AskedDraw) -> tuple[bytes, bytes]:
    return draw[:2]


class Store(ABC):
    """A database that a ledger writes to. Threads may share it: they take turns."""

    place: str  # what to call it in messages; never a password
    _words: ClassVar[dict[str, str]]  # what MIGRATIONS call {bytes}, {key} and so on
    _about: ClassVar[str]  # finds the table of that name
    _connection: Any

    def __init__(self) -> None:
        self._turn = threading.RLock()

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """A context in which this thread alone writes; commits at its end, or not at all. One
        inside another commits with it, and is undone alone if it fails.
        """

    def among(
        self,
        sql: str,
        lists: Sequence[Sequence[bytes]],
        values: Sequence[Any] = (),
        before: Sequence[Any] = (),
    ) -> list[tuple[Any, ...]]:
        """The rows of a statement that says `{0}` for being one of the first list of hashes, `{1}`
        for being one of the second. Its ? have the values `before` these and after them.
        """
        if not lists[0]:
            return []
        asked = [self._one_of(each) for each in lists]
        found = [value for _, given in asked for value in given]
        return self.run(sql.format(*(mark for mark, _ in asked)), (*before, *found, *values))

    def asked(
        self, sql: str, draws: Sequence[AskedDraw], values: Sequence[Any] = ()
    ) -> list[tuple[Any, ...]]:
        """The rows of a statement that says `{0}` for a table of these records, draws and people.
        Its ? have the values, all before that.
        """
        table, given = self._table_of(draws)
        return self.run(sql.format(f"({table})"), (*values, *given))

    @abstractmethod
    def _table_of(self, draws: Sequence[AskedDraw]) -> tuple[str, Sequence[Any]]:
        """The SQL for a table of such draws, and what its ? are."""

    @abstractmethod
    def _one_of(self, hashes: Sequence[bytes]) -> tuple[str, Sequence[Any]]:
        """The SQL for being one of some hashes, and what its ? are."""

    def run(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """One statement with ? for values; the rows it gives, if any."""
        with self._reached():
            cursor = self._connection.execute(self._spelled(sql), tuple(values))
            return cursor.fetchall() if cursor.description else []

    def run_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """One statement for each row of values; within a transaction."""
        with closing(self._connection.cursor()) as cursor:
            cursor.executemany(self._spelled(sql), rows)

    @abstractmethod
    def insert_charges(self, entry: int, rows: Sequence[Sequence[Any]]) -> None:
        """Write an entry's rows of the other columns of `CHARGE`; within a transaction."""

    def version(self) -> int:
        """How many of MIGRATIONS it has seen."""
        if not self.run(self._about):
            return 0
        return int(self.run("SELECT value FROM about WHERE name = 'version'")[0][0])

    def close(self) -> None:
        """Let go of the database, after what another thread is writing."""
        with self._turn:
            self._connection.close()

    def _reached(self) -> AbstractContextManager[Any]:
        """This thread's turn at the connection."""
        return self._turn

    def _spelled(self, sql: str) -> str | bytes:
        return sql.format(**self._words)


class SqliteStore(Store):
    """One file; other processes may read while one writes."""

    _words: ClassVar = {
        "bytes": "BLOB",
        "key": "INTEGER PRIMARY KEY AUTOINCREMENT",
        "plain_key": "INTEGER PRIMARY KEY",
        "rowless": " WITHOUT ROWID",
    }
    _about = "SELECT name FROM sqlite_master WHERE name = 'about'"

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.place = str(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # SQLite gives its other files the permissions of this one. A file that is there stays
            # closed: closing it would drop the locks of this process's other connections.
            with suppress(FileExistsError):
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            self._connection = sqlite3.connect(
                path, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False
            )
            try:
                for setting in _SETTINGS:
                    self._set(setting)
            except BaseException:
                self._connection.close()
                raise
        except sqlite3.DatabaseError as error:
            raise InputError(f"{path} is not a ledger: {error}") from None
        except OSError as error:
            raise OutputError(
                f"cannot write the ledger {path}: {error.strerror}. Name another place for the "
                "ledger, or release without one"
            ) from None

    def _set(self, setting: str) -> None:
        """SQLite does not wait where two connections make a new file's log at the same time."""
        until = time.monotonic() + _WAIT_SECONDS
        while True:
            try:
                self._connection.execute(f"PRAGMA {setting}")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
            time.sleep(0.01)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """BEGIN IMMEDIATE: the write lock from the start. Inside another, a savepoint of it."""
        with self._turn:  # another thread's transaction is none to be inside of
            if self._connection.in_transaction:
                begin, commit = "SAVEPOINT inner_part", "RELEASE inner_part"
                rollback: tuple[str, ...] = ("ROLLBACK TO inner_part", commit)
            else:
                begin, commit = "BEGIN IMMEDIATE", "COMMIT"
                rollback = ("ROLLBACK",)
            try:
                # Ctrl-C while this waits for another writer is raised when it has begun.
                self._connection.execute(begin)
                yield
                self._connection.execute(commit)
            except BaseException as error:
                if self._connection.in_transaction:  # SQLite may have rolled back by itself
                    for statement in rollback:
                        self._connection.execute(statement)
                if isinstance(error, sqlite3.OperationalError):  # a full disk, for one
                    reason = error.sqlite_errorcode & 0xFF  # without its details
                    advice = _ADVICE.get(reason, "check its disk")
                    raise OutputError(
                        f"the ledger {self.place} cannot be written: {error}; {advice}, then try "
                        "again"
                    ) from None
                raise

    def _table_of(self, draws: Sequence[AskedDraw]) -> tuple[str, Sequence[Any]]:
        packed = b"".join(
            [id + draw + (who or _NOBODY) for id, draw, who in sorted(draws, key=_place)]
        )
        return _DRAWS, (len(draws), *[packed] * 3)

    def _one_of(self, hashes: Sequence[bytes]) -> tuple[str, Sequence[Any]]:
        # Sorted: neighbors in the index are looked up one after the other.
        return f"IN ({_HASHES})", (len(hashes), b"".join(sorted(hashes)))

    def insert_charges(self, entry: int, rows: Sequence[Sequence[Any]]) -> None:
        """One value for many rows, which SQLite cuts while other threads run. A statement for each
        row takes twice as long, and Python's lock is taken back for each.
        """
        for start in range(0, len(rows), _TOGETHER):
            packed = [
                _PACKED % (id, content, person or _NOBODY, draw, words, amount)
                for id, content, person, draw, words, amount in rows[start : start + _TOGETHER]
            ]
            values = {"count": len(packed), "all": b"".join(packed), "entry": entry}
            self._connection.execute(_INSERT, values)


class PostgresStore(Store):
    """A PostgreSQL database, named by a URL (extra `postgres`)."""

    _words: ClassVar = {
        "bytes": "BYTEA",
        "key": "BIGSERIAL PRIMARY KEY",
        "plain_key": "BIGSERIAL PRIMARY KEY",
        "rowless": "",
    }
    _about = (
        "SELECT tablename FROM pg_tables WHERE tablename = 'about' "
        "AND schemaname = current_schema()"
    )
    _types = ("int8", "bytea", "bytea", "bytea", "bytea", "int8", "int8")  # of CHARGE

    def __init__(self, url: str) -> None:
        super().__init__()
        with needs("a ledger in PostgreSQL needs psycopg", "postgres"):
            import psycopg
        self._connect = partial(psycopg.connect, url, autocommit=True, connect_timeout=10)
        self._lost = psycopg.OperationalError
        try:
            self._connection = self._connect()
        except self._lost as error:
            reason = str(error).strip().splitlines()[-1]
            raise InputError(f"cannot open the ledger in PostgreSQL: {reason}") from None
        self._inside = False  # a transaction
        info = self._connection.info
        self.place = f"postgresql://{info.host}:{info.port}/{info.dbname}"

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """An advisory lock, let go at the end of the transaction, makes writers take turns."""
        with self._reached():
            before, self._inside = self._inside, True
            try:
                with self._connection.transaction():
                    self._connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
                    yield
            finally:
                self._inside = before

    @contextmanager
    def _reached(self) -> Iterator[None]:
        """A connection that broke fails what used it; the next use makes another."""
        with self._turn:
            try:
                if self._connection.broken and not self._inside:
                    self._connection = self._connect()
                yield
            except self._lost as error:
                reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
                raise OutputError(
                    f"the ledger {self.place} cannot be reached: {reason}; try again when its "
                    "server answers"
                ) from None

    def _spelled(self, sql: str) -> bytes:
        return sql.format(**self._words).replace("?", "%s").encode()

    def _table_of(self, draws: Sequence[AskedDraw]) -> tuple[str, Sequence[Any]]:
        names = (f"unnest(?::bytea[]) AS {name}" for name in ("id", "draw", "person"))
        return f"SELECT {', '.join(names)}", [list(column) for column in zip(*draws, strict=True)]

    def _one_of(self, hashes: Sequence[bytes]) -> tuple[str, Sequence[Any]]:
        return "= ANY(?)", [list(hashes)]

    def insert_charges(self, entry: int, rows: Sequence[Sequence[Any]]) -> None:
        """COPY: several times faster than INSERT."""
        columns = f"COPY charge ({', '.join(CHARGE)}) FROM STDIN (FORMAT BINARY)"
        with self._connection.cursor() as cursor, cursor.copy(columns.encode()) as copy:
            copy.set_types(self._types)
            for row in rows:
                copy.write_row((entry, *row))


def migrate(store: Store, migrations: Sequence[Sequence[str]] = MIGRATIONS) -> None:
    """Bring a store up to the newest version, or refuse one that is newer than this program."""
    with store.transaction():
        version = store.version()
        if version > len(migrations):
            raise InputError(
                f"the ledger {store.place} has version {version}; this program knows "
                f"{len(migrations)}: use a newer inkblur"
            )
        for statements in migrations[version:]:
            for statement in statements:
                store.run(statement)
        if version < len(migrations):
            store.run("DELETE FROM about WHERE name = 'version'")
            store.run("INSERT INTO about VALUES ('version', ?)", (str(len(migrations)),))
