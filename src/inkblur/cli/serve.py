"""`inkblur serve`: releases over HTTP, and a page to look at them first."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inkblur.cli import options
from inkblur.cli.console import talk
from inkblur.cli.privatize import read_key_file
from inkblur.errors import InputError, ParameterError

if TYPE_CHECKING:
    from inkblur.spec import ReleaseSpec

_FINISH_SECONDS = 60  # for what was accepted, after SIGTERM


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.", min=0, max=65535)] = 8642,
    token_file: Annotated[
        Path | None,
        typer.Option(
            help="Lines of NAME ROLES TOKEN; roles are release, ledger, operator, or several "
            "with commas between. Needed for any address but the loopback one."
        ),
    ] = None,
    key_file: Annotated[
        Path | None,
        typer.Option(
            help="Secret key from `inkblur keygen` (default: a new one, discarded on exit). "
            "With it, texts released before are recognized after a restart and cost nothing."
        ),
    ] = None,
    ledger: options.LedgerPlace = None,
    budget: options.RecordBudget = None,
    person_budget: Annotated[
        float | None, typer.Option(help="Largest total loss of a person, over all releases.")
    ] = None,
    embedding: Annotated[
        str | None, typer.Option(help="A file of word vectors (default: bundled).")
    ] = None,
    pool: Annotated[
        str | None,
        typer.Option(help="Public texts (`inkblur pool build`), to release whole texts with."),
    ] = None,
    uploads: Annotated[
        Path | None,
        typer.Option(help="Folder for uploaded files (default: one in your cache folder)."),
    ] = None,
    setting: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=FILE",
            help="Offer a release under this name: a spec as `inkblur privatize --report` writes "
            "it. Repeat for several.",
        ),
    ] = [],  # noqa: B006
) -> None:
    """Serve releases over HTTP, and a page at / to try, publish and account for them.

    Without --token-file it listens only on this machine, and anyone on it can use it and try any
    setting. With it, only those who have a token can, and they choose among named settings: light,
    medium, strong, those of the pool, and what --setting names. Every release is recorded in the
    ledger before it is sent.

    Example: inkblur serve --ledger ledger.db --budget 500
    """
    from inkblur.cache import cache_folder
    from inkblur.errors import MissingExtra
    from inkblur.release import Limits
    from inkblur.rng import KEY_BYTES, keyed_rng

    try:
        import uvicorn

        from inkblur.service.application import ServiceSettings, make_application
        from inkblur.service.limits import RequestLimits, is_loopback
        from inkblur.service.tokens import read_tokens
    except ImportError as error:
        if error.name is not None and error.name.startswith("inkblur"):
            raise
        raise MissingExtra(
            "serving needs FastAPI and uvicorn: pip install '.[serve]' in a clone of Inkblur"
        ) from None
    if token_file is None and not is_loopback(host):
        raise ParameterError(
            f"{host} can be reached from other machines: give --token-file, or listen on 127.0.0.1"
        )
    key = os.urandom(KEY_BYTES) if key_file is None else read_key_file(key_file)
    with _bound(host, port) as sockets:
        application = make_application(
            ServiceSettings(
                keyed_rng(key),
                uploads or cache_folder() / "uploads" / str(port),
                ledger,
                None if token_file is None else read_tokens(token_file),
                embedding,
                pool,
                _named(setting),
                Limits(budget, person_budget),
                RequestLimits(),
            )
        )
        if token_file is not None and not is_loopback(host):
            talk.print("tokens and texts are sent unencrypted: put a TLS proxy in front")

        class Announced(uvicorn.Server):
            """Says where it listens once it does; with --port 0 nobody knew."""

            async def startup(self, sockets: list[socket.socket] | None = None) -> None:
                await super().startup(sockets)
                bound = self.servers[0].sockets[0].getsockname()[1]
                shown = f"[{host}]" if ":" in host else host
                talk.print(f"serving on http://{shown}:{bound}/", markup=False)

            async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
                breaking = asyncio.create_task(self._break_off())
                await super().shutdown(sockets)
                breaking.cancel()

            async def _break_off(self) -> None:
                """After a second Ctrl-C: since Python 3.12 a server that closes waits for whom
                it serves, however slowly they send.
                """
                while not self.force_exit:
                    await asyncio.sleep(0.1)
                for connection in list(self.server_state.connections):
                    connection.transport.abort()

        server = Announced(
            uvicorn.Config(
                application,
                host=host,
                port=port,
                log_level="warning",
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=_FINISH_SECONDS,
            )
        )
        with suppress(KeyboardInterrupt):  # raised again when uvicorn has finished its work
            server.run(sockets)
        if not server.started:
            raise typer.Exit(1)
    talk.print("stopped: what was accepted was finished or refused")


@contextmanager
def _bound(host: str, port: int) -> Iterator[list[socket.socket]]:
    """A socket at each address of the host, taken before anything is loaded or made."""
    with ExitStack() as stack:
        sockets: list[socket.socket] = []
        refused = "no such host"
        with suppress(OSError, UnicodeError):
            for family, *_, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
                made = stack.enter_context(socket.socket(family, socket.SOCK_STREAM))
                made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                try:
                    made.bind(address)
                except OSError as error:
                    refused = (error.strerror or str(error)).lower()
                    if error.errno == errno.EADDRINUSE:
                        sockets = []
                        break
                else:  # of the addresses of localhost a machine may lack one
                    sockets.append(made)
        if not sockets:
            raise ParameterError(
                f"cannot listen on port {port} of {host} ({refused}): choose another --port "
                "or --host"
            )
        yield sockets


def _named(settings: list[str]) -> dict[str, ReleaseSpec]:
    """The specs that the owner names."""
    from inkblur.spec import read_spec

    named = {}
    for each in settings:
        name, is_one, file = each.partition("=")
        if not (name and is_one) or name in named:
            raise ParameterError(f"--setting takes NAME=FILE, each name once, not {each!r}")
        try:
            named[name] = read_spec(Path(file).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not text"
            raise InputError(f"cannot read the setting {file}: {reason}") from None
    return named
