"""Rows come out in random order, which a key repeats, unless a written id ties them or it is asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import inkblur
from inkblur.files import doors
from tests.files.passing import through

ROWS = [str(number) for number in range(200)]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.csv"
    path.write_text("id,text,mark\n" + "".join(f"{n},a word {n},{n}\n" for n in ROWS))
    return path


def marks(source: Path, suffix: str = "csv", *, key: int = 1, **spec: Any) -> list[str]:
    """The marks of the rows as they come out."""
    out = source.with_name(f"out.{suffix}")
    named = {"keep_columns": ["mark"], **spec}
    described = inkblur.ReleaseSpec("staircase", strength="medium", **named)
    rng = inkblur.keyed_rng(bytes(range(key, key + 32)))
    summary = inkblur.privatize_file(source, out, described, rng=rng, ledger=False)
    tells_order = any("their order" in line for line in summary.guarantee.passed)
    assert tells_order == (not described.shuffles)
    if suffix == "parquet":
        return [str(mark) for mark in pq.read_table(out)["mark"].to_pylist()]
    if suffix == "jsonl":
        return [json.loads(line)["mark"] for line in out.read_text().splitlines()]
    return [line.rpartition(",")[2] for line in out.read_text().splitlines()[1:]]


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_the_order_is_random_and_a_key_repeats_it(source: Path, suffix: str) -> None:
    first = marks(source, suffix)
    assert sorted(first) == sorted(ROWS)
    moved = sum(abs(int(mark) - place) for place, mark in enumerate(first)) / len(ROWS)
    assert 50 < moved < 85  # a third of the rows: 67
    assert marks(source, suffix) == first
    assert marks(source, suffix, key=2) != first


def test_a_row_has_its_place_wherever_it_stands_in_the_file(source: Path) -> None:
    before = marks(source)
    header, *lines = source.read_text().splitlines()
    source.write_text("\n".join([header, *lines[::-1]]))
    assert marks(source) == before


def test_the_order_stays_where_ids_are_written_or_it_is_asked_for(source: Path) -> None:
    assert marks(source, keep_order=True) == ROWS
    assert marks(source, id_column="id", keep_columns=["id", "mark"]) == ROWS
    assert marks(source, id_column="id") != ROWS  # it names the rows here and shows nowhere


def test_categories_do_not_keep_the_order_of_the_file(tmp_path: Path) -> None:
    """An encoder numbers values as they come: the dictionary of a column was the order of rows."""
    texts, column = pa.array(["a word"] * 200), pa.array(ROWS).dictionary_encode()
    pq.write_table(pa.table({"text": texts, "mark": column}), tmp_path / "in.parquet")
    out = tmp_path / "out.parquet"
    inkblur.privatize_file(
        tmp_path / "in.parquet", out, strength="medium", keep_columns=["mark"], ledger=False
    )
    released: Any = pq.read_table(out)["mark"].combine_chunks()
    assert sorted(released.to_pylist()) == sorted(ROWS)
    assert released.dictionary.to_pylist() == released.to_pylist() != ROWS


def test_vectors_are_in_random_order(source: Path) -> None:
    spec = inkblur.ReleaseSpec("staircase", 2.0, release="tf", length=3)
    rows = []
    for keep in (True, False):
        out, rng = source.with_name("out.jsonl"), inkblur.keyed_rng(bytes(range(32)))
        described = spec.varied(keep_order=keep, accept_weak=True)
        inkblur.privatize_file(source, out, described, rng=rng, ledger=False)
        rows.append([json.loads(line)["counts"] for line in out.read_text().splitlines()])
    assert rows[0] != rows[1]
    assert sorted(map(str, rows[0])) == sorted(map(str, rows[1]))


@pytest.mark.parametrize("suffix", ["csv", "jsonl.gz", "parquet"])
def test_many_rows_are_sorted_in_files_that_go_with_the_run(
    source: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs = []
    for most in (1 << 20, 7):
        monkeypatch.setattr(doors, "_ROWS", most)
        out = source.with_name(f"out.{suffix}")
        through(source, out, max_records=5, order=inkblur.seeded_rng(1))
        outputs.append(out.read_bytes() if suffix != "parquet" else pq.read_table(out).to_pylist())
        out.unlink()
        assert [path.name for path in source.parent.iterdir()] == [source.name]
    assert outputs[0] == outputs[1]
