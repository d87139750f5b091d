"""/v1/uploads: a file in, its release, report and statement out."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from inkblur.service.schemas import FileSettings
from inkblur.service.state import Service, caller_of

FileSuffix = Annotated[str, Query(pattern=r"^((txt|csv|tsv|jsonl|ndjson)(\.(gz|zst))?|parquet)$")]
FileEncoding = Literal["utf-8", "cp1252", "latin-1", "utf-16"]
ResultPart = Literal["output", "report", "statement"]
_BYTES = "application/octet-stream"  # nothing is shown by the browser in this server's name


def upload_routes(service: Service) -> APIRouter:
    """The routes of one server."""
    routes = APIRouter(prefix="/v1/uploads")
    uploads = service.uploads

    @routes.post(
        "",
        status_code=201,
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {_BYTES: {"schema": {"type": "string", "format": "binary"}}},
            }
        },
    )
    async def receive(
        request: Request, suffix: FileSuffix, encoding: FileEncoding = "utf-8"
    ) -> dict[str, Any]:
        """Upload a file: its bytes are the body. `suffix` says what it is: csv, jsonl.gz..."""
        parts = request.stream()
        return (await uploads.receive(caller_of(request), suffix, parts, encoding)).to_json()

    @routes.get("/{name}")
    async def state(request: Request, name: str) -> dict[str, Any]:
        """How far it is."""
        return uploads.find(caller_of(request), name).to_json()

    @routes.delete("/{name}", status_code=204)
    async def delete(request: Request, name: str) -> Response:
        """Delete it now."""
        uploads.delete(uploads.find(caller_of(request), name))
        return Response(status_code=204)

    @routes.post("/{name}/preview")
    async def preview(request: Request, name: str, asked: FileSettings) -> dict[str, Any]:
        """Five rows as they are and released, and what else to know first. No release."""
        upload = uploads.find(caller_of(request), name)
        return await uploads.preview(upload, asked.spec(service.tables, encoding=upload.encoding))

    @routes.post("/{name}/release", status_code=202)
    async def release(request: Request, name: str, asked: FileSettings) -> dict[str, Any]:
        """Release it; ask for its state until it is done."""
        upload = uploads.find(caller_of(request), name)
        uploads.start(upload, asked.spec(service.tables, encoding=upload.encoding))
        return upload.to_json()

    @routes.get(
        "/{name}/{part}",
        response_class=StreamingResponse,
        responses={200: {"content": {_BYTES: {}}, "description": "The file"}},
    )
    async def download(request: Request, name: str, part: ResultPart) -> Response:
        """A result. It is deleted when all of it was sent."""
        upload = uploads.find(caller_of(request), name)
        file = uploads.result(upload, part)
        return _Download(file, uploads.pieces(upload, part, file))

    return routes


class _Download(StreamingResponse):
    """A file, closed however its sending ends."""

    def __init__(self, file: BinaryIO, pieces: AsyncIterator[bytes]) -> None:
        headers = {
            "Content-Disposition": f'attachment; filename="{Path(file.name).name}"',
            "Content-Length": str(os.fstat(file.fileno()).st_size),
        }
        super().__init__(pieces, headers=headers, media_type=_BYTES)
        self._file = file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._file:
            await super().__call__(scope, receive, send)
