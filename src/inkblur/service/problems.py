"""Every refusal as one JSON shape: what is wrong, and what to do, without a word of any text."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from inkblur.errors import PARAMETER, BudgetExceeded, InkblurError, OutputError, PrivacyError

# What the library advises and a request cannot ask for: it is released whole or not at all.
_NOT_HERE = {
    ", or run it anyway with `accept_weak=True`": "",
    "; `epsilon=`; or `level=` with `radius=`": "; or `epsilon=`",
    ", or limit what a person may spend with `person_budget=`": "",
    " out with `skip_public=True`": " out",
    ", or `id_column=` for the rows of a table,": "",
}
_SHOWN = 5  # problems of one body
FAULT = "the server failed; its log has the place, and nothing of the texts"
log = logging.getLogger("inkblur.service")


class Problem(Exception):
    """A request that the service itself refuses."""

    def __init__(
        self, status: int, kind: str, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.kind, self.headers = status, kind, headers


def problem(
    status: int, kind: str, message: str, headers: Mapping[str, str] | None = None, **more: Any
) -> JSONResponse:
    """The one shape."""
    body = {"error": {"kind": kind, "message": message, **more}}
    return JSONResponse(body, status, headers=dict(headers or {}))


def log_place(error: Exception) -> None:
    """Its message may quote a text: only where it arose is logged."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    log.error("%s at %s:%s", type(error).__name__, where.filename, where.lineno)


def fault() -> JSONResponse:
    """What the server itself did wrong."""
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, "fault", FAULT)


def gone() -> JSONResponse:
    """For the record: whoever sent half a request does not read the answer."""
    return problem(HTTPStatus.BAD_REQUEST, "gone", "the request ended before all of it arrived")


def in_fields(message: str) -> str:
    """A message of the library with the fields of a request for its parameters.

    >>> in_fields('leave out `id_column=`, or use `unit="text"`')
    'leave out `id_column`, or use `unit`: "text"'
    """
    for advice, instead in _NOT_HERE.items():
        message = message.replace(advice, instead)
    return PARAMETER.sub(lambda m: f"`{m[1]}`: {m[2]}" if m[2] else f"`{m[1]}`", message)


def of_library(error: InkblurError) -> JSONResponse:
    """What the library refused."""
    message = in_fields(str(error))
    if isinstance(error, BudgetExceeded):
        return problem(HTTPStatus.CONFLICT, "budget", message, left=error.left)
    if isinstance(error, OutputError):
        return problem(HTTPStatus.INSUFFICIENT_STORAGE, "storage", message)
    kind = "privacy" if isinstance(error, PrivacyError) else "request"
    return problem(HTTPStatus.UNPROCESSABLE_ENTITY, kind, message)


def of_body(error: ValidationError | RequestValidationError) -> JSONResponse:
    """What the schema refused: where and why, never what was sent there."""
    found = [
        f"{_place(each)}: {each['msg'].removeprefix('Value error, ')}"
        for each in error.errors()[:_SHOWN]
    ]
    return problem(HTTPStatus.UNPROCESSABLE_ENTITY, "request", "; ".join(found))


def _place(found: Mapping[str, Any]) -> str:
    """Where in a body. Below the fields of a setting a name may be anything, so it is not shown."""
    kinds = ("body", "query", "path", "name", "free")
    steps = [step for step in found["loc"] if step not in kinds]
    if found["type"] == "extra_forbidden":
        return "an unknown field"
    named = 2 if steps[:1] == ["setting"] else 1
    shown = [str(each) for place, each in enumerate(steps) if place < named or type(each) is int]
    return ".".join(shown) or "the body"


def _of_http(error: HTTPException) -> JSONResponse:
    """What Starlette refused: no such path, no such method."""
    kind = HTTPStatus(error.status_code).phrase.lower()
    return problem(error.status_code, kind, f"{kind}: see /openapi.json", error.headers)


ANSWERS: dict[type[Exception], Callable[[Any], JSONResponse]] = {
    InkblurError: of_library,
    Problem: lambda error: problem(error.status, error.kind, str(error), error.headers),
    RequestValidationError: of_body,  # a query or path that is not as described
    HTTPException: _of_http,
    ClientDisconnect: lambda error: gone(),  # while a file arrives
    Exception: lambda error: fault(),  # Starlette raises it again, and the gate logs its place
}


def add_handlers(app: FastAPI) -> None:
    """Answer every exception in the one shape."""
    for kind, answer in ANSWERS.items():

        async def handler(
            request: Request, error: Exception, answer: Callable[[Any], JSONResponse] = answer
        ) -> JSONResponse:
            return answer(error)

        app.add_exception_handler(kind, handler)
