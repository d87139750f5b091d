"""Several pieces of work at the same time, each in a fork of this process.

A fork starts with everything this process has read and learned, so nothing but the answers has to
be sent. It is safe here because experiments use one BLAS thread and start no threads that hold
locks; where a system cannot fork, the caller does one piece after the other.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_all_start_methods, get_context
from typing import Any

_pieces: Sequence[Callable[[], Any]] = ()  # set before the forks, which inherit it


def can_fork() -> bool:
    """Whether this system can, and no GPU is in use here: a fork could not use it."""
    torch = sys.modules.get("torch")
    return "fork" in get_all_start_methods() and not (torch and torch.cuda.is_initialized())


def in_forks(pieces: Sequence[Callable[[], Any]], workers: int) -> Iterator[Any]:
    """What each piece gives, as they finish.

    >>> sorted(in_forks([lambda: 2, lambda: 3], 2))
    [2, 3]
    """
    global _pieces
    _pieces = pieces
    pool = ProcessPoolExecutor(min(workers, len(pieces)), mp_context=get_context("fork"))
    try:
        running = [pool.submit(_done, number) for number in range(len(pieces))]
        for future in as_completed(running):
            yield future.result()
    finally:
        pool.shutdown(cancel_futures=True)
        _pieces = ()


def _done(number: int) -> Any:
    return _pieces[number]()
