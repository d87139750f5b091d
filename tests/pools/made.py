"""Small pools over a vocabulary of a few words."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from inkblur.embeddings.table import Embedding
from inkblur.pools import Pool
from inkblur.pools.classifier import LabelClassifier
from inkblur.pools.encoder import WordEncoder, center_of, directions, on_sphere, points_of

WORDS = ("alpha", "beta", "gamma", "delta", "iota", "kappa", "lambda", "sigma")


def table(seed: int = 1, dimension: int = 4) -> Embedding:
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((len(WORDS), dimension)).astype(np.float32)
    counts = rng.integers(1, 1000, len(WORDS))
    return Embedding(WORDS, vectors, name="toy", counts=counts)


def pool(
    embedding: Embedding,
    sizes: tuple[int, ...],
    *,
    seed: int = 1,
    twins: bool = False,
    cells: int = 1,
) -> Pool:
    """A pool with `sizes` texts of each label, in so many cells each; twins: every text twice."""
    rng = np.random.default_rng(seed)
    count = sum(sizes)
    texts = [" ".join(rng.choice(WORDS, 5)) for _ in range(count)]
    if twins:
        texts[count // 2 : 2 * (count // 2)] = texts[: count // 2]
    encoder = WordEncoder(embedding)
    towards = directions(encoder, texts)
    center = center_of(towards)
    points = points_of(towards, center)
    starts, owners = [0], []
    for label, size in enumerate(sizes):
        for part in np.array_split(np.arange(size), min(cells, size)):
            starts.append(starts[-1] + len(part))
            owners.append(label)
    middles = [points[a:b].sum(axis=0, dtype=np.int64) for a, b in pairwise(starts)]
    labels = len(sizes)
    model = LabelClassifier(
        WORDS,
        rng.integers(1000, 4000, len(WORDS)).astype(np.int32),
        rng.integers(-(10**6), 10**6, (len(WORDS), labels)).astype(np.int32),
        rng.integers(-(10**6), 10**6, labels).astype(np.int64),
        rng.integers(-(10**6), 10**6, (points.shape[1], labels)).astype(np.int32),
    )
    return Pool(
        texts=texts,
        points=points,
        center=center,
        cells=np.array(starts),
        cell_points=on_sphere(np.stack(middles)).astype(np.int16),
        cell_labels=np.array(owners),
        label_names=tuple(f"label {i}" for i in range(labels)) if labels > 1 else ("",),
        given=rng.integers(0, labels, count),
        classifier=model if labels > 1 else None,
        encoder=encoder.name,
        provenance={"name": "made", "license": "CC0"},
    )
