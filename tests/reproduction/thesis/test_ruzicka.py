"""Ruzicka against its definition, and its laws."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from inkblur.evaluation import space_free_ngrams
from reproduction.thesis.ruzicka import text_distance

WORDS = [
    "some",
    "words",
    "that",
    "overlap",
    "in",
    "parts,",
    "overlapping",
    "parts",
    "of",
    "words.",
    "Others",
    "do",
    "not",
]


@pytest.fixture
def texts(rng: np.random.Generator) -> list[str]:
    drawn = [" ".join(rng.choice(WORDS, size)) for size in (1, 3, 8, 20, 20, 40)]
    return ["", *drawn]


@pytest.mark.parametrize("relative", [False, True])
def test_agrees_with_the_definition(texts: list[str], relative: bool) -> None:
    seen = set()
    for left, right in product(texts, texts):
        counts = [space_free_ngrams(text) for text in (left, right)]
        grams = sorted(counts[0] | counts[1])
        x, y = (np.array([count[gram] for gram in grams], float) for count in counts)
        if relative:
            x, y = (row / max(1.0, row.sum()) for row in (x, y))
        largest = np.maximum(x, y).sum()
        expected = 1 - np.minimum(x, y).sum() / largest if largest else 0.0
        found = text_distance(left, right, relative=relative)
        assert found == pytest.approx(expected, abs=1e-12)
        seen.add(round(found, 6))
    assert len(seen) > 10


@pytest.mark.parametrize("relative", [False, True])
def test_metric_laws(texts: list[str], relative: bool) -> None:
    d = np.array([[text_distance(a, b, relative=relative) for b in texts] for a in texts])
    np.testing.assert_allclose(d, d.T, atol=1e-12)
    np.testing.assert_allclose(np.diag(d), 0, atol=1e-12)  # even of the empty text to itself
    assert d[0, 1] == 1
    assert (d[:, None, :] <= d[:, :, None] + d[None, :, :] + 1e-12).all()


def test_texts_by_counts_and_by_shares() -> None:
    once, twice = "some words", "some words some words"
    assert text_distance(once, twice) == pytest.approx(0.5)
    assert text_distance(once, twice, relative=True) == pytest.approx(0)
    assert text_distance(once, "other") == text_distance("", "other") == 1
