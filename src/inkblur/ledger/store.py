"""Where a ledger lives: SQLite in one file, or PostgreSQL. The same tables, the same SQL.

Writers take turns: a transaction holds the only write lock from its first read to its commit, so a
budget that was checked cannot be spent by somebody else before the charge is written.

What a ledger holds names no record and no person without its own secret, which lies beside it.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import stat
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar

from inkblur.errors import InputError, OutputError, needs
from inkblur.rng import write_secret

VARIABLE = "INKBLUR_LEDGER_SECRET"
BYTES = 32
_SQLITE = b"SQLite format 3\0"  # how its files begin
HASH_BYTES = 16  # 2^64 records before two are likely to share a hash
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

# {bytes} and {rowless} are the two stores' words for the same thing. Sums are text: they may pass
# 64 bits.
VERSION = 4
SCHEMA = (
    """CREATE TABLE entry (
        number BIGINT PRIMARY KEY,
        release TEXT NOT NULL,
        kind TEXT NOT NULL CHECK (kind IN ('open', 'charge', 'confirm', 'void', 'convert')),
        written TEXT NOT NULL,
        body TEXT NOT NULL,
        charges BIGINT NOT NULL,
        hash {bytes} NOT NULL,
        space TEXT)""",
    """CREATE TABLE charge (
        number {key},
        entry BIGINT NOT NULL,
        id {bytes} NOT NULL,
        content {bytes} NOT NULL,
        person {bytes},
        draw {bytes} NOT NULL,
        words BIGINT NOT NULL CHECK (words >= 0),
        amount BIGINT NOT NULL CHECK (amount >= 0))""",
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
    "CREATE INDEX entry_release ON entry (release, kind)",
    "CREATE INDEX charge_draw ON charge (id, draw)",
    "CREATE INDEX charge_person ON charge (person, draw) WHERE person IS NOT NULL",
)
CHARGE = ("entry", "id", "content", "person", "draw", "words", "amount")  # columns, in order

# SQLite is given many hashes, or many charges, as one value, and cuts it into pieces of one size:
# to bind each of them takes longer than to look it up.
_PIECES = "WITH RECURSIVE piece(at) AS (SELECT 1 UNION ALL SELECT at + {size} FROM piece LIMIT ?)"
_DRAWS = f"""{_PIECES.format(size=48)} SELECT substr(?, at, 16) AS id,
    substr(?, at + 16, 16) AS draw,
    nullif(substr(?, at + 32, 16), zeroblob(16)) AS person FROM piece"""
_HASHES = f"{_PIECES.format(size=HASH_BYTES)} SELECT substr(?, at, {HASH_BYTES}) FROM piece"
_NOBODY = bytes(HASH_BYTES)  # in a packed draw, in place of a person

AskedDraw = tuple[bytes, bytes, bytes | None]  # a record, its draw, and for whom


class Secret:
    """Keyed hashes of ids, contents, people and draws, each in a space of its own."""

    def __init__(self, key: bytes) -> None:
        if len(key) != BYTES or len(set(key)) < 8:
            raise InputError(f"the ledger's secret must be {BYTES} random bytes (64 hex digits)")
        self._key = key
        self._started: dict[tuple[str, int], hashlib.blake2b] = {}  # copied: cheaper than made

    def hash(self, kind: str, *parts: str | bytes, size: int = HASH_BYTES) -> bytes:
        """A keyed hash of some parts; `kind` keeps the hashes of ids and contents apart."""
        return self.begun(kind, *parts, size=size).digest()

    def begun(self, kind: str, *parts: str | bytes, size: int = HASH_BYTES) -> hashlib.blake2b:
        """The same hash before more parts: to be copied, and given each of them `framed`."""
        started = self._started.get((kind, size))
        if started is None:
            started = hashlib.blake2b(key=self._key, digest_size=size, person=kind.encode())
            self._started[kind, size] = started
        digest = started.copy()
        for part in parts:
            digest.update(framed(part))
        return digest

    def __repr__(self) -> str:
        return "Secret(...)"


def framed(part: str | bytes) -> bytes:
    """A part of a hash with its length, so that ("ab", "c") is not ("a", "bc")."""
    data = part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass")
    return b"%d:" % len(data) + data


def secret_from_environment() -> Secret | None:
    """The secret that the environment holds as 64 hexadecimal digits, if it does."""
    given = os.environ.get(VARIABLE)
    if given is None:
        return None
    try:
        return Secret(bytes.fromhex(given))
    except ValueError:
        raise InputError(f"{VARIABLE} must be 64 hexadecimal digits") from None


def secret_beside(ledger: Path) -> Secret:
    """The secret in the file next to a ledger; made with it, readable by its owner alone."""
    path = ledger.with_name(ledger.name + ".secret")
    there = ledger.exists()  # looked at first: another process makes the secret first
    try:
        if not path.exists():
            if there:
                raise InputError(_why_no_secret(ledger, path))
            # Never half-written, and another process may be first.
            draft = path.with_name(f"{path.name}.{os.urandom(8).hex()}")
            write_secret(draft)
            try:
                with suppress(FileExistsError):
                    os.link(draft, path)
            finally:
                draft.unlink()
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise InputError(f"others may read the ledger's secret {path}: chmod 600 it")
        return Secret(bytes.fromhex(path.read_text(encoding="ascii").strip()))
    except OSError as error:
        kind, can = (InputError, "read") if path.exists() else (OutputError, "write")
        raise kind(
            f"cannot {can} the ledger's secret {path}: {error.strerror}. Ask its owner, name "
            "another place for the ledger, or release without one"
        ) from None
    except ValueError:
        raise InputError(f"{path} must hold 64 hexadecimal digits") from None


def _why_no_secret(ledger: Path, path: Path) -> str:
    """SQLite may have written the ledger, which an empty file may be too; or it is none."""
    try:
        with ledger.open("rb") as file:
            database = file.read(len(_SQLITE)) in (b"", _SQLITE)
    except OSError:
        database = ledger.is_file()
    if not database:
        return f"{ledger} is not a ledger; name another file, or one to be made"
    return (
        f"the ledger {ledger} has lost its secret {path.name}: put the file back, or set {VARIABLE}"
    )


class Store(ABC):
    """A database that a ledger writes to. Threads may share it: they take turns."""

    place: str  # what to call it in messages; never a password
    _words: ClassVar[dict[str, str]]  # what SCHEMA calls {bytes}, {key} and so on
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
        self, sql: str, names: Collection[bytes], values: Sequence[Any] = ()
    ) -> list[tuple[Any, ...]]:
        """The rows of a statement that says `{0}` for being one of these hashes; its other ? come
        after that.
        """
        if not names:
            return []
        mark, given = self._one_of(names)
        return self.run(sql.format(mark), (*given, *values))

    def asked(
        self, sql: str, draws: Sequence[AskedDraw], values: Sequence[Any] = ()
    ) -> list[tuple[Any, ...]]:
        """The rows of a statement that says `{0}` for a table of these records, draws and people;
        its other ? come before that.
        """
        table, given = self._table_of(draws)
        return self.run(sql.format(f"({table})"), (*values, *given))

    @abstractmethod
    def _table_of(self, draws: Sequence[AskedDraw]) -> tuple[str, Sequence[Any]]:
        """The SQL for a table of such draws, and what its ? are."""

    @abstractmethod
    def _one_of(self, hashes: Collection[bytes]) -> tuple[str, Sequence[Any]]:
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

    def insert_charges(self, entry: int, rows: Sequence[Sequence[Any]]) -> None:
        """Write an entry's rows of the other columns of `CHARGE`; within a transaction."""
        marks = ", ".join("?" * len(CHARGE))
        self.run_many(
            f"INSERT INTO charge ({', '.join(CHARGE)}) VALUES ({marks})",
            [(entry, *row) for row in rows],
        )

    def version(self) -> int:
        """Which version of its tables it has; 0 where it has none."""
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
        "key": "INTEGER PRIMARY KEY",
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
            [id + draw + (who or _NOBODY) for id, draw, who in sorted(draws, key=itemgetter(0, 1))]
        )
        return _DRAWS, (len(draws), *[packed] * 3)

    def _one_of(self, hashes: Collection[bytes]) -> tuple[str, Sequence[Any]]:
        # Sorted: neighbors in the index are looked up one after the other.
        return f"IN ({_HASHES})", (len(hashes), b"".join(sorted(hashes)))


class PostgresStore(Store):
    """A PostgreSQL database, named by a URL (extra `postgres`)."""

    _words: ClassVar = {
        "bytes": "BYTEA",
        "key": "BIGSERIAL PRIMARY KEY",
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

    def _one_of(self, hashes: Collection[bytes]) -> tuple[str, Sequence[Any]]:
        return "= ANY(?)", [list(hashes)]

    def insert_charges(self, entry: int, rows: Sequence[Sequence[Any]]) -> None:
        """COPY: several times faster than INSERT."""
        columns = f"COPY charge ({', '.join(CHARGE)}) FROM STDIN (FORMAT BINARY)"
        with self._connection.cursor() as cursor, cursor.copy(columns.encode()) as copy:
            copy.set_types(self._types)
            for row in rows:
                copy.write_row((entry, *row))
