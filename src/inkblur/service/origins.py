"""A page on another site must not ask this server for anything in its reader's name.

Without a token file, whoever reaches the loopback address may ask; a browser on this machine does,
for any page that it shows. So requests from other origins are refused, and so is a host name that
is not this machine's: a foreign name may be made to point at the loopback address (DNS rebinding).
"""

from __future__ import annotations

from urllib.parse import urlsplit

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def is_loopback(host: str) -> bool:
    """Whether an address to listen on can be reached from this machine alone.

    >>> is_loopback("127.0.0.1"), is_loopback("0.0.0.0"), is_loopback("")
    (True, False, False)
    """
    return host in _LOOPBACK


def refusal(headers: dict[str, str], *, open_to_all: bool) -> str | None:
    """Why a browser must not send this request; `open_to_all` where no token is asked for."""
    host = headers.get("host", "")
    try:
        named, origin = urlsplit(f"//{host}").hostname, urlsplit(headers.get("origin", f"//{host}"))
    except ValueError:
        return "the Host or Origin header is no address"
    if open_to_all and named not in _LOOPBACK:
        return "this server answers to localhost, 127.0.0.1 and [::1] alone"
    if origin.netloc != host:
        return "requests from other sites are refused"
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return "requests from other sites are refused"
    return None
