"""DuckDB: a query."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from inkblur.arrow import ReleasePlan, Reservation, one_batch, plan_release
from inkblur.errors import InputError
from inkblur.files.identifiers import ROWS
from inkblur.release import Limits
from inkblur.spec import ReleaseSpec

_READ = 10_000  # rows whose cost is reserved at a time


def privatize(
    connection: duckdb.DuckDBPyConnection,
    query: str,
    spec: ReleaseSpec,
    *,
    key_file: str | Path | None = None,
    ledger: str | Path | bool = True,
    limits: Limits | None = None,
) -> duckdb.DuckDBPyRelation:
    """The rows of `query` with their texts released, as a relation: nothing is drawn before it is
    read, and it may be read again.

    The query runs once before, for its ids, and under `limits` once more, to reserve what its texts
    cost or to refuse all of them. The texts and `spec.keep_columns` come out, and a column of an
    ENUM as plain strings. The relation lives as long as the connection, where a function is
    registered for it.
    """
    plan = plan_release(spec, key_file=key_file, row_for_row=True)
    rows = _plain(connection, f"({query.strip().rstrip(';')}\n)")  # its end may be a comment
    plan.check(one_batch(connection.sql(f"FROM {rows} LIMIT {ROWS}").to_arrow_table()))
    name = _quoted(plan.id_column)
    [(repeated, missing)] = connection.sql(
        f"SELECT count({name}) <> count(DISTINCT {name}), count({name}) <> count(*) FROM {rows}"
    ).fetchall()

    def over(reservation: Reservation) -> Iterator[str]:
        needed = ", ".join(map(_quoted, plan.needed))
        for part in connection.sql(f"SELECT {needed} FROM {rows}").to_arrow_reader(_READ):
            yield from reservation.over_budget(part)

    counted = plan.begun(ledger, limits, repeated=repeated, missing=missing, over=over)
    function = f"inkblur_{secrets.token_hex(6)}"  # and the name of what it gives: no column has it
    types = {c: connection.sql(f"SELECT {_quoted(c)} FROM {rows}").types[0] for c in plan.needed}
    connection.create_function(
        function,
        _Function(counted.texts_alone()),
        [duckdb.struct_type(types)],
        duckdb.struct_type(dict.fromkeys(plan.columns, duckdb.sqltype("VARCHAR"))),
        type="arrow",
        # Called for every row, and once: DuckDB must not fold, share or repeat the calls.
        side_effects=True,
        null_handling="special",  # a null text is the release's business
    )
    needed = ", ".join(f"{_quoted(c)} := {_quoted(c)}" for c in plan.needed)
    texts = ", ".join(f"{function}.{_quoted(c)} AS {_quoted(c)}" for c in plan.columns)
    dropped = plan.dropped(connection.sql(f"FROM {rows}").columns)
    left_out = ", ".join(map(_quoted, (function, *dropped)))
    return connection.sql(
        f"SELECT * EXCLUDE ({left_out}) REPLACE ({texts}) "
        f"FROM (SELECT *, {function}(struct_pack({needed})) AS {function} FROM {rows})"
    )


def _plain(connection: duckdb.DuckDBPyConnection, rows: str) -> str:
    """The rows without ENUMs, which list the values of rows that a query leaves out, too."""
    found = connection.sql(f"FROM {rows}")
    listed = [(n, k) for n, k in zip(found.columns, found.types, strict=True) if "ENUM(" in str(k)]
    for name, kind in listed:
        if kind.id != "enum":
            raise InputError(
                f"column {name!r} of the query has ENUMs within it, whose types would list all of "
                "their values: cast it, or leave it out of the query"
            )
    plain = ", ".join(f"{_quoted(name)}::VARCHAR AS {_quoted(name)}" for name, _ in listed)
    return f"(SELECT * REPLACE ({plain}) FROM {rows})" if plain else rows


class _Function:
    """What DuckDB calls with a vector of rows."""

    def __init__(self, plan: ReleasePlan) -> None:
        self._plan = plan

    def __call__(self, rows: Any) -> Any:
        batch = one_batch(pa.Table.from_struct_array(rows))
        return self._plan(batch).to_struct_array()


def _quoted(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'
