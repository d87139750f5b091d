"""Near sets on disk."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from inkblur.mechanisms.staircase.packed import PackedPart
from inkblur.mechanisms.staircase.sets import Part
from inkblur.mechanisms.staircase.stored import read_sets, write_sets

ARRAYS: list[NDArray[Any]] = [np.arange(5, dtype=np.int32), np.zeros((0, 3), dtype=np.int32)]


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
    assert read_sets(tmp_path, "key") == np.arange(5, dtype=np.int32).tobytes()
    assert read_sets(tmp_path, "another") is None


@pytest.mark.parametrize("words", [64, 65, 129, 300])
def test_stored_sets_come_back_where_numbers_of_their_size_may_stand(
    tmp_path: Path, words: int
) -> None:
    """C++ reads them in place, whatever the number of words."""
    random = np.random.default_rng(words)
    last = random.integers(0, words, words, dtype=np.int32)
    bits = random.integers(0, 2**63, (words, -(-words // 64)), dtype=np.uint64)
    members = random.integers(0, words, words).astype(np.min_scalar_type(words - 1))
    for part in (PackedPart(bits, last), Part(np.ones(words, dtype=np.int64), members, last)):
        write_sets(tmp_path, "key", part.arrays())
        body = read_sets(tmp_path, "key")
        assert body is not None
        found = type(part).of_bytes(body, words)
        assert found is not None
        for own, again in zip(part.arrays(), found.arrays(), strict=True):
            np.testing.assert_array_equal(own, again)
        assert all(getattr(found, column.name).flags.aligned for column in fields(found))
