"""Privatizing a stream of records: reading, drawing and writing overlap, the order stays."""

from __future__ import annotations

import gc
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from inkblur.blas import one_thread
from inkblur.documents.base import AnyTextPrivatizer, BatchRelease
from inkblur.documents.privatizer import Privatizer
from inkblur.files.formats import Format
from inkblur.files.identifiers import look_first
from inkblur.files.pool_summary import PoolSummary
from inkblur.files.public_records import PublicRecords
from inkblur.files.records import Batch, cuts
from inkblur.files.sink import Sink
from inkblur.files.source import Source
from inkblur.files.spending import Spending
from inkblur.files.summary import MISSING, Fate, RunSummary, Summary, draws_a_text, stated
from inkblur.files.worker_pool import ReleaseRecords, WorkerCopy, worker_pool
from inkblur.mechanisms.typical import typical_loss
from inkblur.pools.privatizer import PoolPrivatizer
from inkblur.processes import explain_broken_pool
from inkblur.rng import Rng
from inkblur.types import Record

T = TypeVar("T")
R = TypeVar("R")
ChooseRows = Callable[[Iterator[Batch]], Iterator[Batch]]
Result = tuple[Batch, BatchRelease]
_RECORDS = 4096  # at most, in one batch
_FEWER = "use fewer `workers=`, or leave out `processes=`"
_LETTERS = 5  # of a word and the space after it: how much text holds so many words
# Records that are charged at a time, if they come within _SECONDS: a charge waits for the disk, and
# nothing else is left to do during the last one.
_TOGETHER = 4096
_SECONDS = 0.5
_COLLECTED = 64  # batches after which garbage is looked for
_SENT = 50_000  # words that a process is sent at least: each piece wakes it, and a GPU with it


