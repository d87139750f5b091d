"""Privatizing a folder of files, partitioned or not, as one release.

Every file appears at once or not at all, and a run that was cut short goes on at the first file
that is not finished: same key, same ids, same bytes. That is why an id column and a kept key are
required, and why ids are unique over all files: equal texts under one id would share their noise.
"""

from __future__ import annotations

import fcntl
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from glob import has_magic
from itertools import takewhile
from pathlib import Path

from inkblur.atomic_file import PRIVATE
from inkblur.errors import InputError, OutputError, ParameterError
from inkblur.files.checkpoint import Checkpoint
from inkblur.files.formats import Format, bare_name, format_of, listed
from inkblur.files.identifiers import ROWS
from inkblur.files.occurrences import Occurrences
from inkblur.files.release import (
    ChargedFile,
    charge_ahead,
    refuse_own_source,
    refuse_private_ingredients,
)
from inkblur.files.run import run
from inkblur.files.sink import open_sink
from inkblur.files.source import column_names, open_described
from inkblur.files.spending import Limits, accounted, shown_by, spending_of
from inkblur.files.summary import RunSummary, draws_a_text
from inkblur.ledger import Ledger
from inkblur.pools import PoolPrivatizer
from inkblur.rng import Rng
from inkblur.spec import ReleaseSpec
from inkblur.types import ReleaseKind, choose, whole

STATE = ".inkblur-run.jsonl"  # in the output folder while a run is not finished
_READ = (4096, 1 << 20)  # records and characters that are read at a time


def is_folder(source: str | Path) -> bool:
    """Whether a source is a folder, or a pattern such as `data/*.parquet`."""
    # os.path: before Python 3.12 Path.is_dir raises where a name is too long.
    if os.path.isdir(source):  # noqa: PTH112
        return True
    return has_magic(str(source)) and not os.path.exists(source)  # noqa: PTH110


