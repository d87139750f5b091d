"""What every backend must do: inherit :class:`BackendContract` and give it a fixture `backend`."""

from __future__ import annotations

import numpy as np
import pytest

from inkblur.mechanisms.nearest.canonical import Float32s, Float64s, exhaustive
from inkblur.protocols import Backend

Rng = np.random.Generator


def same(backend: Backend, vectors: Float32s, queries: Float64s) -> None:
    backend.put(vectors)
    got = backend.nearest(queries)
    assert got.dtype == np.int64
    assert got.shape == (len(queries),)
    expected = exhaustive(np.asarray(vectors, dtype=np.float32), queries)
    np.testing.assert_array_equal(got, expected)


def around(rng: Rng, vectors: Float32s, batch: int, radius: float) -> Float64s:
    """Queries as the mechanisms make them: a word plus noise of a given length."""
    noise = rng.normal(size=(batch, vectors.shape[1]))
    noise *= radius / np.linalg.norm(noise, axis=1, keepdims=True)
    centers = vectors[rng.integers(0, len(vectors), batch)].astype(np.float64)
    return np.add(centers, noise)


def pairs_about_zero(half: Float64s) -> Float32s:
    """Each vector followed by its negative: the mean is exactly zero, so centring rounds nothing."""
    vectors = np.empty((2 * len(half), half.shape[1]), dtype=np.float32)
    vectors[::2] = half
    vectors[1::2] = -half
    return vectors


