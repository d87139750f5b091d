"""Noise drawn by the device is the processor's, from the same uniforms; its words are canonical.

Without a GPU the Triton kernel runs too if asked for: TRITON_INTERPRET=1 pytest tests/nearest/test_gpu_noise.py
"""

from __future__ import annotations

import importlib.util
import os
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

import inkblur
from inkblur import Privatizer
from inkblur.embeddings.table import Embedding
from inkblur.mechanisms.nearest.canonical import exhaustive
from inkblur.mechanisms.nearest.cpu.reference import Reference
from inkblur.mechanisms.nearest.engine import Engine
from inkblur.mechanisms.nearest.gpu import backend as gpu
from inkblur.mechanisms.noise import MahalanobisNoise
from inkblur.mechanisms.noise.radius import UNIFORMS
from inkblur.protocols import Elliptical
from inkblur.rng import Bits, JoinedRows, RowAddresses, Rows, keyed_rng, uniforms_from
from inkblur.types import NULL_ID, Ids, Points, Record

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch is not installed: the GPU engine is out", allow_module_level=True)

import torch

from inkblur.mechanisms.nearest.gpu import noise as gpu_noise
from inkblur.mechanisms.nearest.gpu import plain as gpu_plain

KEY = bytes(range(32))
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"

Steps = Any  # a module of steps, or its like


@pytest.fixture(params=["plain", "kernel"])
def steps(request: pytest.FixtureRequest) -> Steps:
    """The steps in plain torch, or fused: all of them on a GPU, ChaCha20 alone in the interpreter."""
    if request.param == "plain":
        return gpu_plain
    if not (gpu.available() or INTERPRETED):
        pytest.skip("no GPU here, and Triton's interpreter was not asked for")
    fused = importlib.import_module("inkblur.mechanisms.nearest.gpu.steps")
    if gpu.available():
        return fused
    return SimpleNamespace(**{**vars(gpu_plain), "uniforms": fused.uniforms})


def place_of(steps: Steps) -> str:
    return "cuda" if gpu.available() and steps is not gpu_plain else "cpu"


def backend(steps: Steps = gpu_plain, batch: int = 64) -> gpu.Gpu:
    engine = gpu.Gpu(device=place_of(steps), batch=batch)
    engine._steps = steps
    return engine


def table(words: int = 500, dimension: int = 12, scale: float = 1.0) -> Embedding:
    """Words "wa", "wb", ...; some of them at the same place."""
    vectors = scale * np.random.default_rng(5).normal(size=(words, dimension)).astype(np.float32)
    vectors[1::9] = vectors[3]
    letters = "abcdefghij"
    names = ["w" + "".join(letters[int(d)] for d in str(i)) for i in range(words)]
    return Embedding(names, vectors, name="random")


def streams(sizes: list[int], drawn: int = 0, width: int = 13) -> JoinedRows:
    joined = JoinedRows([keyed_rng(KEY).child(str(i)) for i in range(len(sizes))], sizes)
    joined.rows(drawn, width)
    return joined


# ---------------------------------------------------------------------- ChaCha20


