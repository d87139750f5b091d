"""Polars: a data frame or a lazy one."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import polars as pl
import pyarrow as pa

from inkblur.arrow import ReleasePlan, Reservation, one_batch, plan_release
from inkblur.errors import InputError
from inkblur.files.identifiers import ROWS
from inkblur.release import Limits
from inkblur.spec import ReleaseSpec

PolarsFrame = TypeVar("PolarsFrame", pl.DataFrame, pl.LazyFrame)


def privatize(
    frame: PolarsFrame,
    spec: ReleaseSpec,
    *,
    key_file: str | Path | None = None,
    ledger: str | Path | bool = True,
    limits: Limits | None = None,
) -> PolarsFrame:
    """The frame with its texts released; a lazy frame stays lazy, and may be collected again.

    The texts and `spec.keep_columns` come out, in their order and rows, and categories as plain
    strings. The ids of a lazy frame are read once before. Under `limits` all
    texts are read before, to reserve what they cost or to refuse all of them.
    """
    plan = plan_release(spec, key_file=key_file, row_for_row=True)
    lazy = _plain(frame.lazy())
    dropped = plan.dropped(lazy.collect_schema().names())
    for name, kind in lazy.collect_schema().items():
        if kind == pl.Object and name not in dropped:
            raise InputError(
                f"column {name!r} holds Python objects, and nobody can see what they say about a "
                "text; turn it into text with `map_elements(str)`, or do not name it in "
                "`keep_columns=`"
            )
    plan.check(one_batch(lazy.head(ROWS).collect().to_arrow()))
    ids = pl.col(plan.id_column)
    facts = lazy.select(
        repeated=ids.drop_nulls().is_duplicated().any(), missing=ids.is_null().any()
    )
    repeated, missing = facts.collect().row(0)

    def over(reservation: Reservation) -> list[str]:
        reserved = lazy.select(
            pl.struct(plan.needed).map_batches(
                lambda rows: _reserved(rows, reservation),
                return_dtype=pl.List(pl.String),
                returns_scalar=True,
            )
        )
        named: list[str] = reserved.collect().to_series().explode().drop_nulls().to_list()
        return named

    counted = plan.begun(ledger, limits, repeated=repeated, missing=missing, over=over)
    narrow = counted.texts_alone()
    released = pl.struct(plan.needed).map_batches(
        lambda rows: _released(rows, narrow),
        return_dtype=pl.Struct(dict.fromkeys(plan.columns, pl.String)),
        is_elementwise=True,
    )
    out = lazy.with_columns(released.struct.unnest()).drop(dropped)
    if isinstance(frame, pl.LazyFrame):
        return out
    collected = out.collect()
    counted.confirm()
    return collected


def _plain(frame: pl.LazyFrame) -> pl.LazyFrame:
    """The frame without categories: their list may name values of rows that somebody left out."""
    kinds = frame.collect_schema().items()
    return frame.cast({name: plain for name, kind in kinds if (plain := _plain_type(kind)) != kind})


def _plain_type(kind: Any) -> Any:
    if isinstance(kind, pl.Categorical | pl.Enum):
        return pl.String()
    if isinstance(kind, pl.List):
        return pl.List(_plain_type(kind.inner))
    if isinstance(kind, pl.Array):
        return pl.Array(_plain_type(kind.inner), kind.size)
    if isinstance(kind, pl.Struct):
        return pl.Struct({field.name: _plain_type(field.dtype) for field in kind.fields})
    return kind


def _reserved(rows: pl.Series, reservation: Reservation) -> pl.Series:
    """One list of what would exceed a budget."""
    over = reservation.over_budget(one_batch(rows.struct.unnest().to_arrow()))
    return pl.Series([over], dtype=pl.List(pl.String))


def _released(rows: pl.Series, plan: ReleasePlan) -> pl.Series:
    out = plan(one_batch(rows.struct.unnest().to_arrow()))
    return pl.DataFrame(pl.from_arrow(pa.Table.from_batches([out]))).to_struct(rows.name)