def privatize_folder(
    source: str | Path,
    target: str | Path,
    spec: ReleaseSpec,
    *,
    rng: Rng,
    workers: int = 2,
    ledger: Ledger | str | Path | bool = True,
    limits: Limits | None = None,
    on_file: Callable[[str, int, int], None] = lambda name, done, total: None,
) -> RunSummary | None:
    """Release every file of a folder, or of a pattern, into files of the folder `target`.

    Names of files and folders are not copied: files are numbered in the order of their names. A
    folder such as `year=2026` is a column, which `spec.keep_columns` may name. Hidden files and
    those that begin with `_`, as engines leave them, are passed over. `on_file` is called with the
    name of each file, how many are finished and how many there are. The summary is of the files
    that this call released; None where an earlier call had released them all.

    All files are one release in the `ledger`, and a call that goes on after another goes on with
    its entry. `limits` are checked over all files before anything is drawn.

    >>> import tempfile, inkblur
    >>> folder = tempfile.TemporaryDirectory()
    >>> data = Path(folder.name, "data", "year=2026")
    >>> data.mkdir(parents=True)
    >>> _ = (data / "a.csv").write_text("id,text\\n1,the doctor was angry\\n")
    >>> _ = (data / "b.csv").write_text("id,text\\n2,so was I\\n")
    >>> spec = inkblur.ReleaseSpec("staircase", 8.0, id_column="id")
    >>> out = Path(folder.name, "out")
    >>> summary = privatize_folder(
    ...     data.parent, out, spec, rng=inkblur.seeded_rng(1), ledger=False
    ... )
    >>> summary.documents, sorted(path.name for path in out.rglob("*.csv"))
    (2, ['part-00001.csv', 'part-00002.csv'])
    >>> folder.cleanup()
    """
    if spec.kind is ReleaseKind.TF:
        raise ParameterError("a tf release of a folder is not written yet: give one file at a time")
    root, files = _files(source, spec)
    missing = ["`id_column=`"] if spec.id_column is None else []
    if not (rng.kept or rng.seeded):
        missing.append("`rng=` with a key that is kept")
    if missing:
        raise ParameterError(
            f"a folder needs {' and '.join(missing)}: an interrupted run continues where it "
            "stopped, and must draw the same words again"
        )
    out = Path(target)
    if out.resolve() == root.resolve():
        raise OutputError(f"the output is the input itself ({root}); choose another folder")
    partitions = _partitions(root, files)
    in_files = spec
    kept_folders = [name for name in partitions if name in spec.keep_columns]
    if kept_folders:  # which files may hold as a column, too
        held = column_names(files[0], delimiter=spec.delimiter, encoding=spec.encoding)
        kept = (name for name in spec.keep_columns if name not in partitions or name in held)
        in_files = spec.varied(keep_columns=tuple(kept))
    for file in files:
        refuse_private_ingredients(file, spec)
    texts = _checked_texts(files, in_files)
    table = spec.table()
    made = spec.releaser(table)
    made.refuse_weak(accept_weak=spec.accept_weak)
    if isinstance(made, PoolPrivatizer):
        for file in files:
            refuse_own_source(file, made.mechanism.pool)
        made.refuse_own(texts, len(spec.columns))
    resolved = spec.resolved(table, made.mechanism)
    limits = Limits() if limits is None else limits
    budget = limits.for_guarantee(made.guaranteed(rng), spec.id_column)
    summaries: list[RunSummary] = []
    with _alone(out) as state_file:
        state = _state(state_file, root, files, resolved, rng, counted=ledger is not False)
        done = {row["file"] for row in state.rows if "file" in row}
        begun = [row["release"] for row in state.rows if "release" in row]
        with (
            _nothing_left(state, unless=bool(begun or done)),
            spending_of(
                ledger,
                made,
                resolved,
                rng,
                limits=budget,
                source=source,
                files=len(files),
                begun=begun[-1] if begun else None,
                on_begin=lambda release: state.add({"release": release}),
            ) as spending,
        ):
            charged: list[ChargedFile] = []
            if budget and spending is not None:
                charged = charge_ahead(files, made, spending, in_files, limits)
            for number, file in enumerate(files):
                name = file.relative_to(root)
                on_file(str(name), number, len(files))
                if str(name) in done:
                    continue
                written = out / _written_name(name, number + 1, kept_folders)
                written.parent.mkdir(parents=True, exist_ok=True)
                with (
                    open_described(file, in_files) as opened,
                    open_sink(written, opened, on_show=shown_by(spending)) as sink,
                ):
                    summaries.append(
                        run(
                            opened,
                            sink,
                            made,
                            rng,
                            workers=whole(workers, "workers"),
                            skip_public=spec.skip_public,
                            rows=partial(charged[number].rows, opened) if charged else None,
                            spending=spending,
                        )
                    )
                state.add({"file": str(name)})
        state.file.unlink()
    if not summaries:
        return None
    summary = _joined(summaries)
    shown = ["which texts lie in one file, and the order of the files by their true names"]
    if kept_folders:
        shown.append(f"the names of the folders of {listed(kept_folders)}, copied as is")
    left = (name for name in partitions if name not in kept_folders)
    fate = replace(summary.fate, not_copied=tuple(dict.fromkeys([*summary.fate.not_copied, *left])))
    guarantee = accounted(summary.guarantee.passing(shown), spending)
    return replace(summary, guarantee=guarantee, fate=fate)


def _files(source: str | Path, spec: ReleaseSpec) -> tuple[Path, list[Path]]:
    """The folder that names are relative to, and the files, sorted."""
    path = Path(source)
    if path.is_dir():
        root, pattern = path, "**/*"
    else:
        plain = list(takewhile(lambda part: not has_magic(part), path.parts))
        root = Path(*plain) if plain else Path()
        pattern = str(Path(*path.parts[len(plain) :]))
    given = None if spec.format is None else choose(Format, spec.format, "format")
    files = [
        file
        for file in sorted(root.glob(pattern))
        if file.is_file()
        and not any(part.startswith((".", "_")) for part in file.relative_to(root).parts)
    ]
    if not files:
        raise InputError(f"no files in {source}; check the path")
    for file in files:
        if format_of(file, given, InputError) is Format.TXT:
            raise InputError(
                f"{file} has no ids, which the texts of a folder need; release txt files one file "
                "at a time, or put their texts in one .csv file"
            )
    return root, files


def _partitions(root: Path, files: list[Path]) -> list[str]:
    """The columns that are made of folders such as `year=2026`."""
    parts = (part for file in files for part in file.relative_to(root).parent.parts)
    return list(dict.fromkeys(part.partition("=")[0] for part in parts if "=" in part))


