from __future__ import annotations

import csv
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from inkblur import arrow
from inkblur.arrow import KEY, KEY_FILE, ReleasePlan, one_batch, plan_release, release
from inkblur.embeddings.store import write_store
from inkblur.embeddings.table import Embedding
from inkblur.errors import InputError, ParameterError
from inkblur.files.release import privatize_file
from inkblur.guarantees import NOBODY_COUNTS
from inkblur.ledger import Ledger
from inkblur.rng import keyed_rng, read_key, write_key
from inkblur.spec import ReleaseSpec
from tests.engines.made import WORDS, one_machine, rows


def test_a_table_comes_out_as_from_one_machine_however_it_is_cut(
    table: pa.Table, spec: ReleaseSpec, expected: pa.Table
) -> None:
    for size in (1000, 7):
        parts = [release(part, spec, ledger=False) for part in table.to_batches(size)]
        assert pa.Table.from_batches(parts) == expected


@pytest.mark.parametrize("mechanism", ["laplace", "exponential", "mahalanobis"])
def test_so_do_other_mechanisms(
    table: pa.Table, mechanism: str, key_file: Path, tmp_path: Path, rng: np.random.Generator
) -> None:
    path = tmp_path / "toy.ink"  # working out the bound of all words takes a minute
    known = WORDS[:-1]
    write_store(path, Embedding(known, rng.standard_normal((len(known), 4)), name="toy"))
    spec = ReleaseSpec(
        mechanism,
        20.0,
        id_column="id",
        length=6,
        keep=("numbers",),
        accept_weak=True,
        embedding=str(path),
    )
    expected = one_machine(table, spec, key_file, tmp_path)
    out = release(one_batch(table), spec, ledger=False)
    assert pa.Table.from_batches([out]) == expected
    assert out["text"].null_count == 0  # a fixed length hides that a text is missing


@pytest.mark.parametrize(
    "kind",
    [pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())],
    ids=str,
)
def test_every_kind_of_string_is_text(
    table: pa.Table, spec: ReleaseSpec, key_file: Path, expected: pa.Table, kind: pa.DataType
) -> None:
    texts = table["text"].combine_chunks()
    cast = texts.dictionary_encode() if pa.types.is_dictionary(kind) else texts.cast(kind)
    given = table.set_column(1, "text", cast)
    assert given.schema.field("text").type == kind
    out = release(one_batch(given), spec, ledger=False)
    assert out["text"].to_pylist() == expected["text"].to_pylist()


def test_ids_are_integers_or_strings_and_mean_the_same(
    table: pa.Table, spec: ReleaseSpec, key_file: Path, expected: pa.Table
) -> None:
    named = table.set_column(0, "id", table["id"].cast(pa.string()))
    assert release(one_batch(named), spec, ledger=False)["text"].to_pylist() == (
        expected["text"].to_pylist()
    )
    with pytest.raises(InputError, match="expected string or integer"):
        release(
            one_batch(table.set_column(0, "id", table["id"].cast(pa.float64()))), spec, ledger=False
        )


def test_several_columns_of_a_csv_file(
    table: pa.Table, spec: ReleaseSpec, key_file: Path, tmp_path: Path
) -> None:
    several = spec.varied(columns=("text", "title"))
    filled = pa.array([text or "" for text in table["text"].to_pylist()])
    given = table.set_column(1, "text", filled).append_column("title", filled)
    source, target = tmp_path / "rows.csv", tmp_path / "out.parquet"
    with source.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, given.column_names)
        writer.writeheader()
        writer.writerows(given.to_pylist())
    privatize_file(source, target, several, rng=keyed_rng(read_key(key_file)), ledger=False)
    written = pq.read_table(target)
    out = release(one_batch(given), several, ledger=False)
    for column in ("text", "title"):
        assert out[column].to_pylist() == written[column].to_pylist()
    assert out["text"].to_pylist() != out["title"].to_pylist()  # equal texts, other draws


def test_a_plan_travels_by_spec_and_holds_neither_key_nor_tables(
    table: pa.Table, spec: ReleaseSpec, key_file: Path, expected: pa.Table
) -> None:
    plan = plan_release(spec)
    sent = pickle.dumps(plan)
    assert len(sent) < 5000
    key = read_key(key_file)
    assert key not in sent
    assert key.hex().encode() not in sent
    arrived: ReleasePlan = pickle.loads(sent)
    assert pa.Table.from_batches([arrived(one_batch(table))]) == expected


