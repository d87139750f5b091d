"""Privatizing a stream of records: reading, drawing and writing overlap, the order stays."""

from __future__ import annotations

import gc
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from functools import partial

from inkblur.blas import one_thread
from inkblur.documents.fingerprints import ADAPTED
from inkblur.documents.privatizer import BatchRelease, Privatizer
from inkblur.files.formats import Format
from inkblur.files.identifiers import refuse_identifiers
from inkblur.files.pool_summary import PoolSummary
from inkblur.files.public_records import PublicRecords
from inkblur.files.records import Batch
from inkblur.files.sink import Sink
from inkblur.files.source import Source
from inkblur.files.spending import Spending
from inkblur.files.summary import MISSING, Fate, Summary, draws_a_text, stated
from inkblur.files.worker_pool import ReleaseRecords, WorkerCopy, worker_pool
from inkblur.garbage import no_collection
from inkblur.pools.privatizer import PoolPrivatizer
from inkblur.processes import explain_broken_pool
from inkblur.rng import Rng

ChooseRows = Callable[[Iterator[Batch]], Iterator[Batch]]
Result = tuple[Batch, BatchRelease]
_RECORDS = 4096  # at most, in one batch
_FEWER = "use fewer `workers=`, or leave out `processes=`"
_LETTERS = 5  # of a word and the space after it: how much text holds so many words
_TOGETHER = 8192  # records that are charged at a time, if they come within _SECONDS
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
    rows: ChooseRows = lambda batches: batches,
    spending: Spending | None = None,
    on_batch: Callable[[int, int], None] = lambda words, documents: None,
) -> Summary | PoolSummary:
    """Privatize every record of `source` into `sink`.

    Workers are threads; given `copies`, made from the spec of `privatizer`, each is a process with
    a privatizer of its own. The result depends neither on workers nor on how records fall into
    batches (but for the last bits that `noise.mahalanobis` speaks of). Matrix products keep to one
    thread in the whole process meanwhile.

    A copied column that looks like an identifier refuses the file. So do records of the public
    corpus that the embedding was adapted on; with `skip_public` they are left out instead. `rows`
    chooses among what is left. `spending` is charged for each batch before that is written.
    """
    began = time.perf_counter()
    counts: Counter[str] = Counter()
    lengths: Counter[int] = Counter()
    documents = empty = 0
    piece = privatizer.mechanism.batch if copies is None else max(privatizer.mechanism.batch, _SENT)
    public = PublicRecords([(privatizer.mechanism.embedding.corpus, ADAPTED)], skip=skip_public)
    batches = source.batches(batch_records, _LETTERS * piece)
    batches = public.screened(refuse_identifiers(source, batches))
    if privatizer.hides_length:
        # A text that is missing must not show either: it is filled up like an empty one.
        batches = (replace(batch, nulls=frozenset()) for batch in batches)
    batches = rows(batches)
    pool, release = (
        (ThreadPoolExecutor(workers), partial(privatizer.release_batch, rng=rng))
        if copies is None
        else worker_pool(copies, rng, workers)
    )
    with (
        one_thread(),  # the workers are threads enough
        no_collection(),
        # Whoever stops the run closes the ledger next: nothing may be charged or drawn any more.
        closing(_in_order(batches, pool, release, workers)) as drawn,
        closing(_charged(drawn, spending)) as results,
    ):
        for number, (batch, released) in enumerate(results, 1):
            sink.write(batch, released.texts)
            counts.update(released.counts)
            lengths.update(released.words)
            documents += len(batch.records)
            empty += sum(not record.text.strip() for record in batch.records)
            on_batch(counts["drawn"], documents)
            if number % _COLLECTED == 0:
                gc.collect()  # a long run must not keep the garbage of the rest of the process
    seconds = time.perf_counter() - began
    fate = Fate(
        columns=source.schema.columns,
        copied=source.copied,
        dropped=source.layout.drop,
        repeated=source.repeated,
        left_out=public.count if skip_public else None,
        over_budget=None if spending is None else spending.left_out,
    )
    guarantee = stated(privatizer.guaranteed(rng), fate, rng).passing(
        _shown_by_the_file(source, hides_length=privatizer.hides_length)
    )
    guarantee = replace(guarantee, typical_words=draws_a_text(lengths)["median"] or None)
    if isinstance(privatizer, PoolPrivatizer):
        return PoolSummary(privatizer, guarantee, documents, counts, seconds, fate, lengths)
    return Summary(
        privatizer,
        guarantee,
        privatizer.typical_loss(),
        documents,
        empty,
        counts,
        seconds,
        fate,
        lengths,
    )


def chosen_rows(granted: frozenset[int] | None) -> ChooseRows:
    """Only the rows with these numbers, counted from 0 over all batches; all, if None."""

    def choose_rows(batches: Iterator[Batch]) -> Iterator[Batch]:
        if granted is None:
            yield from batches
            return
        first = 0
        for batch in batches:
            wanted = [row for row in range(len(batch)) if first + row in granted]
            first += len(batch)
            if wanted:
                yield batch if len(wanted) == len(batch) else batch.take(wanted)

    return choose_rows


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
    with ThreadPoolExecutor(1) as thread:
        waiting: tuple[list[Result], Future[None]] | None = None
        for group in _groups(results):
            parts = [(batch, released.words, released.bases) for batch, released in group]
            charging = thread.submit(spending.charge_together, parts)
            if waiting is not None:
                yield from _once_charged(*waiting)
            waiting = group, charging
        if waiting is not None:
            yield from _once_charged(*waiting)


def _once_charged(group: list[Result], charging: Future[None]) -> Iterator[Result]:
    charging.result()
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


def _in_order(
    batches: Iterator[Batch], pool: Executor, release: ReleaseRecords, workers: int
) -> Generator[Result]:
    """Release batches, a bounded number in flight, results in input order."""
    waiting: deque[tuple[Batch, Future[BatchRelease]]] = deque()
    try:
        with explain_broken_pool(_FEWER):
            for batch in batches:
                waiting.append((batch, pool.submit(release, batch.records)))
                if len(waiting) > workers:
                    ready, future = waiting.popleft()
                    yield ready, future.result()
            while waiting:
                ready, future = waiting.popleft()
                yield ready, future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
