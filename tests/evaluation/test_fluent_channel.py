"""What an attacker knows of a release with a language model: its channel, and what follows."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

from inkblur.embeddings.table import Embedding
from inkblur.evaluation.attacks import fluent_channel
from inkblur.evaluation.attacks.candidates import candidates_by_place
from inkblur.evaluation.attacks.fluent_channel import FluentChannel
from inkblur.evaluation.attacks.likelihood import Likelihood
from inkblur.evaluation.attacks.text_likelihood import TextLikelihood
from inkblur.mechanisms.staircase.fluent import FluentStaircase
from inkblur.rng import seeded_rng
from inkblur.types import NULL_ID, Array, Ids
from tests.laws.test_fluent import SHAPES, ToyModel, weights

WORDS = 9


@pytest.fixture(scope="module", params=SHAPES, ids=str)
def mechanism(request: pytest.FixtureRequest) -> FluentStaircase:
    random = np.random.default_rng(3)
    words = [f"{letter}word" for letter in "abcdefghi"]
    table = Embedding(
        words, random.integers(-1, 2, (WORDS, 3)), name="ties", counts=np.arange(WORDS, 0, -1)
    )
    model = ToyModel(WORDS)
    return FluentStaircase(table, epsilon=2.0, tau=0.3, model=model, cache=None, **request.param)


def plain_likelihoods(mechanism: FluentStaircase, text: Ids, words: Ids) -> Array:
    """P(out | word) from the weights of each draw themselves."""
    (expected,) = mechanism.expectations([text])
    keys = mechanism.fixed.grid.keys(words)
    rows = []
    for out, (own, parts) in zip(text.tolist(), expected, strict=True):
        base = mechanism.bases.units(own, parts)
        laws = [
            weights(mechanism.steps, base, w, mechanism.bases.order(k, w, own, parts))
            for w, k in zip(words, keys, strict=True)
        ]
        rows.append([law[out] / 2**64 for law in laws])
    return np.array(rows)


@pytest.mark.parametrize("first", [2, 4096], ids=["too few at first", "enough at once"])
def test_the_channel_is_the_law_of_the_draws(
    mechanism: FluentStaircase, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fluent_channel, "_FIRST", first)
    words = np.array([NULL_ID, *range(WORDS)])
    texts = [np.array([0, 3, 8, 3, 1]), np.array([5]), np.array([2, 2])]
    tables = FluentChannel(mechanism).by_place(texts, words)
    for text, table in zip(texts, tables, strict=True):
        assert table == pytest.approx(plain_likelihoods(mechanism, text, words), rel=1e-6)


def test_texts_without_a_word_have_no_places(mechanism: FluentStaircase) -> None:
    nothing = np.empty(0, dtype=np.int64)
    channel, words = FluentChannel(mechanism), np.array([NULL_ID, 0, 4])
    assert [table.shape for table in channel.by_place([nothing] * 2, words)] == [(0, 3)] * 2
    assert [table.shape for table in channel.mixed([nothing], words, np.ones((2, 3)))] == [(0, 2)]


def test_mixtures_are_sums_over_words(mechanism: FluentStaircase) -> None:
    words = np.array([NULL_ID, 0, 4, 5])
    shares = np.array([[0.1, 0.2, 0.3, 0.4], [0.7, 0.1, 0.1, 0.1]])
    texts = [np.array([0, 3, 8, 3, 1])]
    channel = FluentChannel(mechanism)
    (mixed,), (table,) = channel.mixed(texts, words, shares), channel.by_place(texts, words)
    assert mixed == pytest.approx(table @ shares.T)


def test_candidates_are_bayes_rule_over_both_releases(mechanism: FluentStaircase) -> None:
    prior = np.arange(1.0, WORDS + 2)
    prior /= prior.sum()
    text = np.array([[0, 3], [8, 3], [1, 5]])
    (found,) = candidates_by_place(FluentChannel(mechanism), prior, [text], kept=4)
    words = np.array([*range(WORDS), NULL_ID])
    joint = prior * np.prod(
        [plain_likelihoods(mechanism, release, words) for release in text.T], axis=0
    )
    posterior = joint / joint.sum(axis=1, keepdims=True)
    assert found.posterior == pytest.approx(-np.sort(-posterior, axis=1)[:, :4])
    assert found.words[:, 0].tolist() == posterior.argmax(axis=1).tolist()


@pytest.mark.parametrize("kind", [Likelihood, TextLikelihood])
def test_the_likelihood_attack_names_authors_through_the_channel(
    mechanism: FluentStaircase, kind: type[Likelihood]
) -> None:
    """Two authors of different words; what comes out names them more often than chance."""
    words = mechanism.embedding.words
    known = [" ".join(words[:3]), " ".join(words[5:8])]
    texts = [np.tile(np.arange(3), 5), np.tile(np.arange(5, 8), 5)] * 10
    streams = [seeded_rng(4).child(str(i)) for i in range(len(texts))]
    drawn = mechanism.replace_texts(texts, streams)
    out = [" ".join(words[i] for i in text.ids.tolist()) for text in drawn]
    attack = kind(FluentChannel(mechanism), mechanism.embedding).fit(known, [0, 1])
    truth = np.tile([0, 1], 10)
    assert (attack.predict(out) == truth).mean() > 0.75
