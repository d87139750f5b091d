"""Near sets on disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from inkblur.mechanisms.staircase.stored import read_sets, write_sets


class Sets:
    """A part of two arrays, one of them empty."""

    def arrays(self) -> list[NDArray[np.int32]]:
        return [np.arange(5, dtype=np.int32), np.zeros((0, 3), dtype=np.int32)]


def test_sets_that_are_interrupted_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They have hundreds of megabytes, and nobody would ever look for them."""

    def interrupted(self: Path, target: Path) -> Path:
        raise KeyboardInterrupt

    with monkeypatch.context() as once:
        once.setattr(Path, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            write_sets(tmp_path, "key", Sets())
    assert list(tmp_path.iterdir()) == []
    write_sets(tmp_path, "key", Sets())
    assert read_sets(tmp_path, "key") == np.arange(5, dtype=np.int32).tobytes()
    assert read_sets(tmp_path, "another") is None
