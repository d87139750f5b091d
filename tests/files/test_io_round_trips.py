"""What is read is what was written, and what is not text passes unchanged."""

from __future__ import annotations

import csv
import gzip
import json
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkblur.files import Format, Record, open_sink, open_source
from tests.files.passing import line_texts, opened, read, texts, through

quick = settings(deadline=None, max_examples=60)
rows = st.lists(st.tuples(texts, texts), min_size=1, max_size=8)


@pytest.fixture(scope="module")
def folder() -> Path:
    return Path(tempfile.mkdtemp())


@quick
@given(
    lines=st.lists(st.tuples(line_texts, st.sampled_from(["\n", "\r\n"])), min_size=1, max_size=8),
    last=line_texts,
)
def test_txt(folder: Path, lines: list[tuple[str, str]], last: str) -> None:
    content = "".join(text + end for text, end in lines) + last
    given_file, made = folder / "in.txt", folder / "out.txt"
    given_file.write_bytes(content.encode())
    records = through(given_file, made)
    expected = [text for text, _ in lines] + ([last] if last else [])
    if expected[0].startswith("\ufeff"):  # at the very start it is a mark, not text
        expected[0] = expected[0][1:]
    assert [record.text for record in records] == expected
    assert made.read_bytes() == "".join(f"{text}\n" for text in expected).encode()


@quick
@given(rows=rows, newline=st.sampled_from(["\n", "\r\n"]), format=st.sampled_from(["csv", "tsv"]))
def test_csv_and_tsv(folder: Path, rows: list[tuple[str, str]], newline: str, format: str) -> None:
    given_file, made = folder / f"in.{format}", folder / f"out.{format}"
    delimiter = "," if format == "csv" else "\t"
    with given_file.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(
            file, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator=newline
        )
        writer.writerows([("other, one", "text"), *rows])
    records = through(given_file, made, lambda text: text + "!")
    assert [record.text for record in records] == [text for _, text in rows]
    with made.open(encoding="utf-8", newline="") as file:
        written = list(csv.reader(file, delimiter=delimiter, strict=True))
    assert written == [["other, one", "text"], *([other, text + "!"] for other, text in rows)]
    with made.open(encoding="utf-8", newline="") as file:
        header = file.readline()
    assert not header.endswith("\r\n")


