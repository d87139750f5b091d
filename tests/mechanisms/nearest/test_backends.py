"""The processor's backends keep the contract; each path of the native engine is one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from inkblur import Embedding, keyed_rng
from inkblur.mechanisms.laplace import Laplace
from inkblur.mechanisms.nearest.canonical import Float32s, Float64s, exhaustive
from inkblur.mechanisms.nearest.cpu import native, reference
from inkblur.mechanisms.nearest.cpu.reference import Reference
from inkblur.mechanisms.nearest.engine import Device, describe
from inkblur.protocols import Backend
from tests.mechanisms.nearest.contract import BackendContract, Rng, around, same

built = pytest.mark.skipif(
    not native.built(), reason="the extension inkblur.mechanisms.nearest.cpu._scan is not built"
)


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


@pytest.fixture
def problem(monkeypatch: pytest.MonkeyPatch) -> tuple[Float32s, Float64s]:
    """Words and queries that make many tiles, the last one of another size."""
    monkeypatch.setattr(reference, "_TILE_QUERIES", 32)
    monkeypatch.setattr(reference, "_TILE_WORDS", 64)
    rng = np.random.default_rng()
    vectors = rng.normal(size=(300, 20)).astype(np.float32)
    return vectors, rng.normal(size=(333, 20)) * 3


def test_the_scan_is_never_below_the_score_and_hardly_above() -> None:
    rng = np.random.default_rng()
    vectors = (rng.normal(size=(500, 30)) * 0.85 ** np.arange(30)).astype(np.float32)
    engine = Reference()
    engine.put(vectors)
    centered = (vectors[engine._order] - engine._center) / engine._unit
    points = rng.normal(size=(200, 30))
    norms, squares = np.linalg.norm(points, axis=1), (centered**2).sum(axis=1)
    longer = np.column_stack([points, np.full(200, engine._error - 1), engine._error * norms])
    bounds = longer @ engine._table[:500].astype(np.float64).T
    scores = points @ centered.T - squares / 2
    doubt = engine._error * (norms[:, None] * np.sqrt(squares) + squares / 2)
    assert (bounds >= scores).all()
    assert (bounds <= scores + 2.01 * doubt).all()
    assert (engine._table[500:] @ longer[0].astype(np.float32) < -1e29).all()


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_threads_do_not_matter(problem: tuple[Float32s, Float64s], threads: int) -> None:
    vectors, queries = problem
    engine = Reference(threads=threads)
    engine.put(vectors)
    np.testing.assert_array_equal(engine.nearest(queries), exhaustive(vectors, queries))


@pytest.mark.usefixtures("several_threads")
def test_searches_at_the_same_time_leave_blas_as_it_was(
    problem: tuple[Float32s, Float64s],
) -> None:
    vectors, queries = problem
    engines = [Reference(threads=2) for _ in range(4)]
    for engine in engines:
        engine.put(vectors)

    def threads() -> list[int]:
        return [entry["num_threads"] for entry in threadpool_info()]

    before = threads()
    expected = exhaustive(vectors, queries)
    with ThreadPoolExecutor(4) as pool:
        for ids in pool.map(lambda engine: engine.nearest(queries), engines * 3):
            np.testing.assert_array_equal(ids, expected)
    assert threads() == before


def test_where_a_mechanism_searches_is_its_own() -> None:
    table = Embedding(["a", "b"], [[0.0, 1.0], [9.0, 0.0]], name="toy")
    one, other = Laplace(table, epsilon=3.0), Laplace(table, epsilon=3.0)
    usual = one.engine
    one.search_on(Device.CPU, threads=1)
    assert one.engine is not usual
    assert other.engine is usual
    words = [m.release(["a", "b"] * 9, keyed_rng(bytes(32))).words for m in (one, other)]
    assert words[0] == words[1]


def glove(words: int) -> Float32s:
    """Real vectors: their norms, heavy dimensions and neighbors are not those of a Gaussian."""
    folder = os.environ.get("INKBLUR_DATA")
    if not folder:
        pytest.skip("INKBLUR_DATA is not set: no real vectors")
    table = np.load(Path(folder) / "vectors" / "glove-6b-300d.npy", mmap_mode="r")
    return np.ascontiguousarray(table[:words])


def laplace(vectors: Float32s, epsilon: float, batch: int, rng: np.random.Generator) -> Float64s:
    """Queries of the n-dimensional Laplace mechanism."""
    dimension = vectors.shape[1]
    noise = rng.normal(size=(batch, dimension))
    noise *= rng.gamma(dimension, 1 / epsilon, size=(batch, 1)) / np.linalg.norm(
        noise, axis=1, keepdims=True
    )
    return np.add(vectors[rng.integers(0, len(vectors), batch)].astype(np.float64), noise)


@built
def test_portable_always_runs_and_comes_last() -> None:
    assert native.paths()[-1] == "portable"
    assert native.isa() in native.paths()


@built
def test_an_instruction_the_processor_traps_on_is_survived() -> None:
    """The guard around the self-test, on an instruction that is illegal everywhere."""
    code = (
        "from inkblur.mechanisms.nearest.cpu import _scan\n"
        "assert all(_scan.survives_illegal_instruction() for _ in range(3))\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@built
@pytest.mark.parametrize("threads", [2**40, 2**31, 2**30])  # 4 times the last is 0 in 32 bits
def test_any_number_of_threads_is_taken(threads: int) -> None:
    code = (
        "import numpy as np\n"
        "from inkblur.mechanisms.nearest.cpu.native import NativeScan\n"
        f"scan = NativeScan(threads={threads})\n"
        "scan.put(np.eye(3, dtype=np.float32))\n"
        "assert scan.nearest(np.eye(3)).tolist() == [0, 1, 2]\n"
        "assert scan.nearest(np.empty((0, 3))).tolist() == []\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # a division by 0 ends the process


@built
@pytest.mark.parametrize("epsilon", [1.0, 5.0, 10.0, 20.0, 40.0])
def test_real_words_and_the_mechanism_s_own_noise(epsilon: float) -> None:
    vectors = glove(20000)
    queries = laplace(vectors, epsilon, 600, np.random.default_rng())
    reference = Reference()
    reference.put(vectors)
    expected = reference.nearest(queries)
    np.testing.assert_array_equal(expected[:20], exhaustive(vectors, queries[:20]))
    for path in native.paths():
        engine = native.NativeScan(path=path)
        engine.put(vectors)
        np.testing.assert_array_equal(engine.nearest(queries), expected, err_msg=path)


@built
def test_the_margin_is_needed_and_used() -> None:
    """Rivals that 8 bits put in the wrong order: the int8 winner alone would often be wrong.

    Two words differ in many small components, below one step of the rounding, and the query is
    nearer to one of them by that much. Without the margin this test fails.
    """
    rng = np.random.default_rng()
    base = rng.normal(size=(400, 64))
    vectors = np.concatenate([base, base + 2e-3 * rng.normal(size=base.shape)]).astype(np.float32)
    queries = laplace(vectors, 10.0, 2000, rng)
    for path in native.paths():
        engine = native.NativeScan(path=path)
        engine.put(vectors)
        np.testing.assert_array_equal(engine.nearest(queries), exhaustive(vectors, queries))


@built
def test_the_path_can_be_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(native.PATH_VARIABLE, "portable")
    assert native.isa() == "portable"
    assert native.available()
    assert "portable" in describe()
    assert "portable" in native.NativeScan(threads=1).describe()
    monkeypatch.setenv(native.PATH_VARIABLE, "abacus")
    with pytest.raises(ValueError, match="abacus"):
        native.NativeScan()


@built
def test_portable_alone_does_not_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(native.PATH_VARIABLE, raising=False)
    monkeypatch.setattr(native, "paths", lambda: ("portable",))
    assert not native.available()


def test_without_the_extension(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "_extension", lambda: None)
    assert not native.built()
    assert not native.available()
    assert native.paths() == ()
    assert native.isa() == "none"
    assert "NumPy" in describe()
    with pytest.raises(RuntimeError, match="use Reference"):
        native.NativeScan()
