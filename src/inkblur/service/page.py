"""The page's own files, and the headers that keep everything else out of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib import resources

from fastapi import APIRouter
from fastapi.responses import Response

_TYPES = {
    "page.html": "text/html; charset=utf-8",
    "page.css": "text/css; charset=utf-8",
    **{
        f"{name}.js": "text/javascript; charset=utf-8"
        for name in ("page", "ask", "choices", "try", "figures", "publish", "ledger")
    },
    "icon.svg": "image/svg+xml",
}
# Scripts and styles come from this server's files alone: nothing inline, nothing from elsewhere.
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; form-action 'none'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def page_routes() -> APIRouter:
    """`/` and its files."""
    routes = APIRouter(include_in_schema=False)
    folder = resources.files("inkblur.service") / "static"
    for name, kind in _TYPES.items():
        body = (folder / name).read_bytes()
        path = "/" if name == "page.html" else f"/{name}"
        routes.add_api_route(path, _sender(body, kind), methods=["GET"])
    return routes


def _sender(body: bytes, kind: str) -> Callable[[], Awaitable[Response]]:
    async def send() -> Response:
        return Response(body, media_type=kind)

    return send
