"""The C++ kernel, where it was built: the same sets and the same words as NumPy gives, sooner."""

from __future__ import annotations

import importlib
import os
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from inkblur.types import Ids, Vectors

if TYPE_CHECKING:
    from inkblur.mechanisms.staircase.packed import PackedTables, SetBits
    from inkblur.mechanisms.staircase.sets import Tables
    from inkblur.mechanisms.staircase.units import WordUnits

PLAIN_VARIABLE = "INKBLUR_STAIRCASE_PLAIN"  # set: NumPy serves, for tests and for comparing
_SELECTED = tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.int32]]


@cache
def _built() -> Any:
    try:
        kernel = importlib.import_module("inkblur.mechanisms.staircase._staircase")
    except ImportError:
        return None
    return kernel if hasattr(kernel, "near_bits") else None  # else built from older sources


def _call(function: str, *arguments: Any) -> Any:
    """What a function of the kernel gives; None without the extension."""
    kernel = None if PLAIN_VARIABLE in os.environ else _built()
    return None if kernel is None else getattr(kernel, function)(*arguments)


def built() -> bool:
    """Whether the extension was built and can be loaded."""
    return _built() is not None


def near_sets(
    products: Vectors, handicaps: NDArray[np.int32], words: Ids, units: WordUnits, near: int
) -> _SELECTED | None:
    """Lengths, members and last words of the sets of `words`; None without the extension."""
    found: _SELECTED | None = _call("near_sets", products, handicaps, words, units, near)
    return found


def at(tables: Tables, units: WordUnits, ids: Ids, places: WordUnits) -> Ids | None:
    """See `Sets.at`; None without the extension."""
    found: Ids | None = _call(
        "at",
        ids,
        places,
        tables.starts,
        tables.lengths,
        tables.full,
        tables.last,
        tables.mark_starts,
        tables.members,
        tables.marks,
        units,
    )
    return found


def near_bits(
    products: Vectors,
    handicaps: NDArray[np.int32],
    words: Ids,
    units: WordUnits,
    near: int,
    rows: SetBits,
) -> NDArray[np.int32] | None:
    """Writes the sets of `words` into `rows`; their last words, or None without the extension."""
    last: NDArray[np.int32] | None
    last = _call("near_bits", products, handicaps, words, units, near, rows)
    return last


def bit_marks(bits: SetBits, units: WordUnits) -> NDArray[np.int64] | None:
    """See `PackedTables.marks`; None without the extension."""
    marks: NDArray[np.int64] | None = _call("bit_marks", bits, units)
    return marks


def at_bits(tables: PackedTables, units: WordUnits, ids: Ids, places: WordUnits) -> Ids | None:
    """See `PackedSets.at`; None without the extension."""
    columns = tables.row_of, tables.bits, tables.marks, tables.last
    found: Ids | None = _call("at_bits", ids, places, *columns, units)
    return found
