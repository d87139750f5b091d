"""Releasing a stream of batches: reading, drawing and writing overlap, the order stays.

Drawing is done on threads, which share one interpreter (at most some 600,000 words a second), or on
processes with a privatizer each: they share nothing, so they cost what a second copy of the program
costs, its start and its memory.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from functools import cache, partial
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

from inkblur.blas import one_thread
from inkblur.documents.base import AnyTextPrivatizer, BatchRelease
from inkblur.documents.privatizer import Privatizer
from inkblur.errors import InkblurError
from inkblur.files.doors import Sink
from inkblur.files.records import Source
from inkblur.mechanisms.nearest.engine import Device, on_gpu
from inkblur.mechanisms.perturbation import Perturbation
from inkblur.pools.mechanism import PoolPrivatizer
from inkblur.release import LETTERS, Checked, Drawn, Release, Stream, draw_records
from inkblur.rng import Rng
from inkblur.spec import ReleaseSpec
from inkblur.types import Record

T = TypeVar("T")
R = TypeVar("R")
DrawRecords = Callable[[Sequence[Record]], BatchRelease]
_RECORDS = 4096  # at most, in one batch
# Records that are charged at a time, if they come within _SECONDS: a charge waits for the disk, and
# nothing else is left to do during the last one.
_TOGETHER = 4096
_SECONDS = 0.5
_COLLECTED = 64  # batches after which garbage is looked for
_SENT = 50_000  # words that a process is sent at least: each piece wakes it, and a GPU with it


def run(
    stream: Stream,
    source: Source,
    sink: Sink,
    *,
    workers: int = 2,
    processes: bool = False,
    batch_records: int = _RECORDS,
    on_batch: Callable[[int, int], None] = lambda words, documents: None,
) -> None:
    """Release every record of `source` into `sink`.

    Workers are threads, or `processes` with a privatizer each. The result
    depends neither on workers nor on how records fall into batches (but for the last bits that
    `MahalanobisNoise` speaks of). Matrix products keep to one thread in the whole process
    meanwhile.
    """
    stream.begin(source.name)
    made = stream.release.privatizer
    piece = max(made.mechanism.batch, _SENT if processes else 0)
    if made.fewest:  # however short the texts, so many words are drawn for each
        batch_records = max(1, min(batch_records, piece // made.fewest))
    batches = source.batches(batch_records, LETTERS * piece)
    with (
        one_thread(),  # the workers are threads enough
        no_collection(),
        # Whoever stops the run closes the ledger next: nothing may be charged or drawn any more.
        closing(_drawn(stream.check_all(batches), stream.release, workers, processes)) as drawn,
        closing(_charged(drawn, stream)) as results,
    ):
        words = documents = 0
        for number, (part, texts) in enumerate(results, 1):
            sink.write(part.checked.batch, texts)
            words += sum(part.draws)
            documents += len(texts)
            on_batch(words, documents)
            if number % _COLLECTED == 0:
                gc.collect()  # a long run must not keep the garbage of the rest of the process


@contextmanager
def no_collection() -> Iterator[None]:
    """Do not look for garbage while inside. Many small objects make Python look, again and again,
    at every object of the process; a batch makes none that are in cycles, so there is none to find.

    One setting for the whole process: of two callers at once the first to leave switches it on
    again, which is slower for the other, and right.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _charged(drawn: Iterator[Drawn], stream: Stream) -> Generator[tuple[Drawn, list[Any]]]:
    """Each batch with its texts once it is charged: some together, because an entry in the ledger
    costs a write to the disk, and on a thread of their own while the next are drawn.
    """
    with ThreadPoolExecutor(1) as thread:
        for group, receipt in _in_order(
            _groups(drawn), lambda group: thread.submit(stream.charge, *group), 1
        ):
            for part in group:
                yield part, part.texts(receipt)


def _groups(results: Iterator[Drawn]) -> Iterator[list[Drawn]]:
    """So many results that they have `_TOGETHER` records, or come in within `_SECONDS`."""
    group: list[Drawn] = []
    records, began = 0, time.monotonic()
    for result in results:
        group.append(result)
        records += len(result.checked.batch.records)
        if records >= _TOGETHER or time.monotonic() - began > _SECONDS:
            yield group
            group, records, began = [], 0, time.monotonic()
    if group:
        yield group


def _drawn(
    checked: Iterator[Checked], release: Release, workers: int, processes: bool
) -> Generator[Drawn]:
    """What comes out for each batch, drawn on threads or processes, which end with this."""
    made, rng = release.privatizer, release.rng
    pool, draw = (
        worker_pool(release.resolved, rng, workers)
        if processes
        else (ThreadPoolExecutor(workers), partial(draw_records, made, rng=rng))
    )

    def submit(part: Checked) -> Future[BatchRelease]:
        return pool.submit(draw, part.batch.records)

    try:
        for part, result in _in_order(checked, submit, workers):
            yield Drawn(part, result)
    except BrokenProcessPool:
        raise InkblurError(
            "a process ended before its work was done: most likely memory ran out, or it was "
            "stopped; use fewer `workers=`, or leave out `processes=`"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _in_order(
    items: Iterator[T], submit: Callable[[T], Future[R]], most: int
) -> Iterator[tuple[T, R]]:
    """Each item with its result, in order, while at most `most` others are in flight."""
    waiting: deque[tuple[T, Future[R]]] = deque()
    for item in items:
        waiting.append((item, submit(item)))
        if len(waiting) > most:
            done, future = waiting.popleft()
            yield done, future.result()
    while waiting:
        done, future = waiting.popleft()
        yield done, future.result()


def search_beside_others(made: Privatizer | PoolPrivatizer) -> None:
    """Where each of many processes searches the nearest words, or texts of a pool: on the GPU if
    there is one, else on one thread.
    """
    gpu = on_gpu(Device.AUTO, None)
    device = Device.CUDA if gpu else Device.CPU
    if isinstance(made.mechanism, Perturbation):
        made.mechanism.search_on(device, threads=None if gpu else 1)
    elif isinstance(made, PoolPrivatizer):
        made.mechanism.search_on(device)


def worker_pool(spec: ReleaseSpec, rng: Rng, size: int) -> tuple[Executor, DrawRecords]:
    """So many processes, and what to ask of them; each makes a privatizer of its own.

    The spec is resolved, so its epsilon is a number and a table with another fingerprint is
    refused: each draws from the same streams, under the same guarantee.
    """
    spawn = get_context("spawn")  # a fork of a process with threads may hang
    made = ProcessPoolExecutor(size, spawn, _begin, (spec, rng.copies()))
    return made, _draw_here


_spec: ReleaseSpec
_rng: Rng


def _begin(spec: ReleaseSpec, rng: Callable[[], Rng]) -> None:
    """In each process, first: keep what the first batch needs."""
    global _spec, _rng
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _spec, _rng = spec, rng()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever gives out the batches
    # There are as many processes as processors: BLAS and OpenMP on one thread each, torch's too,
    # which is loaded later if at all.
    threadpool_limits(1)
    os.environ["OMP_NUM_THREADS"] = "1"


def _end_with_parent() -> None:
    """A process whose parent was killed would wait forever for more work."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _draw_here(records: Sequence[Record]) -> BatchRelease:
    return draw_records(_privatizer(), records, _rng)


@cache
def _privatizer() -> AnyTextPrivatizer:
    """Made with the first batch, so that an error reaches the caller like any other."""
    made: Privatizer | PoolPrivatizer = _spec.privatizer()
    search_beside_others(made)
    return made
