"""The ledger's own secret: without it, what a ledger holds names no record and no person."""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress
from pathlib import Path

from inkblur.errors import InputError, OutputError
from inkblur.rng import write_secret

VARIABLE = "INKBLUR_LEDGER_SECRET"
BYTES = 32
_SQLITE = b"SQLite format 3\0"  # how its files begin
HASH_BYTES = 16  # 2^64 records before two are likely to share a hash


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
