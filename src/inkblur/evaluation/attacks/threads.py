"""Many small matrix products: one thread is faster than several that wait for each other."""

from __future__ import annotations

from contextlib import AbstractContextManager

from threadpoolctl import threadpool_limits


def one_thread() -> AbstractContextManager[object]:
    """Keep matrix products to one thread while inside.

    Each takes about a millisecond, and on a busy machine the threads of one product wait for each
    other ten times as long.
    """
    limited: AbstractContextManager[object] = threadpool_limits(limits=1, user_api="blas")
    return limited
