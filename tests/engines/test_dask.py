from __future__ import annotations

import pyarrow as pa
import pytest

from inkblur.errors import InputError, PrivacyError
from inkblur.ledger import Ledger
from inkblur.spec import ReleaseSpec
from tests.engines.made import charged

pytest.importorskip("pandas")
dd = pytest.importorskip("dask.dataframe")
engine = pytest.importorskip("inkblur.engines.dask")


@pytest.mark.parametrize("scheduler", ["threads", "processes"])
def test_a_frame_comes_out_as_from_one_machine_and_is_charged_once(
    table: pa.Table, spec: ReleaseSpec, expected: pa.Table, ledger: Ledger, scheduler: str
) -> None:
    frame = dd.from_pandas(table.to_pandas().set_index("stars", drop=False), npartitions=3)
    out = engine.privatize(frame, spec)  # the index is named: the column of its name is
    assert list(out.columns) == expected.column_names
    computed = out.compute(scheduler=scheduler)
    assert (computed.index == computed["stars"]).all()
    arrived = pa.Table.from_pandas(computed, preserve_index=False).sort_by("id")
    assert arrived.to_pydict() == expected.to_pydict()
    once = charged(ledger)
    assert once > 0
    out.compute(scheduler=scheduler)
    assert charged(ledger) == once


def test_categories_of_true_texts_do_not_come_out(
    table: pa.Table, spec: ReleaseSpec, expected: pa.Table, ledger: Ledger
) -> None:
    """Texts that the categories do not list were lost, and the list of true texts was not."""
    frame = dd.from_pandas(table.to_pandas().astype({"text": "category"}), npartitions=3)
    out = engine.privatize(frame, spec)
    computed = out.compute(scheduler="sync")
    assert computed["text"].dtype == out["text"].dtype == object
    arrived = pa.Table.from_pandas(computed, preserve_index=False).sort_by("id")
    assert arrived.to_pydict() == expected.to_pydict()


def test_categories_of_rows_that_are_left_out_do_not_come_out(
    table: pa.Table, spec: ReleaseSpec, expected: pa.Table, ledger: Ledger
) -> None:
    rows = table.to_pandas()
    rows["stars"] = rows["stars"].astype("category").cat.add_categories([99])
    rows["spare"] = rows["spare"].astype("category")
    rows = rows.set_axis(rows["stars"].rename("graded"))
    rows.attrs["note"] = "SECRET"  # pandas writes it into parquet files
    kept = spec.varied(keep_columns=(*spec.keep_columns, "graded"))
    out = engine.privatize(dd.from_pandas(rows, npartitions=3, sort=False), kept)
    computed = out.compute(scheduler="sync")
    assert computed["stars"].dtype == out["stars"].dtype == object
    assert "category" not in (str(computed.index.dtype), str(out.index.dtype))
    assert not computed.attrs
    assert not out._meta.attrs
    arrived = pa.Table.from_pandas(computed, preserve_index=False).sort_by("id")
    assert arrived.to_pydict() == expected.to_pydict()


def test_an_index_that_says_who_wrote_is_a_column_like_any_other(
    table: pa.Table, spec: ReleaseSpec, key_file: object, ledger: Ledger
) -> None:
    rows = table.to_pandas()
    rows.index = [f"{number}@example.org" for number in rows["id"]]
    with pytest.raises(PrivacyError, match="index would be copied"):
        engine.privatize(dd.from_pandas(rows, npartitions=3), spec)
    indexed = table.to_pandas().assign(id=[f"r{row}" for row in range(len(table))])
    with pytest.raises(InputError, match="'id' is the index, not a column"):
        engine.privatize(dd.from_pandas(indexed.set_index("id"), npartitions=3), spec)
    assert ledger.history() == []


def test_ids_are_looked_at_before_anything_runs(
    table: pa.Table, spec: ReleaseSpec, key_file: object, ledger: Ledger
) -> None:
    frame = dd.from_pandas(table.to_pandas(), npartitions=3)
    with pytest.raises(InputError, match="repeats an id"):
        engine.privatize(dd.concat([frame, frame.partitions[0]]), spec)
    named = frame.assign(id=frame["id"].astype("Int64"))
    with pytest.raises(InputError, match="null id"):
        engine.privatize(named.assign(id=named["id"].where(named["id"] > 10_000 // 7)), spec)
    assert ledger.history() == []
