"""A release does not depend on whether the compiled noise was built: it is SciPy's and NumPy's."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri

from inkblur import Privatizer
from inkblur.embeddings.table import Embedding
from inkblur.mechanisms.noise import sphere
from inkblur.rng import Bits, keyed_rng, uniforms_from
from inkblur.types import Array, Points, Record
from tests.laws.catalogue import VECTOR, label, make

extension: Any = sphere._extension()
built = pytest.mark.skipif(
    extension is None, reason="the extension inkblur.mechanisms.noise._sphere is not built"
)
same_scipy = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"),
    reason="SciPy may be built with fused multiply-adds here: then it serves, and nothing is lost",
)


@pytest.fixture
def fresh_choice() -> Iterator[None]:
    sphere.compiled_path.cache_clear()
    yield
    sphere.compiled_path.cache_clear()


def assert_same_bits(compiled: Points, expected: Points) -> None:
    assert compiled.dtype == expected.dtype
    np.testing.assert_array_equal(compiled.view(np.int64), expected.view(np.int64))


def assert_normals(bits: Bits) -> None:
    expected = ndtri(uniforms_from(bits))
    for path in extension.paths():
        assert_same_bits(extension.normals(bits, path), expected)


@built
@same_scipy
def test_millions_of_random_numbers() -> None:
    generator = np.random.default_rng()
    for width in (1, 7, 300, 511, 512, 513, 2000):
        rows = 1_000_000 // width
        bits = generator.integers(0, 2**64, (rows, width + 1), dtype=np.uint64)
        assert_normals(bits[:, :-1])  # rows with a gap between them, as in laplace.py


@built
@same_scipy
def test_the_places_where_the_formula_changes_and_the_ends() -> None:
    """At 0, exp(-32), exp(-2), 1/2 and their mirror images, and tails that chance never draws."""
    generator = np.random.default_rng()
    steps = np.arange(-20_000, 20_000)
    near = [int(c * 2**52) + steps for c in (0, np.exp(-32), np.exp(-2), 0.5)]
    depths = np.exp(-generator.uniform(0, 37, 200_000)) * 2**52
    lower = np.concatenate([*near, depths.astype(np.int64)]).clip(0, 2**52 - 1)
    both = np.concatenate([lower, 2**52 - 1 - lower]).astype(np.uint64) << np.uint64(12)
    both |= generator.integers(0, 2**12, both.shape, dtype=np.uint64)  # these are thrown away
    assert uniforms_from(both).min() == 2.0**-53
    assert uniforms_from(both).max() == 1 - 2.0**-53
    assert_normals(both[None, :])
    assert_normals(sphere.probes()[None, :])


@built
@same_scipy
@pytest.mark.parametrize("dimension", [*range(1, 20), 127, 128, 129, 136, 200, 300, 513, 1500])
def test_points_on_spheres(dimension: int) -> None:
    """Lengths too are summed in NumPy's order, which changes with the dimension."""
    generator = np.random.default_rng()
    bits = generator.integers(0, 2**64, (400, dimension + 1), dtype=np.uint64)[:, :-1]
    radius = generator.gamma(dimension, size=400)
    expected = ndtri(uniforms_from(bits))
    expected *= (radius / np.linalg.norm(expected, axis=1))[:, None]
    for path in extension.paths():
        assert_same_bits(extension.on_spheres(bits, radius, path), expected)
        assert extension.on_spheres(bits[:0], radius[:0], path).shape == (0, dimension)
    assert sphere.compiled_path(dimension) == extension.paths()[0]
    assert_same_bits(sphere.on_spheres(bits, radius), expected)


@built
@pytest.mark.parametrize("setting", VECTOR, ids=label)
def test_a_release_is_the_same_without_it(
    setting: tuple[str, dict[str, Any]], toy: Embedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    blur = Privatizer(make(setting, toy, 1.0))
    records = [Record(str(i), " ".join(toy.words[i:]) + " 12") for i in range(40)]
    first = blur.release_batch(records, keyed_rng(bytes(32))).texts
    monkeypatch.setattr(sphere, "compiled_path", lambda dimension: None)
    assert blur.release_batch(records, keyed_rng(bytes(32))).texts == first


class _Wrong:
    """An extension that is wrong in the last bit of one number."""

    def __init__(self, where: str) -> None:
        self.where = where

    def paths(self) -> list[str]:
        return ["wrong"]

    def normals(self, bits: Bits, path: str) -> Points:
        out = sphere.normals(bits)
        if self.where == "tail":
            out[out == out.min()] = np.nextafter(out.min(), 0)
        return out

    def on_spheres(self, bits: Bits, radius: Array, path: str) -> Points:
        out = sphere.plainly(bits, radius)
        if self.where == "length":
            out[-1] = np.nextafter(out[-1], 0)
        return out


@pytest.mark.parametrize("where", ["not built", "tail", "length", "nowhere"])
def test_where_it_is_missing_or_differs_the_plain_formula_serves(
    where: str, monkeypatch: pytest.MonkeyPatch, fresh_choice: None
) -> None:
    found = None if where == "not built" else _Wrong(where)
    monkeypatch.setattr(sphere, "_extension", lambda: found)
    assert sphere.compiled_path(5) == ("wrong" if where == "nowhere" else None)
    bits, radius = sphere.probes()[:100].reshape(20, 5), np.linspace(1.0, 2.0, 20)
    assert_same_bits(sphere.on_spheres(bits, radius), sphere.plainly(bits, radius))


@built
def test_other_shapes_and_paths_are_refused() -> None:
    bits, radius = np.zeros((4, 6), dtype=np.uint64), np.ones(4)
    for wrong in (bits[0], bits[:, ::2]):
        with pytest.raises(ValueError, match="without gaps"):
            extension.normals(wrong, "portable")
    for wrong_radius in (radius[:3], radius[:, None]):
        with pytest.raises(ValueError, match="a radius for each"):
            extension.on_spheres(bits, wrong_radius, "portable")
    with pytest.raises(ValueError, match="no path sse9"):
        extension.on_spheres(bits, radius, "sse9")
