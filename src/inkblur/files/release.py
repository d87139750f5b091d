"""Privatizing a file: what the command line calls, with every check that protects someone."""

from __future__ import annotations

import hashlib
import json
import os
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from filecmp import cmp
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from inkblur.atomic_file import PRIVATE, write_atomically
from inkblur.documents.base import AnyPrivatizer
from inkblur.documents.tf_vector import SyntheticVectors
from inkblur.errors import InputError, OutputError, ParameterError, PrivateCalibration
from inkblur.files.formats import format_of, is_stream
from inkblur.files.public_records import PublicRecords
from inkblur.files.records import Batch
from inkblur.files.run import ChooseRows, run
from inkblur.files.sink import open_sink
from inkblur.files.source import Source, open_described, texts_of_file
from inkblur.files.spending import Limits, Spending, accounted, shown_by, spending_of
from inkblur.files.summary import RunSummary
from inkblur.files.vectors import run_vectors, vector_format
from inkblur.files.worker_pool import WorkerCopy, each_search
from inkblur.ledger import Ledger, ledger_files
from inkblur.mechanisms.base import require_rng
from inkblur.mechanisms.nearest import engine
from inkblur.mechanisms.nearest.cpu import native
from inkblur.mechanisms.nearest.engine import Device
from inkblur.mechanisms.perturbation import Perturbation
from inkblur.pools import Pool, PoolPrivatizer
from inkblur.pools.privatizer import OWN_SOURCE
from inkblur.rng import Rng, secure_rng
from inkblur.spec import ReleaseSpec
from inkblur.types import ReleaseKind, choose, whole

OnProgress = Callable[[int, int | None, int], None]  # bytes read, bytes in all, words drawn
_READ = (4096, 1 << 20)  # records and characters that are read at a time to charge them


