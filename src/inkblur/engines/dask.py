"""Dask: a data frame of pandas partitions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask
import pyarrow as pa
from dask.dataframe import DataFrame
from pandas import CategoricalDtype, RangeIndex
from pandas.util import hash_pandas_object

from inkblur.arrow import OVER, ReleasePlan, Reservation, one_batch, plan_release
from inkblur.errors import InputError, PrivacyError
from inkblur.files.identifiers import ROWS
from inkblur.release import Limits
from inkblur.spec import ReleaseSpec


def privatize(
    frame: DataFrame,
    spec: ReleaseSpec,
    *,
    key_file: str | Path | None = None,
    ledger: str | Path | bool = True,
    limits: Limits | None = None,
) -> DataFrame:
    """The frame with its texts released; lazy, as every Dask frame, and safe to compute again.

    The texts and `spec.keep_columns` come out, with their types, and categories as plain values. So
    does the index, which must be named unless it only numbers the rows. The ids are read once
    before, at eight bytes each on the client. Under `limits` all texts are read before, to reserve
    what they cost or to refuse all of them.
    """
    frame = _plain(frame)
    plan = plan_release(spec, key_file=key_file, row_for_row=True)
    sample = frame.head(ROWS, npartitions=-1, compute=True)
    plan.check(one_batch(pa.Table.from_pandas(sample)))  # with its index, which comes out as well
    named = [name for name in plan.needed if name not in frame.columns]
    if named:
        raise InputError(f"{named[0]!r} is the index, not a column: `reset_index()` makes it one")
    index = frame._meta.index
    if not isinstance(index, RangeIndex) and index.name not in spec.keep_columns:
        raise PrivacyError(
            "the index would be copied beside the texts: leave it out with "
            "`reset_index(drop=True)`, or copy it knowingly by its name in `keep_columns=`"
        )
    dropped = plan.dropped(frame.columns)
    ids = frame[plan.id_column]
    # Hashes come to one place: a count of each id would be sorted through the whole cluster.
    hashes, missing = dask.compute(
        ids.map_partitions(_hashed, meta=(plan.id_column, "uint64")), ids.isna().any()
    )
    needed = frame[list(plan.needed)]
    counted = plan.begun(
        ledger,
        limits,
        repeated=hashes.duplicated().any(),
        missing=missing,
        over=lambda to: needed.map_partitions(_reserved, to, meta=(OVER, "object")).compute(),
    )
    meta = frame._meta.drop(columns=list(dropped))
    meta.attrs = {}  # notes that nobody would look for in the output
    return frame.map_partitions(_released, counted.texts_alone(), plan.needed, dropped, meta=meta)


def _plain(frame: DataFrame) -> DataFrame:
    """The frame without categories: their dtype lists true texts, and values of rows that somebody
    left out.
    """
    if isinstance(frame.index.dtype, CategoricalDtype):
        frame = frame.map_partitions(lambda rows: rows.set_axis(rows.index.astype(object)))
    kinds = frame.dtypes.items()
    return frame.astype({n: object for n, kind in kinds if isinstance(kind, CategoricalDtype)})


def _hashed(ids: Any) -> Any:
    """A pandas series of 64-bit hashes; two ids that hash alike stop a run, no repeat goes on."""
    return hash_pandas_object(ids, index=False)


def _reserved(rows: Any, reservation: Reservation) -> Any:
    """A pandas series of what would exceed a budget."""
    out = reservation(one_batch(pa.Table.from_pandas(rows, preserve_index=False)))
    return out[OVER].to_pandas().astype("object").rename(OVER)


def _released(
    rows: Any, plan: ReleasePlan, needed: tuple[str, ...], dropped: tuple[str, ...]
) -> Any:
    """A pandas frame with its texts released."""
    out = plan(one_batch(pa.Table.from_pandas(rows[list(needed)], preserve_index=False)))
    texts = {
        name: type(rows[name])(out[name].to_pandas(), dtype=rows[name].dtype).set_axis(rows.index)
        for name in out.schema.names
    }
    released = rows.assign(**texts).drop(columns=list(dropped))
    released.attrs = {}
    return released
