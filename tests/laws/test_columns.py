"""Nothing is copied that was not named: twelve columns that tell a person, under names that no list of telling names
would have in full, come out of no door; and what was named comes out of each.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import inkblur
from inkblur.arrow import CountedRelease, one_batch, plan_release, release
from inkblur.cli.app import app
from inkblur.files.folder import privatize_folder
from inkblur.rng import write_key
from tests.together import Desk, Order

COLUMNS = [
    *("dob", "twitter", "iban", "participant", "char_count", "employee", "birthdate"),
    *("case_number", "diagnosis", "mrn", "id", "person"),
]
ROWS = [
    {
        **{name: f"zzqq-{name}-{row}" for name in COLUMNS[:6]},
        "text": f"the doctor was angry about visit {'again ' * row}",
        **{name: f"zzqq-{name}-{row}" for name in COLUMNS[6:]},
        "stars": "abc"[row],
    }
    for row in range(3)
]
FORMATS = ["csv", "tsv", "csv.gz", "jsonl", "parquet"]
Read = list[dict[str, Any]]


def spec(*keep: str, **more: Any) -> inkblur.ReleaseSpec:
    beside = {"id_column": "id", "person_column": "person", "keep_columns": keep, **more}
    return inkblur.ReleaseSpec("staircase", 8.0, **beside)


def write(path: Path, rows: list[dict[str, Any]] = ROWS) -> Path:
    kind = path.suffixes[0]
    if kind == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
        return path
    if kind in (".csv", ".tsv"):
        sign = "," if kind == ".csv" else "\t"
        lines = [sign.join(rows[0]), *(sign.join(row.values()) for row in rows)]
    else:
        lines = [json.dumps(row) for row in rows]
    body = "\n".join(lines) + "\n"
    path.write_bytes(gzip.compress(body.encode()) if path.suffix == ".gz" else body.encode())
    return path


def rows_of(path: Path) -> Read:
    """All rows that a file shows; nothing that it should not hold is anywhere in its bytes."""
    if path.suffix == ".parquet":
        assert b"zzqq" not in path.read_bytes()
        table = pq.read_table(path)
        assert "zzqq" not in str(table.schema)
        return table.to_pylist()
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    assert b"zzqq" not in data
    body, kind = data.decode(), path.suffixes[0]
    if kind == ".jsonl":
        return [json.loads(line) for line in body.splitlines()]
    lines = [line.split("," if kind == ".csv" else "\t") for line in body.splitlines()]
    return [dict(zip(lines[0], line, strict=True)) for line in lines[1:]]


def key(folder: Path) -> Path:
    path = folder / "key"
    if not path.exists():
        write_key(path)
    return path


def by_command(folder: Path, suffix: str, keep: list[str]) -> Read:
    source, out = write(folder / f"in.{suffix}"), folder / f"out.{suffix}"
    options = ["--id", "id", "--person", "person", "--epsilon", "8", "--ledger", "none"]
    options += [word for name in keep for word in ("--keep-column", name)]
    done = CliRunner().invoke(app, ["privatize", str(source), "-o", str(out), *options])
    assert done.exit_code == 0, done.output
    left = ", ".join(name for name in ROWS[0] if name not in ("text", *keep))
    assert f"not copied: {left} (--keep-column dob" in " ".join(done.output.split())
    return rows_of(out)


def by_function(folder: Path, suffix: str, keep: list[str]) -> Read:
    source, out = write(folder / f"in.{suffix}"), folder / f"out.{suffix}"
    summary = inkblur.privatize_file(source, out, spec(*keep), ledger=False)
    assert "dob" not in json.dumps(summary.guarantee.to_json())  # it is published
    return rows_of(out)


def by_folder(folder: Path, suffix: str, keep: list[str]) -> Read:
    source = folder / "in" / "zzqq-by-folder" / "zzqq=by-partition"
    source.mkdir(parents=True)
    write(source / f"zzqq-by-name.{suffix}")
    out, rng = folder / "out", inkblur.keyed_rng(os.urandom(32))
    privatize_folder(folder / "in", out, spec(*keep), rng=rng, ledger=False)
    [file] = [path for path in out.rglob("*") if path.is_file()]
    assert "zzqq" not in str(file.relative_to(out))
    return rows_of(file)


def by_upload(folder: Path, suffix: str, keep: list[str]) -> Read:
    testclient = pytest.importorskip("fastapi.testclient")
    with testclient.TestClient(_service(folder), "http://127.0.0.1:8642") as client:
        body = write(folder / f"in.{suffix}").read_bytes()
        place = client.post(f"/v1/uploads?suffix={suffix}", content=body).json()["upload"]
        columns = {"keep_columns": keep, "id_column": "id", "person_column": "person"}
        asked = {"setting": {"epsilon": 8}, **columns}
        shown = client.post(f"/v1/uploads/{place}/preview", json=asked).json()
        assert shown["copied"] == keep
        assert {*COLUMNS} <= {*shown["not_copied"], *keep}
        client.post(f"/v1/uploads/{place}/release", json=asked)
        while (state := client.get(f"/v1/uploads/{place}").json())["state"] != "done":
            assert state["state"] != "failed", state
            time.sleep(0.05)
        out = folder / f"out.{suffix}"
        out.write_bytes(client.get(f"/v1/uploads/{place}/output").content)
    return rows_of(out)


def _service(folder: Path) -> Any:
    from inkblur.service.application import ServiceSettings, make_application

    rng = inkblur.keyed_rng(os.urandom(32))
    return make_application(ServiceSettings(rng, folder / "uploads", str(folder / "ledger.db")))


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("door", [by_command, by_function, by_folder, by_upload])
def test_of_a_file_only_what_was_named(
    tmp_path: Path, door: Callable[[Path, str, list[str]], Read], suffix: str
) -> None:
    (tmp_path / "bare").mkdir()
    bare = door(tmp_path / "bare", suffix, [])
    assert [list(row) for row in bare] == [["text"]] * 3
    (tmp_path / "kept").mkdir()
    kept = door(tmp_path / "kept", suffix, ["stars"])
    assert [list(row) for row in kept] == [["text", "stars"]] * 3
    assert sorted(row["stars"] for row in kept) == ["a", "b", "c"]


def by_arrow(folder: Path, rows: pa.RecordBatch, keep: list[str]) -> pa.RecordBatch:
    return release(rows, spec(*keep), key_file=key(folder), ledger=False)


def by_engine(folder: Path, rows: pa.RecordBatch, keep: list[str]) -> pa.RecordBatch:
    """What every engine is built of."""
    plan = plan_release(spec(*keep), key_file=key(folder))
    assert plan.check(rows).names == plan(rows).schema.names
    return plan(rows)


def by_desk(folder: Path, rows: pa.RecordBatch, keep: list[str]) -> pa.RecordBatch:
    with inkblur.open_ledger(folder / "ledger.db") as ledger:
        desk = Desk(inkblur.keyed_rng(os.urandom(32)), ledger)
        [answer] = desk.release([Order(rows, spec(*keep), "alice")])
    assert isinstance(answer, CountedRelease), answer
    assert "dob" not in json.dumps(answer.guarantee.to_json())
    return answer.rows


@pytest.mark.parametrize("door", [by_arrow, by_engine, by_desk])
def test_of_arrow_rows_only_what_was_named(
    tmp_path: Path, door: Callable[[Path, pa.RecordBatch, list[str]], pa.RecordBatch]
) -> None:
    rows = one_batch(pa.Table.from_pylist(ROWS))
    bare = door(tmp_path, rows, [])
    assert bare.schema.names == ["text"]
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, bare.schema) as stream:
        stream.write_batch(bare)
    assert b"zzqq" not in sink.getvalue()
    kept = door(tmp_path, rows, ["id", "stars"])
    assert kept.schema.names == ["text", "id", "stars"]
    assert kept["id"].to_pylist() == [row["id"] for row in ROWS]


def test_texts_with_ids_and_people_come_back_alone(tmp_path: Path) -> None:
    testclient = pytest.importorskip("fastapi.testclient")
    sent = {f"{name}s": [row[name] for row in ROWS] for name in ("text", "id")}
    sent["people"] = [row["person"] for row in ROWS]
    with testclient.TestClient(_service(tmp_path), "http://127.0.0.1:8642") as client:
        answer = client.post("/v1/release", json={**sent, "setting": {"epsilon": 8}})
    assert answer.status_code == 200, answer.text
    assert "zzqq" not in answer.text
    released = inkblur.privatize(
        sent["texts"], spec=spec(), ids=sent["ids"], people=sent["people"], ledger=False
    )
    assert len(released.texts) == 3
    assert "zzqq" not in str(released)


@pytest.mark.parametrize("name", [*COLUMNS, None])
def test_an_index_is_refused_until_it_is_named(name: str | None) -> None:
    frame = pd.DataFrame(ROWS).set_index(name or "dob").rename_axis(name)
    with pytest.raises(inkblur.PrivacyError, match="reset_index"):
        inkblur.privatize(frame["text"], spec=spec(), ledger=False)
    kept = inkblur.privatize(frame["text"], spec=spec(name or "index"), ledger=False)
    assert list(kept.texts.index) == list(frame.index)
    bare = inkblur.privatize(pd.DataFrame(ROWS)["text"], spec=spec(), ledger=False)
    assert list(bare.texts.index) == [0, 1, 2]


@pytest.mark.parametrize("table", [False, True])
def test_scikit_learn_gives_texts_alone(table: bool) -> None:
    pytest.importorskip("sklearn")
    frame = pd.DataFrame(ROWS).set_index("dob")
    texts = frame[["text"]] if table else frame["text"]
    blur = inkblur.TextPrivatizer(mechanism="staircase", epsilon=8.0)
    assert "zzqq" not in str(blur.fit_transform(texts))
    with pytest.raises(inkblur.PrivacyError, match="reset_index"):
        blur.set_output(transform="pandas").fit_transform(texts)
    bare = blur.fit_transform(texts.reset_index(drop=True))
    assert list(bare.index) == [0, 1, 2]


def test_of_nested_json_and_of_keys_that_come_late_only_what_was_named(tmp_path: Path) -> None:
    first = {"meta": {"mrn": "zzqq-1", "text": "zzqq-2"}, "text": "the doctor", "stars": [{"n": 5}]}
    late = {"text": "was angry", "dob": "zzqq-3", "stars": {"n": 4}, "tags": ["zzqq-4"]}
    lines = [json.dumps(row) + "\n" for row in [first] * 3000 + [late]]
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text("".join(lines))
    asked = inkblur.ReleaseSpec("staircase", 8.0, keep_columns=("stars",), keep_order=True)
    summary = inkblur.privatize_file(source, out, asked, ledger=False)
    rows = rows_of(out)
    assert [list(row) for row in rows] == [["text", "stars"]] * 3001
    assert (rows[0]["stars"], rows[-1]["stars"]) == ([{"n": 5}], {"n": 4})
    assert summary.fate.not_copied == ("meta", "dob", "tags")
    # An object looks the same whether or not somebody left a member of it out.
    whole = tmp_path / "whole.jsonl"
    whole.write_text(json.dumps({name: first[name] for name in ("text", "stars")}) + "\n")
    inkblur.privatize_file(whole, tmp_path / "same.jsonl", asked, ledger=False)
    [same] = (tmp_path / "same.jsonl").read_text().splitlines()
    assert len(same.split('": ')) == len(out.read_text().splitlines()[0].split('": '))


def test_tf_vectors_are_numbered_unless_the_ids_were_named(tmp_path: Path) -> None:
    source, out = write(tmp_path / "in.csv"), tmp_path / "out.jsonl"
    asked: dict[str, Any] = {"release": "tf", "length": 5, "mechanism": "staircase"}

    def ids(*keep: str) -> list[str]:
        fields: dict[str, Any] = {**asked, "id_column": "id", "keep_columns": keep}
        inkblur.privatize_file(
            source, out, inkblur.ReleaseSpec(epsilon=8.0, **fields), ledger=False
        )
        return [json.loads(line)["id"] for line in out.read_text().splitlines()]

    assert ids() == ["0", "1", "2"]
    assert ids("id") == [row["id"] for row in ROWS]
    with pytest.raises(inkblur.ParameterError, match="stars"):
        ids("stars")
