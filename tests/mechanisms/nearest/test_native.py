"""The C++ engine beside its arithmetic: paths, threads, faults, and life without it."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from inkblur.mechanisms.nearest.canonical import Float32s, Float64s, exhaustive
from inkblur.mechanisms.nearest.cpu import native
from inkblur.mechanisms.nearest.cpu.reference import Reference
from inkblur.mechanisms.nearest.engine import describe

built = pytest.mark.skipif(
    not native.built(), reason="the extension inkblur.mechanisms.nearest.cpu._scan is not built"
)


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
@pytest.mark.parametrize("threads", [1, 2, 3, 7, 64])
def test_threads_do_not_matter(threads: int) -> None:
    rng = np.random.default_rng()
    vectors = rng.normal(size=(1500, 33)).astype(np.float32)
    queries = rng.normal(size=(1001, 33)) * 3
    one, many = native.NativeScan(threads=1), native.NativeScan(threads=threads)
    one.put(vectors)
    many.put(vectors)
    np.testing.assert_array_equal(one.nearest(queries), many.nearest(queries))


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
def test_no_threads_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        native.NativeScan(threads=0)


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
