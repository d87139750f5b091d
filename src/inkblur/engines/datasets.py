"""Hugging Face datasets.

`Dataset.map` keeps its results in a cache whose name is a hash of the function that is mapped. That
hash would cover neither the key, which is not in the function, nor be the same from one process to
the next. So the name is given: it is made of the dataset, the spec, the key's fingerprint and which
ledger counted.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TypeVar, cast

import pyarrow as pa
import pyarrow.compute as pc
from datasets import Dataset, DatasetDict, Features, Value

from inkblur.arrow import ReleasePlan, one_batch, plan_release, refuse_ids
from inkblur.errors import ParameterError
from inkblur.files.identifiers import ROWS
from inkblur.files.spending import Limits
from inkblur.spec import ReleaseSpec

AnyDataset = TypeVar("AnyDataset", Dataset, DatasetDict)


def privatize(
    data: AnyDataset,
    spec: ReleaseSpec,
    *,
    key_file: str | Path | None = None,
    ledger: str | Path | bool = True,
    limits: Limits | None = None,
    batch_size: int = 10_000,
    num_proc: int | None = None,
) -> AnyDataset:
    """The dataset, or every split of it, with its texts released; ids differ over all splits.

    A second call with the same dataset, spec and key finds the first one's result in the cache of
    `datasets`; another key or spec never does. Under `limits` all texts are read before, to reserve
    what they cost or to refuse all of them.
    """
    splits = data if isinstance(data, DatasetDict) else {"": data}
    for split in splits.values():
        if not isinstance(split, Dataset):
            raise ParameterError(
                f"cannot check the ids of a {type(split).__name__}; give a Dataset or DatasetDict"
            )
    plan = plan_release(spec, key_file=key_file)
    for split in splits.values():
        plan.check(one_batch(split.with_format("arrow")[:ROWS]))
    ids = pa.chunked_array(
        [
            chunk
            for split in splits.values()
            for chunk in split.select_columns(plan.id_column).with_format("arrow")[:][0].chunks
        ]
    )
    repeated = pc.count_distinct(ids, mode="only_valid").as_py() < len(ids) - ids.null_count
    refuse_ids(repeated, ids.null_count, plan.id_column)
    plan = plan.counted_in(ledger, limits)
    if plan.budget:
        reservation = plan.reservation()
        with plan.reserving() as over:
            for split in splits.values():
                rows = split.select_columns(list(plan.needed)).with_format("arrow")
                for part in rows.iter(batch_size=batch_size):
                    over += reservation.over_budget(one_batch(part))
    released = {name: _released(d, plan, batch_size, num_proc) for name, d in splits.items()}
    plan.confirm()
    return cast(
        AnyDataset, DatasetDict(released) if isinstance(data, DatasetDict) else released[""]
    )


def _released(data: Dataset, plan: ReleasePlan, batch_size: int, num_proc: int | None) -> Dataset:
    features = {name: kind for name, kind in data.features.items() if name not in plan.dropped}
    features |= {
        name: Value("large_string" if data.features[name].dtype == "large_string" else "string")
        for name in plan.columns
    }
    cached = hashlib.blake2b(digest_size=8)
    # What was released without a ledger is not taken for something that this one has counted.
    counted = "no ledger" if plan.account is None else f"ledger {plan.ledger}"
    for part in (data._fingerprint, plan.spec, plan.key, counted):
        cached.update(f"{len(part)}:{part}".encode())
    out = data.with_format("arrow").map(
        plan.table,
        batched=True,
        batch_size=batch_size,
        num_proc=num_proc,
        remove_columns=list(plan.dropped),
        features=Features(features),
        new_fingerprint=cached.hexdigest(),
        desc="privatizing",
    )
    return out.with_format(data.format["type"])
