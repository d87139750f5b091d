"""Draws in C++ read nothing beyond the arrays they are given, whatever these say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from inkblur.mechanisms.staircase.sets import kernel

KERNEL = kernel()
pytestmark = pytest.mark.skipif(KERNEL is None, reason="the extension was not built")
WORDS = 70
FAR = 1 << 40


def lists(**changed: Any) -> list[Any]:
    """Two sets of lists: word 0 has all of them but the last, word 1 itself; a unit each."""
    columns: dict[str, Any] = {
        "ids": np.array([0, 1]),
        "places": np.array([68, 0]),
        "starts": np.r_[0, 69, np.full(WORDS - 2, -1)],
        "lengths": np.r_[69, 1, np.zeros(WORDS - 2, np.int64)],
        "full": np.r_[69, 1, np.zeros(WORDS - 2, np.int64)],
        "last": np.full(WORDS, 69, np.int32),
        "mark_starts": np.r_[0, 2, np.zeros(WORDS - 2, np.int64)],
        "members": np.r_[np.arange(69), 1].astype(np.uint8),
        "marks": np.array([0, 64, 0]),
        "units": np.ones(WORDS, np.int64),
    }
    return list((columns | changed).values())


def bits(**changed: Any) -> list[Any]:
    """The same as rows of bits."""
    rows = np.zeros((2, 2), np.uint64)
    rows[0] = [(1 << 64) - 1, (1 << 5) - 1]
    rows[1, 0] = 2
    columns: dict[str, Any] = {
        "ids": np.array([0, 1]),
        "places": np.array([68, 0]),
        "row_of": np.r_[0, 1, np.full(WORDS - 2, -1)],
        "rows": rows,
        "marks": np.array([[0, 69], [0, 1]]),
        "last": np.full(WORDS, 69, np.int32),
        "units": np.ones(WORDS, np.int64),
    }
    return list((columns | changed).values())


def test_sound_sets_are_drawn_from() -> None:
    assert KERNEL.at(*lists()).tolist() == [68, 1]
    assert KERNEL.at_bits(*bits()).tolist() == [68, 1]


@pytest.mark.parametrize("column", ["starts", "lengths", "full", "last", "mark_starts", "places"])
def test_a_column_that_is_too_short_is_refused(column: str) -> None:
    short = np.zeros(1, np.int32 if column == "last" else np.int64)
    with pytest.raises(ValueError, match="a place for each word"):
        KERNEL.at(*lists(**{column: short}))


@pytest.mark.parametrize(
    "changed",
    [
        {"members": np.zeros(3, np.uint8)},
        {"marks": np.zeros(1, np.int64)},
        {"lengths": np.full(WORDS, FAR)},
        {"lengths": np.full(WORDS, -1)},
        {"starts": np.full(WORDS, FAR)},
        {"starts": np.full(WORDS, np.iinfo(np.int64).max)},
        {"mark_starts": np.full(WORDS, FAR)},
        {"mark_starts": np.full(WORDS, -FAR)},
        {"places": np.array([-1, 0])},
        {"members": np.full(70, 255, np.uint8)},
        {"full": np.full(WORDS, FAR), "places": np.array([FAR - 1, 0])},
        {"marks": np.full(3, -FAR)},
        {"lengths": np.zeros(WORDS, np.int64)},
    ],
    ids=str,
)
def test_lists_that_point_beyond_their_arrays_are_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"a set that ends|a unit that its set"):
        KERNEL.at(*lists(**changed))


@pytest.mark.parametrize(
    "changed",
    [
        {"places": np.array([-1, 0])},
        {"marks": np.array([[0, FAR], [0, 1]]), "places": np.array([FAR - 1, 0])},
        {"marks": np.array([[0, 69], [-FAR, 1]])},
        {"rows": np.zeros((2, 2), np.uint64)},
        {"rows": np.full((2, 2), 1 << 63, np.uint64)},
    ],
    ids=str,
)
def test_bits_that_point_beyond_their_arrays_are_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="a unit that its set"):
        KERNEL.at_bits(*bits(**changed))
