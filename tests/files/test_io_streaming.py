"""Batches of bounded size from files of any size."""

from __future__ import annotations

import io
import subprocess
import sys
import textwrap
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import inkblur.files.formats
import inkblur.files.parquet
from inkblur.errors import InputError
from inkblur.files import open_source
from inkblur.files.formats import InputFile
from inkblur.files.records import Batch, Occurrences, digest
from inkblur.types import Record
from tests.files.passing import named, read, through

SUFFIXES = ["txt", "csv", "jsonl", "parquet"]


def filled(folder: Path, suffix: str, column: list[str]) -> Path:
    path = folder / f"in.{suffix}"
    pq.write_table(pa.table({"text": column}), folder / "all.parquet")
    through(folder / "all.parquet", path, max_records=100)
    return path


@settings(deadline=None, max_examples=30)
@given(
    lengths=st.lists(st.integers(0, 30), min_size=1, max_size=30),
    max_records=st.integers(1, 10),
    max_chars=st.integers(1, 60),
)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_batches_obey_both_limits_and_cover_everything(
    tmp_path_factory: pytest.TempPathFactory,
    suffix: str,
    lengths: list[int],
    max_records: int,
    max_chars: int,
) -> None:
    column = ["x" * length for length in lengths]
    path = filled(tmp_path_factory.mktemp("cut"), suffix, column)
    with open_source(path) as source:
        batches = list(named(source, max_records, max_chars))
    assert [text for batch in batches for text in batch.texts] == column
    ids = [r.id for batch in batches for r in batch.records]
    occurrences = [column[: i + 1].count(text) for i, text in enumerate(column)]
    assert ids == [f"{digest(t).hex()}.{n}" for t, n in zip(column, occurrences, strict=True)]
    for batch in batches:
        assert len(batch) <= max_records
        assert len(batch) == 1 or sum(map(len, batch.texts)) <= max_chars


def test_batches_are_as_large_as_asked_for(tmp_path: Path) -> None:
    for suffix in SUFFIXES:
        with open_source(filled(tmp_path, suffix, ["a"] * 10)) as source:
            assert [len(batch) for batch in source.batches(4, 1000)] == [4, 4, 2]


@pytest.mark.parametrize("suffix", [*SUFFIXES, "txt.gz"])
def test_progress_reaches_the_total(tmp_path: Path, suffix: str) -> None:
    # Packed, too, it is longer than what gzip reads at a time (128 KiB from Python 3.12 on).
    texts = [" ".join(str(i * j % 100_003) for j in range(1, 121)) for i in range(1, 3_001)]
    path = filled(tmp_path, suffix, texts)
    with open_source(path) as source:
        seen = []
        for _ in source.batches(1000, 10**6):
            seen.append(source.bytes_read())
        seen.append(source.bytes_read())
        assert seen == sorted(seen)
        assert seen[0] < seen[-1] == source.bytes_total == path.stat().st_size


MEASURE = """
    import sys
    from pathlib import Path
    from inkblur.files import Layout, open_sink, open_source
    if sys.argv[1].endswith("parquet"):
        import inkblur.files.parquet
    # Not ru_maxrss: a process begins with its parent's, and pytest's hides what this one takes.
    peak = lambda: int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) // 1024
    before, count = peak(), 0
    with (
        open_source(sys.argv[1], Layout(keep=None)) as source,
        open_sink(sys.argv[2], source) as sink,
    ):
        for batch in source.batches(1000, 1_000_000):
            sink.write(batch, batch.texts)
            count += len(batch)
    print(count, peak() - before)
"""


def measured(given: Path, made: Path) -> tuple[int, int]:
    """Records copied and MB of memory that took, in a process of its own."""
    said = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(MEASURE), given, made],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    return int(said[0]), int(said[1])


measured_on_linux = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="peak memory is read from /proc"
)


