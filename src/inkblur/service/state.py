"""What a running server holds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from inkblur.ledger import Ledger
from inkblur.service.drawing import Queue
from inkblur.service.settings import Settings

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Service:
    """Settings, a queue of what is to be drawn, and a ledger."""

    settings: Settings
    queue: Queue
    ledger: Ledger  # a connection to read by
    # Looking takes no time from drawing, and many who look wait for each other.
    looking: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="look")
    )

    async def look(self, work: Callable[..., T], *arguments: Any) -> T:
        """What the work gives, in the thread for looking."""
        return await asyncio.get_running_loop().run_in_executor(self.looking, work, *arguments)
