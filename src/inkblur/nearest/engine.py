"""Picks the backend that serves a vocabulary, and shares it between mechanisms."""

from __future__ import annotations

import threading
import weakref

from inkblur.embeddings.table import Embedding
from inkblur.nearest import native
from inkblur.nearest.reference import Reference
from inkblur.protocols import Backend
from inkblur.types import Ids, Points


class Engine:
    """One vocabulary behind one backend, safe to call from several threads.

    A search uses all cores by itself, so searches take turns; other threads draw noise meanwhile.
    """

    def __init__(self, embedding: Embedding, backend: Backend | None = None) -> None:
        self.backend: Backend = backend if backend is not None else _fastest()
        self.backend.put(embedding.vectors)
        self._turn = threading.Lock()

    def nearest(self, queries: Points) -> Ids:
        """Exact nearest ids of float64 queries, (tokens, n) -> (tokens,)."""
        with self._turn:
            return self.backend.nearest(queries)


_engines: weakref.WeakKeyDictionary[Embedding, Engine] = weakref.WeakKeyDictionary()
_building = threading.Lock()


def engine_for(embedding: Embedding) -> Engine:
    """The shared engine of this table: its prepared copies are made once, not once a mechanism."""
    with _building:
        if embedding not in _engines:
            _engines[embedding] = Engine(embedding)
        return _engines[embedding]


def describe() -> str:
    """Which search runs here, for `inkblur --version`."""
    return native.describe() if native.available() else "NumPy (tiled, exact)"


def _fastest() -> Backend:
    return native.Native() if native.available() else Reference()