def _written_name(name: Path, number: int, kept: list[str]) -> Path:
    """The file's place in the output: a number, in the folders of the columns that are kept."""
    folders = [part for part in name.parent.parts if part.split("=")[0] in kept and "=" in part]
    suffixes = name.name.removeprefix(bare_name(name))
    return Path(*folders, f"part-{number:05d}{suffixes}")


def _checked_texts(files: list[Path], spec: ReleaseSpec) -> list[str]:
    """Read everything once, before anything is drawn: ids must differ over all files. The first
    texts of each file.
    """
    seen = Occurrences()
    first: list[str] = []
    for number, file in enumerate(files, 1):
        with open_described(file, spec) as opened:
            for batch in opened.batches(*_READ):
                repeat = seen.repeat([record.id for record in batch.records[:: batch.width]])
                if repeat is not None:
                    raise InputError(
                        f"{batch.place(repeat)} of {file} repeats an id of another file; ids must "
                        "differ over all files"
                    )
                rows = max(0, ROWS * number // len(files) - len(first) // batch.width)
                first += batch.texts[: rows * batch.width]
    return first


@contextmanager
def _alone(out: Path) -> Iterator[Path]:
    """The file that says what is finished, locked: a second run at a time would go on with the
    release of the first, and show what that one may give up.
    """
    file = out / STATE
    if not file.exists() and out.is_dir() and any(out.iterdir()):
        raise OutputError(f"the folder {out} is not empty; choose another for the output")
    try:
        out.mkdir(parents=True, exist_ok=True)
        handle = os.open(file, os.O_RDWR | os.O_CREAT, PRIVATE)  # it holds sizes of true files
    except OSError as error:
        raise OutputError(f"cannot write {file}: {error.strerror}") from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputError(
                f"another run is writing to the folder {out}; wait for it, or choose another"
            ) from None
        except OSError as error:
            raise OutputError(
                f"cannot keep other runs out of the folder {out}: {error.strerror}; choose one on "
                "a disk that has locks"
            ) from None
        yield file
    finally:
        os.close(handle)


def _state(
    file: Path, root: Path, files: list[Path], spec: ReleaseSpec, rng: Rng, *, counted: bool
) -> Checkpoint:
    """What an earlier call finished; refused where it was another release or the input changed.
    What was begun without a ledger was not charged, so it cannot go on with one.
    """
    facts = [[str(f.relative_to(root)), f.stat().st_size, f.stat().st_mtime_ns] for f in files]
    run = {"spec": spec.to_json(), "key": rng.fingerprint().hex(), "files": facts}
    return Checkpoint(file, {**run, "ledger": counted})


@contextmanager
def _nothing_left(state: Checkpoint, *, unless: bool) -> Iterator[None]:
    """A run that failed before its first file was finished leaves no trace; `unless` an earlier one
    has something to go on with. A file that is there but was not entered is written again.
    """
    try:
        yield
    except BaseException:
        if not unless and not any("file" in row for row in state.rows):
            folder = state.file.parent
            for made in sorted(filter(Path.is_dir, folder.rglob("*")), reverse=True):
                with suppress(OSError):  # it holds something
                    made.rmdir()
            if list(folder.iterdir()) == [state.file]:
                state.file.unlink()
                with suppress(OSError):  # others may have put something there
                    folder.rmdir()
        raise


def _joined(summaries: list[RunSummary]) -> RunSummary:
    """What a run did, over all files: what one of them shows, the guarantee names."""
    last = summaries[-1]
    counts: Counter[str] = sum((each.counts for each in summaries), Counter())
    lengths: Counter[int] = sum((each.lengths for each in summaries), Counter())
    fates = [each.fate for each in summaries]
    left_out = None if last.fate.left_out is None else sum(fate.left_out or 0 for fate in fates)
    shown = [line for each in summaries for line in each.guarantee.passed]
    median = draws_a_text(lengths)["median"] or None
    return replace(
        last,
        guarantee=replace(last.guarantee.passing(shown), typical_words=median),
        counts=counts,
        lengths=lengths,
        fate=replace(
            last.fate,
            copied=tuple(dict.fromkeys(name for fate in fates for name in fate.copied)),
            not_copied=tuple(dict.fromkeys(name for fate in fates for name in fate.not_copied)),
            telling={name: why for fate in fates for name, why in fate.telling.items()},
            repeated=sum(fate.repeated for fate in fates),
            left_out=left_out,
        ),
        documents=sum(each.documents for each in summaries),
        seconds=sum(each.seconds for each in summaries),
    )
