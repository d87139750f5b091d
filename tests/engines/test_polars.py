from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from inkblur.errors import InputError, ParameterError
from inkblur.ledger import Ledger
from inkblur.release import Limits
from inkblur.spec import ReleaseSpec
from tests.engines.made import charged

pl = pytest.importorskip("polars")
engine = pytest.importorskip("inkblur.engines.polars")


def test_a_frame_comes_out_as_from_one_machine(
    table: pa.Table, spec: ReleaseSpec, expected: pa.Table, ledger: Ledger
) -> None:
    out = engine.privatize(pl.from_arrow(table), spec)
    assert out.columns == expected.column_names
    assert out.to_dict(as_series=False) == expected.to_pydict()
    assert [release["state"] for release in ledger.history()] == ["confirmed"]


@pytest.mark.parametrize("lazy", [False, True])
def test_categories_of_rows_that_are_left_out_do_not_come_out(
    table: pa.Table, spec: ReleaseSpec, expected: pa.Table, ledger: Ledger, lazy: bool
) -> None:
    grades = pl.Enum([*"01234", "SECRET"])
    graded = pl.col("stars").cast(pl.String).cast(grades)
    frame = pl.from_arrow(table).with_columns(
        enum=graded,
        category=pl.when(pl.col("stars") < 9).then(graded.cast(pl.Categorical)),
        nested=pl.concat_list(pl.struct(grade=graded)),
        array=pl.concat_list(graded).list.to_array(1),
    )
    beside = ("enum", "category", "nested", "array")
    kept = spec.varied(keep_columns=(*spec.keep_columns, *beside))
    out = engine.privatize(frame.lazy() if lazy else frame, kept).lazy()
    assert "SECRET" not in str(out.collect_schema())
    collected = out.collect()
    assert collected.schema == out.collect_schema()
    assert b"SECRET" not in collected.write_ipc(None).getvalue()
    assert collected["enum"].to_list() == collected["category"].to_list()
    assert collected["enum"].to_list() == [row[0]["grade"] for row in collected["nested"].to_list()]
    assert collected["enum"].cast(pl.Int64).to_list() == collected["stars"].to_list()
    assert collected.select(expected.column_names).to_dict(as_series=False) == expected.to_pydict()


@pytest.mark.parametrize("way", ["in-memory", "streaming"])
def test_a_lazy_frame_may_be_collected_again_and_is_charged_once(
    table: pa.Table, spec: ReleaseSpec, expected: pa.Table, ledger: Ledger, way: str
) -> None:
    out = engine.privatize(pl.from_arrow(table).lazy(), spec)
    assert charged(ledger) == 0
    assert out.collect(engine=way).to_dict(as_series=False) == expected.to_pydict()
    once = charged(ledger)
    assert once > 0
    assert out.collect(engine=way).to_dict(as_series=False) == expected.to_pydict()
    assert charged(ledger) == once


def test_records_that_cannot_be_left_out_are_refused_before_anything_is_charged(
    table: pa.Table, spec: ReleaseSpec, key_file: Path, ledger: Ledger
) -> None:
    """All texts were reserved first, and stayed so."""
    leaving_out, limits = spec.varied(skip_public=True), Limits(budget=1000.0)
    with pytest.raises(ParameterError, match="one row out for each row in"):
        engine.privatize(pl.from_arrow(table), leaving_out, key_file=key_file, limits=limits)
    assert ledger.history() == []


def test_ids_are_looked_at_before_anything_runs(
    table: pa.Table, spec: ReleaseSpec, key_file: object, ledger: Ledger
) -> None:
    frame = pl.from_arrow(table)
    with pytest.raises(InputError, match="repeats an id"):
        engine.privatize(pl.concat([frame, frame[:1]]), spec)
    with pytest.raises(InputError, match="null id"):
        engine.privatize(frame.with_columns(pl.when(pl.col("id") > 0).then("id").alias("id")), spec)
    with pytest.raises(ParameterError, match="id_column"):
        engine.privatize(frame, spec.varied(id_column=None))
    assert ledger.history() == []


def test_a_column_of_objects_is_refused(
    table: pa.Table, spec: ReleaseSpec, key_file: object, ledger: Ledger
) -> None:
    """To Arrow they are addresses in memory: the texts themselves would not be noticed."""
    frame = pl.from_arrow(table)
    frame = frame.with_columns(pl.Series("raw", frame["text"].to_list(), dtype=pl.Object))
    with pytest.raises(InputError, match=r"column 'raw' holds Python objects"):
        engine.privatize(frame, spec.varied(keep_columns=("raw",)))
    assert ledger.history() == []
