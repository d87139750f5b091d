"""What a running server holds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from fastapi import Request

from inkblur.ledger import Ledger
from inkblur.service.batching import Batches, Desk
from inkblur.service.schemas import PublicTables
from inkblur.service.tokens import Caller
from inkblur.service.uploads import Uploads

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Service:
    """One desk, one ledger, one folder of uploads."""

    desk: Desk
    batches: Batches
    ledger: Ledger  # a connection to read by
    uploads: Uploads
    tables: PublicTables
    # Looking takes no time from drawing, and many who look wait for each other.
    looking: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="look")
    )

    async def look(self, work: Callable[..., T], *arguments: Any) -> T:
        """What the work gives, in the thread for looking."""
        return await asyncio.get_running_loop().run_in_executor(self.looking, work, *arguments)


def caller_of(request: Request) -> Caller:
    """Who sent a request that the gate has let through."""
    caller = request.state.caller
    assert isinstance(caller, Caller)
    return caller
