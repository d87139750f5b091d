"""Python's garbage collector, kept still while texts are released.

Many small objects make the collector look, again and again, at every object of the process, and an
engine's worker holds hundreds of thousands. None of those that a batch makes are in cycles, so
there is nothing to find.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Iterator[None]:
    """Do not look for garbage while inside.

    One setting for the whole process: of two callers at once the first to leave switches it on
    again, which is slower for the other, and right.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
