"""The C++ kernel, where it was built: the same sets and the same words as NumPy gives, sooner."""

from __future__ import annotations

import importlib
import os
from functools import cache
from typing import Any

PLAIN_VARIABLE = "INKBLUR_STAIRCASE_PLAIN"  # set: NumPy serves, for tests and for comparing


@cache
def _extension() -> Any:
    try:
        found = importlib.import_module("inkblur.mechanisms.staircase._staircase")
    except ImportError:
        return None
    return found if hasattr(found, "near_bits") else None  # else built from older sources


def built() -> bool:
    """Whether the extension was built and can be loaded."""
    return _extension() is not None


def kernel() -> Any:
    """The extension, or None where NumPy serves."""
    return None if PLAIN_VARIABLE in os.environ else _extension()
