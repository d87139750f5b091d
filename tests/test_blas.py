"""Matrix products on one thread while someone asks for it, and as before afterwards."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from threadpoolctl import threadpool_info

from inkblur.blas import one_thread


def threads() -> list[int]:
    return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]


def test_one_thread_inside_and_as_before_afterwards() -> None:
    numbers = np.ones((50, 50))
    before = threads()

    def work(_: int) -> set[int]:
        with one_thread(), one_thread():
            assert (numbers @ numbers == 50).all()
            return set(threads())

    with ThreadPoolExecutor(4) as pool:
        assert set().union(*pool.map(work, range(40))) <= {1}
    assert threads() == before
