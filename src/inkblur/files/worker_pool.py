"""Processes that release batches beside each other, each with a privatizer of its own.

Threads share one interpreter, and reading tokens and writing words back is its work: at most some
600,000 words a second in all, however many threads draw noise and search. Processes share nothing,
so they cost what a second copy of the program costs: its start, its memory.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cache

from threadpoolctl import threadpool_limits

from inkblur.documents.base import AnyTextPrivatizer, BatchRelease
from inkblur.documents.privatizer import Privatizer
from inkblur.mechanisms.nearest.engine import Device, on_gpu
from inkblur.mechanisms.perturbation import Perturbation
from inkblur.pools.mechanism import PoolPrivatizer
from inkblur.processes import process_pool
from inkblur.release import draw_records
from inkblur.rng import Rng
from inkblur.spec import ReleaseSpec
from inkblur.types import Record

ReleaseRecords = Callable[[Sequence[Record]], BatchRelease]


@dataclass(frozen=True, slots=True)
class WorkerCopy:
    """What a process needs to make the same privatizer: the spec, and how to search.

    The spec is resolved, so its epsilon is a number and a table with another fingerprint is
    refused: the process draws from the same streams, under the same guarantee.
    """

    spec: ReleaseSpec
    device: Device
    threads: int | None = None

    def privatizer(self) -> Privatizer | PoolPrivatizer:
        """The privatizer, made in the process that calls."""
        made: Privatizer | PoolPrivatizer = self.spec.privatizer()
        search_with(made, self.device, self.threads)
        return made


def search_with(made: Privatizer | PoolPrivatizer, device: Device, threads: int | None) -> None:
    """Where this process searches the nearest words, or texts of a pool."""
    if isinstance(made.mechanism, Perturbation):
        made.mechanism.search_on(device, threads=threads)
    elif isinstance(made, PoolPrivatizer):
        made.mechanism.search_on(device)


def each_search(device: Device, threads: int | None) -> tuple[Device, int | None]:
    """Where each of many processes searches: the GPU if there is one, else on one thread."""
    if on_gpu(device, threads):
        return Device.CUDA, threads
    return Device.CPU, 1 if threads is None else threads


def worker_pool(copy: WorkerCopy, rng: Rng, size: int) -> tuple[Executor, ReleaseRecords]:
    """So many processes, and what to ask of them; each makes a privatizer of its own."""
    return process_pool(size, _begin, copy, rng.copies()), _release


_copy: WorkerCopy
_rng: Rng


def _begin(copy: WorkerCopy, rng: Callable[[], Rng]) -> None:
    """In each process, first: keep what the first batch needs."""
    global _copy, _rng
    _copy, _rng = copy, rng()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever gives out the batches
    # There are as many processes as processors: BLAS and OpenMP on one thread each, torch's too,
    # which is loaded later if at all.
    threadpool_limits(1)
    os.environ["OMP_NUM_THREADS"] = "1"


def _release(records: Sequence[Record]) -> BatchRelease:
    return draw_records(_privatizer(), records, _rng)


@cache
def _privatizer() -> AnyTextPrivatizer:
    """Made with the first batch, so that an error reaches the caller like any other."""
    return _copy.privatizer()
