"""A place for a ledger in each store; PostgreSQL is a real server, started for the tests."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from inkblur.ledger.store import (
    VARIABLE,
    PostgresStore,
    SqliteStore,
    secret_beside,
    secret_from_environment,
)


def postgres_programs() -> Path | None:
    """The folder of initdb and pg_ctl: Debian keeps it off the PATH."""
    candidates = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"), reverse=True)
    found = shutil.which("pg_ctl")
    if candidates:
        return candidates[0].parent
    return Path(found).parent if found else None


@contextmanager
def postgres() -> Iterator[str]:
    """A PostgreSQL server of our own on the loopback address: its URL."""
    programs = postgres_programs()
    assert programs is not None
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    data = Path(tempfile.mkdtemp())  # not pytest's own folder, which no other user may enter
    prefix: list[str] = []
    if os.geteuid() == 0:  # the server refuses to run as root
        shutil.chown(data, "postgres", "postgres")
        prefix = ["runuser", "-u", "postgres", "--"]

    def run(*command: str) -> None:
        done = subprocess.run([*prefix, *command], capture_output=True, text=True, cwd="/")
        assert done.returncode == 0, done.stderr

    run(str(programs / "initdb"), "-D", str(data), "-U", "inkblur", "-A", "trust")
    options = f"-p {port} -h 127.0.0.1 -k {data} -c fsync=off"
    control = [str(programs / "pg_ctl"), "-D", str(data), "-w"]
    run(*control, "-o", options, "-l", str(data / "log"), "start")
    try:
        yield f"postgresql://inkblur@127.0.0.1:{port}/postgres"
    finally:
        run(*control, "-m", "immediate", "stop")
        shutil.rmtree(data)


def fresh_secret() -> dict[str, str]:
    """An environment with a secret of its own."""
    return {**os.environ, VARIABLE: secrets.token_hex(32)}


# What versions 1 to 3 did to a store, each after the one before.
EARLIER: tuple[tuple[str, ...], ...] = (
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
)


Old = tuple[str, str, str, str, str, int]  # space, id, content, person, draw, micro-units


def write_first_version(
    place: str, charges: list[Old], spec: dict[str, object] | None = None, version: int = 1
) -> None:
    """A ledger as version 1 wrote it, with its own statements, a release for each charge; and as a
    later version opened it.
    """
    url = place.startswith("postgresql")
    store = PostgresStore(place) if url else SqliteStore(Path(place))
    keys = {
        "key": "BIGSERIAL PRIMARY KEY" if url else "INTEGER PRIMARY KEY AUTOINCREMENT",
        "plain_key": "BIGSERIAL PRIMARY KEY" if url else "INTEGER PRIMARY KEY",
    }

    def run(statements: tuple[str, ...]) -> None:
        for statement in statements:
            for name, words in keys.items():
                statement = statement.replace(f"{{{name}}}", words)
            store.run(statement)

    run(EARLIER[0])
    secret = secret_from_environment() or secret_beside(Path(place).with_name("first.db"))
    if not url:
        Path(place).with_name("first.db.secret").rename(f"{place}.secret")
    check = secret.hash("check", "inkblur ledger").hex()
    store.run("INSERT INTO about VALUES ('check', ?)", (check,))
    store.run("INSERT INTO about VALUES ('version', ?)", (str(version),))
    before, number = b"\0" * 32, 0
    for turn, (space, id, content, person, draw, amount) in enumerate(charges):
        release = f"r{turn}"
        for kind in ("open", "charge", "confirm"):
            number += 1
            body = json.dumps({"amount": amount, "records": 1, "words": 10})
            if kind == "open":
                body = json.dumps({"space": space, "spec": spec or {}})
            row = [
                secret.hash("id", id),
                secret.hash("content", content),
                secret.hash("person", person),
                secret.hash("draw", draw, "text", id, content, ""),
            ]
            packed = f"{len(release)} {len(space)} {release}{space} 10 {amount} ".encode()
            packed += row[0] + row[1] + row[3] + b"+" + row[2]
            digest = hashlib.blake2b(packed if kind == "charge" else b"", digest_size=32).digest()
            parts = (before, str(number), release, kind, "2026-01-01", body, digest)
            before = secret.hash("entry", *parts, size=32)
            store.run(
                "INSERT INTO entry VALUES (?, ?, ?, '2026-01-01', ?, ?, ?)",
                (number, release, kind, body, int(kind == "charge"), before),
            )
            if kind == "charge":
                store.run(
                    "INSERT INTO charge (entry, release, space, id, content, person, draw, words, "
                    "amount) VALUES (?, ?, ?, ?, ?, ?, ?, 10, ?)",
                    (number, release, space, *row, amount),
                )
    for statements in EARLIER[1:version]:
        run(statements)
    store.close()
