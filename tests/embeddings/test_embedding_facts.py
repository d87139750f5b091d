"""Facts about real vectors, as stated beside the data."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from inkblur import load_embedding
from inkblur.embeddings.table import Embedding

DATA = os.environ.get("INKBLUR_DATA")
pytestmark = pytest.mark.skipif(not DATA, reason="set INKBLUR_DATA to the folder of real data")


def vectors(name: str) -> Embedding:
    return load_embedding(Path(DATA or "") / "vectors" / name)


def spearman(table: Embedding, pairs: Path) -> float:
    """Correlation of people's similarity scores with the cosine, over the pairs that are known."""
    scores, cosines = [], []
    for line in pairs.read_text(encoding="utf-8").splitlines():
        first, second, score = line.split()[:3]
        a, b = table.ids([first.lower(), second.lower()])
        if a < 0 or b < 0 or not score[:1].isdigit():
            continue
        u, v = table.centers(np.array([a, b]))
        cosines.append(u @ v / np.linalg.norm(u) / np.linalg.norm(v))
        scores.append(float(score))
    return float(spearmanr(scores, cosines).statistic)


def test_glove() -> None:
    table = vectors("glove-6b-300d.npy")
    facts = table.summary()
    assert table.vectors.shape == (65205, 300)
    assert table.vectors.dtype == np.float32
    assert (round(facts["norm_mean"], 3), round(facts["norm_sd"], 3)) == (6.510, 0.772)


def test_word2vec() -> None:
    table = vectors("word2vec-googlenews-300d.npy")
    facts = table.summary()
    assert table.vectors.shape == (7895, 300)
    assert (round(facts["norm_mean"], 3), round(facts["norm_sd"], 3)) == (2.927, 0.475)


@pytest.mark.parametrize(
    ("name", "expected"), [("EN-SIMLEX-999.txt", 0.369), ("EN-WS-353-ALL.txt", 0.611)]
)
def test_similarity_of_glove(name: str, expected: float) -> None:
    pairs = Path(DATA or "") / "word-similarity" / name
    assert round(spearman(vectors("glove-6b-300d.npy"), pairs), 3) == expected
