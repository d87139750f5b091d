"""The garbage collector is kept still only while texts are released."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

import inkblur
from inkblur.files import run
from inkblur.files.run import no_collection


@pytest.fixture(autouse=True)
def collecting() -> Iterator[None]:
    gc.enable()
    yield
    gc.enable()


def test_it_is_on_again_afterwards_whatever_happened() -> None:
    with no_collection():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(RuntimeError), no_collection():
        raise RuntimeError
    assert gc.isenabled()


def test_who_switched_it_off_finds_it_off() -> None:
    gc.disable()
    with no_collection():
        pass
    assert not gc.isenabled()


def test_releasing_a_batch_looks_for_no_garbage_and_leaves_none(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from inkblur import ReleaseSpec
    from inkblur.arrow import plan_release
    from inkblur.rng import write_key

    write_key(tmp_path / "key")
    plan = plan_release(ReleaseSpec("staircase", 8.0, id_column="id"), key_file=tmp_path / "key")
    texts = ["the doctor was angry about a cold soup"] * 3000
    batch = pa.record_batch({"id": list(range(3000)), "text": texts})
    plan(batch)
    gc.collect()
    before = [each["collections"] for each in gc.get_stats()]
    plan(batch)
    after = [each["collections"] for each in gc.get_stats()]
    assert after[1:] == before[1:]
    assert gc.collect() < 100  # a text that were in a cycle would leave thousands


def test_a_file_is_released_with_a_look_for_garbage_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "_COLLECTED", 2)
    texts = ["the doctor was angry about a cold soup"] * 20_000
    (tmp_path / "in.txt").write_text("\n".join(texts) + "\n")
    looked = []

    def look(*_: object) -> None:
        looked.append((gc.isenabled(), gc.get_stats()[2]["collections"]))

    inkblur.privatize_file(
        tmp_path / "in.txt",
        tmp_path / "out.txt",
        inkblur.ReleaseSpec("staircase", 8.0),
        ledger=False,
        on_progress=look,
    )
    batches = looked[1:]
    assert len(batches) >= 4
    assert not any(enabled for enabled, _ in batches[:-1])
    assert batches[-1][1] - batches[0][1] == (len(batches) - 1) // 2
    assert gc.isenabled()
