"""A file of finished work survives being killed, and is not mistaken for another run's."""

from __future__ import annotations

import resource
from contextlib import suppress
from pathlib import Path

import pytest

from inkblur.errors import InkblurError, InputError
from reproduction.checkpoint import Checkpoint

RUN = {"seed": 1, "sizes": (1, 2)}


def test_rows_are_there_again(tmp_path: Path) -> None:
    file = tmp_path / "new" / "work.jsonl"
    Checkpoint(file, RUN).add({"key": "a"})
    Checkpoint(file, RUN).add({"key": "b"})
    assert Checkpoint(file, RUN).rows == [{"key": "a"}, {"key": "b"}]


def test_a_line_cut_short_is_dropped_and_written_anew(tmp_path: Path) -> None:
    file = tmp_path / "work.jsonl"
    Checkpoint(file, RUN).add({"key": "a"})
    with file.open("ab") as stream:
        stream.write(b'{"key": "ca\xc3')  # killed within a character
    again = Checkpoint(file, RUN)
    assert again.rows == [{"key": "a"}]
    again.add({"key": "b"})
    assert Checkpoint(file, RUN).rows == [{"key": "a"}, {"key": "b"}]


def test_rows_stay_where_the_disk_takes_no_more(tmp_path: Path) -> None:
    """A full disk is what cuts a line short, and may still be full when the run goes on."""
    file = tmp_path / "work.jsonl"
    Checkpoint(file, RUN).add({"key": "a"})
    with file.open("ab") as stream:
        stream.write(b'{"key": "ca')
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        with suppress(InkblurError):
            Checkpoint(file, RUN)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert Checkpoint(file, RUN).rows == [{"key": "a"}]


def test_a_first_line_cut_short_begins_anew(tmp_path: Path) -> None:
    file = tmp_path / "work.jsonl"
    file.write_bytes(b'{"see')
    assert Checkpoint(file, RUN).rows == []
    assert Checkpoint(file, RUN).rows == []


def test_another_run_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "work.jsonl"
    Checkpoint(file, RUN)
    with pytest.raises(InputError, match="another run"):
        Checkpoint(file, {**RUN, "seed": 2})


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "work.jsonl"
    file.write_text("not json\n")
    with pytest.raises(InputError, match="choose another folder"):
        Checkpoint(file, RUN)
