"""The NumPy engine: what its scan leaves out, and its threads."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from inkblur.mechanisms.nearest.canonical import Float32s, Float64s, exhaustive
from inkblur.mechanisms.nearest.cpu import reference
from inkblur.mechanisms.nearest.cpu.reference import Reference


@pytest.fixture
def problem(monkeypatch: pytest.MonkeyPatch) -> tuple[Float32s, Float64s]:
    """Words and queries that make many tiles, the last one of another size."""
    monkeypatch.setattr(reference, "_TILE_QUERIES", 32)
    monkeypatch.setattr(reference, "_TILE_WORDS", 64)
    rng = np.random.default_rng()
    vectors = rng.normal(size=(300, 20)).astype(np.float32)
    return vectors, rng.normal(size=(333, 20)) * 3


def test_the_axes_that_are_not_scanned_are_bounded() -> None:
    """The scan's product is never less than the score, and hardly more."""
    rng = np.random.default_rng()
    vectors = (rng.normal(size=(500, 30)) * 0.85 ** np.arange(30)).astype(np.float32)
    engine = Reference()
    engine.put(vectors)
    scanned = engine._table.shape[1] - 3
    assert 15 <= scanned < 28
    centered = (vectors[engine._order] - engine._center) / engine._unit
    points = rng.normal(size=(200, 30))
    turned = points @ engine._axes
    rest = np.linalg.norm(turned[:, scanned:], axis=1)
    norms, squares = np.linalg.norm(points, axis=1), (centered**2).sum(axis=1)
    fixed = np.full(200, engine._error - 1)
    longer = np.column_stack([turned[:, :scanned], fixed, rest, engine._error * norms])
    bounds = longer @ engine._table[:500].astype(np.float64).T
    scores = points @ centered.T - squares / 2
    doubt = engine._error * (norms[:, None] * np.sqrt(squares) + squares / 2)
    assert (bounds >= scores).all()
    assert (bounds <= scores + 2.01 * (doubt + rest[:, None] * engine._lengths[:500])).all()
    assert (engine._table[500:] @ longer[0].astype(np.float32) < -1e29).all()


@pytest.mark.parametrize("odd", ["a long word", "a heavy dimension"])
def test_every_axis_is_scanned_where_a_bound_would_rule_out_little(odd: str) -> None:
    rng = np.random.default_rng()
    vectors = rng.normal(size=(2000, 40)).astype(np.float32)
    if odd == "a long word":
        vectors[7] *= 3000
    else:
        vectors[:, 7] *= 3000
    engine = Reference()
    engine.put(vectors)
    assert engine._table.shape[1] - 3 >= 39
    assert engine._rest.shape[1] <= 1


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
