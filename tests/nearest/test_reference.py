"""The NumPy engine beside its arithmetic: threads."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from inkblur.nearest import reference
from inkblur.nearest.canonical import Float32s, Float64s, exhaustive
from inkblur.nearest.reference import Reference


@pytest.fixture
def problem(monkeypatch: pytest.MonkeyPatch) -> tuple[Float32s, Float64s]:
    """Words and queries that make many tiles, the last one of another size."""
    monkeypatch.setattr(reference, "_TILE_QUERIES", 32)
    monkeypatch.setattr(reference, "_TILE_WORDS", 64)
    rng = np.random.default_rng()
    vectors = rng.normal(size=(300, 20)).astype(np.float32)
    return vectors, rng.normal(size=(333, 20)) * 3


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_threads_do_not_matter(problem: tuple[Float32s, Float64s], threads: int) -> None:
    vectors, queries = problem
    engine = Reference(threads=threads)
    engine.put(vectors)
    np.testing.assert_array_equal(engine.nearest(queries), exhaustive(vectors, queries))


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
