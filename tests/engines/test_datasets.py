from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from inkblur.errors import InputError, ParameterError
from inkblur.ledger import Ledger
from inkblur.rng import write_key
from inkblur.spec import ReleaseSpec
from tests.engines.made import charged

datasets = pytest.importorskip("datasets")
engine = pytest.importorskip("inkblur.engines.datasets")


@pytest.fixture
def reviews(table: pa.Table, tmp_path: Path) -> object:
    """A dataset on disk: one in memory is not cached."""
    datasets.disable_progress_bars()
    datasets.Dataset(table).save_to_disk(tmp_path / "reviews")
    return datasets.load_from_disk(tmp_path / "reviews")


@pytest.mark.parametrize("num_proc", [None, 2])
def test_a_dataset_comes_out_as_from_one_machine(
    reviews: object, spec: ReleaseSpec, expected: pa.Table, ledger: Ledger, num_proc: int | None
) -> None:
    out = engine.privatize(reviews, spec, batch_size=50, num_proc=num_proc)
    assert out.to_dict() == expected.to_pydict()
    assert out[0]["stars"] == 0  # in the format that it came in
    assert [release["state"] for release in ledger.history()] == ["confirmed"]
    assert charged(ledger) > 0


def test_the_cache_is_used_for_the_same_key_alone(
    reviews: object, spec: ReleaseSpec, expected: pa.Table, ledger: Ledger, tmp_path: Path
) -> None:
    first = engine.privatize(reviews, spec)
    again = engine.privatize(reviews, spec, batch_size=77)
    assert first.cache_files == again.cache_files
    assert first._fingerprint == again._fingerprint
    uncounted = engine.privatize(reviews, spec, ledger=False)
    assert uncounted.cache_files != first.cache_files
    assert uncounted.to_dict() == first.to_dict()
    other = tmp_path / "other"
    write_key(other)
    fresh = engine.privatize(reviews, spec, key_file=other)
    assert fresh._fingerprint != first._fingerprint
    assert fresh.to_dict() != first.to_dict()
    assert engine.privatize(reviews, spec.varied(epsilon=7.0))._fingerprint != first._fingerprint


def test_ids_are_looked_at_before_anything_runs_and_over_all_splits(
    table: pa.Table, reviews: object, spec: ReleaseSpec, expected: pa.Table, ledger: Ledger
) -> None:
    halves = datasets.DatasetDict(
        {
            "train": datasets.Dataset(table.slice(0, 200)),
            "test": datasets.Dataset(table.slice(200)),
        }
    )
    out = engine.privatize(halves, spec)
    assert out["train"].to_list() + out["test"].to_list() == expected.to_pylist()
    halves["test"] = datasets.Dataset(table.slice(199))
    before = len(ledger.history())
    with pytest.raises(InputError, match="repeats an id"):
        engine.privatize(halves, spec)
    with pytest.raises(ParameterError, match="IterableDataset"):
        engine.privatize(halves["train"].to_iterable_dataset(), spec)
    assert len(ledger.history()) == before
