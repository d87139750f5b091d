from __future__ import annotations

from pathlib import Path
from typing import Any

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


def labeled(table: pa.Table, names: list[str]) -> Any:
    """The reviews with a class each: of three, the last is that of the last row alone."""
    classes = [0, 1] * (len(table) // 2 - 1) + [0, 2]
    made = datasets.Dataset(table).add_column("topic", classes)
    return made.cast_column("topic", datasets.ClassLabel(names=names))


def test_notes_about_a_dataset_do_not_come_out(
    spec: ReleaseSpec, ledger: Ledger, key_file: Path, tmp_path: Path
) -> None:
    """Loading a file notes how many bytes it has: how long the true texts are, in all."""
    sizes = []
    for text in ("the doctor was angry", "the doctor was angry about a cold soup"):
        file = tmp_path / "true.csv"
        file.write_text(f"id,text,stars,spare\n7,{text},5,x\n")
        data = datasets.load_dataset(
            "csv", data_files=str(file), split="train", cache_dir=str(tmp_path / "cache")
        )
        data.info.description = "written by SECRET"
        out = engine.privatize(data, spec.varied(length=5))
        out.save_to_disk(tmp_path / "released")
        noted = (tmp_path / "released" / "dataset_info.json").read_text()
        assert "SECRET" not in noted
        assert data.info.description == "written by SECRET"
        sizes.append(noted)
    assert sizes[0] == sizes[1]


def test_names_of_classes_that_no_row_has_do_not_come_out(
    table: pa.Table, spec: ReleaseSpec, key_file: Path, ledger: Ledger
) -> None:
    """They are those of rows that were filtered out; other engines list no such category either."""
    full = labeled(table, ["food", "staff", "Zbigniew"])
    part = full.select(range(len(table) - 1))
    spec = spec.varied(keep_columns=(*spec.keep_columns, "topic"))
    out = engine.privatize(part, spec)
    assert "Zbigniew" not in str(out.features) + str(out.info)
    assert out["topic"][:4] == [0, 1, 0, 1]  # the numbers stay
    assert out.features["topic"].int2str([0, 1]) == ["food", "staff"]
    assert engine.privatize(full, spec).features["topic"] == full.features["topic"]
    # A name that occurs in one split is in the list of all: their types stay the same.
    both = datasets.DatasetDict({"a": part, "b": full.select([len(table) - 1])})
    released = engine.privatize(both, spec)
    assert {str(split.features["topic"]) for split in released.values()} == {
        str(full.features["topic"])
    }
    empty = datasets.DatasetDict({"a": part, "b": part.select([])})
    assert "Zbigniew" not in str(engine.privatize(empty, spec)["b"].features)


def test_names_of_classes_within_a_column_do_not_come_out_either(
    table: pa.Table, spec: ReleaseSpec, key_file: Path, ledger: Ledger
) -> None:
    label = datasets.ClassLabel(names=["food", "Zbigniew"])
    kinds = {"many": datasets.Sequence(label), "deep": {"one": label}}
    rows = len(table)
    made = datasets.Dataset(table).add_column("many", [[0, 0]] * rows)
    made = made.add_column("deep", [{"one": 0}] * rows)
    made = made.cast(datasets.Features({**made.features, **kinds}))
    out = engine.privatize(made, spec.varied(keep_columns=(*spec.keep_columns, *kinds)))
    assert "Zbigniew" not in str(out.features)
    assert "food" in str(out.features["many"])
    assert out[0]["many"] == [0, 0]
    assert out[0]["deep"] == {"one": 0}
