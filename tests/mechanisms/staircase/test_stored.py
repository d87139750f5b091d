"""Near sets on disk."""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from inkblur import Embedding
from inkblur.mechanisms.staircase import Staircase
from inkblur.mechanisms.staircase import sets as stored_sets
from inkblur.mechanisms.staircase.sets import read_sets, write_sets

ARRAYS: list[NDArray[Any]] = [np.arange(5, dtype=np.int32), np.zeros((0, 3), dtype=np.int32)]


def stored(folder: Path) -> bytes:
    found = read_sets(folder, "key")
    assert found is not None
    return bytes(found)


def test_sets_that_are_interrupted_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They have hundreds of megabytes, and nobody would ever look for them."""

    def interrupted(self: Path, target: Path) -> Path:
        raise KeyboardInterrupt

    with monkeypatch.context() as once:
        once.setattr(Path, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            write_sets(tmp_path, "key", ARRAYS)
    assert list(tmp_path.iterdir()) == []
    write_sets(tmp_path, "key", ARRAYS)
    assert stored(tmp_path) == np.arange(5, dtype=np.int32).tobytes()
    assert read_sets(tmp_path, "another") is None


@pytest.mark.parametrize("words", [64, 65, 129, 300])
@pytest.mark.parametrize("tau", [0.01, 0.3])  # as ids, and as bits
def test_stored_sets_come_back_where_numbers_of_their_size_may_stand(
    tmp_path: Path, words: int, tau: float
) -> None:
    """C++ reads them in place, whatever the number of words."""
    vectors = np.random.default_rng(words).standard_normal((words, 3))
    table = Embedding([f"w{i}" for i in range(words)], vectors, name="random")
    sets = Staircase(table, epsilon=3.0, tau=tau, cache=None)._sets
    part = sets.build(np.arange(words))
    write_sets(tmp_path, "key", part.arrays())
    body = read_sets(tmp_path, "key")
    assert body is not None
    again = sets.of_bytes(body)
    assert again is not None
    for own, stored_one in zip(part.arrays(), again.arrays(), strict=True):
        np.testing.assert_array_equal(own, stored_one)
    assert again.entries.flags.aligned
    assert again.lengths.flags.aligned


def test_sets_are_mapped_and_stay_as_they_were_checked(tmp_path: Path) -> None:
    """The three strengths of the page took 1.2 GB of memory."""
    write_sets(tmp_path, "key", ARRAYS)
    found = read_sets(tmp_path, "key")
    assert found is not None
    assert isinstance(found.obj, mmap.mmap)
    assert found.readonly
    write_sets(tmp_path, "key", [np.arange(9, dtype=np.int32)])  # by another process
    assert bytes(found) == np.arange(5, dtype=np.int32).tobytes()
    assert stored(tmp_path) == np.arange(9, dtype=np.int32).tobytes()


def test_a_file_that_others_may_write_to_is_copied_before_it_is_checked(tmp_path: Path) -> None:
    write_sets(tmp_path, "key", ARRAYS)
    (file,) = tmp_path.iterdir()
    file.chmod(0o620)
    found = read_sets(tmp_path, "key")
    assert found is not None
    with file.open("r+b") as stream:
        stream.seek(-1, os.SEEK_END)
        stream.write(b"x")
    assert bytes(found) == np.arange(5, dtype=np.int32).tobytes()
    assert read_sets(tmp_path, "key") is None


def test_sets_that_were_not_used_for_long_make_room_for_new_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They have hundreds of megabytes each, and every setting has its own."""
    monkeypatch.setattr(stored_sets, "_MOST", 1000)
    (tmp_path / "something.json").write_text("1" * 5000)
    for age, key in enumerate(["first", "second", "third"]):
        write_sets(tmp_path, key, [np.zeros(300, dtype=np.uint8)])
        newest = max(tmp_path.glob("*.sets"), key=os.path.getmtime)
        os.utime(newest, (age, age))
        if key == "second":
            assert read_sets(tmp_path, "first") is not None  # used: now the second is the oldest
    kept = {key for key in ("first", "second", "third") if read_sets(tmp_path, key) is not None}
    assert kept == {"first", "third"}
    write_sets(tmp_path, "large", [np.zeros(5000, dtype=np.uint8)])  # the newest stays all the same
    assert read_sets(tmp_path, "large") is not None
    assert len(list(tmp_path.iterdir())) == 2


def test_who_gets_a_large_file_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    write_sets(tmp_path, "small", ARRAYS)
    assert caplog.records == []
    monkeypatch.setattr(stored_sets, "_TOLD", 10)
    write_sets(tmp_path, "large", ARRAYS)
    assert str(tmp_path) in caplog.text
