"""Undoing the channel: expected counts are right, and a static attacker gains by them."""

import numpy as np
import pytest

from inkblur import Embedding, Exponential, seeded_rng
from inkblur.evaluation.attacks.base import attribute
from inkblur.evaluation.attacks.channel import channel_of
from inkblur.evaluation.attacks.expected_words import ExpectedWords
from inkblur.evaluation.attacks.language import unigram
from inkblur.evaluation.attacks.reading import Reader
from inkblur.evaluation.attacks.svm import LinearSvm
from inkblur.evaluation.attacks.views import Words

pytest.importorskip("sklearn")

GROUPS, EACH = 20, 5
WORDS = GROUPS * EACH


def made() -> Exponential:
    """Groups of words that come out as each other."""
    draws = np.random.default_rng(3)
    centers = np.repeat(draws.normal(size=(GROUPS, 16)), EACH, axis=0)
    vectors = centers + 0.3 * draws.normal(size=(WORDS, 16))
    table = Embedding([f"w{'x' * place}" for place in range(WORDS)], vectors, name="made")
    return Exponential(table, epsilon=16.0)


def texts(words: Embedding, seed: int, each: int = 25) -> tuple[list[str], np.ndarray]:
    """Authors who like two groups, and of each group one word."""
    draws = np.random.default_rng(seed)
    out, authors = [], np.repeat(np.arange(5), each)
    for author in authors.tolist():
        liked = [EACH * (4 * author + group) for group in range(2)]
        ids = np.where(
            draws.random(30) < 0.3, draws.choice(liked, 30), draws.integers(0, WORDS, 30)
        )
        out.append(" ".join(words.words[i] for i in ids.tolist()))
    return out, authors


def test_expected_counts_are_the_posterior_summed() -> None:
    mechanism = made()
    prior = unigram(mechanism.embedding)
    reader = Reader(channel_of(mechanism, seeded_rng(1)), prior, kept=WORDS + 1)
    view = ExpectedWords(reader, mechanism.embedding)
    found = view._expected([f"{mechanism.vocabulary[3]} {mechanism.vocabulary[3]}"]).toarray()[0]
    every = np.append(np.arange(WORDS), -1)
    joint = prior * mechanism.probabilities(every)[:, 3]
    assert found == pytest.approx(2 * joint / joint.sum())


def test_a_static_attacker_gains_by_undoing() -> None:
    mechanism = made()
    known, authors = texts(mechanism.embedding, 1)
    unknown, truth = texts(mechanism.embedding, 2)
    rng = seeded_rng(4)
    blurred = [" ".join(mechanism.release(text.split(), rng).words) for text in unknown]
    reader = Reader(channel_of(mechanism, seeded_rng(1)), np.full(WORDS + 1, 1 / (WORDS + 1)))
    plain, undone = (
        attribute(
            LinearSvm(seed=1, view=view).fit(known, authors), blurred, truth, known=authors
        ).accuracy
        for view in (Words(), ExpectedWords(reader, mechanism.embedding))
    )
    print(plain, undone)
    assert undone > plain
    assert plain > 0.2