def run(
    source: Source,
    sink: Sink,
    privatizer: Privatizer | PoolPrivatizer,
    rng: Rng,
    *,
    workers: int = 2,
    copies: WorkerCopy | None = None,
    batch_records: int = _RECORDS,
    skip_public: bool = False,
    rows: ChooseRows | None = None,
    spending: Spending | None = None,
    on_batch: Callable[[int, int], None] = lambda words, documents: None,
) -> RunSummary:
    """Privatize every record of `source` into `sink`.

    Workers are threads; given `copies`, made from the spec of `privatizer`, each is a process with
    a privatizer of its own. The result depends neither on workers nor on how records fall into
    batches (but for the last bits that `MahalanobisNoise` speaks of). Matrix products keep to one
    thread in the whole process meanwhile.

    Records of the public corpus that the embedding was adapted on refuse the file; with
    `skip_public` they are left out instead. `rows` chooses among what is left. `spending` is
    charged for each batch before that is written.
    """
    began = time.perf_counter()
    counts: Counter[str] = Counter()
    lengths: Counter[int] = Counter()
    documents = 0
    piece = privatizer.mechanism.batch if copies is None else max(privatizer.mechanism.batch, _SENT)
    if privatizer.length is not None:  # however short the texts, so many words are drawn for each
        batch_records = max(1, min(batch_records, piece // privatizer.length))
    public = PublicRecords(privatizer.corpora, skip=skip_public)
    read = source.batches(batch_records, _LETTERS * piece)
    telling, read = look_first(source, read, privatizer)
    batches = (batch.entering(privatizer.hides_length) for batch in public.screened(read))
    chosen = batches if rows is None else rows(batches)
    pool, release = (
        (ThreadPoolExecutor(workers), partial(privatizer.release_batch, rng=rng))
        if copies is None
        else worker_pool(copies, rng, workers)
    )
    with (
        one_thread(),  # the workers are threads enough
        no_collection(),
        # Whoever stops the run closes the ledger next: nothing may be charged or drawn any more.
        closing(_drawn(chosen, pool, release, workers)) as drawn,
        closing(_charged(drawn, spending)) as results,
    ):
        for number, (batch, released) in enumerate(results, 1):
            sink.write(batch, released.texts)
            counts.update(released.counts)
            lengths.update(released.words)
            documents += len(batch.records)
            counts["empty"] += sum(not record.text.strip() for record in batch.records)
            on_batch(counts["drawn"], documents)
            if number % _COLLECTED == 0:
                gc.collect()  # a long run must not keep the garbage of the rest of the process
    seconds = time.perf_counter() - began
    fate = Fate(
        columns=source.schema.columns,
        copied=source.copied,
        not_copied=source.not_copied,
        telling=telling,
        repeated=source.repeated,
        left_out=public.left_out,
        over_budget=None if spending is None else spending.left_out,
    )
    shown = _shown_by_the_file(source, hides_length=privatizer.hides_length)
    guarantee = replace(
        stated(privatizer, fate, rng, shown), typical_words=draws_a_text(lengths)["median"] or None
    )
    done: dict[str, Any] = {
        "guarantee": guarantee,
        "documents": documents,
        "counts": counts,
        "seconds": seconds,
        "fate": fate,
        "lengths": lengths,
    }
    if isinstance(privatizer, Privatizer):
        return Summary(privatizer=privatizer, typical=typical_loss(privatizer.mechanism), **done)
    return PoolSummary(privatizer=privatizer, **done)


def release_records(
    privatizer: AnyTextPrivatizer, records: Sequence[Record], rng: Rng
) -> BatchRelease:
    """Release records that are in memory, in pieces that suit the mechanism."""
    # However short a text is, `length` words are drawn for it.
    sizes = [max(len(record.text), _LETTERS * (privatizer.length or 0)) for record in records]
    pieces = cuts(sizes, _LETTERS * privatizer.mechanism.batch)
    drawn = [privatizer.release_batch(records[start:stop], rng) for start, stop in pieces]
    return BatchRelease(
        tuple(text for part in drawn for text in part.texts),
        sum((part.counts for part in drawn), Counter()),
        tuple(count for part in drawn for count in part.words),
        tuple(base for part in drawn for base in part.bases),
    )


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


def _shown_by_the_file(source: Source, *, hides_length: bool) -> list[str]:
    """What stays of the input file besides columns."""
    shown = []
    if source.schema.format is Format.TXT:
        shown.append("how each line ends")
    if source.schema.format in (Format.JSONL, Format.JSON):
        shown.append(
            "how each object is written around its texts: spaces, line ends and the order of keys"
        )
    if source.schema.format in (Format.JSONL, Format.JSON, Format.PARQUET) and not hides_length:
        shown.append(MISSING)
    return shown


def _charged(results: Iterator[Result], spending: Spending | None) -> Generator[Result]:
    """The same results, each charged before it comes out: some together, because an entry in the
    ledger costs a write to the disk, and on a thread of their own while the next are drawn.
    """
    if spending is None:
        yield from results
        return
    charge = spending.charge
    with ThreadPoolExecutor(1) as thread:
        for group, _ in _in_order(
            _groups(results),
            lambda group: thread.submit(charge, *((b, r.words, r.bases) for b, r in group)),
            1,
        ):
            yield from group


def _groups(results: Iterator[Result]) -> Iterator[list[Result]]:
    """So many results that they have `_TOGETHER` records, or come in within `_SECONDS`."""
    group: list[Result] = []
    records, began = 0, time.monotonic()
    for result in results:
        group.append(result)
        records += len(result[0].records)
        if records >= _TOGETHER or time.monotonic() - began > _SECONDS:
            yield group
            group, records, began = [], 0, time.monotonic()
    if group:
        yield group


def _drawn(
    batches: Iterator[Batch], pool: Executor, release: ReleaseRecords, workers: int
) -> Generator[Result]:
    """The batches with what was drawn for them. The pool ends with this."""
    try:
        with explain_broken_pool(_FEWER):
            yield from _in_order(
                batches, lambda batch: pool.submit(release, batch.records), workers
            )
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
