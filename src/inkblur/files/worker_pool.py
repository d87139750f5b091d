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
from functools import cache

from threadpoolctl import threadpool_limits

from inkblur.documents.privatizer import BatchRelease, Privatizer
from inkblur.errors import PrivacyError
from inkblur.processes import process_pool
from inkblur.rng import Rng
from inkblur.types import Record

Make = Callable[[], Privatizer]  # sent to other processes, so made of importable parts
ReleaseRecords = Callable[[Sequence[Record]], BatchRelease]


def crew(
    make: Make, privatizer: Privatizer, rng: Rng, size: int
) -> tuple[Executor, ReleaseRecords]:
    """A few processes, and what to ask of them; each makes what `privatizer` is with `make`."""
    return process_pool(size, _begin, make, privatizer.spec, rng.copies()), _release


_make: Make
_spec: str
_rng: Rng


def _begin(make: Make, spec: str, rng: Callable[[], Rng]) -> None:
    """In each process, first: keep what the first batch needs."""
    global _make, _spec, _rng
    _make, _spec, _rng = make, spec, rng()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever gives out the batches
    # The crew is as many as the machine has processors: BLAS and OpenMP on one thread each, torch's
    # too, which is loaded later if at all.
    threadpool_limits(1)
    os.environ["OMP_NUM_THREADS"] = "1"


def _release(records: Sequence[Record]) -> BatchRelease:
    return _privatizer().release_batch(records, _rng)


@cache
def _privatizer() -> Privatizer:
    """Made with the first batch, so that an error reaches the caller like any other."""
    made = _make()
    if made.spec != _spec:
        # Its noise would come from other streams, and the stated guarantee be another's.
        raise PrivacyError(
            "another process read other word vectors or settings than this one: "
            "did the embedding's file change? Run the command again"
        )
    return made
