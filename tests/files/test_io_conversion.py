"""From one format to another: where nothing is lost, and refused where something would be."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkblur.errors import OutputError
from inkblur.files import Record
from tests.files.passing import read, texts, through


@settings(deadline=None, max_examples=40)
@given(
    rows=st.lists(st.tuples(texts, texts), min_size=1, max_size=6),
    path=st.permutations(["tsv", "csv", "jsonl"]),
)
def test_strings_survive_every_way_round(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], path: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("ways")
    columns = {"other": [other for other, _ in rows], "text": [text for _, text in rows]}
    pq.write_table(pa.table(columns), folder / "0.parquet")
    at = folder / "0.parquet"
    # jsonl alone cannot become parquet, so a csv comes last.
    for step, suffix in enumerate([*path, "csv", "parquet"], 1):
        through(at, folder / f"{step}.{suffix}")
        at = folder / f"{step}.{suffix}"
    assert pq.read_table(at).to_pydict() == columns


def test_txt_becomes_anything_and_back(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n\nthree")
    for suffix in ("csv", "tsv", "jsonl", "parquet"):
        through(tmp_path / "a.txt", tmp_path / f"b.{suffix}", column="body")
        through(tmp_path / f"b.{suffix}", tmp_path / f"{suffix}.txt", column="body")
        assert (tmp_path / f"{suffix}.txt").read_text() == "one\n\nthree\n"
    assert (tmp_path / "b.jsonl").read_text().startswith('{"body": "one"}\n')


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "id,text\n1,a\n"),
        ("a.jsonl", '{"text": "a"}\n{"text": "b", "id": 3}\n'),
    ],
)
def test_txt_would_lose_columns(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(OutputError, match="would lose the columns 'id'"):
        through(tmp_path / name, tmp_path / "out.txt")
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_numbers_keep_their_digits_from_jsonl_to_csv(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(
        '{"n": 12345678901234567890123, "text": "x", "f": 1.10, "b": true}\n'
        '{"b": false, "f": -0e5, "text": "y", "n": 1}\n'
    )
    through(tmp_path / "a.jsonl", tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text() == (
        "n,text,f,b\n12345678901234567890123,x,1.10,true\n1,y,-0e5,false\n"
    )


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ('{"text": "x", "a": null}', "null in column 'a'"),
        ('{"text": null, "a": 1}', "null in column 'text'"),
        ('{"text": "x", "a": [1]}', "a list or an object in column 'a'"),
        ('{"text": "x"}', "needs the same in all"),
        ('{"text": "x", "a": 1, "b": 2}', "needs the same in all"),
        ('{"text": "x", "a": "\\ud800"}', "lone surrogate"),
        ('{"text": "x", "a": "\\u0000"}', "NUL"),
    ],
)
def test_jsonl_that_csv_cannot_hold(tmp_path: Path, line: str, part: str) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "x", "a": 1}\n' + line)
    with pytest.raises(OutputError, match=part):
        through(tmp_path / "a.jsonl", tmp_path / "b.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


def test_jsonl_to_parquet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "x"}\n')
    with pytest.raises(OutputError, match="no fixed columns and types"):
        through(tmp_path / "a.jsonl", tmp_path / "b.parquet")


def test_parquet_to_jsonl(tmp_path: Path) -> None:
    row = {"i": 2**63 - 1, "f": 0.1, "l": [1, None], "s": {"a": "b"}, "text": "x", "n": None}
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "a.parquet")
    through(tmp_path / "a.parquet", tmp_path / "b.jsonl")
    assert json.loads((tmp_path / "b.jsonl").read_text()) == row
    pq.write_table(pa.table({"text": ["x"], "f": [float("nan")]}), tmp_path / "c.parquet")
    with pytest.raises(OutputError, match="row 1 holds NaN"):
        through(tmp_path / "c.parquet", tmp_path / "d.jsonl")


@pytest.mark.parametrize(
    "column",
    [
        pa.array([datetime.date(2026, 1, 1)]),
        pa.array([b"\xff"]),
        pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int8())),
        pa.array([[datetime.datetime(2026, 1, 1)]]),
        pa.array([{"a": b"x"}]),
    ],
)
@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_types_that_only_parquet_has(tmp_path: Path, column: object, suffix: str) -> None:
    pq.write_table(pa.table({"text": ["x"], "other": column}), tmp_path / "a.parquet")
    with pytest.raises(OutputError, match="cannot hold the types of the columns 'other'"):
        through(tmp_path / "a.parquet", tmp_path / f"b.{suffix}")


def test_a_converted_csv_ends_its_lines_as_before(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b'id,text\r\n1,"a\tb"\r\n')
    through(tmp_path / "a.csv", tmp_path / "b.tsv")
    assert (tmp_path / "b.tsv").read_bytes() == b'id\ttext\n1\t"a\tb"\n'
    assert read(tmp_path / "b.tsv", id_column="id") == [Record("1", "a\tb")]
