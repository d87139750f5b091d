"""How many threads: processors, and matrix products on one of them where work has its own threads.

As many threads as processors with as many BLAS threads each get in each other's way, and the
threads of small products spend their time waiting for each other.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

_turn = threading.Lock()


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep matrix products to one thread while inside.

    The number of threads is one setting for the whole process. So where it is one already nothing
    is done: of two callers at once, the last to leave would else restore what the first had set.
    (If the first leaves before, the second goes on with more threads: slower, and right.)
    """
    with _turn:
        loaded = _libraries("scipy.linalg" in sys.modules)  # SciPy brings a BLAS of its own
        several = any(each["num_threads"] > 1 for each in loaded.select(user_api="blas").info())
        limit = loaded.limit(limits=1, user_api="blas").__enter__() if several else None
    try:
        yield
    finally:
        if limit is not None:
            with _turn:
                limit.__exit__(None, None, None)


@cache
def _libraries(scipy: bool) -> ThreadpoolController:
    """Looking for them takes milliseconds, so once."""
    return ThreadpoolController()
