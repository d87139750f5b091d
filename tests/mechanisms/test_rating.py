"""Ratings: bounded, exact in every batch, and what the proof says about their sensitivity."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkblur.embeddings.table import Embedding
from inkblur.mechanisms.rating import (
    CosineRating,
    Spelling,
    letter_pairs,
)
from inkblur.types import NULL_ID, Array, Bounding


def table(words: int = 300, dimension: int = 50, seed: int = 1) -> Embedding:
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((words, dimension)) * rng.uniform(0.1, 9, (words, 1))
    return Embedding([f"w{i}" for i in range(words)], vectors, name="random")


def plain_cosines(embedding: Embedding) -> Array:
    """Every input (the null word last) against every word, straight from the definition."""
    vectors = embedding.vectors.astype(np.longdouble)
    inputs = np.vstack([vectors, embedding.null_vector.astype(np.longdouble)])
    lengths = np.sqrt((inputs**2).sum(axis=1))
    cosines = inputs @ vectors.T / lengths[:, None] / lengths[None, :-1]
    return np.asarray(cosines, dtype=np.float64)


def sensitivity(rating: CosineRating) -> float:
    """The largest difference that an input, the null word among them, makes to a rating."""
    values = rating.block(np.arange(-1, rating.size), slice(0, rating.size))
    return float(np.ptp(values, axis=0).max())


@pytest.mark.parametrize("bounding", list(Bounding))
def test_it_is_the_bounded_cosine(bounding: Bounding) -> None:
    embedding = table()
    rows = np.append(np.arange(len(embedding)), NULL_ID)
    got = CosineRating(embedding, bounding=bounding).block(rows, slice(0, len(embedding)))
    cosines = plain_cosines(embedding)
    wanted = np.maximum(cosines, 0) if bounding is Bounding.CLIP else (cosines + 1) / 2
    assert np.abs(got - wanted).max() < 1e-7


@pytest.mark.parametrize("bounding", list(Bounding))
def test_a_pair_has_one_rating_whatever_the_block(bounding: Bounding) -> None:
    """Equality to the last bit: the bound and the draws see the same numbers."""
    embedding = table(dimension=300)
    rating = CosineRating(embedding, bigram=0.3, bounding=bounding)
    whole = rating.block(np.arange(-1, 300), slice(0, 300))
    rng = np.random.default_rng(2)
    for _ in range(30):
        rows = rng.integers(-1, 300, rng.integers(1, 40))
        start = int(rng.integers(0, 299))
        stop = int(rng.integers(start + 1, 301))
        assert np.array_equal(rating.block(rows, slice(start, stop)), whole[rows + 1, start:stop])
    assert np.array_equal(whole[1:], whole[1:].T)  # symmetric, exactly


@pytest.mark.parametrize("bounding", list(Bounding))
@pytest.mark.parametrize("bigram", [0.0, 0.4, 1.0])
def test_ratings_and_their_sensitivity_stay_within_one(bounding: Bounding, bigram: float) -> None:
    rating = CosineRating(table(dimension=2), bigram=bigram, bounding=bounding)
    values = rating.block(np.arange(-1, 300), slice(0, 300))
    assert values.min() >= 0
    assert values.max() <= 1
    assert sensitivity(rating) <= 1


words = st.text(alphabet="abn", max_size=7)


@given(st.lists(words, min_size=1, max_size=6, unique=True))
def test_overlap_is_dice_over_multisets(vocabulary: list[str]) -> None:
    got = Spelling(vocabulary).overlap(np.arange(len(vocabulary)), slice(0, len(vocabulary)))
    for i, left in enumerate(vocabulary):
        for j, right in enumerate(vocabulary):
            a, b = letter_pairs(left), letter_pairs(right)
            shared = sum(min(a.count(p), b.count(p)) for p in set(a))
            assert got[i, j] == (2 * shared / (len(a) + len(b)) if a or b else 0)
