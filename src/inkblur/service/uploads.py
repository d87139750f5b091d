"""/v1/uploads: a file in; its release, report and statement out.

A file holds true texts, so it stays no longer than it must: on disk with mode 0600, in a folder of
the server's own; the upload goes when its release is made, a result when it was downloaded,
everything after an hour, and what a killed server left behind when the next one starts.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import stat
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import Field
from starlette.types import Receive, Scope, Send

from inkblur.atomic_file import PRIVATE, lock_file, write_atomically
from inkblur.documents.tokens import forget_pieces
from inkblur.errors import InkblurError, InputError, OutputError
from inkblur.files.doors import column_names, likely_delimiter
from inkblur.files.preview import beginning, preview_file
from inkblur.files.release import privatize_file
from inkblur.service.problems import FAULT, Problem, in_fields, log_place
from inkblur.service.settings import Asked, Name, Settings
from inkblur.service.tokens import Caller, caller_of
from inkblur.spec import ReleaseSpec

KEPT_SECONDS = 3600.0
MOST, MOST_OF_ONE = 50, 20  # uploads at a time: of all callers, and of one
_SWEEP_SECONDS = 60.0
_PIECE = 1 << 18  # bytes of a result that are read at a time
PARTS = ("output", "report", "statement")
_OURS = "upload-"  # how the folder of one upload begins: whatever else lies here is left alone
_BYTES = "application/octet-stream"  # nothing is shown by the browser in this server's name
FileSuffix = Annotated[str, Query(pattern=r"^((txt|csv|tsv|jsonl|ndjson)(\.(gz|zst))?|parquet)$")]
ResultPart = Literal["output", "report", "statement"]
FileEncoding = Literal["utf-8", "cp1252", "latin-1", "utf-16"]


class FileSettings(Asked):
    """How to release an uploaded file."""

    columns: list[Name] = Field(default=["text"], min_length=1, max_length=20)
    id_column: Name | None = None
    person_column: Name | None = None
    keep_columns: list[Name] = Field(
        default=[], max_length=500, description="Copied unchanged; no other column comes out."
    )
    delimiter: str | None = Field(None, min_length=1, max_length=3, description="For csv.")
    no_header: bool = Field(False, description="For csv and tsv: the first line is a record.")


class _Stopped(InkblurError):
    """The server is stopping: the release is given up before anything of it was visible."""


@dataclass(slots=True)
class Upload:
    """One file, and what became of it."""

    name: str
    caller: str
    source: Path
    changed: float  # when it was last received, looked at or finished
    columns: tuple[str, ...] = ()
    delimiter: str | None = None
    encoding: str = "utf-8"
    state: str = "arriving"  # then received, waiting, running, and done or failed
    error: str = ""
    done: int = 0  # bytes of the source
    total: int = 0
    words: int = 0
    began: float = 0.0
    lines: list[str] = field(default_factory=list)  # what the run says about itself
    results: dict[str, Path] = field(default_factory=dict)
    busy: bool = True  # its file is being written or read, so it must stay where it is

    def why_not_now(self) -> str:
        """What it is doing, for whoever asks for something else."""
        if self.state == "done":
            return "this upload is released already: download the results, or delete it"
        doing = {"waiting": "waiting to be released", "running": "being released"}
        return f"this upload is {doing.get(self.state, 'being read')}: try again when that is done"

    def to_json(self) -> dict[str, Any]:
        """For whoever uploaded it."""
        left = None
        if self.state == "running" and self.done:
            took = time.monotonic() - self.began
            left = took * (self.total - self.done) / self.done
        return {
            "upload": self.name,
            "columns": list(self.columns),
            "delimiter": self.delimiter,
            "state": self.state,
            "error": self.error or None,
            "share": self.done / self.total if self.total else 0.0,
            "words": self.words,
            "seconds_left": left,
            "lines": self.lines,
            "results": sorted(self.results),
        }


class Uploads:
    """All uploads of one server."""

    def __init__(
        self, folder: Path, settings: Settings, *, ledger: str | bool, most_bytes: int
    ) -> None:
        """`folder` is this server's alone; uploads there were left by one that was killed."""
        self._settings, self._ledger, self._most_bytes = settings, ledger, most_bytes
        self._uploads: dict[str, Upload] = {}
        self._releasing = ThreadPoolExecutor(1, thread_name_prefix="file")
        # A release takes minutes: whoever only wants to look does not wait for it.
        self._looking = ThreadPoolExecutor(1, thread_name_prefix="file-look")
        self._stopping = False
        self._folder, self._lock = folder, _locked(folder)
        for left in folder.iterdir():
            if left.name.startswith(_OURS):
                shutil.rmtree(left, ignore_errors=True)

    async def receive(
        self, caller: Caller, suffix: str, parts: AsyncIterator[bytes], encoding: str = "utf-8"
    ) -> Upload:
        """Stream a file to disk."""
        own = sum(each.caller == caller.name for each in self._uploads.values())
        if len(self._uploads) >= MOST or own >= MOST_OF_ONE:
            raise Problem(
                HTTPStatus.TOO_MANY_REQUESTS,
                "queue",
                f"too many uploads are here ({own} of them yours): download or delete one first, "
                "or try again later",
            )
        folder = self._folder / f"{_OURS}{secrets.token_urlsafe(16)}"  # that nobody can guess
        upload = Upload(folder.name, caller.name, folder / f"upload.{suffix}", time.monotonic())
        upload.encoding = encoding
        self._uploads[upload.name] = upload
        try:
            folder.mkdir(mode=0o700)
            handle = os.open(upload.source, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
            # Buffered: a bare write to a disk that is nearly full takes a part and says nothing.
            with os.fdopen(handle, "wb") as file:
                async for part in parts:
                    upload.total += len(part)
                    if upload.total > self._most_bytes:
                        raise Problem(
                            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                            "size",
                            f"a file here has at most {self._most_bytes:,} bytes",
                        )
                    await asyncio.to_thread(file.write, part)
            await asyncio.to_thread(_look, upload)
        except BaseException as error:
            self._remove(upload)
            if isinstance(error, OSError):
                raise OutputError(f"the file cannot be kept: {error.strerror}") from None
            raise _named(error, upload) from None
        self._rest(upload, "received")
        return upload

    def find(self, caller: Caller, name: str) -> Upload:
        """One of the caller's own uploads."""
        found = self._uploads.get(name)
        if found is None or found.caller != caller.name:
            raise Problem(
                HTTPStatus.NOT_FOUND,
                "upload",
                "there is no such upload: it was deleted after an hour or its download, or the "
                "server was restarted. Upload the file again",
            )
        return found

    async def preview(self, upload: Upload, spec: ReleaseSpec) -> dict[str, Any]:
        """Five rows at the spec's strength, and what the copied columns tell."""
        self._take(upload)
        try:
            epsilons = () if spec.epsilon is None else (spec.epsilon,)
            most = self._most_bytes
            look = partial(preview_file, upload.source, spec, epsilons=epsilons, most_bytes=most)
            seen = await asyncio.get_running_loop().run_in_executor(self._looking, look)
        except Exception as error:
            raise _named(error, upload) from None
        finally:
            self._rest(upload, upload.state)
        return {
            "texts": [beginning(text) for text in seen.texts],
            "looks": [
                {
                    "name": look.name,
                    "texts": [beginning(text) for text in look.texts],
                    "figures": look.figures,
                    "refusal": in_fields(look.refusal) or None,
                }
                for look in seen.looks
            ],
            "telling": seen.telling,
            "copied": list(seen.copied),
            "not_copied": list(seen.not_copied),
            "facts": [[name, in_fields(value)] for name, value in seen.facts()],
        }

    def start(self, upload: Upload, spec: ReleaseSpec) -> None:
        """Release a file; `upload` says how far it is."""
        self._take(upload)
        upload.state = "waiting"
        self._releasing.submit(self._release, upload, spec)

    def _take(self, upload: Upload) -> None:
        if upload.busy or upload.state not in ("received", "failed"):
            raise Problem(HTTPStatus.CONFLICT, "upload", upload.why_not_now())
        upload.busy = True

    def _rest(self, upload: Upload, state: str) -> None:
        """Nothing reads or writes it from here on; it stays for an hour."""
        forget_pieces()
        upload.state, upload.changed, upload.busy = state, time.monotonic(), False

    def _release(self, upload: Upload, spec: ReleaseSpec) -> None:
        """In the thread: everything that `inkblur privatize` does, checks included."""
        upload.state, upload.began, upload.error = "running", time.monotonic(), ""
        folder = upload.source.parent
        output = folder / f"output{''.join(upload.source.suffixes)}"
        report, statement = folder / "report.json", folder / "statement.html"

        def progress(done: int, total: int | None, words: int) -> None:
            if self._stopping:
                raise _Stopped("the server is stopping")
            upload.done, upload.words = done, words

        try:
            self._settings.release(spec)  # refuses what has no guarantee, or cannot be counted
            progress(0, None, 0)
            write_atomically(output, "", mode=PRIVATE)  # a file keeps its mode when replaced
            summary = privatize_file(
                upload.source,
                output,
                spec,
                rng=self._settings.rng,
                report=report,
                ledger=self._ledger,
                limits=self._settings.limits,
                caller=upload.caller,
                most_bytes=self._most_bytes,
                on_progress=progress,
            )
            write_atomically(statement, _statement(report), mode=PRIVATE)
            told = (summary.guarantee.sentence(), *summary.worth(), *summary.risks.lines())
            upload.lines = [*map(in_fields, summary.lines()), *told]
            upload.results = dict(zip(PARTS, (output, report, statement), strict=True))
            upload.source.unlink()
            self._rest(upload, "done")
        except Exception as error:
            if isinstance(error, InkblurError):
                upload.error = in_fields(str(_named(error, upload)))
            else:
                upload.error = FAULT
                log_place(error)
            upload.results = {}
            output.unlink(missing_ok=True)
            self._rest(upload, "failed")

    def result(self, upload: Upload, part: str) -> BinaryIO:
        """A result, open: it can be read to its end whatever becomes of the upload meanwhile."""
        try:
            return upload.results[part].open("rb")
        except (KeyError, FileNotFoundError):
            raise Problem(
                HTTPStatus.NOT_FOUND,
                "upload",
                f"there is no such result: the upload is {upload.state}, and what was downloaded "
                "is deleted",
            ) from None

    async def pieces(self, upload: Upload, part: str, file: BinaryIO) -> AsyncIterator[bytes]:
        """The bytes of a result. When the last was taken, it goes, and with the last result
        everything; where whoever downloads goes away before, it stays for another try.
        """
        while piece := await asyncio.to_thread(file.read, _PIECE):
            yield piece
        result = upload.results.pop(part, None)  # None: sent twice at a time
        if result is not None:
            result.unlink(missing_ok=True)
        if not upload.results:
            self._remove(upload)

    def delete(self, upload: Upload) -> None:
        """Whoever uploaded it is done with it."""
        if upload.busy:
            raise Problem(HTTPStatus.CONFLICT, "upload", upload.why_not_now())
        self._remove(upload)

    def _remove(self, upload: Upload) -> None:
        self._uploads.pop(upload.name, None)
        shutil.rmtree(upload.source.parent, ignore_errors=True)

    async def sweep(self) -> None:
        """Delete what is an hour old, for as long as the server runs."""
        while True:
            self.expire(time.monotonic())
            await asyncio.sleep(_SWEEP_SECONDS)

    def expire(self, now: float) -> None:
        """Delete what is an hour old."""
        for upload in list(self._uploads.values()):
            if not upload.busy and now - upload.changed > KEPT_SECONDS:
                self._remove(upload)

    def close(self) -> None:
        """Give up what runs, before anything of it was visible, and delete everything."""
        self._stopping = True
        self._looking.shutdown(cancel_futures=True)
        self._releasing.shutdown(cancel_futures=True)
        for upload in list(self._uploads.values()):
            self._remove(upload)
        os.close(self._lock)  # another server may have it


def _locked(path: Path) -> int:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        facts = path.stat()
        if facts.st_uid != os.geteuid() or stat.S_IMODE(facts.st_mode) & 0o077:
            raise OutputError(
                f"others may look into {path}, where uploads would lie: give a new folder as "
                "`uploads=`, or chmod 700 one of your own"
            )
        handle = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, PRIVATE)
    except OSError as error:
        raise OutputError(f"cannot use the folder {path}: {error.strerror}") from None
    if not lock_file(handle):
        os.close(handle)
        raise OutputError(
            f"another server keeps its uploads in {path}; name another `uploads=` folder"
        )
    return handle