class BackendContract:
    """Exact answers, ties to the lowest id, bad input refused: nothing here is chosen by name, so
    that a backend which inherits it can miss nothing.
    """

    @pytest.mark.parametrize("words", [1, 2, 3, 31, 64, 65, 130, 2049])
    @pytest.mark.parametrize("dimension", [1, 2, 3, 4, 5, 50, 300])
    def test_shapes(self, backend: Backend, rng: Rng, words: int, dimension: int) -> None:
        vectors = rng.normal(size=(words, dimension)).astype(np.float32)
        for batch in (0, 1, 2, 7, 100):
            same(backend, vectors, around(rng, vectors, batch, 5.0 * rng.random()))

    @pytest.mark.parametrize("radius", [0.0, 1e-7, 0.01, 1.0, 7.5, 30.0, 300.0, 1e6, 1e9])
    def test_radii(self, backend: Backend, rng: Rng, radius: float) -> None:
        vectors = (rng.normal(size=(3000, 40)) * rng.gamma(2, size=(3000, 1)) + 0.3).astype(
            np.float32
        )
        same(backend, vectors, around(rng, vectors, 200, radius))

    @pytest.mark.parametrize("distance", [1e11, 1e13, 1e16, 1e100, 1e160, 1.7e308])
    def test_queries_so_far_away_that_rounding_decides(
        self, backend: Backend, rng: Rng, distance: float
    ) -> None:
        vectors = rng.normal(size=(300, 4)).astype(np.float32)
        same(backend, vectors, distance * rng.uniform(-1, 1, size=(20, 4)))

    @pytest.mark.parametrize("scale", [1e-44, 1e-38, 1e-20, 1e-3, 1e10, 1e30, 3e37])
    def test_scales(self, backend: Backend, rng: Rng, scale: float) -> None:
        vectors = (rng.uniform(-1, 1, size=(500, 20)) * scale).astype(np.float32)
        queries = vectors[rng.integers(0, 500, 60)].astype(np.float64)
        same(backend, vectors, queries + scale * rng.normal(size=queries.shape))

    def test_mixed_scales(self, backend: Backend, rng: Rng) -> None:
        """Words of very different length, so that one scale cannot fit all."""
        lengths = 10.0 ** rng.uniform(-6, 6, size=(1000, 1))
        vectors = (rng.normal(size=(1000, 30)) * lengths).astype(np.float32)
        same(backend, vectors, around(rng, vectors, 300, 1e-3))
        same(backend, vectors, around(rng, vectors, 300, 1e3))

    def test_one_heavy_dimension(self, backend: Backend, rng: Rng) -> None:
        vectors = rng.normal(size=(1000, 30)).astype(np.float32)
        vectors[:, 7] *= 1e4
        same(backend, vectors, around(rng, vectors, 300, 10.0))

    @pytest.mark.parametrize("radius", [0.01, 1.0, 30.0])
    def test_words_near_a_plane(self, backend: Backend, rng: Rng, radius: float) -> None:
        """Nearly all of the words lies in a few directions, and next to nothing decides."""
        turn, _ = np.linalg.qr(rng.normal(size=(40, 40)))
        vectors = (rng.normal(size=(2500, 40)) * 0.88 ** np.arange(40) @ turn).astype(np.float32)
        queries = around(rng, vectors, 200, radius)
        same(backend, vectors, queries)
        # As near to the plane as the words are, but for the directions that they hardly use.
        thin = (queries @ turn.T) * (np.arange(40) > 25) * 100
        same(backend, vectors, thin @ turn)

    def test_ties_go_to_the_lowest_id(self, backend: Backend, rng: Rng) -> None:
        few = rng.normal(size=(10, 12)).astype(np.float32)
        vectors = few[rng.integers(0, 10, 700)]
        same(backend, vectors, around(rng, vectors, 100, 2.0))

    def test_all_words_equal(self, backend: Backend, rng: Rng) -> None:
        vectors = np.tile(rng.normal(size=(1, 9)).astype(np.float32), (500, 1))
        queries = around(rng, vectors, 50, 3.0)
        same(backend, vectors, queries)
        assert (backend.nearest(queries) == 0).all()

    def test_zero_vectors_and_zero_queries(self, backend: Backend, rng: Rng) -> None:
        vectors = np.zeros((70, 6), np.float32)
        same(backend, vectors, np.zeros((3, 6)))
        vectors[40:] = rng.normal(size=(30, 6))
        same(backend, vectors, np.concatenate([np.zeros((3, 6)), rng.normal(size=(20, 6))]))

    def test_queries_that_are_words_or_the_mean(self, backend: Backend, rng: Rng) -> None:
        vectors = rng.normal(size=(999, 300)).astype(np.float32)
        backend.put(vectors)
        assert backend.nearest(vectors.astype(np.float64)).tolist() == list(range(999))
        same(backend, vectors, vectors.mean(axis=0, dtype=np.float64, keepdims=True))

    def test_near_ties_of_a_long_word_and_short_ones(self, backend: Backend, rng: Rng) -> None:
        """Rounding costs a long word more than a short one: the margin must be its own."""
        vectors = np.tile(rng.normal(size=50), (1000, 1)).astype(np.float32)
        vectors[-1] = 30 * rng.normal(size=50)
        direction = vectors[-1].astype(np.float64) - vectors[0]
        aside = 100 * rng.normal(size=(500, 50))
        aside -= (aside @ direction / (direction @ direction))[:, None] * direction
        along = 0.5 + 1e-7 * rng.uniform(-1, 1, size=(500, 1))
        same(backend, vectors, vectors[0] + along * direction + aside)

    @pytest.mark.parametrize("gap", [1e-3, 1e-5, 1e-7, 1e-12, 1e-15, 0.0])
    def test_near_ties(self, backend: Backend, rng: Rng, gap: float) -> None:
        """Queries on the plane between two words, off the line that joins them, pushed to one side."""
        vectors = rng.normal(size=(600, 50)).astype(np.float32)
        left, right = vectors[:300].astype(np.float64), vectors[300:].astype(np.float64)
        direction = right - left
        aside = rng.normal(size=direction.shape) / 4
        along = (aside * direction).sum(axis=1) / (direction**2).sum(axis=1)
        aside -= along[:, None] * direction
        side = rng.choice([-1, 1], size=(300, 1))
        same(backend, vectors, (left + right) / 2 + side * gap * direction)
        same(backend, vectors, (left + right) / 2 + side * gap * direction + aside)

    def test_what_the_queries_lose_in_rounding(self, backend: Backend, rng: Rng) -> None:
        """Words of ones and minus ones round exactly in 8 bits: only the queries' rounding is at work.

        About one query in fifty has its two best words in the wrong order after rounding.
        """
        vectors = pairs_about_zero(rng.choice([-1.0, 1.0], size=(2000, 20)))
        same(backend, vectors, rng.normal(size=(1500, 20)) * 30)

    def test_what_the_words_lose_in_rounding(self, backend: Backend, rng: Rng) -> None:
        """Queries of ones, zeros and minus ones round exactly: only the words' rounding is at work."""
        vectors = pairs_about_zero(rng.normal(size=(2000, 20)))
        same(backend, vectors, rng.choice([-30.0, 0.0, 30.0], size=(1500, 20)))

    @pytest.mark.parametrize("radius", [1e6, 1e8, 1e9, 1e10, 5e10])
    def test_near_copies_seen_from_afar(self, backend: Backend, rng: Rng, radius: float) -> None:
        """The rounding of the canonical value itself decides, and a backend must leave it room."""
        centers = rng.normal(size=(10, 40))
        spread = rng.choice([1e-2, 1e-4, 1e-6], size=(400, 1)) * rng.normal(size=(400, 40))
        vectors = (np.repeat(centers, 40, axis=0) + spread).astype(np.float32)
        same(backend, vectors, around(rng, vectors, 200, radius))

    def test_a_vocabulary_of_near_copies(self, backend: Backend, rng: Rng) -> None:
        """Neighbors closer together than the coarse pass can see."""
        centers = rng.normal(size=(20, 40))
        copies = np.repeat(centers, 50, axis=0) + 1e-4 * rng.normal(size=(1000, 40))
        vectors = copies.astype(np.float32)
        same(backend, vectors, around(rng, vectors, 200, 5.0))

    def test_far_from_the_origin(self, backend: Backend, rng: Rng) -> None:
        """A mean that dwarfs the spread: centring has to carry the digits."""
        vectors = (rng.normal(size=(800, 20)) + 1e4).astype(np.float32)
        same(backend, vectors, around(rng, vectors, 200, 2.0))

    @pytest.mark.parametrize(
        ("column", "spread"),
        [(1e6, 1e-3), (1e30, 1e-10), (1e10, 1e-44), (3e38, 1.0), (3e38, 1e-44)],
    )
    def test_a_column_that_is_the_same_in_every_word(
        self, backend: Backend, rng: Rng, column: float, spread: float
    ) -> None:
        """It says nothing, however large it is beside the others."""
        vectors = (rng.normal(size=(300, 5)) * spread).astype(np.float32)
        vectors[:, 2] = column
        queries = vectors[rng.integers(0, 300, 60)] + spread * rng.normal(size=(60, 5))
        queries[:30, 2] = vectors[0, 2]
        same(backend, vectors, queries)

    def test_batches_do_not_matter(self, backend: Backend, rng: Rng) -> None:
        vectors = rng.normal(size=(2100, 25)).astype(np.float32)
        queries = around(rng, vectors, 1500, 6.0)
        backend.put(vectors)
        whole = backend.nearest(queries)
        for cut in (1, 5, 6, 64, 1023, 1024):
            parts = [backend.nearest(queries[s : s + cut]) for s in range(0, len(queries), cut)]
            np.testing.assert_array_equal(np.concatenate(parts), whole)

    def test_put_again_replaces_the_vocabulary(self, backend: Backend, rng: Rng) -> None:
        same(backend, rng.normal(size=(100, 8)).astype(np.float32), rng.normal(size=(9, 8)))
        same(backend, rng.normal(size=(40, 5)).astype(np.float32), rng.normal(size=(9, 5)))

    def test_strided_and_read_only_inputs(self, backend: Backend, rng: Rng) -> None:
        vectors = rng.normal(size=(200, 16)).astype(np.float32)
        queries = rng.normal(size=(30, 16))
        vectors.flags.writeable = False
        queries.flags.writeable = False
        same(backend, vectors, queries)
        same(backend, np.asfortranarray(vectors), np.asfortranarray(queries)[::2])

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    def test_what_is_no_number_is_refused(self, backend: Backend, rng: Rng, bad: float) -> None:
        vectors = rng.normal(size=(20, 4)).astype(np.float32)
        backend.put(vectors)
        queries = rng.normal(size=(5, 4))
        queries[3, 2] = bad
        with pytest.raises(ValueError, match="query 3"):
            backend.nearest(queries)
        vectors[7, 1] = bad
        with pytest.raises(ValueError, match="NaN or an infinity"):
            backend.put(vectors)
