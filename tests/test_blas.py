"""Matrix products on one thread while someone asks for it, and as before afterwards."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from inkblur.blas import one_thread

pytestmark = pytest.mark.usefixtures("several_threads")


def threads() -> list[int]:
    return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]


def test_one_thread_inside_and_as_before_afterwards() -> None:
    numbers = np.ones((50, 50))
    before = threads()

    def work(_: int) -> set[int]:
        with one_thread(), one_thread():
            assert (numbers @ numbers == 50).all()
            return set(threads())

    assert work(0) == {1}
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(200)))
    assert threads() == before


def test_who_waits_for_threads_that_ask_too_is_not_kept_waiting() -> None:
    with one_thread(), ThreadPoolExecutor(1) as pool:
        assert pool.submit(work_inside).result(timeout=60) == {1}


def work_inside() -> set[int]:
    with one_thread():
        return set(threads())


def test_callers_that_overlap_leave_no_limit_behind() -> None:
    before, entered, leave = threads(), threading.Event(), threading.Event()

    def long() -> None:
        with one_thread():
            entered.set()
            leave.wait(60)

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(long)
        entered.wait(60)
        with one_thread():
            leave.set()
            other.result(timeout=60)
    assert threads() == before