@quick
@given(st.lists(texts, min_size=1, max_size=8))
def test_a_csv_of_one_column_keeps_empty_texts(folder: Path, column: list[str]) -> None:
    with (folder / "one.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([["text"], *([text] for text in column)])
    through(folder / "one.csv", folder / "one-out.csv")
    assert [record.text for record in read(folder / "one-out.csv")] == column


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@quick
@given(
    objects=st.lists(
        st.tuples(st.dictionaries(texts.filter(lambda key: key != "text"), json_values), texts),
        min_size=1,
        max_size=5,
    ),
    ascii_only=st.booleans(),
)
def test_jsonl(
    folder: Path, objects: list[tuple[dict[str, object], str]], ascii_only: bool
) -> None:
    given_file, made = folder / "in.jsonl", folder / "out.jsonl"
    whole = [{**others, "text": text, "after": 1} for others, text in objects]
    lines = [json.dumps(one, ensure_ascii=ascii_only) for one in whole]
    given_file.write_bytes("\n".join(lines).encode())
    records = through(given_file, made, lambda text: text + "!")
    assert [record.text for record in records] == [text for _, text in objects]
    written = [json.loads(line) for line in made.read_text("utf-8").removesuffix("\n").split("\n")]
    assert written == [{**one, "text": f"{one['text']}!"} for one in whole]
    assert [list(one) for one in written] == [list(one) for one in whole]


def test_jsonl_keeps_the_digits_of_numbers_and_the_order_of_keys(tmp_path: Path) -> None:
    before = (
        '{"big": 123456789012345678901234567890, "one": 1, "f": 1.0, "e": 1.10e+5, "huge": 1e999, '
        f'"digits": {"7" * 5000}, "u": "\\ud800", "text": "a\\nb", "z": [-0.0, {{"n": NaN}}]}}'
    )
    escaped = before.replace("text", "te\\u0078t")
    (tmp_path / "in.jsonl").write_text(f" {escaped} \r\n\n{before}")
    through(tmp_path / "in.jsonl", tmp_path / "out.jsonl", str.upper)
    after = before.replace("a\\nb", "A\\nB")
    assert (tmp_path / "out.jsonl").read_text() == f"{after}\n{after}\n"


@quick
@given(
    rows=st.lists(st.tuples(st.none() | texts, st.none() | texts), min_size=1, max_size=8),
    large=st.booleans(),
)
def test_parquet(folder: Path, rows: list[tuple[str | None, str | None]], large: bool) -> None:
    given_file, made = folder / "in.parquet", folder / "out.parquet"
    kind = pa.large_string() if large else pa.string()
    table = pa.table(
        {
            "other": pa.array([other for other, _ in rows], pa.string()),
            "text": pa.array([text for _, text in rows], kind),
        }
    )
    pq.write_table(table, given_file, row_group_size=2)
    through(given_file, made, lambda text: text + "\0!")
    out = pq.read_table(made)
    assert out.schema.equals(table.schema, check_metadata=True)
    assert out["other"].to_pylist() == table["other"].to_pylist()
    assert out["text"].to_pylist() == [None if text is None else text + "\0!" for _, text in rows]


def test_parquet_keeps_types_and_compression_and_leaves_notes_behind(tmp_path: Path) -> None:
    fields: list[pa.Field[Any]] = [
        pa.field("when", pa.timestamp("ns", "Europe/Berlin")),
        pa.field("text", pa.string(), nullable=False, metadata={b"k": b"v"}),
        pa.field("kind", pa.dictionary(pa.int32(), pa.string())),
        pa.field("money", pa.decimal128(12, 2)),
        pa.field("map", pa.map_(pa.string(), pa.int8())),
        pa.field("small", pa.float32()),
    ]
    schema = pa.schema(fields, metadata={b"made": b"by hand"})
    row = {"when": 1_700_000_000_000_000_001, "kind": "b", "money": None, "small": 0.1}
    table = pa.Table.from_pylist(
        [{**row, "text": str(i), "map": [("x", i)]} for i in range(20)], schema=schema
    )
    pq.write_table(table, tmp_path / "in.parquet", compression="zstd", row_group_size=7)
    through(tmp_path / "in.parquet", tmp_path / "out.parquet", max_records=4)
    out = pq.read_table(tmp_path / "out.parquet")
    assert out.schema.equals(pq.read_schema(tmp_path / "in.parquet"))
    assert not out.schema.metadata  # "made by hand" is nothing that was asked for
    assert out.schema.field("text").metadata is None
    assert out.equals(table)
    group = pq.ParquetFile(tmp_path / "out.parquet").metadata.row_group(0)
    assert group.column(1).compression == "ZSTD"


@pytest.mark.parametrize("suffix", ["txt", "csv", "tsv", "jsonl"])
def test_gzip_both_ways(tmp_path: Path, suffix: str) -> None:
    content = {
        "txt": b"one\ntwo\n",
        "csv": b"a,text\n1,one\n2,two\n",
        "tsv": b"a\ttext\n1\tone\n2\ttwo\n",
        "jsonl": b'{"text": "one"}\n{"text": "two"}\n',
    }[suffix]
    (tmp_path / f"in.{suffix}.gz").write_bytes(gzip.compress(content))
    through(tmp_path / f"in.{suffix}.gz", tmp_path / f"first.{suffix}.gz")
    through(tmp_path / f"in.{suffix}.gz", tmp_path / f"second.{suffix}.gz")
    first = (tmp_path / f"first.{suffix}.gz").read_bytes()
    assert gzip.decompress(first) == content
    assert first[4:8] == bytes(4)  # no time of day inside
    assert first == (tmp_path / f"second.{suffix}.gz").read_bytes()


def test_zstandard_both_ways(tmp_path: Path) -> None:
    content = b"".join(b"%d,text\n" % i for i in range(100_000))
    whole = b"a,text\n" + content
    # Two frames one after the other are one file, as with gzip.
    frames = [pa.compress(part, "zstd", asbytes=True) for part in (whole[:99], whole[99:])]
    (tmp_path / "in.csv.zst").write_bytes(b"".join(frames))
    for name in ("first", "second"):
        through(tmp_path / "in.csv.zst", tmp_path / f"{name}.csv.zst", max_records=1000)
    first = (tmp_path / "first.csv.zst").read_bytes()
    assert first[:4] == b"\x28\xb5\x2f\xfd"
    assert first == (tmp_path / "second.csv.zst").read_bytes()
    through(tmp_path / "first.csv.zst", tmp_path / "plain.csv", max_records=1000)
    assert (tmp_path / "plain.csv").read_bytes() == whole


@pytest.mark.parametrize("suffix", ["txt", "csv"])
def test_a_byte_order_mark_is_no_text_and_goes(tmp_path: Path, suffix: str) -> None:
    content = b"text\nhello\n"
    (tmp_path / f"in.{suffix}").write_bytes(b"\xef\xbb\xbf" + content)
    records = through(tmp_path / f"in.{suffix}", tmp_path / f"out.{suffix}")
    assert records[0].text in ("text", "hello")
    assert (tmp_path / f"out.{suffix}").read_bytes() == content


def test_a_byte_order_mark_before_json_is_dropped(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_bytes(b'\xef\xbb\xbf{"text": "a"}\n')
    through(tmp_path / "in.jsonl", tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_bytes() == b'{"text": "a"}\n'


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "cp1252", "shift_jis", "utf-8-sig"])
def test_other_encodings_come_out_as_utf_8(tmp_path: Path, encoding: str) -> None:
    word = "日本" if encoding == "shift_jis" else "naïve"
    content = f"id,text\n1,{word}\n"
    (tmp_path / "in.csv").write_bytes(content.encode(encoding))
    records = through(tmp_path / "in.csv", tmp_path / "out.csv", encoding=encoding)
    assert [record.text for record in records] == [word]
    assert (tmp_path / "out.csv").read_bytes() == content.encode()


@pytest.mark.parametrize("name", ["in.csv", "in.tsv", "in.parquet"])
def test_a_header_without_records_stays_one(tmp_path: Path, name: str) -> None:
    given_file, made = tmp_path / name, tmp_path / f"out-{name}"
    if name.endswith("parquet"):
        pq.write_table(pa.table({"text": pa.array([], pa.string())}), given_file)
    else:
        given_file.write_text("text")
    assert through(given_file, made) == []
    assert read(made) == []


def test_ids_are_the_column_or_the_text_and_its_occurrence(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text(
        "".join(f'{{"id": {name}, "text": "t"}}\n' for name in ("7", '"x"', "-1", "10", '"é"'))
    )
    made = [r.id for r in read(tmp_path / "in.jsonl")]
    assert [name.rpartition(".")[2] for name in made] == ["1", "2", "3", "4", "5"]
    assert len({name.rpartition(".")[0] for name in made}) == 1
    assert [r.id for r in read(tmp_path / "in.jsonl", id_column="id")] == [
        "7",
        "x",
        "-1",
        "10",
        "é",
    ]
    pq.write_table(pa.table({"id": [5, 6], "text": ["a", "b"]}), tmp_path / "in.parquet")
    assert read(tmp_path / "in.parquet", id_column="id") == [Record("5", "a"), Record("6", "b")]


def test_nulls_stay_null_and_are_named(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n{"text": null}\n{"text": ""}\n')
    with (
        open_source(tmp_path / "in.jsonl") as source,
        open_sink(tmp_path / "out.jsonl", source) as sink,
    ):
        (batch,) = source.batches(10, 1000)
        assert batch.nulls == {1}
        assert batch.texts == ["a", "", ""]
        sink.write(batch, ["x", "y", "z"])
    assert (tmp_path / "out.jsonl").read_text() == '{"text": "x"}\n{"text": null}\n{"text": "z"}\n'


def test_an_empty_text_alone_is_no_blank_line(tmp_path: Path) -> None:
    # We would read a blank line as an empty text, but others skip it.
    (tmp_path / "a.csv").write_text('text\n""\na\n')
    through(tmp_path / "a.csv", tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text() == 'text\n""\na\n'


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_what_passes_holds_no_true_text(tmp_path: Path, suffix: str) -> None:
    (tmp_path / "a.csv").write_text("id,text\n1,secret\n")
    through(tmp_path / "a.csv", tmp_path / f"b.{suffix}")
    with opened(tmp_path / f"b.{suffix}") as source:
        (batch,) = source.batches(10, 1000)
    assert batch.texts == ["secret"]
    assert "secret" not in repr(batch.columns)
    assert "1" in repr(batch.columns)


def test_blank_lines(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,text\n\n1,a\n\r\n2,b\n\n")
    (tmp_path / "b.csv").write_text("text\na\n\nb\n")
    (tmp_path / "c.jsonl").write_text('\n{"text": "a"}\n  \n{"text": "b"}\n\n')
    assert [r.text for r in read(tmp_path / "a.csv")] == ["a", "b"]
    assert [r.text for r in read(tmp_path / "b.csv")] == ["a", "", "b"]
    assert [r.text for r in read(tmp_path / "c.jsonl")] == ["a", "b"]


def test_format_by_name_beats_the_suffix(tmp_path: Path) -> None:
    (tmp_path / "in.dat").write_text("text\nhi\n")
    records = through(
        tmp_path / "in.dat", tmp_path / "out", format=Format.CSV, sink_format=Format.CSV
    )
    assert [record.text for record in records] == ["hi"]
