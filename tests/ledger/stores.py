"""A place for a ledger in each store; PostgreSQL is a real server, started for the tests."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from inkblur.ledger.secret import VARIABLE


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