@pytest.mark.parametrize("width", [1, 2, 7, 8, 9, 17, 301])
def test_uniforms_are_the_keystreams(steps: Steps, width: int) -> None:
    """Any key and any place, in the middle of a block and beyond 2^31, 2^32 and 2^40 blocks too."""
    generator = np.random.default_rng(width)
    limits = [5, 40, 2**20, 2**34, 2**35, 2**36, 2**44]
    starts = 8 * np.array([int(generator.integers(0, most)) for most in limits * 4])
    starts[:2] = 8 * (8 * 2**32 - 1), 8 * (8 * 2**31 - 3)  # a row across a carry of the counter
    counts = generator.integers(1, 4, len(starts))
    keys = generator.integers(0, 2**32, (len(starts), 8), dtype=np.uint32)
    rows = RowAddresses(keys, starts, counts, width)
    wanted = []
    for key, start, count in zip(keys, starts.tolist(), counts.tolist(), strict=True):
        stream = b""
        for block in range(start // 64, (start + 8 * count * width) // 64 + 1):
            nonce = block.to_bytes(8, "little") + bytes(8)
            stream += (
                Cipher(ChaCha20(key.tobytes(), nonce), mode=None).encryptor().update(bytes(64))
            )
        words = np.frombuffer(stream[start % 64 :][: 8 * count * width], "<u8")
        wanted.append(uniforms_from(words).reshape(count, width))
    plan = gpu_noise.plan_of(np.zeros(len(rows), dtype=np.int64), rows)
    there = torch.from_numpy(plan).to(place_of(steps))
    np.testing.assert_array_equal(steps.uniforms(there, width).cpu(), np.concatenate(wanted))


@pytest.mark.parametrize("drawn", [0, 1, 4, 11])
def test_uniforms_of_several_records_are_their_rows(steps: Steps, drawn: int) -> None:
    sizes = [3, 0, 5, 1, 0, 40, 7]
    count = sum(sizes) - drawn
    wanted = streams(sizes, drawn).rows(count, 13)
    plan = gpu_noise.plan_of(
        np.zeros(count, dtype=np.int64), streams(sizes, drawn).addresses(count, 13)
    )
    there = torch.from_numpy(plan).to(place_of(steps))
    np.testing.assert_array_equal(steps.uniforms(there, 13).cpu(), wanted)


# ---------------------------------------------------------------------- noise


@pytest.mark.parametrize("scale", [1.0, 1000.0, 1e-4])
@pytest.mark.parametrize("dimension", [1, 2, 12, 300])
def test_the_noise_is_the_processors(steps: Steps, dimension: int, scale: float) -> None:
    words = table(40, dimension, scale)
    noise = MahalanobisNoise(words.covariance, epsilon=3.0 / scale, lam=0.7)
    engine = backend(steps)
    engine.put(words.vectors)
    ids = np.random.default_rng(1).integers(NULL_ID, len(words), 60)
    ids[[0, 7, -1]] = NULL_ID
    sizes = [20, 0, 1, 39]
    here = noise.around(words.centers(ids), streams(sizes))
    rows = streams(sizes).addresses(60, noise.width)
    assert noise.elliptical is not None
    there = torch.empty((60, dimension), dtype=torch.float64, device=engine._device)
    drawing = gpu_noise.DeviceNoise(noise.elliptical, words.null_vector, engine._words)
    plan = torch.from_numpy(gpu_noise.plan_of(ids, rows)).to(engine._device)
    drawing.draw(plan, steps.uniforms, there)
    # Not of `here` alone: in one dimension word and noise may nearly cancel.
    lengths = np.linalg.norm(here, axis=1) + np.linalg.norm(words.centers(ids), axis=1)
    error = np.linalg.norm(there.cpu().numpy() - here, axis=1)
    assert (error <= 1e-13 * lengths).all()


@pytest.mark.parametrize("scale", [1.0, 3e5, 1e-7])
def test_centers_are_the_embeddings_bit_for_bit(scale: float) -> None:
    words = table(70, 5, scale)
    engine = backend()
    engine.put(words.vectors)
    noise = MahalanobisNoise(words.covariance, epsilon=1.0, lam=0.5).elliptical
    assert noise is not None
    drawing = gpu_noise.DeviceNoise(noise, words.null_vector, engine._words)
    ids = np.concatenate([[NULL_ID], np.arange(70), [NULL_ID, 3]])
    there = drawing._centers(torch.from_numpy(ids))
    np.testing.assert_array_equal(there.numpy(), words.centers(ids))


# ---------------------------------------------------------------------- words


class Spied:
    """The noisy vectors that the device drew."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.drawn: list[Any] = []
        inner = gpu_noise.DeviceNoise.draw

        def draw(drawing: Any, plan: Any, uniforms: Any, out: Any) -> None:
            inner(drawing, plan, uniforms, out)
            self.drawn.append(out.cpu().numpy().copy())

        monkeypatch.setattr(gpu_noise.DeviceNoise, "draw", draw)


def released(words: Embedding, engine: gpu.Gpu, epsilon: float, count: int = 300) -> Ids:
    mechanism = inkblur.Mahalanobis(words, epsilon=epsilon, lam=0.5, engine=Engine(words, engine))
    ids = np.random.default_rng(2).integers(NULL_ID, len(words), count)
    return mechanism.replace(ids, streams([count - 70, 0, 70], width=words.dimension + UNIFORMS))


@pytest.mark.parametrize("epsilon", [50.0, 5.0, 1e-3, 1e-14])
def test_words_are_canonical_for_the_vectors_that_were_drawn(
    steps: Steps, epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ties, which the host decides, and noise so large that the host compares all words."""
    words, spied = table(), Spied(monkeypatch)
    found = released(words, backend(steps), epsilon)
    queries = np.concatenate(spied.drawn)
    assert len(spied.drawn) == 5  # blocks of 64
    np.testing.assert_array_equal(found, exhaustive(words.vectors, queries))


def test_the_host_judges_ties_and_far_queries_by_the_devices_vectors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fetched: list[int] = []
    inner = gpu.Gpu._given

    def given(engine: gpu.Gpu, slot: Any, rows: Ids) -> Any:
        assert slot.queries is None
        fetched.append(len(rows))
        return inner(engine, slot, rows)

    monkeypatch.setattr(gpu.Gpu, "_given", given)
    released(table(), backend(), 50.0)
    assert fetched
    assert max(fetched) < 64  # words at one place: only the queries near them
    fetched.clear()
    released(table(), backend(), 1e-14)
    assert 64 in fetched  # far away


def test_lists_that_overflow_are_searched_in_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "_PAIRS", 1)
    spied = Spied(monkeypatch)
    vectors = np.random.default_rng(4).normal(size=(900, 5)).astype(np.float32)
    vectors[200:] = vectors[0]
    words = Embedding([f"w{i}" for i in range(900)], vectors, name="copies")
    found = released(words, backend(), 2.0)
    np.testing.assert_array_equal(found, exhaustive(vectors, np.concatenate(spied.drawn)))


