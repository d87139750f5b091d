"""The service put together: settings, a queue, a ledger and a folder of uploads behind one gate."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import Response

from inkblur.ledger import open_ledger
from inkblur.release import Limits
from inkblur.rng import Rng
from inkblur.service.choices import choice_routes
from inkblur.service.drawing import Queue
from inkblur.service.ledger_routes import ledger_routes
from inkblur.service.limits import Gate, RequestLimits
from inkblur.service.metrics import ServiceMetrics
from inkblur.service.page import page_routes
from inkblur.service.problems import add_handlers
from inkblur.service.releases import release_routes
from inkblur.service.settings import Settings
from inkblur.service.state import Service
from inkblur.service.tokens import Tokens
from inkblur.service.uploads import Uploads, upload_routes
from inkblur.spec import ReleaseSpec


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """What whoever starts a server decides."""

    rng: Rng  # a kept key: equal requests get equal answers, at no further cost
    uploads: Path  # a folder of its own
    ledger: str | None = None  # a path or URL; None: the user's own
    tokens: Tokens | None = None  # None: open to whoever reaches the loopback address
    embedding: str | None = None  # a path; None: the bundled vectors
    pool: str | None = None
    named: Mapping[str, ReleaseSpec] = field(default_factory=dict)  # offered besides the usual
    limits: Limits = field(default_factory=Limits)  # budgets, for every caller
    requests: RequestLimits = field(default_factory=RequestLimits)


def make_application(settings: ServiceSettings) -> Gate:
    """The ASGI application. Opens the ledger and the folder; both are let go when it shuts down.
    With tokens it first makes all that its settings need, which can take minutes.
    """
    metrics = ServiceMetrics()
    offered = Settings(
        settings.rng,
        settings.limits,
        embedding=settings.embedding,
        pool=settings.pool,
        own=settings.named,
        open_to_all=settings.tokens is None,
    )
    if settings.tokens is not None:
        offered.prepare_all()
    uploads = Uploads(
        settings.uploads,
        offered,
        ledger=True if settings.ledger is None else settings.ledger,
        most_bytes=settings.requests.upload,
    )
    service = Service(
        offered,
        Queue(open_ledger(settings.ledger), settings.limits, metrics),
        open_ledger(settings.ledger),
    )

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        sweeping = asyncio.create_task(uploads.sweep())
        try:
            yield
        finally:  # a second Ctrl-C cancels this instead of waiting
            sweeping.cancel()
            with suppress(asyncio.CancelledError):
                await sweeping
            await service.queue.close()
            await asyncio.to_thread(uploads.close)
            service.looking.shutdown()
            service.queue.ledger.close()
            service.ledger.close()

    app = FastAPI(
        title="Inkblur",
        version=version("inkblur"),
        summary="Differentially private text: publish it without publishing its author.",
        lifespan=lifespan,
        docs_url=None,  # they load scripts from elsewhere
        redoc_url=None,
    )
    app.state.uploads, app.state.settings = uploads, offered
    add_handlers(app)
    app.include_router(release_routes(service))
    app.include_router(choice_routes(service))
    app.include_router(ledger_routes(service))
    app.include_router(upload_routes(uploads, offered))
    app.include_router(page_routes())

    @app.get("/healthz")
    async def health() -> dict[str, str]:
        """Whether the server answers."""
        return {"status": "ok"}

    @app.get("/metrics", response_class=Response)
    async def counts() -> Response:
        """Counts for Prometheus."""
        page = metrics.text(coarse=settings.tokens is not None)
        return Response(page, media_type="text/plain; version=0.0.4; charset=utf-8")

    return Gate(app, tokens=settings.tokens, limits=settings.requests, metrics=metrics)
