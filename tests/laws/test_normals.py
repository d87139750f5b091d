"""A release does not depend on whether the compiled normals were built: they are SciPy's."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri

from inkblur.documents import Privatizer
from inkblur.embeddings.table import Embedding
from inkblur.io.records import Record
from inkblur.noise import normals
from inkblur.rng import Bits, keyed_rng, uniforms_from
from inkblur.types import Points
from tests.laws.catalogue import VECTOR, label, make

extension: Any = normals._extension()
built = pytest.mark.skipif(
    extension is None, reason="the extension inkblur.noise._normals is not built"
)
same_scipy = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"),
    reason="SciPy may be built with fused multiply-adds here: then it serves, and nothing is lost",
)


@pytest.fixture
def fresh_choice() -> Iterator[None]:
    normals.compiled_path.cache_clear()
    yield
    normals.compiled_path.cache_clear()


def assert_same_bits(path: str, bits: Bits) -> None:
    compiled, expected = extension.normals(bits, path), ndtri(uniforms_from(bits))
    assert compiled.dtype == expected.dtype
    np.testing.assert_array_equal(compiled.view(np.int64), expected.view(np.int64), err_msg=path)


@built
@same_scipy
def test_millions_of_random_numbers() -> None:
    generator = np.random.default_rng()
    for width in (1, 7, 300, 511, 512, 513, 2000):
        rows = 1_000_000 // width
        bits = generator.integers(0, 2**64, (rows, width + 1), dtype=np.uint64)
        for path in extension.paths():
            assert_same_bits(path, bits[:, :-1])  # rows with a gap between them, as in laplace.py


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
    for path in extension.paths():
        assert_same_bits(path, both[None, :])
        assert_same_bits(path, normals.probes())
        assert extension.normals(np.empty((0, 5), dtype=np.uint64), path).shape == (0, 5)
    assert uniforms_from(both).min() == 2.0**-53
    assert uniforms_from(both).max() == 1 - 2.0**-53


@built
@same_scipy
def test_the_extension_is_used_here() -> None:
    assert normals.compiled_path() == extension.paths()[0]


@pytest.mark.parametrize("setting", VECTOR, ids=label)
def test_a_release_is_the_same_without_it(
    setting: tuple[str, dict[str, Any]], toy: Embedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    blur = Privatizer(make(setting, toy, 1.0))
    records = [Record(str(i), " ".join(toy.words[i:]) + " 12") for i in range(40)]
    first = blur.release_batch(records, keyed_rng(bytes(32))).texts
    monkeypatch.setattr(normals, "compiled_path", lambda: None)
    assert blur.release_batch(records, keyed_rng(bytes(32))).texts == first


class _Wrong:
    """An extension that is wrong in the last bit of one number, far out in a tail."""

    def paths(self) -> list[str]:
        return ["wrong"]

    def normals(self, bits: Bits, path: str) -> Points:
        out = normals.plainly(bits)
        out[out == out.min()] = np.nextafter(out.min(), 0)
        return out


@pytest.mark.parametrize("found", [None, _Wrong()], ids=["not built", "wrong in one bit"])
def test_where_it_is_missing_or_differs_scipy_serves(
    found: _Wrong | None, monkeypatch: pytest.MonkeyPatch, fresh_choice: None
) -> None:
    monkeypatch.setattr(normals, "_extension", lambda: found)
    assert normals.compiled_path() is None
    bits = normals.probes()
    assert normals.normals_from(bits).tobytes() == ndtri(uniforms_from(bits)).tobytes()


@built
def test_other_shapes_and_paths_are_refused() -> None:
    bits = np.zeros((4, 6), dtype=np.uint64)
    for wrong in (bits[0], bits[:, ::2]):
        with pytest.raises(ValueError, match="without gaps"):
            extension.normals(wrong, "portable")
    with pytest.raises(ValueError, match="no path sse9"):
        extension.normals(bits, "sse9")