@measured_on_linux
@pytest.mark.parametrize(
    ("suffix", "records", "bound"),
    [
        *((suffix, 25_000, 30) for suffix in ("txt", "csv", "jsonl")),
        *(
            pytest.param(suffix, 100_000, 30, marks=pytest.mark.long)
            for suffix in ("txt", "csv", "jsonl")
        ),
        ("parquet", 100_000, 400),
    ],
)
def test_many_mb_in_little_memory(tmp_path: Path, suffix: str, records: int, bound: int) -> None:
    path = tmp_path / f"in.{suffix}"
    text = "several words of no interest " * 70  # 2 kB
    if suffix == "parquet":
        # One row group, every text its own, so that nothing is shared behind our back.
        table = pa.table({"text": [f"{i} {text}" for i in range(records)]})
        pq.write_table(table, path, row_group_size=1 << 30, use_dictionary=False)
    else:
        line = {"txt": f"{text}\n", "csv": f'1,"{text}"\n', "jsonl": f'{{"text": "{text}"}}\n'}[
            suffix
        ]
        with path.open("w") as file:
            file.write("id,text\n" if suffix == "csv" else "")
            for _ in range(records // 1000):
                file.write(line * 1000)
    count, growth = measured(path, tmp_path / f"out.{suffix}")
    assert count == records
    assert growth < bound


@measured_on_linux
@pytest.mark.parametrize("size", [10])
def test_one_line_of_many_mb_passes(tmp_path: Path, size: int) -> None:
    given, made = tmp_path / "in.csv", tmp_path / "out.csv"
    with given.open("w") as file:
        file.write('id,text\n1,"')
        for _ in range(size):
            file.write("word " * 200_000)
        file.write('"\n2,short\n')
    count, growth = measured(given, made)
    assert count == 2
    assert growth < 15 * size
    assert made.stat().st_size == given.stat().st_size - 2  # quotes it did not need


@pytest.mark.parametrize("suffix", ["txt", "csv", "jsonl"])
def test_a_line_above_the_limit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    monkeypatch.setattr(inkblur.files.formats, "MAX_LINE", 1 << 21)
    path = tmp_path / f"in.{suffix}"
    path.write_text("text\n" * (suffix == "csv") + "x" * (5 << 20) + "\n")
    number = 2 if suffix == "csv" else 1
    with pytest.raises(InputError, match=f"line {number} of .* longer than 2,097,152 characters"):
        read(path)


@pytest.mark.parametrize("row", ['"' + "many\n" * 3000 + '"', ",".join(['"many\nmore"'] * 2000)])
def test_a_csv_row_above_the_limit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: str
) -> None:
    monkeypatch.setattr("inkblur.files.delimited.MAX_LINE", 5000)
    (tmp_path / "a.csv").write_text(f'text\n"{"many" * 100}"\n{row}\n')
    with pytest.raises(InputError, match=r"row at line 3 of .* more than 5,000 characters"):
        read(tmp_path / "a.csv")


@given(st.lists(st.lists(st.integers(0, 200).map(str), max_size=20), max_size=20))
def test_unique_ids_against_a_set(batches: list[list[str]]) -> None:
    seen: set[str] = set()
    unique = Occurrences()
    for batch in batches:
        expected = None
        for i, name in enumerate(batch):
            if name in seen:
                expected = i
                break
            seen.add(name)
        assert unique.repeat(batch) == expected
        if expected is not None:
            break


class Drip(io.BytesIO):
    """A slow pipe: a byte at a time."""

    def read1(self, size: int | None = -1, /) -> bytes:
        return super().read(1)


def test_bytes_that_come_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    content = "\ufeffé\r\n😀\n\nend"
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=Drip(content.encode())))
    file = InputFile("-")
    assert list(file.lines("utf-8")) == ["é\r\n", "😀\n", "\n", "end"]
    assert file.bytes_read() == len(content.encode())


def test_parquet_is_loaded_only_when_used() -> None:
    program = "import sys, inkblur.files; sys.exit('pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_other_ids_leave_everything_else_of_a_record() -> None:
    record = Record("1", "a text", "line 7", "anna")
    (changed,) = Batch((record,)).with_ids(["2"]).records
    others = {f.name: getattr(record, f.name) for f in fields(Record)} | {"id": "2"}
    assert {f.name: getattr(changed, f.name) for f in fields(Record)} == others


@pytest.mark.parametrize("suffix", ["csv.gz", "jsonl.zst", "parquet"])
def test_limits_count_what_a_file_becomes(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"in.{suffix}"
    (tmp_path / "in.csv").write_text("text\n" + f"{'word ' * 2000}\n" * 100)
    through(tmp_path / "in.csv", path, max_records=1000)
    assert path.stat().st_size < 100_000
    with open_source(path, most_bytes=2_000_000) as source:
        assert sum(map(len, source.batches(10, 10**6))) == 100
    with pytest.raises(InputError, match="more than 500,000 bytes when it is unpacked"):  # noqa: SIM117
        with open_source(path, most_bytes=500_000) as source:
            list(source.batches(10, 10**6))


@measured_on_linux
@pytest.mark.parametrize("nested", [False, True])
def test_a_value_that_stands_in_every_row_of_a_tiny_file_takes_little_memory(
    tmp_path: Path, nested: bool
) -> None:
    value = pa.DictionaryArray.from_arrays(pa.array([0] * 500, pa.int32()), ["x" * 1_500_000])
    columns: dict[str, Any] = {"text": value}
    if nested:
        rows = pa.array(range(501), pa.int32())
        columns = {"text": ["a"] * 500, "list": pa.ListArray.from_arrays(rows, value)}
    given = tmp_path / "in.parquet"
    pq.write_table(pa.table(columns), given, compression="zstd", store_schema=False)
    assert given.stat().st_size < 2000
    read = textwrap.dedent(MEASURE).replace("sink.write(batch, batch.texts)", "pass")
    said = subprocess.run(
        [sys.executable, "-c", read, given, tmp_path / "out.parquet"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    assert said[0] == "500"
    assert int(said[1]) < 200
