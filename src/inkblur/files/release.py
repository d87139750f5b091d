"""Privatizing a file: what the command line calls, with every check that protects someone."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from filecmp import cmp
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from inkblur.atomic_file import PRIVATE, write_atomically
from inkblur.blas import processors
from inkblur.documents.tf_vector import SyntheticVectors
from inkblur.errors import InputError, OutputError, ParameterError, PrivateCalibration
from inkblur.files.doors import open_described, open_sink
from inkblur.files.formats import format_of, is_stream
from inkblur.files.records import Batch
from inkblur.files.run import run
from inkblur.files.summary import RunSummary, summarize
from inkblur.files.vectors import run_vectors, vector_format
from inkblur.ledger import Ledger, ledger_files
from inkblur.mechanisms.nearest.engine import Device
from inkblur.pools import Pool, PoolPrivatizer
from inkblur.pools.mechanism import OWN_SOURCE
from inkblur.release import Limits, Release, described_spec, prepare
from inkblur.rng import Rng
from inkblur.spec import ReleaseSpec
from inkblur.types import ReleaseKind, whole

OnProgress = Callable[[int, int | None, int], None]  # bytes read, bytes in all, words drawn
READ = (4096, 1 << 20)  # records and characters that are read at a time to charge them


def privatize_file(
    source: str | Path,
    target: str | Path,
    spec: ReleaseSpec | None = None,
    *,
    strength: str | None = None,
    rng: Rng | None = None,
    report: str | Path | None = None,
    workers: int | None = None,
    processes: bool = False,
    untouched: Sequence[str | Path] = (),
    ledger: Ledger | str | Path | bool = True,
    limits: Limits | None = None,
    caller: str = "",
    most_bytes: int | None = None,
    on_progress: OnProgress = lambda done, total, words: None,
    on_expectation: Callable[[str], None] = lambda sentence: None,
    **described: Any,
) -> RunSummary:
    """Release every text of the file `source` into `target`; "-" is standard input or output.

    The release is described by a `spec`, or by `strength` and the fields of
    :class:`inkblur.ReleaseSpec` and parameters of its mechanism.

    `rng` draws the noise: a fresh secret key if it is left out. `report` is a JSON file about the
    run, for the data owner alone; its "spec" is enough to run the same release again. `workers`
    batches are in flight at a time, on threads or with `processes` on processes; they do not change
    the output. Neither output nor report may overwrite the `untouched` files, such as the key's.

    Every release is entered in a `ledger`: a path, a `postgresql://` URL, True for the user's own,
    False for none. `limits` are the budgets it must keep to; what would exceed them is refused
    before anything is drawn. Where several people share a ledger, `caller` names one of them: their
    records have accounts and noise of their own, so that nobody learns from a budget or from equal
    outputs what another has released.

    A file that becomes more than `most_bytes` when it is unpacked is refused, as soon as so many
    were read. With a pool, `on_expectation` is called, before anything is drawn, with what to
    expect.

    Nothing is written but the texts and the columns that `spec.keep_columns` names. Refused, before
    anything is written: a vocabulary, reference or table that is the protected file itself, an
    output or report that is an input, unknown columns, repeated ids, and a setting at which nearly
    every word would stay (unless the spec has `accept_weak`).

    >>> import tempfile, inkblur
    >>> folder = tempfile.TemporaryDirectory()
    >>> posts, blurred = Path(folder.name, "posts.txt"), Path(folder.name, "blurred.txt")
    >>> _ = posts.write_text("the doctor was angry\\n")
    >>> spec = inkblur.ReleaseSpec("mahalanobis", 35.0)
    >>> summary = inkblur.privatize_file(posts, blurred, spec)
    >>> summary.documents, len(blurred.read_text().split())
    (1, 8)
    >>> folder.cleanup()
    """
    spec = described_spec(spec, strength, described)
    # Noise is drawn on a thread for each batch; beyond 8 they wait for each other.
    usual = processors() if processes else min(max(2, processors()), 8)
    in_flight = usual if workers is None else whole(workers, "workers")
    refuse_private_ingredients(source, spec)
    if spec.kind is ReleaseKind.TF:
        vector_format(target)
    elif not is_stream(target):
        format_of(target, None, OutputError)
    kept = [*untouched, *spec_files(spec), *_files_of(ledger)]
    refuse_overwriting("output", target, kept)
    if report is not None:
        refuse_overwriting("report", report, [source, target, *kept])
        _check_writable(Path(report))
    with open_described(source, spec, most_bytes) as opened:
        prepared = prepare(spec, rng).for_caller(caller)
        made = prepared.privatizer
        if isinstance(made, SyntheticVectors) and (processes or workers is not None):
            raise ParameterError("a tf release has no workers: leave out `workers=`, `processes=`")
        if isinstance(made, PoolPrivatizer):
            made.mechanism.search_on(Device.AUTO)
            refuse_own_source(source, made.mechanism.pool)
            on_expectation(made.expectation())
        with prepared.charged_to(ledger, limits, ids=spec.id_column, source=source) as release:
            if limits:
                waiting = partial(on_progress, 0, opened.bytes_total, 0)
                _charge_ahead(release, source, waiting, most_bytes)
            if isinstance(made, SyntheticVectors):
                summary: RunSummary = run_vectors(release, opened, str(target))
            else:
                began, stream = time.perf_counter(), release.stream()
                on_progress(0, opened.bytes_total, 0)
                order = release.rng if spec.shuffles else None
                with open_sink(target, opened, order=order, on_show=release.about_to_show) as sink:
                    run(
                        stream,
                        opened,
                        sink,
                        workers=in_flight,
                        processes=processes,
                        on_batch=lambda words, documents: on_progress(
                            opened.bytes_read(), opened.bytes_total, words
                        ),
                    )
                shows = opened.shows(hides_length=made.hides_length)
                columns = opened.copied, opened.not_copied
                summary = summarize(stream, *columns, shows, time.perf_counter() - began)
    if report is not None:
        body = {
            "inkblur": version("inkblur"),
            "spec": prepared.resolved.to_json(),
            **summary.to_json(),
            "ledger": None if release.account is None else release.account.to_json(),
        }
        text = json.dumps(body, indent=2, allow_nan=False) + "\n"
        write_atomically(Path(report), text, mode=PRIVATE)  # it counts what the true texts hold
    return summary


def _charge_ahead(
    release: Release, file: str | Path, on_batch: Callable[[], None], most_bytes: int | None
) -> None:
    """Charge a whole file before anything is drawn from it, which costs nothing again then.
    `on_batch` is called now and then, and may raise to give it up.
    """
    with open_described(file, release.resolved, most_bytes) as source:
        if source.bytes_total is None:
            raise ParameterError(
                "a budget is checked before anything is drawn; give a file, not a pipe"
            )

        def batches() -> Iterator[Batch]:
            for batch in source.batches(*READ):
                on_batch()
                yield batch

        release.stream().charge_all(batches())


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
