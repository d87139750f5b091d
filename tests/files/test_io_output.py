"""An output is whole or not there, and what stood in its place stays until it is whole."""

from __future__ import annotations

import errno
import io
import os
import re
import stat
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from inkblur.atomic_file import AtomicFile, write_atomically
from inkblur.embeddings.store import write_store
from inkblur.embeddings.table import Embedding
from inkblur.errors import InputError, OutputError, ParameterError
from inkblur.files import Format, open_sink, open_source
from tests.files.passing import read, standard_input, through

NAMES = ["out.txt", "out.csv", "out.tsv", "out.jsonl", "out.parquet", "out.csv.gz", "out.csv.zst"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in.txt").write_text("one\ntwo\nthree\n")
    (tmp_path / "outputs").mkdir()
    return tmp_path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("accident", [KeyboardInterrupt, SystemExit, InputError, MemoryError])
@pytest.mark.parametrize("after", [0, 2])
def test_an_accident_leaves_nothing(
    folder: Path, name: str, accident: type[BaseException], after: int
) -> None:
    out = folder / "outputs" / name
    out.write_text("what stood here before")

    def copy() -> None:
        with open_source(folder / "in.txt") as source, open_sink(out, source) as sink:
            partial, there = names(out.parent)
            assert there == name
            assert re.fullmatch(rf"\.{name}\.inkblur-[0-9a-f]{{16}}\.partial", partial)
            for i, batch in enumerate(source.batches(1, 100)):
                if i == after:
                    raise accident
                sink.write(batch, batch.texts)

    with pytest.raises(accident):
        copy()
    assert names(out.parent) == [name]
    assert out.read_text() == "what stood here before"


@pytest.mark.parametrize("name", NAMES)
def test_success_leaves_the_output_alone_and_keeps_its_mode(folder: Path, name: str) -> None:
    out = folder / "outputs" / name
    out.write_text("old")
    out.chmod(0o600)
    through(folder / "in.txt", out)
    assert names(out.parent) == [name]
    assert [record.text for record in read(out)] == ["one", "two", "three"]
    assert stat.S_IMODE(out.stat().st_mode) == 0o600


def test_nobody_else_reads_a_file_before_it_is_complete(folder: Path) -> None:
    """What fails is given back in the ledger as if nobody had seen it."""
    usual = folder / "outputs" / "usual"
    usual.touch()
    for name, before in (("new.txt", None), ("old.txt", 0o664)):
        out = folder / "outputs" / name
        if before is not None:
            out.touch()
            out.chmod(before)
        with AtomicFile(out) as file:
            file.write(b"half of it")
            file.file.flush()
            (partial,) = out.parent.glob(".*.partial")
            assert stat.S_IMODE(partial.stat().st_mode) == 0o600
        expected = stat.S_IMODE(usual.stat().st_mode) if before is None else before
        assert stat.S_IMODE(out.stat().st_mode) == expected
        assert names(out.parent) == sorted({"usual", "new.txt", name})


class Full(io.BytesIO):
    """A disk with little room."""

    room = 1000

    def write(self, data: Any, /) -> int:
        written = memoryview(data).nbytes
        self.room -= written
        if self.room < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return written


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("room", [0, 1, 1000])
def test_a_full_disk(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, room: int) -> None:
    (folder / "in.txt").write_text("".join(os.urandom(50).hex() + "\n" for _ in range(200)))
    entered = AtomicFile.__enter__

    def small(self: AtomicFile) -> AtomicFile:
        entered(self).file.close()
        self._file = Full()
        self._file.room = room
        return self

    monkeypatch.setattr(AtomicFile, "__enter__", small)
    with pytest.raises(OutputError, match="no space left on device") as caught:
        through(folder / "in.txt", folder / "outputs" / name)
    assert "\n" not in str(caught.value)
    assert names(folder / "outputs") == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_device(folder: Path) -> None:
    with pytest.raises(OutputError, match="cannot write /dev/full: no space left"):
        through(folder / "in.txt", "/dev/full", sink_format=Format.TXT)


def test_a_device_is_written_to_and_never_replaced(folder: Path) -> None:
    through(folder / "in.txt", os.devnull, sink_format=Format.CSV)
    assert not stat.S_ISREG(Path(os.devnull).stat().st_mode)


def test_a_rename_that_fails(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(self: Path, target: Path) -> Path:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "replace", refused)
    with pytest.raises(OutputError, match=r"cannot write .*out\.txt: permission denied"):
        through(folder / "in.txt", folder / "outputs" / "out.txt")
    assert names(folder / "outputs") == []


def test_a_file_is_on_the_disk_under_its_name_before_it_counts_as_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ledger confirms it next: after a power cut its name must not be gone."""
    out = folder / "outputs" / "out.csv"
    synced: list[tuple[str, bool]] = []
    fsync = os.fsync

    def seen(handle: int) -> None:
        kind = "folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file"
        synced.append((kind, out.exists()))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", seen)
    through(folder / "in.txt", out)
    assert synced == [("file", False), ("folder", True)]


def test_unwritable_places(folder: Path) -> None:
    with pytest.raises(OutputError, match=r"no such folder .*nowhere; create it first"):
        through(folder / "in.txt", folder / "nowhere" / "out.txt")
    with pytest.raises(OutputError, match="is a folder; name a file in it"):
        through(folder / "in.txt", folder / "outputs", sink_format=Format.TXT)
    with pytest.raises(OutputError, match=r"cannot tell the format of .*`format=`"):
        through(folder / "in.txt", folder / "outputs" / "out.doc")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_forbidden_folder(folder: Path) -> None:
    (folder / "outputs").chmod(0o500)
    with pytest.raises(OutputError, match="permission denied"):
        through(folder / "in.txt", folder / "outputs" / "out.txt")


def test_the_input_is_never_the_output(folder: Path) -> None:
    (folder / "soft.txt").symlink_to(folder / "in.txt")
    (folder / "hard.txt").hardlink_to(folder / "in.txt")
    before = (folder / "in.txt").read_bytes()
    for given in ("in.txt", "soft.txt"):
        for out in ("in.txt", "soft.txt", "hard.txt", "outputs/../in.txt"):
            with pytest.raises(OutputError, match="the output is the input itself"):
                through(folder / given, folder / out)
    assert (folder / "in.txt").read_bytes() == before


def test_standard_input_from_the_output(folder: Path) -> None:
    program = """
        import sys
        from inkblur.files import Format, open_sink, open_source
        with open_sink(sys.argv[1], open_source("-", format=Format.TXT)):
            pass
    """
    with (folder / "in.txt").open() as file:
        run = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program), folder / "in.txt"],
            stdin=file,
            capture_output=True,
            check=False,
        )
    assert b"the output is the input itself" in run.stderr


class Sip(io.BytesIO):
    """Takes at most three bytes a call, as an unbuffered pipe may."""

    def write(self, data: Any, /) -> int:
        return super().write(memoryview(data)[:3])


@pytest.mark.parametrize("format", [Format.TXT, Format.PARQUET])
def test_every_byte_reaches_an_unbuffered_output(
    folder: Path, monkeypatch: pytest.MonkeyPatch, format: Format
) -> None:
    out = Sip()
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=out))
    through(folder / "in.txt", "-", sink_format=format)
    (folder / f"made.{format.value}").write_bytes(out.getvalue())
    assert [r.text for r in read(folder / f"made.{format.value}")] == ["one", "two", "three"]


KILLED = """
    import os, signal, sys
    from pathlib import Path
    from inkblur.atomic_file import AtomicFile
    with AtomicFile(Path(sys.argv[1])) as file:
        file.write(b"half")
        file.file.flush()
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_run_leaves_behind_is_removed_by_the_next(folder: Path) -> None:
    out = folder / "outputs" / "x.txt"
    subprocess.run([sys.executable, "-c", textwrap.dedent(KILLED), out], check=False)
    assert len(names(out.parent)) == 1
    through(folder / "in.txt", out)
    assert names(out.parent) == ["x.txt"]


def test_a_living_run_is_left_alone(folder: Path) -> None:
    out = folder / "outputs" / "x.txt"
    with AtomicFile(out) as first:
        first.write(b"first")
        with AtomicFile(out) as second:
            second.write(b"second")
        assert out.read_bytes() == b"second"
    assert out.read_bytes() == b"first"
    assert names(out.parent) == ["x.txt"]


def test_files_of_other_names_are_never_removed(folder: Path) -> None:
    out = folder / "outputs" / "x.txt"
    others = ["x.txt.partial", f".y.txt.inkblur-{'0' * 16}.partial", ".x.txt.inkblur-0.partial"]
    for name in others:
        (out.parent / name).write_text("precious")
    through(out.parent / "x.txt.partial", out, format=Format.TXT)
    assert [(out.parent / name).read_text() for name in others] == ["precious"] * 3


def test_a_planted_link_is_not_followed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even by an attacker who foresees the random name."""
    monkeypatch.setattr("secrets.token_hex", lambda size: "0" * 16)
    (folder / "victim").write_text("precious")
    (folder / "outputs" / f".x.txt.inkblur-{'0' * 16}.partial").symlink_to(folder / "victim")
    for write in (
        lambda path: through(folder / "in.txt", path),
        lambda path: write_atomically(path, "data"),
        lambda path: write_store(path, Embedding(["a", "b"], [[1.0], [2.0]], name="x")),
    ):
        with pytest.raises(OutputError, match="file exists"):
            write(folder / "outputs" / "x.txt")
    assert (folder / "victim").read_text() == "precious"
    assert not (folder / "outputs" / "x.txt").exists()


def test_a_private_file_is_private_whatever_stood_there(folder: Path) -> None:
    out = folder / "outputs" / "report.json"
    out.write_text("old")
    out.chmod(0o644)
    write_atomically(out, "true counts", mode=0o600)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600


def test_a_link_is_followed(folder: Path) -> None:
    (folder / "real.txt").write_text("old")
    (folder / "outputs" / "link.txt").symlink_to(folder / "real.txt")
    through(folder / "in.txt", folder / "outputs" / "link.txt")
    assert (folder / "outputs" / "link.txt").is_symlink()
    assert (folder / "real.txt").read_text() == "one\ntwo\nthree\n"


def test_as_many_texts_as_records(folder: Path) -> None:
    def copy(count: int) -> None:
        with (
            open_source(folder / "in.txt") as source,
            open_sink(folder / "outputs" / "out.txt", source) as sink,
        ):
            for batch in source.batches(10, 100):
                sink.write(batch, ["x"] * count)

    for count in (2, 4):
        with pytest.raises(ParameterError, match=f"3 records needs as many texts, got {count}"):
            copy(count)
    assert names(folder / "outputs") == []


@pytest.mark.parametrize("name", [name for name in NAMES if "jsonl" not in name])
def test_a_lone_surrogate_cannot_be_written(folder: Path, name: str) -> None:
    with pytest.raises(OutputError, match="lone surrogate"):
        through(folder / "in.txt", folder / "outputs" / name, lambda text: text + "\ud800")
    assert names(folder / "outputs") == []


@pytest.mark.parametrize("text", ["two\nlines", "end\r", "nul\0"])
def test_txt_refuses_what_would_come_back_otherwise(folder: Path, text: str) -> None:
    with pytest.raises(OutputError, match="line 1 has a line break or NUL"):
        through(folder / "in.txt", folder / "outputs" / "out.txt", lambda _: text)


def test_csv_refuses_nul(folder: Path) -> None:
    with pytest.raises(OutputError, match="line 1 has a NUL"):
        through(folder / "in.txt", folder / "outputs" / "out.csv", lambda _: "a\0b")


@pytest.mark.parametrize("format", list(Format))
def test_standard_input_to_standard_output(
    folder: Path, monkeypatch: pytest.MonkeyPatch, format: Format
) -> None:
    through(folder / "in.txt", folder / f"given.{format.value}")
    standard_input(monkeypatch, (folder / f"given.{format.value}").read_bytes())
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=out))
    through("-", "-", str.upper, format=format)
    (folder / f"made.{format.value}").write_bytes(out.getvalue())
    assert [r.text for r in read(folder / f"made.{format.value}")] == ["ONE", "TWO", "THREE"]


def test_parquet_is_not_for_a_terminal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.BytesIO()
    monkeypatch.setattr(out, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=out))
    with pytest.raises(OutputError, match="not for a terminal"):
        through(folder / "in.txt", "-", sink_format=Format.PARQUET)


def test_a_failed_parquet_on_standard_output_looks_failed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=out))

    def fail(text: str) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        through(folder / "in.txt", "-", fail, sink_format=Format.PARQUET)
    with pytest.raises(pa.ArrowInvalid):
        pq.read_table(io.BytesIO(out.getvalue()))


@pytest.mark.parametrize("format", ["txt", "parquet"])
def test_a_reader_that_goes_away(folder: Path, format: str) -> None:
    (folder / "in.txt").write_text("some words of text\n" * 100_000)
    program = f"""
        import sys
        from inkblur.files import Format, open_sink, open_source
        from inkblur.errors import OutputError
        folder = sys.argv[1]
        try:
            with (
                open_source(folder + "/in.txt") as source,
                open_sink("-", source, format=Format("{format}")) as sink,
            ):
                for batch in source.batches(1000, 100_000):
                    sink.write(batch, batch.texts)
        except OutputError as error:
            raise SystemExit(f"one line: {{error}}")
    """
    run = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program), folder],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"},
    )
    with run:
        assert run.stdout is not None
        assert run.stderr is not None
        run.stdout.close()
        said = run.stderr.read()
    assert said == b"one line: standard output was closed by the program that reads it\n"
    assert run.returncode == 1
