"""The processor's backends keep the contract; each path of the native engine is one of its own."""

from __future__ import annotations

import numpy as np
import pytest

from inkblur.mechanisms.nearest.cpu import native
from inkblur.mechanisms.nearest.cpu.reference import Reference
from inkblur.protocols import Backend
from tests.mechanisms.nearest.contract import BackendContract, Rng, around, same


class TestProcessor(BackendContract):
    @pytest.fixture(params=["reference", "portable", "avx2", "avx512vnni"])
    def backend(self, request: pytest.FixtureRequest) -> Backend:
        if request.param == "reference":
            return Reference()
        if not native.built():
            pytest.skip("the extension inkblur.mechanisms.nearest.cpu._scan is not built")
        if request.param not in native.paths():
            pytest.skip(f"this machine does not run {request.param}")
        return native.NativeScan(path=request.param, threads=2)


def test_ties_cost_bounded_memory(monkeypatch: pytest.MonkeyPatch, rng: Rng) -> None:
    monkeypatch.setattr("inkblur.mechanisms.nearest.cpu.reference._MOST_FOUND", 1000)
    vectors = rng.normal(size=(300, 5)).astype(np.float32)
    vectors[50:] = vectors[0]
    same(Reference(), vectors, around(rng, vectors, 100, 2.0))