def _look(upload: Upload) -> None:
    """Which columns the file has, or what is wrong with its beginning."""
    if upload.total == 0:
        raise InputError("the file is empty; choose one with at least one record")
    if ".csv" in upload.source.suffixes:
        upload.delimiter = likely_delimiter(upload.source, encoding=upload.encoding)
    upload.columns = column_names(
        upload.source, delimiter=upload.delimiter, encoding=upload.encoding
    )


def _statement(report: Path) -> str:
    from inkblur.evaluation.reports.html import statement_page
    from inkblur.evaluation.reports.statement import make_statement, read_report

    return statement_page(make_statement(read_report(report), name="the report"))


def _named(error: BaseException, upload: Upload) -> BaseException:
    """The same error without the place of the file on the server."""
    if isinstance(error, InkblurError):
        told = (
            str(error)
            .replace(str(upload.source), "the file")
            .replace(str(upload.source.parent), "")
        )
        error.args = (told,)
    return error


def upload_routes(uploads: Uploads, settings: Settings) -> APIRouter:
    """The routes of one server."""
    routes = APIRouter(prefix="/v1/uploads")

    def spec_of(upload: Upload, asked: FileSettings) -> ReleaseSpec:
        columns = asked.model_dump(exclude={"setting"})
        return settings.spec(asked.setting, **columns, encoding=upload.encoding)

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
        return await uploads.preview(upload, spec_of(upload, asked))

    @routes.post("/{name}/release", status_code=202)
    async def release(request: Request, name: str, asked: FileSettings) -> dict[str, Any]:
        """Release it; ask for its state until it is done."""
        upload = uploads.find(caller_of(request), name)
        uploads.start(upload, spec_of(upload, asked))
        return upload.to_json()

    @routes.get(
        "/{name}/{part}",
        response_class=StreamingResponse,
        responses={200: {"content": {_BYTES: {}}, "description": "The file"}},
    )
    async def download(
        request: Request, name: str, part: Literal["output", "report", "statement"]
    ) -> Response:
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
