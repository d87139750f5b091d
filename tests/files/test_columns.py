"""Several text columns, columns that are copied, and what csv files may look like."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from inkblur.errors import InputError, ParameterError
from inkblur.files import open_sink
from tests.files.passing import opened, read, through

ROWS = [{"id": str(i), "title": f"t{i}", "body": f"b{i}", "mark": str(i % 2)} for i in range(5)]


def written(path: Path) -> list[dict[str, Any]]:
    """All rows of a file, by column name."""
    match path.suffix:
        case ".parquet":
            return pq.read_table(path).to_pylist()
        case ".jsonl":
            return [json.loads(line) for line in path.read_text().splitlines()]
    header, *lines = path.read_text().splitlines()
    return [dict(zip(header.split(","), line.split(","), strict=True)) for line in lines]


@pytest.fixture(params=["csv", "jsonl", "parquet"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"in.{request.param}"
    match request.param:
        case "csv":
            lines = [",".join(ROWS[0]), *(",".join(row.values()) for row in ROWS)]
            path.write_text("\n".join(lines) + "\n")
        case "jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
        case _:
            pq.write_table(pa.Table.from_pylist(ROWS), path)
    return path


@pytest.mark.parametrize("columns", [("title", "body"), ("body", "title"), ("title",)])
def test_every_named_column_is_replaced_and_no_other(table: Path, columns: tuple[str, ...]) -> None:
    out = table.with_name(f"out{table.suffix}")
    through(table, out, str.upper, column=columns, max_records=2)
    assert written(out) == [
        {name: value.upper() if name in columns else value for name, value in row.items()}
        for row in ROWS
    ]


def test_a_misspelled_column_is_an_error(table: Path) -> None:
    out = table.with_name(f"out{table.suffix}")
    options: dict[str, Any] = {"keep_columns": ["titel"]}
    with pytest.raises(InputError, match="'titel'"):
        through(table, out, column="body", **options)
    assert not out.exists()


@pytest.mark.parametrize(
    "options",
    [
        {"column": []},
        {"column": ["a", "a"]},
        {"column": "a", "keep_columns": ["a"]},
        {"column": ["a", "b"], "id_column": "b"},
        {"delimiter": ";;"},
        {"delimiter": '"'},
    ],
)
def test_contradictions_are_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        opened(tmp_path / "a.csv", **options)


def test_options_that_a_format_has_no_use_for(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x\n")
    (tmp_path / "a.jsonl").write_text('{"text": "x"}\n')
    for name, options in (
        ("a.txt", {"column": ["a", "b"]}),
        ("a.txt", {"keep_columns": ["a"]}),
        ("a.txt", {"no_header": True}),
        ("a.jsonl", {"delimiter": ";"}),
    ):
        given: dict[str, Any] = options
        with pytest.raises(InputError):
            opened(tmp_path / name, **given)


def test_a_csv_without_a_header_keeps_its_first_record(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("1,one\n2,two\n")
    records = through(
        tmp_path / "in.csv", tmp_path / "out.csv", str.upper, column="2", no_header=True
    )
    assert [(record.text, record.place) for record in records] == [
        ("one", "line 1"),
        ("two", "line 2"),
    ]
    assert (tmp_path / "out.csv").read_text() == "1,ONE\n2,TWO\n"


@pytest.mark.parametrize(("given", "sign"), [(";", ";"), ("|", "|"), ("tab", "\t"), ("^", "^")])
def test_another_delimiter_is_read_and_written(tmp_path: Path, given: str, sign: str) -> None:
    content = f'id{sign}text\n1{sign}"a{sign}b, c"\n'
    (tmp_path / "in.csv").write_text(content)
    assert [r.text for r in read(tmp_path / "in.csv", delimiter=given)] == [f"a{sign}b, c"]
    through(tmp_path / "in.csv", tmp_path / "out.csv", delimiter=given)
    assert (tmp_path / "out.csv").read_text() == content


def test_cells_are_quoted_where_they_need_it(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text('"id","text"\n"1","hi, ""you"""\n')
    through(tmp_path / "in.csv", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == 'id,text\n1,"hi, ""you"""\n'
    (tmp_path / "in.csv").write_text('id,text\n1,"hi" said\n')
    with pytest.raises(InputError, match="line 2"):
        read(tmp_path / "in.csv")


@pytest.mark.parametrize(
    "kind", [pa.string_view(), pa.dictionary(pa.int8(), pa.string()), pa.large_string()]
)
def test_parquet_texts_of_every_string_type(tmp_path: Path, kind: Any) -> None:
    texts = ["a", None, "b", "a"]
    pq.write_table(
        pa.table({"text": pa.array(texts, pa.string()).cast(kind)}), tmp_path / "a.parquet"
    )
    through(tmp_path / "a.parquet", tmp_path / "b.parquet", str.upper)
    out = pq.read_table(tmp_path / "b.parquet")
    assert out["text"].to_pylist() == ["A", None, "B", "A"]
    assert b"secret" not in (tmp_path / "b.parquet").read_bytes()


def test_parquet_leaves_notes_and_unused_categories_behind(tmp_path: Path) -> None:
    noted = pa.field("inner", pa.string(), metadata={b"k": b"SECRET-note"})
    category = pa.DictionaryArray.from_arrays(
        pa.array([1, None, 1, 0], pa.int8()), ["low", "high", "SECRET-category"], ordered=True
    )
    nested = pa.ListArray.from_arrays(pa.array([0, 1, 1, 2, 4], pa.int32()), category)
    inner = pa.array([{"inner": "x"}] * 4, pa.struct([noted]))
    lists = pa.array([["y"]] * 4, pa.list_(noted))
    maps: Any = pa.array([[("k", "v")]] * 4, pa.map_(pa.string(), noted))  # type: ignore[call-overload]
    table = pa.table(
        {"text": ["t"] * 4, "c": category, "n": nested, "s": inner, "l": lists, "m": maps}
    )
    pq.write_table(table, tmp_path / "in.parquet")
    # Notes are stored in base64, so the schema is looked at and not only the bytes.
    assert b"SECRET" in (tmp_path / "in.parquet").read_bytes()
    assert b"SECRET-note" in pq.read_schema(tmp_path / "in.parquet").serialize().to_pybytes()
    through(tmp_path / "in.parquet", tmp_path / "out.parquet", max_records=3)
    assert b"SECRET" not in (tmp_path / "out.parquet").read_bytes()
    assert b"SECRET" not in pq.read_schema(tmp_path / "out.parquet").serialize().to_pybytes()
    out = pq.read_table(tmp_path / "out.parquet")
    assert out.to_pylist() == table.to_pylist()
    kind: Any = out.schema.field("c").type
    assert pa.types.is_dictionary(kind)
    assert kind.ordered


def test_parquet_whose_row_groups_have_other_categories_each(tmp_path: Path) -> None:
    """As a writer makes that is given a file in pieces: 8 bits are enough for each of them alone."""
    schema = pa.schema({"text": pa.string(), "kind": pa.dictionary(pa.int8(), pa.string())})
    with pq.ParquetWriter(tmp_path / "in.parquet", schema) as writer:
        for piece in "abc":
            kinds = pa.array([f"{piece}{i}" for i in range(100)]).cast(schema.field("kind").type)
            writer.write_table(pa.table({"text": ["t"] * 100, "kind": kinds}, schema))
    through(tmp_path / "in.parquet", tmp_path / "out.parquet", max_records=70)
    out = pq.read_table(tmp_path / "out.parquet")
    assert out.to_pylist() == pq.read_table(tmp_path / "in.parquet").to_pylist()
    assert pa.types.is_dictionary(out.schema.field("kind").type)


def test_rows_can_be_left_out(table: Path) -> None:
    out = table.with_name(f"out{table.suffix}")
    with (
        opened(table, column=["title", "body"]) as source,
        open_sink(out, source) as sink,
    ):
        for batch in source.batches(5, 1000):
            some = batch.take([0, 3])
            assert some.texts == ["t0", "b0", "t3", "b3"]
            sink.write(some, some.texts)
    assert written(out) == [ROWS[0], ROWS[3]]
