"""Matrix products on one thread, for work that has threads of its own.

As many threads as processors with as many BLAS threads each get in each other's way, and the
threads of small products spend their time waiting for each other.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

_turn = threading.RLock()


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep matrix products to one thread while inside; callers take turns.

    In turns, because the number of threads is one setting for the whole process: of two callers at
    once, the last to leave would restore what the first had set.
    """
    with _turn, _libraries().limit(limits=1, user_api="blas"):
        yield


@cache
def _libraries() -> ThreadpoolController:
    """Looking for them takes milliseconds, so once."""
    return ThreadpoolController()
