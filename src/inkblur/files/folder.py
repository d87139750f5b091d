"""Privatizing a folder of files, partitioned or not, as one release.

Every file appears at once or not at all. A run that was cut short is run again, into the same
folder: same key, same ids, same bytes, at no further cost. That is why an id column and a kept key
are required, and why ids are unique over all files: equal texts under one id would share their
noise.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from glob import has_magic
from itertools import takewhile
from pathlib import Path

from inkblur.errors import InputError, OutputError, ParameterError
from inkblur.files.doors import column_names, open_described, open_sink
from inkblur.files.formats import Format, bare_name, format_of, listed
from inkblur.files.release import READ, refuse_own_source, refuse_private_ingredients
from inkblur.files.run import run
from inkblur.files.summary import RunSummary, summarize
from inkblur.ledger import Ledger
from inkblur.pools import PoolPrivatizer
from inkblur.release import Limits, Release, prepare
from inkblur.rng import Rng
from inkblur.spec import ReleaseSpec
from inkblur.types import ReleaseKind, choose, whole


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
) -> RunSummary:
    """Release every file of a folder, or of a pattern, into files of the folder `target`.

    Names of files and folders are not copied: files are numbered in the order of their names. A
    folder such as `year=2026` is a column, which `spec.keep_columns` may name. Hidden files and
    those that begin with `_`, as engines leave them, are passed over. `on_file` is called with the
    name of each file, how many are finished and how many there are.

    All files are one release in the `ledger`. `limits` are checked over all files before anything
    is drawn.

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
    began, at_a_time = time.perf_counter(), whole(workers, "workers")
    root, files = _files(source, spec)
    missing = ["`id_column=`"] if spec.id_column is None else []
    if not (rng.kept or rng.seeded):
        missing.append("`rng=` with a key that is kept")
    if missing:
        raise ParameterError(
            f"a folder needs {' and '.join(missing)}: whoever runs it again, after an "
            "interruption, must draw the same words again"
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
    prepared = prepare(spec, rng)
    made = prepared.privatizer
    if isinstance(made, PoolPrivatizer):
        for file in files:
            refuse_own_source(file, made.mechanism.pool)
    places = [
        out / _written_name(file.relative_to(root), number, kept_folders)
        for number, file in enumerate(files, 1)
    ]
    copied: list[str] = []
    not_copied: list[str] = []
    shows: list[str] = []
    _check_files(prepared, files, in_files)
    with (
        _alone(out, places),
        prepared.charged_to(
            ledger, limits, ids=spec.id_column, source=source, files=len(files)
        ) as release,
    ):
        if limits:
            _check_files(release, files, in_files)
        stream = release.stream(vouched=True)
        for number, (file, place) in enumerate(zip(files, places, strict=True)):
            on_file(str(file.relative_to(root)), number, len(files))
            place.parent.mkdir(parents=True, exist_ok=True)
            with (
                open_described(file, in_files) as opened,
                open_sink(
                    place,
                    opened,
                    order=release.rng if spec.shuffles else None,
                    on_show=release.about_to_show,
                ) as sink,
            ):
                run(stream, opened, sink, workers=at_a_time)
                copied += opened.copied
                not_copied += opened.not_copied
                shows += opened.shows(hides_length=made.hides_length)
        shows.append("which texts lie in one file, and the order of the files by their true names")
        if kept_folders:
            shows.append(f"the names of the folders of {listed(kept_folders)}, copied as is")
        not_copied += (name for name in partitions if name not in kept_folders)
        seconds = time.perf_counter() - began
        said = _distinct(copied), _distinct(not_copied), _distinct(shows)
        return summarize(stream, *said, seconds)


def _distinct(names: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


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


def _check_files(release: Release, files: list[Path], spec: ReleaseSpec) -> None:
    """Read everything once, before anything is drawn: ids must differ over all files, and budgets
    must allow them all.
    """
    stream = release.stream()
    for file in files:
        stream.begin(str(file))
        with open_described(file, spec) as opened:
            stream.charge_all(opened.batches(*READ))


@contextmanager
def _alone(out: Path, places: list[Path]) -> Iterator[None]:
    """The output folder, locked: it is empty, or what lies there is what an earlier run of this
    kind wrote and this one replaces. A run that fails leaves no folder that it made and nothing is
    in.
    """
    strange = (path for path in out.rglob("*") if path.is_file() and path not in places)
    if (stranger := next(strange, None)) is not None:
        raise OutputError(f"the folder {out} holds {stranger.name}; choose another for the output")
    try:
        out.mkdir(parents=True, exist_ok=True)
        handle = os.open(out, os.O_RDONLY)
    except OSError as error:
        raise OutputError(f"cannot write to {out}: {error.strerror}") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        busy = isinstance(error, BlockingIOError)
        why = "another run is writing to it" if busy else error.strerror
        raise OutputError(f"cannot write to the folder {out}: {why}; choose another") from None
    try:
        yield
    except BaseException:
        for made in sorted((out, *filter(Path.is_dir, out.rglob("*"))), reverse=True):
            with suppress(OSError):  # it holds something
                made.rmdir()
        raise
    finally:
        os.close(handle)
