"""Spark 4: a data frame."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql
from pyspark.sql.types import ArrayType, MapType, StringType, StructField, StructType

from inkblur.arrow import OVER, ReleasePlan, one_batch, plan_release
from inkblur.release import ROWS, Limits
from inkblur.spec import ReleaseSpec


def privatize(
    frame: DataFrame,
    spec: ReleaseSpec,
    *,
    key_file: str | Path | None = None,
    ledger: str | Path | bool = True,
    limits: Limits | None = None,
) -> DataFrame:
    """The frame's texts, released, and its `spec.keep_columns`; lazy, as every Spark frame.

    A lost executor, a speculative task and a second action all give the same bytes and are charged
    once. One job counts the ids before. Executors find the key in their environment
    (`spark.executorEnv.INKBLUR_KEY_FILE`), and the ledger too (`INKBLUR_LEDGER`). Under `limits`
    another job reads all texts and reserves what they cost, or refuses all of them.
    """
    plan = plan_release(spec, key_file=key_file)
    shown = plan.check(one_batch(frame.limit(ROWS).toArrow()))
    ids = frame.select(sql.col(f"`{plan.id_column}`").alias("id"))
    twice = ids.groupBy("id").count().where("count > 1 OR id IS NULL").limit(1).collect()
    missing = bool(twice) and twice[0]["id"] is None
    needed = frame.select(*[f"`{name}`" for name in plan.needed])

    def over(reserving: ReleasePlan) -> list[str]:
        reserved = needed.mapInArrow(_mapped(reserving), f"{OVER} string")
        found: list[str] = reserved.toArrow()[OVER].to_pylist()
        return found

    counted = plan.begun(ledger, limits, over=over, repeated=twice, missing=missing)
    written = StructType(
        [
            StructField(field.name, StringType(), True)
            if field.name in plan.resolved.columns
            else field
            for field in _bare(frame.schema)
            if field.name in shown.names
        ]
    )
    return frame.mapInArrow(_mapped(counted), written)


def _bare(kind: Any) -> Any:
    """The type without metadata: there an indexer lists every value that it met."""
    if isinstance(kind, StructType):
        return StructType([StructField(f.name, _bare(f.dataType), f.nullable) for f in kind])
    if isinstance(kind, ArrayType):
        return ArrayType(_bare(kind.elementType), kind.containsNull)
    if isinstance(kind, MapType):
        return MapType(_bare(kind.keyType), _bare(kind.valueType), kind.valueContainsNull)
    return kind


def _mapped(
    plan: ReleasePlan,
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    return lambda batches: map(plan, batches)