def test_tables_are_loaded_once_a_process(
    table: pa.Table, spec: ReleaseSpec, key_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = []
    load = ReleaseSpec.table

    def counting(self: ReleaseSpec) -> Embedding:
        loads.append(1)
        return load(self)

    monkeypatch.setattr(ReleaseSpec, "table", counting)
    monkeypatch.setattr(arrow, "_held", {})
    for part in table.to_batches(50):
        release(part, spec, ledger=False)
    assert len(loads) == 1


def test_the_key_comes_from_a_file_or_the_environment_and_is_never_fresh(
    table: pa.Table,
    spec: ReleaseSpec,
    key_file: Path,
    expected: pa.Table,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    batch = one_batch(table)
    plan = plan_release(spec)
    monkeypatch.delenv(KEY_FILE)
    with pytest.raises(ParameterError, match="keygen"):
        release(batch, spec, ledger=False)
    assert pa.Table.from_batches([release(batch, spec, key_file=key_file, ledger=False)]) == (
        expected
    )
    monkeypatch.setenv(KEY, read_key(key_file).hex())
    assert pa.Table.from_batches([release(batch, spec, ledger=False)]) == expected
    other = tmp_path / "other"
    write_key(other)
    monkeypatch.setenv(KEY, read_key(other).hex())
    with pytest.raises(InputError, match="not the one that the release began with"):
        plan(batch)
    monkeypatch.setenv(KEY, "00" * 32)
    with pytest.raises(InputError, match="can be guessed"):
        release(batch, spec, ledger=False)


def test_a_column_that_tells_much_is_copied_with_a_warning(
    table: pa.Table, spec: ReleaseSpec, key_file: Path
) -> None:
    batch = one_batch(table.append_column("note", table["text"]))
    noted = spec.varied(keep_columns=("note",))
    with pytest.warns(UserWarning, match="'note' is copied: it holds the words of the texts"):
        assert release(batch, noted, ledger=False)["note"] == batch["text"]
    with pytest.warns(UserWarning, match="'id' is copied: nearly every value differs"):
        plan_release(spec).check(batch)


def test_columns_that_could_hold_values_of_other_rows_are_refused(
    table: pa.Table, spec: ReleaseSpec, key_file: Path
) -> None:
    """The children of these arrays stay as they are when rows are filtered or cut."""
    count = len(table)
    spare = pa.array(["SECRET", "shown"]).dictionary_encode().take(pa.array([1]))  # both categories
    views: Any = pa.ListViewArray  # the stubs give it the arguments of a list
    columns: list[pa.Array[Any]] = [
        pa.RunEndEncodedArray.from_arrays(
            pa.array([1, 1 + count], pa.int32()), pa.array(["SECRET", "shown"])
        ).slice(1),
        pa.UnionArray.from_dense(
            pa.array([0] * count, pa.int8()),
            pa.array([0] * count, pa.int32()),
            [pa.array([7]), pa.array(["SECRET"])],
        ),
        views.from_arrays(
            pa.array([0] * count, pa.int32()), pa.array([1] * count, pa.int32()), spare
        ),
    ]
    for column in columns:
        nested = pa.StructArray.from_arrays([column], ["inner"])
        for given in (column, nested):
            batch = pa.RecordBatch.from_arrays(
                [*one_batch(table).columns, given], names=[*table.schema.names, "note"]
            )
            with pytest.raises(InputError, match=r"'note' .* hold values of rows that are not"):
                release(batch, spec.varied(keep_columns=("note",)), ledger=False)
            release(batch, spec, ledger=False)


def _covered(hidden: pa.Array[Any]) -> pa.Array[Any]:
    """The first of two values is null, and its memory is as it was."""
    second = pa.py_buffer(bytes([0b10]))
    return pa.Array.from_buffers(hidden.type, 2, [second, *hidden.buffers()[1:]])


def _sent(batch: pa.RecordBatch) -> bytes:
    """What whoever is sent these rows in Arrow's own format receives."""
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, batch.schema) as stream:
        stream.write_batch(batch)
    return out.getvalue().to_pybytes()


_TEXT = pa.array(["SECRET", "shown"])
_FIRST = pa.array([True, False])
_STRUCT = pa.StructArray.from_arrays([_TEXT], ["inner"], mask=_FIRST)
_ENTRIES = pa.StructArray.from_arrays(
    [pa.array(["a", "b"]), _TEXT],
    fields=[pa.field("key", pa.string(), nullable=False), pa.field("value", pa.string())],
)
_STARTS = pa.array([0, 1, 2], pa.int32())
_SECOND = pa.py_buffer(bytes([0b10]))
BELOW_NULLS: dict[str, pa.Array[Any]] = {
    "string": _covered(_TEXT),
    "number": _covered(pa.array([int.from_bytes(b"SECRET"[::-1], "big"), 7])),
    "struct": _STRUCT,
    "struct in a struct": pa.StructArray.from_arrays([_STRUCT], ["outer"]),
    "list": pa.ListArray.from_arrays(_STARTS, _TEXT, mask=_FIRST),
    "list of structs": pa.ListArray.from_arrays(_STARTS, _STRUCT),
    "large list": pa.ListArray.from_arrays(_STARTS, _STRUCT).cast(pa.large_list(_STRUCT.type)),
    "lists of one size": pa.FixedSizeListArray.from_arrays(_TEXT, 1, mask=_FIRST),
    "map": pa.MapArray.from_buffers(
        pa.map_(pa.string(), pa.string()), 2, [_SECOND, _STARTS.buffers()[1]], children=[_ENTRIES]
    ),
}


@pytest.mark.parametrize("kind", BELOW_NULLS)
def test_a_value_that_a_null_covers_is_not_sent(
    spec: ReleaseSpec, key_file: Path, kind: str
) -> None:
    column = BELOW_NULLS[kind]
    batch = one_batch(rows(2)).append_column("note", column)
    assert b"SECRET" in _sent(batch)
    out = release(batch, spec.varied(keep_columns=("note",)), ledger=False)
    assert b"SECRET" not in _sent(out)
    assert out["note"].equals(column)
    assert out["note"].type == column.type


def test_values_of_rows_that_were_cut_off_are_not_sent(spec: ReleaseSpec, key_file: Path) -> None:
    """A slice shares the memory of the whole; so do the parts of a table."""
    names = pa.array(["shown", "shown too", "SECRET"])
    columns: list[pa.Array[Any]] = [
        names,
        pa.StructArray.from_arrays([names], ["inner"]),
        pa.ListArray.from_arrays(pa.array([0, 1, 2, 3], pa.int32()), names),
        pa.array([[], None, []], pa.list_(pa.string(), 0)),
    ]
    for column in columns:
        batch = one_batch(rows(3)).append_column("note", column).slice(0, 2)
        out = release(batch, spec.varied(keep_columns=("note",)), ledger=False)
        assert b"SECRET" not in _sent(out)
        assert b"SECRET" not in pickle.dumps(out)
        assert out["note"].equals(column.slice(0, 2))


def from_pandas(secret: str) -> pa.RecordBatch:
    pandas = pytest.importorskip("pandas")
    kinds = pandas.Categorical(["a", "b"], categories=["a", "b", secret])
    frame = pandas.DataFrame({"id": [1, 2], "text": WORDS[:2], "kind": kinds}, index=[secret, "b"])
    frame.attrs["note"] = secret
    made: pa.RecordBatch = pa.RecordBatch.from_pandas(frame)
    return made


def from_polars(secret: str) -> pa.RecordBatch:
    polars = pytest.importorskip("polars")
    kinds = polars.Series(["a", "b"], dtype=polars.Enum(["a", "b", secret]))
    frame = polars.DataFrame({"id": [1, 2], "text": WORDS[:2], "kind": kinds})
    nested = frame.with_columns(
        listed=polars.concat_list(polars.struct(grade="kind")),
        array=polars.concat_list("kind").list.to_array(1),
    )
    return one_batch(nested.to_arrow())


def from_duckdb(secret: str) -> pa.RecordBatch:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TYPE grade AS ENUM ('a', 'b', '{secret}')")
        rows = "FROM (VALUES (1, 'the', 'a'), (2, 'doctor', 'b')) AS t(id, text, kind)"
        kinds = "kind::grade AS kind, [kind::grade] AS listed, {'of': kind::grade} AS struct"
        return one_batch(connection.sql(f"SELECT id, text, {kinds} {rows}").to_arrow_table())


def from_notes(secret: str) -> pa.RecordBatch:
    """Hugging Face `datasets` names its classes there."""
    notes: dict[bytes | str, bytes | str] = {"huggingface": secret}
    inner = pa.struct([pa.field("of", pa.string(), metadata=notes)])
    kinds = {"id": pa.int64(), "text": pa.string(), "kind": pa.string(), "struct": inner}
    fields: list[pa.Field[Any]] = [pa.field(n, k, metadata=notes) for n, k in kinds.items()]
    schema = pa.schema(fields, metadata=notes)
    one = {"id": 1, "text": "the", "kind": "a", "struct": {"of": "a"}}
    two = {"id": 2, "text": "doctor", "kind": "b", "struct": {"of": "b"}}
    return pa.RecordBatch.from_pylist([one, two], schema=schema)


@pytest.mark.parametrize("source", [from_pandas, from_polars, from_duckdb, from_notes])
def test_categories_that_no_row_has_and_notes_do_not_come_out(
    source: Callable[[str], pa.RecordBatch], spec: ReleaseSpec, key_file: Path
) -> None:
    batch = source("SECRET")
    assert b"SECRET" in _sent(batch)
    beside = [name for name in batch.schema.names if name != "text" and "index" not in name]
    out = release(batch, spec.varied(keep_columns=tuple(beside)), ledger=False)
    assert b"SECRET" not in _sent(out)
    assert b"SECRET" not in pickle.dumps(out)
    assert {*out.schema.names} == {"text", *beside}
    for name in beside:
        assert out[name].to_pylist() == batch[name].to_pylist()


@pytest.mark.parametrize("library", ["pandas", "polars", "duckdb"])
def test_the_recipe_of_the_documentation_releases_what_a_file_does(
    library: str,
    table: pa.Table,
    expected: pa.Table,
    ledger: Ledger,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip(library)
    page = Path(__file__).parents[2] / "docs" / "at-scale.md"
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    [recipe] = [block for block in blocks if f"import {library}" in block]
    monkeypatch.chdir(tmp_path)
    pq.write_table(table, "reviews.parquet")
    exec(recipe, {})
    assert pq.read_table("released.parquet").to_pydict() == expected.to_pydict()
    assert [entry["state"] for entry in ledger.history()] == ["confirmed"]


@pytest.mark.parametrize("wrong", ["repeated", "missing"])
def test_ids_that_an_engine_found_wrong_over_all_batches_are_refused(
    spec: ReleaseSpec, key_file: Path, ledger: Ledger, wrong: str
) -> None:
    found = {"repeated": False, "missing": False, wrong: True}
    with pytest.raises(InputError, match="column 'id'"):
        plan_release(spec).begun(True, None, over=lambda _: [], **found)
    assert ledger.history() == []


def test_a_table_is_refused_before_anything_is_charged(
    table: pa.Table, spec: ReleaseSpec, key_file: Path, ledger: Ledger
) -> None:
    with pytest.raises(ParameterError, match=r"not a Table: .*to_batches"):
        release(table, spec)  # type: ignore[arg-type]
    assert ledger.history() == []


def test_a_batch_without_rows(table: pa.Table, spec: ReleaseSpec, key_file: Path) -> None:
    out = release(one_batch(table.slice(0, 0)), spec, ledger=False)
    assert (out.num_rows, out.schema.names) == (0, ["id", "text", "stars"])


def test_a_worker_with_another_ledger_refuses(
    table: pa.Table,
    spec: ReleaseSpec,
    key_file: Path,
    ledger: Ledger,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = plan_release(spec).counted_in(True)
    monkeypatch.setenv("INKBLUR_LEDGER", str(tmp_path / "elsewhere.db"))
    with pytest.raises(InputError, match="does not know this release"):
        plan(one_batch(table))


def test_the_guarantee_names_what_comes_out_besides(
    table: pa.Table, spec: ReleaseSpec, key_file: Path
) -> None:
    exact = plan_release(spec.varied(length="exact"))  # otherwise a missing text is filled as well
    assert "missing" in " ".join(exact.guarantee(table.schema).lines())
    lines = " ".join(plan_release(spec).guarantee(table.schema).lines())
    assert all(word in lines for word in ("stars", NOBODY_COUNTS))
    assert not any(word in lines for word in ("spare", "were left out"))
    skipping = plan_release(spec.varied(skip_public=True)).guarantee(table.schema)
    assert "were left out" in " ".join(skipping.lines())
    with pytest.raises(ParameterError, match="id_column"):
        plan_release(spec.varied(id_column=None))
