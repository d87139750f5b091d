"""Hugging Face datasets.

`Dataset.map` keeps its results in a cache whose name is a hash of the function that is mapped. That
hash would cover neither the key, which is not in the function, nor be the same from one process to
the next. So the name is given: it is made of the dataset, the spec, the key's fingerprint and which
ledger counted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import pyarrow as pa
import pyarrow.compute as pc
from datasets import ClassLabel, Dataset, DatasetDict, DatasetInfo, Features, Value

from inkblur.arrow import ReleasePlan, Reservation, one_batch, plan_release
from inkblur.errors import ParameterError
from inkblur.files.identifiers import ROWS
from inkblur.release import Limits
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

    The texts and `spec.keep_columns` come out, with their types but for the names of classes that
    no row has, whose place in the list of a `ClassLabel` is kept under another name. Notes
    about the dataset (`Dataset.info`), its size among them, do not come out.

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
    features = [_shown_features(split, splits.values(), plan) for split in splits.values()]
    ids = _values(plan.id_column, splits.values())
    repeated = pc.count_distinct(ids, mode="only_valid").as_py() < len(ids) - ids.null_count

    def over(reservation: Reservation) -> Iterator[str]:
        for split in splits.values():
            rows = split.select_columns(list(plan.needed)).with_format("arrow")
            for part in rows.iter(batch_size=batch_size):
                yield from reservation.over_budget(one_batch(part))

    counted = plan.begun(ledger, limits, repeated=repeated, missing=ids.null_count, over=over)
    released = {
        name: _released(split, shown, counted, batch_size, num_proc)
        for (name, split), shown in zip(splits.items(), features, strict=True)
    }
    counted.confirm()
    return cast(
        AnyDataset, DatasetDict(released) if isinstance(data, DatasetDict) else released[""]
    )


def _shown_features(data: Dataset, splits: Iterable[Dataset], plan: ReleasePlan) -> Features:
    """What comes out."""
    shown: dict[str, Any] = {}
    for name, kind in data.features.items():
        if name in plan.columns:
            large = kind.dtype == "large_string"
            shown[name] = Value("large_string" if large else "string")
        elif not plan.dropped([name]):
            same = [split for split in splits if split.features.get(name) == kind]
            shown[name] = _with_held_names(kind, partial(_values, name, same))
    return Features(shown)


def _with_held_names(kind: Any, values: Callable[[], Any]) -> Any:
    """A feature whose classes are named only where the values (read where there are classes) have
    them: other names may be those of rows that somebody left out. Numbers stay.
    """
    if isinstance(kind, ClassLabel):
        used, names = set(pc.unique(values()).to_pylist()), dict(enumerate(kind.names))
        return ClassLabel(names=[n if i in used else f"(no row has {i})" for i, n in names.items()])

    def field(name: str) -> Any:
        return pc.struct_field(values(), [name])

    def within(kind: Any, lists: Callable[[], Any]) -> Any:
        return _with_held_names(kind, lambda: pc.list_flatten(lists()))

    if isinstance(kind, dict):
        return {n: _with_held_names(k, partial(field, n)) for n, k in kind.items()}
    if isinstance(kind, list):
        return [within(kind[0], values)]
    if not hasattr(kind, "feature"):
        return kind
    if isinstance(kind.feature, dict) and pa.types.is_struct(values().type):
        # Before version 4, a Sequence of a dict is stored as a dict of lists.
        inner: Any = {n: within(k, partial(field, n)) for n, k in kind.feature.items()}
    else:
        inner = within(kind.feature, values)
    return replace(kind, feature=inner)


def _values(name: str, splits: Iterable[Dataset]) -> pa.ChunkedArray[Any]:
    """A column of several splits."""
    columns = [split.select_columns(name).with_format("arrow")[:][0] for split in splits]
    chunks = [chunk for column in columns for chunk in column.chunks]
    return pa.chunked_array(chunks, columns[0].type)


def _released(
    data: Dataset, features: Features, plan: ReleasePlan, batch_size: int, num_proc: int | None
) -> Dataset:
    if not len(data):  # `map` would leave its features as they are
        nothing: dict[str, list[Any]] = {name: [] for name in features}
        return Dataset.from_dict(nothing, features=features, split=data.split)
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
        remove_columns=list(plan.dropped(data.column_names)),
        features=features,
        new_fingerprint=cached.hexdigest(),
        desc="privatizing",
    )
    # Without the notes of the dataset: its description, and how many bytes the true texts and their
    # file have, which a release of one length must not tell.
    nameless = DatasetInfo(features=features)
    out = Dataset(out.data, info=nameless, split=data.split, fingerprint=out._fingerprint)
    return out.with_format(data.format["type"])