@pytest.mark.parametrize("batch", [31, 64, 1000])
@pytest.mark.parametrize("release", ["sequence", "bag"])
def test_a_release_is_the_processors(steps: Steps, release: str, batch: int) -> None:
    """Whole texts, with unknown words, empty records and filling, whatever the blocks are."""
    words = table()
    generator = np.random.default_rng(6)
    texts = [" ".join(generator.choice(words.words, size=i % 11)) + " zzz" for i in range(40)]
    texts[5] = texts[6] = ""
    records = [Record(str(i), text) for i, text in enumerate(texts)]
    for length in (None, 8):
        outputs = []
        for searching in (Reference(), backend(steps, batch)):
            mechanism = inkblur.Mahalanobis(
                words, epsilon=6.0, lam=0.5, engine=Engine(words, searching)
            )
            blur = Privatizer(mechanism, release=release, length=length)
            outputs.append(blur.release_batch(records, keyed_rng(KEY)))
        assert outputs[0] == outputs[1]
        assert outputs[0].texts != tuple(texts)


def test_another_noise_on_the_same_engine_is_another_noise() -> None:
    words = table()
    engine, plain = Engine(words, backend()), Engine(words, Reference())
    ids = np.arange(len(words))
    for epsilon, lam in ((50.0, 0.2), (3.0, 0.2), (3.0, 0.9), (50.0, 0.2)):
        here, there = (
            inkblur.Mahalanobis(words, epsilon=epsilon, lam=lam, engine=e).replace(
                ids, keyed_rng(KEY)
            )
            for e in (plain, engine)
        )
        np.testing.assert_array_equal(here, there)


# ---------------------------------------------------------------------- the seam


