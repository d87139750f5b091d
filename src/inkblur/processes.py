"""A pool of processes that end with this one, and an error for people when one of them dies."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from typing import Any

from inkblur.errors import InkblurError


def process_pool(
    size: int, begin: Callable[..., None] | None = None, *arguments: Any
) -> ProcessPoolExecutor:
    """A pool of `size` processes; each calls `begin` first. Work is sent through pipes."""
    return ProcessPoolExecutor(
        size,
        mp_context=get_context("spawn"),  # a fork of a process with threads may hang
        initializer=_begin,
        initargs=(begin, *arguments),
    )


@contextmanager
def explain_broken_pool(advice: str) -> Iterator[None]:
    """Turn a broken pool into one line that ends with `advice`."""
    try:
        yield
    except BrokenProcessPool:
        raise InkblurError(
            "a process ended before its work was done: most likely memory ran out, or it was "
            f"stopped; {advice}"
        ) from None


def _begin(begin: Callable[..., None] | None, *arguments: Any) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if begin is not None:
        begin(*arguments)


def _end_with_parent() -> None:
    """A process whose parent was killed would wait forever for more work."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
