"""Ray Data: a dataset."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import ray
from ray.data import ActorPoolStrategy, Dataset

from inkblur.arrow import OVER, ReleasePlan, one_batch, plan_release
from inkblur.files.records import Occurrences
from inkblur.release import ROWS, Limits
from inkblur.spec import ReleaseSpec

_BLOCKS = 4  # for each actor, so that none waits long for the last one
_BATCHES = 10  # of a block, at most


def privatize(
    data: Dataset,
    spec: ReleaseSpec,
    *,
    key_file: str | Path | None = None,
    ledger: str | Path | bool = True,
    limits: Limits | None = None,
    workers: int = 1,
    batch_size: int = 10_000,
    **options: Any,
) -> Dataset:
    """The dataset's texts, released by so many actors, and its `spec.keep_columns`; lazy, as every
    Ray dataset.

    An actor that dies is started again and its batches give the same bytes, charged once. The ids
    are read once before, at sixteen bytes each on the driver. `options` go to `map_batches`. Under
    `limits` all texts are read once before, to reserve what they cost or to refuse all of them.
    The cluster needs a processor besides the actors', for what reads and writes.
    """
    _leave_a_processor(workers * options.get("num_cpus", 1))
    plan = plan_release(spec, key_file=key_file)
    plan.check(one_batch(data.take_batch(ROWS, batch_format="pyarrow")))
    seen, count, repeated, missing = Occurrences(), 0, False, False
    ids = data.select_columns([plan.id_column])
    for batch in ids.iter_batches(batch_size=1 << 17, batch_format="pyarrow"):
        column = batch[plan.id_column]
        count += len(column)
        missing = missing or column.null_count > 0
        repeated = repeated or seen.repeat(list(map(str, column.to_pylist()))) is not None
    # A block goes to one actor whole, and Ray reads tens of megabytes into one. Smaller ones share
    # the work; the smallest would spend their time on Ray's tasks.
    block = min(max(count // (_BLOCKS * workers), batch_size), _BATCHES * batch_size)

    def mapped(rows: Dataset, to: ReleasePlan) -> Dataset:
        return rows.repartition(target_num_rows_per_block=block).map_batches(
            _ReleaseActor,
            fn_constructor_args=(to,),
            batch_format="pyarrow",
            batch_size=batch_size,
            compute=ActorPoolStrategy(size=workers),
            **options,
        )

    def over(reserving: ReleasePlan) -> Iterator[str]:
        reserved = mapped(data.select_columns(list(plan.needed)), reserving)
        return (row[OVER] for row in reserved.iter_rows())

    return mapped(data, plan.begun(ledger, limits, over=over, repeated=repeated, missing=missing))


def _leave_a_processor(taken: float) -> None:
    here = ray.cluster_resources().get("CPU", 0)
    if taken >= here:
        warnings.warn(
            f"the actors take {taken:g} of {here:g} processors, and Ray waits until one is free to "
            "read and write: use fewer `workers=`, or start Ray with `num_cpus=` larger by one",
            stacklevel=3,
        )


class _ReleaseActor:
    """An actor: it lives for many batches, and loads its tables before the first is read."""

    def __init__(self, plan: ReleasePlan) -> None:
        plan.load()
        self._plan = plan

    def __call__(self, batch: pa.Table) -> pa.Table:
        return pa.Table.from_batches([self._plan(one_batch(batch))])
