"""A disk that takes no more: an error of one line, and nothing half-written is left."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from inkblur.errors import OutputError
from inkblur.ledger import Ledger, open_ledger
from inkblur.rng import write_key


@contextmanager
def full_disk() -> Iterator[None]:
    """The system refuses to write a byte to any file."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("write", [write_key, open_ledger])
def test_no_secret_is_half_written(write: Callable[[Path], object], tmp_path: Path) -> None:
    """Half a key would never be overwritten, and half a secret would stay where it is."""
    with full_disk(), pytest.raises(OutputError, match="cannot write"):
        write(tmp_path / "file")
    assert list(tmp_path.iterdir()) == []
    made = write(tmp_path / "file")
    if isinstance(made, Ledger):
        made.close()
