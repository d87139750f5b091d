"""Who may ask for what: a file of names, roles and tokens."""

from __future__ import annotations

import hashlib
import hmac
import re
import stat
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from starlette.requests import Request

from inkblur.errors import InputError

_SHORTEST = 32  # characters of a token: 128 bits in hexadecimal digits
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class Role(Enum):
    """What a token allows."""

    RELEASE = "release"  # previews and releases
    LEDGER = "ledger"  # reading what was released, by anyone
    OPERATOR = "operator"  # reading the server's counts, over all callers


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks. Records, uploads and people belong to the caller's name, not to its token."""

    name: str
    roles: frozenset[Role]


LOCAL = Caller("", frozenset(Role))  # whoever can reach the loopback address of this machine


def caller_of(request: Request) -> Caller:
    """Who sent a request that the gate has let through."""
    caller = request.state.caller
    assert isinstance(caller, Caller)
    return caller


class Tokens:
    """The callers of a token file. Tokens are kept and compared as hashes of equal length."""

    def __init__(self, callers: dict[bytes, Caller]) -> None:
        self._callers = callers

    def caller(self, authorization: str) -> Caller | None:
        """Who sent this `Authorization` header. Takes as long for a near miss as for any other."""
        kind, _, token = authorization.partition(" ")
        digest = _digest(token.strip())
        found = None
        for known, caller in self._callers.items():
            if hmac.compare_digest(known, digest):
                found = caller
        return found if kind.lower() == "bearer" else None


def read_tokens(path: Path) -> Tokens:
    """The tokens of a file with lines such as `alice release,ledger TOKEN`; # begins a comment.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "tokens")
    ...     _ = file.write_text(f"alice release {'0123456789abcdef' * 2}")
    ...     file.chmod(0o600)
    ...     tokens = read_tokens(file)
    >>> tokens.caller(f"Bearer {'0123456789abcdef' * 2}").name
    'alice'
    """
    try:
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise InputError(f"others may read the token file {path}: chmod 600 it")
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise InputError(f"cannot read the token file {path}: {reason}") from None
    callers: dict[bytes, Caller] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        where = f"line {number} of {path}"
        try:
            name, roles, token = line.split()
            allowed = frozenset(Role(role) for role in roles.split(","))
        except ValueError:
            raise InputError(
                f"{where} must read NAME ROLES TOKEN, with one or more of the roles "
                f"{', '.join(role.value for role in Role)}: alice release,ledger 3f..."
            ) from None
        if not _NAME.fullmatch(name) or name in {known.name for known in callers.values()}:
            raise InputError(
                f"{where}: a name is up to 64 letters, digits, dots, dashes and underscores, and "
                "stands there once"
            )
        if len(token) < _SHORTEST or len(set(token)) < 8:
            raise InputError(
                f"{where}: the token is easily guessed; make one with `openssl rand -hex 32`"
            )
        if _digest(token) in callers:
            raise InputError(f"{where}: another name has this token; each needs one of its own")
        callers[_digest(token)] = Caller(name, allowed)
    if not callers:
        raise InputError(f"the token file {path} holds no token")
    return Tokens(callers)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
