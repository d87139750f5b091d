"""The gate: who asks, how many wait and how much is sent are judged before anything is read,
and a request that says a thing twice is read by nobody.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders, QueryParams
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from inkblur.errors import ParameterError
from inkblur.service.metrics import ServiceMetrics
from inkblur.service.page import HEADERS
from inkblur.service.problems import ANSWERS, Problem, fault, log_place, problem
from inkblur.service.tokens import LOCAL, Caller, Role, Tokens
from inkblur.spec import each_key_once

UPLOADS = "/v1/uploads"  # a file is streamed to disk, with a limit of its own
# By the path's beginning, where there are tokens; any other path needs none.
_ROLES = {"/v1/ledger": Role.LEDGER, "/v1/": Role.RELEASE, "/metrics": Role.OPERATOR}
_BODY_SECONDS = 30.0  # for a body that is held in memory to arrive
_STILL_SECONDS = 30.0  # without a byte of a file sent or taken: a place in the queue is free again
_SLOW = "the request did not arrive in time; send it again"
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """What is refused with 413 and 429."""

    body: int = 8 << 20  # bytes of a request that is held in memory
    upload: int = 1 << 30  # bytes of a file
    waiting: int = 32  # requests at a time, under /v1/


class _NotTaken(Exception):
    """Whoever asked for a file does not take it."""


class Gate:
    """ASGI middleware around everything. What it lets through carries `request.state.caller`."""

    def __init__(
        self, app: ASGIApp, *, tokens: Tokens | None, limits: RequestLimits, metrics: ServiceMetrics
    ) -> None:
        self._app, self._tokens, self._limits, self._metrics = app, tokens, limits, metrics
        self._waiting = 0
        self._own: Counter[str] = Counter()  # by caller

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, count, and say nothing of what was sent."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        try:
            await self._admitted(scope, receive, sending)
        except asyncio.CancelledError:  # the server stops, and has waited long enough
            if not status:
                await problem(
                    HTTPStatus.SERVICE_UNAVAILABLE,
                    "stopping",
                    "the server is stopping; send it again when it is back. What was charged "
                    "already costs nothing more if the server keeps its key, and again if not",
                )(scope, receive, sending)
        except (Problem, ClientDisconnect) as error:
            if not status:
                await ANSWERS[type(error)](error)(scope, receive, sending)
        except _NotTaken:  # in the middle of an answer: nobody is there to be told
            pass
        except Exception as error:
            log_place(error)
            if not status:
                await fault()(scope, receive, sending)
        route = getattr(scope.get("route"), "path", "other")
        self._metrics.requests.labels(route, str(status)).inc()
        self._metrics.seconds.labels(route).observe(time.perf_counter() - began)

    async def _admitted(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {
            key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]
        }
        path: str = scope["path"]
        scope.setdefault("state", {})["caller"] = self._caller(path, headers)
        if not path.startswith("/v1/"):
            await self._app(scope, _empty, send)
            return
        caller: Caller = scope["state"]["caller"]
        self._refuse_too_much(path, headers, caller)
        _refuse_repeated_settings(scope["query_string"])
        self._waiting += 1
        self._own[caller.name] += 1
        self._metrics.waiting.set(self._waiting)
        try:
            if path == UPLOADS:
                receive = _prompt(receive)
            else:
                body = await _read(Request(scope, receive), self._limits.body)
                _refuse_repeats(body)
                receive = _replayed(body, receive)
            if path.startswith(UPLOADS):
                send = _taken(send)
            await self._app(scope, receive, send)
        finally:
            self._waiting -= 1
            self._own[caller.name] -= 1
            self._metrics.waiting.set(self._waiting)

    def _caller(self, path: str, headers: dict[str, str]) -> Caller:
        """Who asks, if they may."""
        reason = refusal(headers, open_to_all=self._tokens is None)
        if reason is not None:
            raise Problem(HTTPStatus.FORBIDDEN, "origin", reason)
        role = next((role for start, role in _ROLES.items() if path.startswith(start)), None)
        if self._tokens is None or role is None:
            return LOCAL
        caller = self._tokens.caller(headers.get("authorization", ""))
        if caller is None:
            raise Problem(
                HTTPStatus.UNAUTHORIZED,
                "token",
                "send a token of this server: `Authorization: Bearer TOKEN`",
                {"WWW-Authenticate": "Bearer"},
            )
        if role not in caller.roles:
            raise Problem(
                HTTPStatus.FORBIDDEN, "role", f"this token does not have the role {role.value}"
            )
        return caller

    def _refuse_too_much(self, path: str, headers: dict[str, str], caller: Caller) -> None:
        of_one = self._limits.waiting
        if self._tokens is not None:  # there is room for others
            of_one = (of_one + 1) // 2
        if self._waiting >= self._limits.waiting or self._own[caller.name] >= of_one:
            raise Problem(
                HTTPStatus.TOO_MANY_REQUESTS,
                "queue",
                f"{min(self._waiting, of_one)} requests are waiting already; send it again later",
                {"Retry-After": "1"},
            )
        most = self._limits.upload if path == UPLOADS else self._limits.body
        given = headers.get("content-length", "0")
        if not given.isdecimal() or int(given) > most:
            raise _too_large(most)


def _too_large(most: int) -> Problem:
    return Problem(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "size",
        f"a request here has at most {most:,} bytes; send less at a time",
        {"Connection": "close"},
    )


async def _read(request: Request, most: int) -> bytes:
    """The body; raises as soon as it is too long or too slow, or ends before its end."""
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            async for part in request.stream():
                parts.append(part)
                size += len(part)
                if size > most:
                    raise _too_large(most)
    except TimeoutError:
        raise Problem(HTTPStatus.REQUEST_TIMEOUT, "slow", _SLOW) from None
    return b"".join(parts)


def _refuse_repeats(body: bytes) -> None:
    """Of a key that is there twice, every reader of JSON takes the last without a word. The key is
    not named: it may be anything.
    """
    try:
        json.loads(body, object_pairs_hook=each_key_once)
    except ParameterError:
        raise Problem(
            HTTPStatus.UNPROCESSABLE_ENTITY, "request", "the body has a key twice; remove one"
        ) from None
    except (ValueError, RecursionError):
        return  # not JSON, which whoever reads it will say


def _refuse_repeated_settings(query: bytes) -> None:
    """The same in an address."""
    times = Counter(name for name, _ in QueryParams(query).multi_items())
    if any(count > 1 for count in times.values()):
        raise Problem(
            HTTPStatus.UNPROCESSABLE_ENTITY, "request", "the query has a setting twice; remove one"
        )


def _prompt(receive: Receive) -> Receive:
    """A body of any length, as long as it keeps coming."""

    async def next_part() -> Message:
        try:
            async with asyncio.timeout(_STILL_SECONDS):
                return await receive()
        except TimeoutError:
            raise Problem(HTTPStatus.REQUEST_TIMEOUT, "slow", _SLOW) from None

    return next_part


def _taken(send: Send) -> Send:
    """An answer of any length, as long as it is taken."""

    async def send_part(message: Message) -> None:
        try:
            async with asyncio.timeout(_STILL_SECONDS):
                await send(message)
        except TimeoutError:
            raise _NotTaken from None

    return send_part


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body again for the application, then whatever else comes."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return again


async def _empty() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


def is_loopback(host: str) -> bool:
    """Whether an address to listen on can be reached from this machine alone.

    >>> is_loopback("127.0.0.1"), is_loopback("0.0.0.0"), is_loopback("")
    (True, False, False)
    """
    return host in _LOOPBACK


def refusal(headers: dict[str, str], *, open_to_all: bool) -> str | None:
    """Why a browser must not send this request; `open_to_all` where no token is asked for.

    A page on another site must not ask in its reader's name, so other origins are refused. Where
    whoever reaches the loopback address may ask, so is a host name that is not this machine's: a
    foreign name may be made to point there (DNS rebinding).
    """
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
