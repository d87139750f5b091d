"""Privatizing a file: what the command line calls, with every check that protects someone."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from filecmp import cmp
from pathlib import Path

from inkblur.atomic_file import PRIVATE, write_atomically
from inkblur.documents.weakness import refuse_weak
from inkblur.embeddings.table import Embedding
from inkblur.errors import OutputError, ParameterError, PrivateCalibration
from inkblur.files.formats import Format
from inkblur.files.run import run
from inkblur.files.run_vectors import VectorSummary, run_vectors
from inkblur.files.sink import open_sink
from inkblur.files.source import Source, open_source
from inkblur.files.summary import Summary
from inkblur.files.worker_pool import WorkerCopy
from inkblur.mechanisms.nearest import engine
from inkblur.mechanisms.nearest.cpu import native
from inkblur.mechanisms.nearest.engine import Device
from inkblur.mechanisms.perturbation import Perturbation
from inkblur.rng import Rng, secure_rng
from inkblur.spec import ReleaseSpec
from inkblur.types import ReleaseKind, choose, whole

OnProgress = Callable[[int, int | None, int], None]  # bytes read, bytes in all, words drawn
_CORPUS = (4096, 1 << 20)  # records and characters of a reference corpus that are read at a time


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
    on_progress: OnProgress = lambda done, total, words: None,
) -> Summary | VectorSummary:
    """Release every text of the file `source` into `target`; "-" is standard input or output.

    `rng` draws the noise: a fresh secret key if it is left out. `report` is a JSON file about the
    run, for the data owner alone; its "spec" is enough to run the same release again. `workers`
    batches are in flight at a time, on threads or with `processes` on processes; neither they nor
    `device` and `threads`, where and how the nearest words are searched, change the output.
    The report may overwrite none of the `untouched` files, such as the key's.

    Refused, before anything is written: a vocabulary, reference or table that is the protected
    file itself, an output or report that is an input, unknown columns, repeated ids, copied columns
    that look like identifiers, and a setting at which nearly every word would stay (unless the spec
    has `accept_weak`).

    >>> import tempfile, inkblur
    >>> folder = tempfile.TemporaryDirectory()
    >>> posts, blurred = Path(folder.name, "posts.txt"), Path(folder.name, "blurred.txt")
    >>> _ = posts.write_text("the doctor was angry\\n")
    >>> spec = inkblur.ReleaseSpec("laplace", strength="medium")
    >>> summary = inkblur.privatize_file(posts, blurred, spec)
    >>> summary.documents, len(blurred.read_text().split())
    (1, 4)
    >>> folder.cleanup()
    """
    rng = secure_rng() if rng is None else rng
    in_flight = _in_flight(processes) if workers is None else whole(workers, "workers")
    where = choose(Device, device, "device")
    searching = where is not Device.AUTO or threads is not None
    refuse_private_ingredients(source, spec)
    if report is not None:
        inputs = (spec.embedding, spec.vocabulary, spec.reference)
        named = (source, target, *untouched, *(path for path in inputs if path is not None))
        _check_writable(Path(report), [Path(path) for path in named if str(path) != "-"])
    given = None if spec.format is None else choose(Format, spec.format, "format")
    summary: Summary | VectorSummary
    with open_source(
        source,
        column=spec.columns,
        id_column=spec.id_column,
        drop_columns=spec.drop_columns,
        keep_columns=spec.keep_columns,
        no_header=spec.no_header,
        delimiter=spec.delimiter,
        quoting=spec.quoting,
        encoding=spec.encoding,
        format=given,
    ) as opened:
        table = spec.table()
        if spec.kind is ReleaseKind.TF:
            if searching or processes or workers is not None:
                raise ParameterError(
                    "a tf release searches nothing: leave out `device=`, `threads=`, `workers=` "
                    "and `processes=`"
                )
            vectors = spec.synthetic_vectors(table, _reference(spec))
            refuse_weak(vectors.mechanism, accept_weak=spec.accept_weak)
            resolved = spec.resolved(table, vectors.mechanism)
            summary = run_vectors(opened, str(target), vectors, rng, skip_public=spec.skip_public)
        else:
            blur = spec.privatizer(table)
            resolved = spec.resolved(table, blur.mechanism)
            if searching and not isinstance(blur.mechanism, Perturbation):
                raise ParameterError(
                    f"{spec.mechanism} searches nothing: leave out `device=` and `threads=`"
                )
            copies = WorkerCopy(resolved, *_each_search(where, threads)) if processes else None
            if copies is None:
                _search(table, where, threads)
            refuse_weak(blur.mechanism, accept_weak=spec.accept_weak)
            sink_format = given if str(target) == "-" else None
            with open_sink(target, opened, format=sink_format) as sink:
                summary = run(
                    opened,
                    sink,
                    blur,
                    rng,
                    workers=in_flight,
                    copies=copies,
                    skip_public=spec.skip_public,
                    on_batch=_reported(opened, on_progress),
                )
    if report is not None:
        body = {"spec": resolved.to_json(), **summary.to_json()}
        text = json.dumps(body, indent=2, allow_nan=False) + "\n"
        write_atomically(Path(report), text, mode=PRIVATE)  # it counts what the true texts hold
    return summary


def refuse_private_ingredients(source: str | Path, spec: ReleaseSpec) -> None:
    """Vectors, vocabulary and reference must be public: the protected file itself is not."""
    for name in ("embedding", "vocabulary", "reference"):
        path = getattr(spec, name)
        # os.path: before Python 3.12 Path.exists raises where a name is too long.
        if path is None or str(source) == "-":
            continue
        if not (os.path.exists(path) and os.path.exists(source)):  # noqa: PTH110
            continue
        if _same_content(Path(path), Path(source)):
            raise PrivateCalibration(
                f"`{name}=` names the file being protected; a vocabulary made from it would leak "
                "its words. Use a public word list"
            )


def _same_content(left: Path, right: Path) -> bool:
    """The same file, or a copy of it."""
    return left.samefile(right) or (left.is_file() and right.is_file() and cmp(left, right, False))


def _check_writable(report: Path, others: Sequence[Path]) -> None:
    for other in others:
        if report.resolve() == other.resolve():
            raise OutputError(f"the report would overwrite {other}; choose another name")
    folder = report.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK) or report.is_dir():
        raise OutputError(f"cannot write the report {report}: check that its folder exists")


def _in_flight(processes: bool) -> int:
    """Batches at a time: noise is drawn on a thread each. Beyond 8 they wait for each other."""
    return native.processors() if processes else min(max(2, native.processors()), 8)


def _search(table: Embedding, device: Device, threads: int | None) -> None:
    """Search this table so; leaves the usual way alone where nothing else is wanted."""
    if device is not Device.AUTO or threads is not None:
        engine.serve(table, device, threads=threads)


def _each_search(device: Device, threads: int | None) -> tuple[Device, int | None]:
    """Where each of many processes searches: the GPU if there is one, else on one thread."""
    from inkblur.mechanisms.nearest.gpu import backend as gpu

    if device is Device.CUDA or (device is Device.AUTO and threads is None and gpu.available()):
        return Device.CUDA, threads
    return Device.CPU, 1 if threads is None else threads


def _reference(spec: ReleaseSpec) -> list[str] | None:
    """The texts of the public corpus that a tf release takes its vocabulary from."""
    if spec.reference is None:
        return None
    with open_source(spec.reference) as corpus:
        return [text for batch in corpus.batches(*_CORPUS) for text in batch.texts]


def _reported(source: Source, on_progress: OnProgress) -> Callable[[int, int], None]:
    return lambda words, documents: on_progress(source.bytes_read(), source.bytes_total, words)
