"""The NumPy engine: what its scan leaves out, and its threads."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from inkblur import Embedding, Laplace, keyed_rng
from inkblur.mechanisms.nearest.canonical import Float32s, Float64s, exhaustive
from inkblur.mechanisms.nearest.cpu import reference
from inkblur.mechanisms.nearest.cpu.reference import Reference
from inkblur.mechanisms.nearest.engine import Device


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


def test_no_threads_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Reference(threads=0)


def test_where_a_mechanism_searches_is_its_own() -> None:
    table = Embedding(["a", "b"], [[0.0, 1.0], [9.0, 0.0]], name="toy")
    one, other = Laplace(table, epsilon=3.0), Laplace(table, epsilon=3.0)
    usual = one.engine
    one.search_on(Device.CPU, threads=1)
    assert one.engine is not usual
    assert other.engine is usual
    words = [m.release(["a", "b"] * 9, keyed_rng(bytes(32))).words for m in (one, other)]
    assert words[0] == words[1]