def privatize_file(
    source: str | Path,
    target: str | Path,
    spec: ReleaseSpec,
    *,
    rng: Rng | None = None,
    report: str | Path | None = None,
    workers: int | None = None,
    processes: bool = False,
    device: Device | str = Device.AUTO,
    threads: int | None = None,
    untouched: Sequence[str | Path] = (),
    ledger: Ledger | str | Path | bool = True,
    limits: Limits | None = None,
    caller: str = "",
    on_progress: OnProgress = lambda done, total, words: None,
    on_expectation: Callable[[str], None] = lambda sentence: None,
) -> RunSummary:
    """Release every text of the file `source` into `target`; "-" is standard input or output.

    `rng` draws the noise: a fresh secret key if it is left out. `report` is a JSON file about the
    run, for the data owner alone; its "spec" is enough to run the same release again. `workers`
    batches are in flight at a time, on threads or with `processes` on processes; neither they nor
    `device` and `threads`, where and how the nearest words are searched, change the output.
    Neither output nor report may overwrite the `untouched` files, such as the key's.

    Every release is entered in a `ledger`: a path, a `postgresql://` URL, True for the user's own,
    False for none. `limits` are the budgets it must keep to; what would exceed them is refused
    before anything is drawn. Where several people share a ledger, `caller` names one of them: their
    records have accounts and noise of their own, so that nobody learns from a budget or from equal
    outputs what another has released.

    With a pool, `on_expectation` is called, before anything is drawn, with what to expect.

    Nothing is written but the texts and the columns that `spec.keep_columns` names. Refused, before
    anything is written: a vocabulary, reference or table that is the protected file itself, an
    output or report that is an input, unknown columns, repeated ids, and a setting at which nearly
    every word would stay (unless the spec has `accept_weak`).

    >>> import tempfile, inkblur
    >>> folder = tempfile.TemporaryDirectory()
    >>> posts, blurred = Path(folder.name, "posts.txt"), Path(folder.name, "blurred.txt")
    >>> _ = posts.write_text("the doctor was angry\\n")
    >>> spec = inkblur.ReleaseSpec("mahalanobis", strength="medium")
    >>> summary = inkblur.privatize_file(posts, blurred, spec)
    >>> summary.documents, len(blurred.read_text().split())
    (1, 4)
    >>> folder.cleanup()
    """
    rng = secure_rng() if rng is None else require_rng(rng)
    if caller:
        rng = rng.child("caller", caller)
    in_flight = _in_flight(processes) if workers is None else whole(workers, "workers")
    where = choose(Device, device, "device")
    searching = where is not Device.AUTO or threads is not None
    refuse_private_ingredients(source, spec)
    _check_format(target, spec.kind)
    kept = [*untouched, *spec_files(spec), *_files_of(ledger)]
    refuse_overwriting("output", target, kept)
    if report is not None:
        refuse_overwriting("report", report, [source, target, *kept])
        _check_writable(Path(report))
    limits = Limits() if limits is None else limits
    summary: RunSummary
    with open_described(source, spec) as opened:
        table = spec.table()
        tf = spec.kind is ReleaseKind.TF
        corpus = None if spec.reference is None else texts_of_file(spec.reference)
        made = spec.synthetic_vectors(table, corpus) if tf else spec.releaser(table)
        resolved = spec.resolved(table, made.mechanism)
        if isinstance(made, PoolPrivatizer) and threads is None:
            made.mechanism.search_on(where)
        elif searching and not isinstance(made.mechanism, Perturbation):
            raise ParameterError(
                f"{spec.mechanism} has no search to speed up: leave out `device=` and `threads=`"
            )
        if tf and (processes or workers is not None):
            raise ParameterError("a tf release has no workers: leave out `workers=`, `processes=`")
        if searching and isinstance(made.mechanism, Perturbation) and not processes:
            engine.serve(table, where, threads=threads)
        if isinstance(made, PoolPrivatizer):
            refuse_own_source(source, made.mechanism.pool)
            on_expectation(made.expectation())
        made.refuse_weak(accept_weak=spec.accept_weak)
        budget = limits.for_guarantee(made.guaranteed(rng), spec.id_column)
        with spending_of(
            ledger, made, resolved, rng, limits=budget, source=source, caller=caller
        ) as spending:
            rows: ChooseRows | None = None
            if limits and spending is not None:
                waiting = partial(on_progress, 0, opened.bytes_total, 0)
                [charged] = charge_ahead([source], made, spending, spec, limits, on_batch=waiting)
                rows = partial(charged.rows, opened)
            chosen: dict[str, Any] = {"skip_public": spec.skip_public, "rows": rows}
            if isinstance(made, SyntheticVectors):
                summary = run_vectors(opened, str(target), made, rng, spending=spending, **chosen)
            else:
                copies = WorkerCopy(resolved, *each_search(where, threads)) if processes else None
                with open_sink(target, opened, on_show=shown_by(spending)) as sink:
                    summary = run(
                        opened,
                        sink,
                        made,
                        rng,
                        workers=in_flight,
                        copies=copies,
                        spending=spending,
                        on_batch=_reported(opened, on_progress),
                        **chosen,
                    )
    summary = replace(summary, guarantee=accounted(summary.guarantee, spending))
    if report is not None:
        body = {
            "inkblur": version("inkblur"),
            "spec": resolved.to_json(),
            **summary.to_json(),
            "ledger": None if spending is None else spending.to_json(),
        }
        text = json.dumps(body, indent=2, allow_nan=False) + "\n"
        write_atomically(Path(report), text, mode=PRIVATE)  # it counts what the true texts hold
    return summary


@dataclass(frozen=True, slots=True)
class ChargedFile:
    """A file whose records were charged before anything is drawn."""

    version: tuple[int, ...]  # of the file that was read
    granted: frozenset[int] | None  # rows that may be released, from 0; None: all

    def rows(self, source: Source, batches: Iterator[Batch]) -> Iterator[Batch]:
        """The rows of the file, opened again, that may be released; refused if it has changed."""
        first = 0
        for batch in batches:
            if source.version != self.version or source.written_to():
                raise InputError(
                    f"{source.name} changed after its records were charged; release a copy that "
                    "nobody writes to"
                )
            rows = range(len(batch))
            if self.granted is not None:
                wanted = [row for row in rows if first + row in self.granted]
                batch = batch if len(wanted) == len(rows) else batch.take(wanted)
            first += len(rows)
            if batch.records:
                yield batch


