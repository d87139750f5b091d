"""The bound at typical distances: between words that texts can have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from inkblur import Laplace
from inkblur.embeddings.adaptation import adapt_embedding
from inkblur.embeddings.table import Embedding
from inkblur.mechanisms.strengths import typical_loss
from inkblur.types import Metric
from tests.laws.catalogue import PRIVATE, label, make

Setting = tuple[str, dict[str, Any]]


@pytest.fixture(scope="module")
def adapted(toy: Embedding) -> Embedding:
    """Twelve of sixty words are in the corpus; the rest, without a profile, crowd."""
    texts = [f"{toy.words[k]} {toy.words[k + 4]}" for k in range(8)]
    topics = {"topic": ["one", "two", "three", "one"] * 2}
    return adapt_embedding(toy, texts, topics, alpha=0.1, beta=3.0, smoothing=0.1)


@pytest.mark.parametrize("setting", PRIVATE, ids=label)
def test_a_plain_table_is_measured_whole(setting: Setting, toy: Embedding) -> None:
    mechanism = make(setting, toy, 0.5)
    found = typical_loss(mechanism)
    ids = np.arange(60)
    distances = mechanism.pairwise(ids, ids)
    assert found.pair_distance == pytest.approx(np.median(distances[np.triu_indices(60, 1)]))
    np.fill_diagonal(distances, np.inf)
    assert found.nearest_distance == pytest.approx(np.median(distances.min(axis=1)))
    assert (found.sample, found.adapted) == (60, False)
    assert "corpus" not in " ".join(found.sentences())


@pytest.mark.parametrize("setting", PRIVATE, ids=label)
def test_an_adapted_table_is_measured_over_words_the_corpus_has(
    setting: Setting, adapted: Embedding
) -> None:
    mechanism = make(setting, adapted, 0.5)
    found = typical_loss(mechanism)
    ids = np.arange(12)
    distances = mechanism.pairwise(ids, ids)
    assert found.pair_distance == pytest.approx(np.median(distances[np.triu_indices(12, 1)]))
    everything = mechanism.pairwise(np.arange(60), np.arange(60))[np.triu_indices(60, 1)]
    if mechanism.guarantee.metric is not Metric.DISCRETE:
        assert found.pair_distance > 1.2 * np.median(everything)
    np.fill_diagonal(distances, np.inf)
    assert found.nearest_distance == pytest.approx(np.median(distances.min(axis=1)))
    assert (found.sample, found.adapted) == (12, True)
    discrete = mechanism.guarantee.metric is Metric.DISCRETE
    said = (
        "to any other, similar or not,"
        if discrete
        else ", measured over words in the corpus) makes"
    )
    assert said in found.sentences()[0]


def test_words_of_any_corpus_count_and_a_table_without_them_is_measured_whole(
    adapted: Embedding,
) -> None:
    later = [" ".join(adapted.words[k : k + 2]) for k in (20, 22, 24)]
    twice = adapt_embedding(adapted, later, {"tone": ["x", "y", "x"]}, smoothing=0.1)
    assert typical_loss(Laplace(twice, epsilon=1.0)).sample == 12 + 6
    unseen = adapted.restricted(adapted.words[12:], origin="a list")
    found = typical_loss(Laplace(unseen, epsilon=1.0))
    assert (found.sample, found.adapted) == (48, False)
