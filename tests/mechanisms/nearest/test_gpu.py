"""The GPU engine gives the canonical answer: in plain torch everywhere, in Triton where it runs.

Without a GPU the Triton kernels run too if asked for: TRITON_INTERPRET=1 pytest tests/mechanisms/nearest/test_gpu.py
"""

from __future__ import annotations

import importlib.util
import os
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import inkblur
from inkblur import Privatizer
from inkblur.errors import MissingExtra
from inkblur.mechanisms.component import ComponentLaplace
from inkblur.mechanisms.laplace import Laplace
from inkblur.mechanisms.mahalanobis import Mahalanobis
from inkblur.mechanisms.nearest.canonical import exhaustive
from inkblur.mechanisms.nearest.cpu.reference import Reference
from inkblur.mechanisms.nearest.engine import Engine, gpu_available
from inkblur.types import Record
from tests.mechanisms.nearest.contract import BackendContract, Rng, around, same

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch is not installed: the GPU engine is out", allow_module_level=True)

from inkblur.mechanisms.nearest import gpu

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
HERE = "cuda" if gpu_available() else "cpu"


class TestGpu(BackendContract):
    @pytest.fixture(params=["plain", "cuda"])
    def backend(self, request: pytest.FixtureRequest) -> gpu.Gpu:
        if request.param == "plain":
            return gpu.Gpu(device="cpu", batch=256)
        if not gpu_available():
            pytest.skip("no GPU here: the Triton kernels are out")
        return gpu.Gpu()


@pytest.fixture
def kernels() -> ModuleType:
    """The fused steps, where they run."""
    if not (gpu_available() or INTERPRETED):
        pytest.skip("no GPU here, and Triton's interpreter was not asked for")
    from inkblur.mechanisms.nearest import gpu_kernels

    return gpu_kernels


def fused(kernels: ModuleType, batch: int = 256) -> gpu.Gpu:
    engine = gpu.Gpu(device="cpu" if INTERPRETED else "cuda", batch=batch)
    engine._search = kernels.search
    return engine


def searched(engine: gpu.Gpu, queries: Any) -> gpu.Batch:
    """What is on the device after one batch."""
    engine.nearest(queries)
    return engine._batches[0]


@pytest.mark.parametrize("shape", [(5, 3), (700, 20), (3000, 65), (1500, 300)])
def test_fused_steps_equal_the_plain_ones(
    kernels: ModuleType, rng: Rng, shape: tuple[int, int]
) -> None:
    """The same codes, maxima and surviving pairs, and the same answers."""
    vectors = rng.normal(size=shape).astype(np.float32)
    vectors[1::7] = vectors[0]  # ties go all the way to the host
    queries = around(rng, vectors, 60, 4.0)
    plain, fast = gpu.Gpu(device="cpu", batch=256), fused(kernels)
    plain.put(vectors)
    fast.put(vectors)
    left, right = searched(plain, queries), searched(fast, queries)
    panels = plain._words.panels
    np.testing.assert_array_equal(left.maxima[:60, :panels].cpu(), right.maxima[:60, :panels].cpu())
    # A fused multiply-add may round the other way, so a bound may fall on the other side.
    assert abs(int(left.pairs[0]) - int(right.pairs[0])) <= 3
    for name in ("codes", "points", "far", "near"):
        mine, other = (getattr(batch, name).cpu() for batch in (left, right))
        np.testing.assert_array_equal(mine, other, err_msg=name)
    for name in ("scale", "lost", "norm", "slack", "least"):
        mine, other = (getattr(batch, name).cpu() for batch in (left, right))
        np.testing.assert_allclose(mine, other, rtol=3e-7, err_msg=name)
    np.testing.assert_array_equal(fast.nearest(queries), exhaustive(vectors, queries))


def test_lists_that_overflow_are_searched_in_halves(
    monkeypatch: pytest.MonkeyPatch,
    rng: Rng,
) -> None:
    monkeypatch.setattr(gpu, "_PAIRS", 1)
    vectors = rng.normal(size=(900, 5)).astype(np.float32)
    vectors[200:] = vectors[0]
    engine = gpu.Gpu(device="cpu", batch=64)
    same(engine, vectors, around(rng, vectors, 150, 2.0))


def test_the_margin_holds_and_is_used(rng: Rng) -> None:
    """Every word's exact score lies between its panel's bounds, and few panels survive."""
    vectors = rng.normal(size=(4000, 64)).astype(np.float32)
    engine = gpu.Gpu(device="cpu", batch=256)
    engine.put(vectors)
    queries = around(rng, vectors, 100, 10.0)
    batch, words = searched(engine, queries), engine._words
    centered = words.table.double() - words.center
    points = batch.points - words.center
    exact = points @ centered.T - centered.square().sum(dim=1) / 2
    top = exact.reshape(100, words.panels, -1).amax(dim=2)
    used = slice(0, words.panels)
    score = batch.maxima[:100, used].double() * words.scale[used] * batch.scale[:, None]
    error = words.length[used] * batch.lost[:, None] + words.lost[used] * batch.norm[:, None]
    room = batch.slack[:, None] / 2  # for each side
    assert bool((top <= score - words.shortest[used] + error + room).all())
    assert bool((top >= score - words.longest[used] - error - room).all())
    assert int(batch.pairs[0]) < 100 * words.panels / 4


@pytest.mark.parametrize("law", [Laplace, ComponentLaplace, Mahalanobis])
@pytest.mark.parametrize("batch", [31, 64, 1000])
def test_a_release_is_the_processors(law: Any, batch: int, rng: Rng) -> None:
    """Whole texts, with unknown words, empty records and filling, whatever the blocks are."""
    letters = str.maketrans("0123456789", "abcdefghij")
    names = ["w" + str(i).translate(letters) for i in range(500)]
    vectors = rng.normal(size=(500, 12)).astype(np.float32)
    vectors[1::9] = vectors[3]
    words = inkblur.Embedding(names, vectors, name="random")
    texts = [" ".join(rng.choice(names, size=i % 11)) + " zzz" for i in range(40)]
    texts[5] = texts[6] = ""
    records = [Record(str(i), text) for i, text in enumerate(texts)]
    device = gpu.Gpu(device=HERE, batch=batch)
    for release in ("sequence", "bag"):
        for length in (None, 8):
            outputs = []
            for searching in (Reference(), device):
                mechanism = law(words, epsilon=6.0)
                mechanism._engine = Engine(words, searching)
                blur = Privatizer(mechanism, release=release, length=length)
                outputs.append(blur.release_batch(records, inkblur.keyed_rng(bytes(32))))
            assert outputs[0] == outputs[1]
            assert outputs[0].texts != tuple(texts)


def test_a_bad_query_is_named_by_its_place_in_the_whole(rng: Rng) -> None:
    vectors = rng.normal(size=(50, 4)).astype(np.float32)
    engine = gpu.Gpu(device=HERE, batch=10)
    engine.put(vectors)
    queries = rng.normal(size=(35, 4))
    queries[27, 1] = np.nan
    with pytest.raises(ValueError, match="query 27"):
        engine.nearest(queries)
    queries[27, 1] = 0.0  # the batches that the error left in flight are in nobody's way
    np.testing.assert_array_equal(engine.nearest(queries), exhaustive(vectors, queries))


def test_where_it_cannot_run_the_error_names_the_extra() -> None:
    if gpu_available():
        pytest.skip("it runs here")
    with pytest.raises(MissingExtra, match=r"'\.\[gpu\]'|no CUDA device"):
        gpu.Gpu()