class Counting(gpu.Gpu):
    drawn = 0

    def nearest_around(self, ids: Ids, null: Any, noise: Elliptical, rows: RowAddresses) -> Ids:
        self.drawn += len(ids)
        return super().nearest_around(ids, null, noise, rows)


class OnlyRows(Rows):
    """A supply that does not say where its rows lie."""

    def __init__(self, supply: Rows) -> None:
        self._supply = supply

    def bits(self, count: int, width: int) -> Bits:
        return self._supply.bits(count, width)


def test_only_elliptical_noise_from_addressed_rows_is_drawn_there() -> None:
    words = table()
    ids = np.arange(100)
    searching = Counting(device="cpu", batch=64)
    engine, plain = Engine(words, searching), Engine(words, Reference())
    assert engine.draws
    assert not plain.draws
    elliptical = inkblur.Mahalanobis(words, epsilon=5.0, engine=engine)
    expected = elliptical.replace(ids, keyed_rng(KEY))
    assert searching.drawn == 100
    np.testing.assert_array_equal(expected, elliptical.replace(ids, OnlyRows(keyed_rng(KEY))))
    for make in (
        lambda e: inkblur.Laplace(words, epsilon=5.0, engine=e),
        lambda e: inkblur.ComponentLaplace(words, epsilon=5.0, engine=e),
        lambda e: inkblur.Mahalanobis(words, epsilon=5.0, lam=0.0, engine=e),
    ):
        here, there = (make(e).replace(ids, keyed_rng(KEY)) for e in (plain, engine))
        np.testing.assert_array_equal(here, there)
    assert searching.drawn == 100
    shape = elliptical.noise.elliptical
    assert shape is not None
    with pytest.raises(TypeError, match="draws no noise"):
        plain.nearest_around(
            ids, words.null_vector, shape, keyed_rng(KEY).addresses(100, 12 + UNIFORMS)
        )


class Halved(MahalanobisNoise):
    """Half the noise: a law of its own."""

    def around(self, centers: Points, rng: Rows) -> Points:
        return (super().around(centers, rng) + centers) / 2


def test_a_noise_of_another_class_is_not_taken_for_mahalanobis_noise() -> None:
    words = table()

    def drawn(engine: Engine) -> Ids:
        mechanism = inkblur.Mahalanobis(words, epsilon=5.0, engine=engine)
        mechanism.noise = Halved(words.covariance, epsilon=5.0, lam=0.5)
        return mechanism.replace(np.arange(100), keyed_rng(KEY))

    np.testing.assert_array_equal(
        drawn(Engine(words, backend())), drawn(Engine(words, Reference()))
    )


def test_rows_drawn_there_are_not_drawn_again() -> None:
    words = table()
    rng, plain = keyed_rng(KEY), keyed_rng(KEY)
    mechanism = inkblur.Mahalanobis(words, epsilon=5.0, engine=Engine(words, backend()))
    mechanism.replace(np.arange(100), rng)
    plain.rows(100, 12 + UNIFORMS)
    np.testing.assert_array_equal(rng.rows(3, 15), plain.rows(3, 15))


def test_what_does_not_fit_is_refused() -> None:
    words = table()
    engine = Engine(words, backend())
    mechanism = inkblur.Mahalanobis(words, epsilon=5.0, engine=engine)
    assert mechanism.replace(np.empty(0, dtype=np.int64), keyed_rng(KEY)).shape == (0,)
    with pytest.raises(IndexError, match="500 words"):
        mechanism.replace(np.array([3, 500]), keyed_rng(KEY))
    shape, null = mechanism.noise.elliptical, words.null_vector
    assert shape is not None
    for rows, complaint in (
        (keyed_rng(KEY).addresses(2, 15), "as many rows"),
        (keyed_rng(KEY).addresses(3, 13), "15 uniforms"),
        (RowAddresses(np.zeros((1, 8), np.uint32), np.array([4]), np.array([3]), 15), "whole"),
    ):
        with pytest.raises(ValueError, match=complaint):
            engine.nearest_around(np.arange(3), null, shape, rows)