def charge_ahead(
    files: Sequence[str | Path],
    made: AnyPrivatizer,
    spending: Spending,
    spec: ReleaseSpec,
    limits: Limits,
    *,
    on_batch: Callable[[], None] = lambda: None,
) -> list[ChargedFile]:
    """Charge whole files, read as the run will read them. `on_batch` is called now and then, and
    may raise to give it up.
    """
    starts: list[int] = []  # the number of each file's first row, over all files
    versions: list[tuple[int, ...]] = []

    def batches() -> Iterator[Batch]:
        rows = 0
        for file in files:
            starts.append(rows)
            with open_described(file, spec) as source:
                if source.bytes_total is None:
                    raise ParameterError(
                        "a budget is checked before anything is drawn; give a file, not a pipe"
                    )
                versions.append(source.version)
                public = PublicRecords(made.corpora, skip=spec.skip_public)
                for batch in public.screened(source.batches(*_READ)):
                    on_batch()
                    yield batch
                    rows += len(batch)

    granted = spending.charge_ahead(batches(), made, partial=limits.partial)
    if granted is None:
        return [ChargedFile(version, None) for version in versions]
    chosen: list[set[int]] = [set() for _ in files]
    for row in granted:
        file = bisect_right(starts, row) - 1
        chosen[file].add(row - starts[file])
    return [
        ChargedFile(version, frozenset(rows))
        for version, rows in zip(versions, chosen, strict=True)
    ]


def refuse_private_ingredients(source: str | Path, spec: ReleaseSpec) -> None:
    """Vectors, vocabulary and reference must be public: the protected file itself is not."""
    for name in ("embedding", "vocabulary", "reference"):
        path = getattr(spec, name)
        # os.path: before Python 3.12 Path.exists raises where a name is too long.
        if path is None or is_stream(source):
            continue
        if not (os.path.exists(path) and os.path.exists(source)):  # noqa: PTH110
            continue
        if _same_content(Path(path), Path(source)):
            raise PrivateCalibration(
                f"`{name}=` names the file being protected; a vocabulary made from it would leak "
                "its words. Use a public word list"
            )


def refuse_own_source(source: str | Path, pool: Pool) -> None:
    """A pool must not have been built from the file that it is to protect."""
    built_from = pool.provenance.get("sha256")
    if built_from is None:
        return
    if file_sha256(Path(source)) == built_from:
        raise PrivateCalibration(OWN_SOURCE)


def file_sha256(path: Path) -> str | None:
    """The fingerprint of a file's bytes; None where there is no file."""
    if not os.path.isfile(path):  # noqa: PTH113
        return None
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _same_content(left: Path, right: Path) -> bool:
    """The same file, or a copy of it."""
    try:
        return left.samefile(right) or (
            left.is_file() and right.is_file() and cmp(left, right, False)
        )
    except OSError as error:
        raise InputError(f"cannot compare {left} with {right}: {error.strerror}") from None


def spec_files(spec: ReleaseSpec) -> list[str]:
    """The files that a release reads besides its source."""
    named = (spec.embedding, spec.vocabulary, spec.reference, spec.pool)
    return [path for path in named if path is not None]


def refuse_overwriting(what: str, written: str | Path, others: Sequence[str | Path]) -> None:
    """No file that a run reads, nor its ledger, may be replaced by what it writes."""
    for other in others:
        if "-" in (str(written), str(other)):
            continue
        if Path(written).resolve() == Path(other).resolve():
            raise OutputError(f"the {what} would overwrite {other}; choose another name")


def _check_format(target: str | Path, kind: ReleaseKind) -> None:
    """Refuse an output whose name says no format that is written, before any work."""
    if kind is ReleaseKind.TF:
        vector_format(target)
    elif not is_stream(target):
        format_of(target, None, OutputError)


def _files_of(ledger: Ledger | str | Path | bool) -> list[Path]:
    if ledger is False:
        return []
    place = ledger.place if isinstance(ledger, Ledger) else ledger
    return ledger_files(None if place is True else place)


def _check_writable(report: Path) -> None:
    if report.is_dir():
        raise OutputError(f"cannot write the report {report}: it is a folder; name a file in it")
    folder = report.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise OutputError(
            f"cannot write the report {report}: check that its folder exists and may be written to"
        )


def _in_flight(processes: bool) -> int:
    """Batches at a time: noise is drawn on a thread each. Beyond 8 they wait for each other."""
    return native.processors() if processes else min(max(2, native.processors()), 8)


def _reported(source: Source, on_progress: OnProgress) -> Callable[[int, int], None]:
    on_progress(0, source.bytes_total, 0)  # the table is loaded, the first batch is next
    return lambda words, documents: on_progress(source.bytes_read(), source.bytes_total, words)
