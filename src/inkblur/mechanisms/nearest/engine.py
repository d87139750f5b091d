"""Picks the backend that serves a vocabulary, and shares it between mechanisms."""

from __future__ import annotations

import importlib.util
import threading
import weakref
from enum import Enum

from inkblur.embeddings.table import Embedding
from inkblur.errors import needs
from inkblur.mechanisms.nearest.cpu import native
from inkblur.mechanisms.nearest.cpu.reference import Reference
from inkblur.protocols import Backend
from inkblur.types import Ids, Points, whole

_BLOCK = 8192


class Device(Enum):
    """Where nearest words are searched."""

    AUTO = "auto"  # a GPU where there is one, else the processor
    CPU = "cpu"
    CUDA = "cuda"


class Engine:
    """One vocabulary behind one backend, safe to call from several threads.

    A search uses all cores by itself, so searches take turns; other threads draw noise meanwhile.
    """

    def __init__(self, embedding: Embedding, backend: Backend | None = None) -> None:
        self.backend: Backend = backend if backend is not None else backend_on(Device.AUTO)
        self.backend.put(embedding.vectors)
        self._turn = threading.Lock()

    @property
    def block(self) -> int:
        """Queries a call that use the backend well, and bound the memory of a search."""
        return int(getattr(self.backend, "batch", _BLOCK))

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


def on_gpu(device: Device, threads: int | None) -> bool:
    """Whether a search with these settings runs on a GPU; `threads` are the processor's."""
    return device is Device.CUDA or (device is Device.AUTO and threads is None and gpu_available())


def gpu_available() -> bool:
    """Whether torch, Triton and a GPU that multiplies int8 on tensor cores are here."""
    if not all(importlib.util.find_spec(name) for name in ("torch", "triton")):
        return False
    import torch

    return bool(torch.cuda.is_available() and torch.cuda.get_device_capability() >= (8, 0))


def backend_on(device: Device, *, threads: int | None = None) -> Backend:
    """The fastest backend of a device; `threads` is for the processor (None: all of them)."""
    if threads is not None:
        whole(threads, "threads")
    if on_gpu(device, threads):
        with needs("the GPU engine needs torch", "gpu"):
            from inkblur.mechanisms.nearest.gpu import Gpu
        return Gpu()
    return native.NativeScan(threads=threads) if native.available() else Reference(threads=threads)


def describe() -> str:
    """Which search runs here, for `inkblur --version`."""
    return native.NativeScan().describe() if native.available() else "NumPy (tiled, exact)"
