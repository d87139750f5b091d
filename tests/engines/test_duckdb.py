from __future__ import annotations

import pyarrow as pa
import pytest

from inkblur.errors import InputError
from inkblur.ledger import Ledger
from inkblur.spec import ReleaseSpec
from tests.engines.made import charged

duckdb = pytest.importorskip("duckdb")
engine = pytest.importorskip("inkblur.engines.duckdb")


def test_a_query_comes_out_as_from_one_machine_and_is_charged_once(
    table: pa.Table, spec: ReleaseSpec, expected: pa.Table, ledger: Ledger
) -> None:
    with duckdb.connect() as connection:
        connection.register("reviews", table)
        out = engine.privatize(connection, "SELECT * FROM reviews;", spec)
        assert charged(ledger) == 0
        assert out.to_arrow_table().to_pydict() == expected.to_pydict()
        once = charged(ledger)
        assert once > 0
        assert out.filter("stars = 3").to_arrow_table().num_rows == 60
        assert charged(ledger) == once


def test_categories_of_rows_that_are_left_out_do_not_come_out(
    table: pa.Table, spec: ReleaseSpec, expected: pa.Table, ledger: Ledger
) -> None:
    with duckdb.connect() as connection:
        connection.register("reviews", table)
        connection.execute("CREATE TYPE grade AS ENUM ('0', '1', '2', '3', '4', 'SECRET')")
        query = "SELECT * REPLACE (stars::VARCHAR::grade AS stars) FROM reviews"
        out = engine.privatize(connection, query, spec)
        assert "SECRET" not in str(out.types)
        arrived = out.to_arrow_table()
        assert "SECRET" not in str(arrived.to_pylist())
        stars = [int(value) for value in arrived["stars"].to_pylist()]
        assert stars == expected["stars"].to_pylist()
        assert arrived["text"].to_pylist() == expected["text"].to_pylist()
        query = "SELECT * REPLACE ([stars::VARCHAR::grade] AS stars) FROM reviews"
        with pytest.raises(InputError, match="column 'stars' of the query has ENUMs within it"):
            engine.privatize(connection, query, spec)


def test_several_columns_of_odd_names(
    table: pa.Table, spec: ReleaseSpec, key_file: object, ledger: Ledger
) -> None:
    odd = table.rename_columns(["id", 'a "text"', "stars", "spare"]).append_column(
        "title", table["text"]
    )
    several = spec.varied(columns=('a "text"', "title"))
    from inkblur.arrow import one_batch, release

    with duckdb.connect() as connection:
        connection.register("odd", odd)
        out = engine.privatize(connection, "FROM odd", several).to_arrow_table()
    assert out.to_pydict() == release(one_batch(odd), several).to_pydict()


def test_a_column_of_the_same_name_as_one_of_ours_is_a_column_like_any_other(
    table: pa.Table, spec: ReleaseSpec, expected: pa.Table, ledger: Ledger
) -> None:
    """What it held came out in place of the released texts."""
    with duckdb.connect() as connection:
        connection.register("reviews", table)
        query = "SELECT *, {'text': 'secret'} AS released FROM reviews -- all of them"
        kept = spec.varied(keep_columns=(*spec.keep_columns, "released"))
        out = engine.privatize(connection, query, kept).to_arrow_table()
    assert out["released"].to_pylist() == [{"text": "secret"}] * len(table)
    assert out.drop_columns("released").to_pydict() == expected.to_pydict()


def test_ids_are_looked_at_before_anything_runs(
    table: pa.Table, spec: ReleaseSpec, key_file: object, ledger: Ledger
) -> None:
    with duckdb.connect() as connection:
        connection.register("reviews", table)
        with pytest.raises(InputError, match="repeats an id"):
            engine.privatize(connection, "FROM reviews UNION ALL (FROM reviews LIMIT 1)", spec)
        with pytest.raises(InputError, match="null id"):
            engine.privatize(
                connection, "SELECT * REPLACE (nullif(id, 7) AS id) FROM reviews", spec
            )
    assert ledger.history() == []
