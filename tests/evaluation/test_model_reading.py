"""A language model that reads releases: its scores, its search, and a leak that it must find."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from inkblur import Staircase
from inkblur.embeddings.table import Embedding
from inkblur.evaluation.attacks.candidates import Candidates
from inkblur.evaluation.attacks.channel import channel_of
from inkblur.evaluation.attacks.language import UNKNOWN_SHARE, unigram
from inkblur.evaluation.attacks.model_reading import ModelReader, _Change
from inkblur.evaluation.attacks.reading import Reader
from inkblur.mechanisms.base import WordMechanism
from inkblur.rng import seeded_rng
from tests.laws.test_reading_catches import Leaky
from tests.tiny_model import save_tiny_model

WORDS = ["the", "soup", "was", "hot", "waiter", "unbelievably", "kind", "and"]


@pytest.fixture(scope="module")
def table() -> Embedding:
    vectors = np.random.default_rng(2).standard_normal((len(WORDS), 4))
    return Embedding(WORDS, vectors, name="eight", counts=np.arange(len(WORDS), 0, -1))


@pytest.fixture(scope="module")
def reader(table: Embedding, tmp_path_factory: pytest.TempPathFactory) -> ModelReader:
    folder: Path = tmp_path_factory.mktemp("model")
    save_tiny_model(folder, ["the soup was hot and the waiter was kind"] * 50)
    return ModelReader(table, str(folder), beams=64)


def log_probability(reader: ModelReader, text: list[int]) -> float:
    """By one pass over the text, token by token."""
    import torch

    tokens, total = [reader.model.start], 0.0
    begins = sorted({own[0] for own in reader.tokens[:-1]})
    for word in text:
        for number, token in enumerate(reader.tokens[word]):
            with torch.inference_mode():
                likely = reader.model.network(torch.tensor([tokens])).logits[0, -1].softmax(-1)
            if word != reader.null:
                total += float(likely[token].log())
            elif number == 0:
                total += float((UNKNOWN_SHARE * likely[begins].sum()).log())
            tokens.append(token)
    return total


def test_a_change_is_scored_as_the_text_that_it_makes(reader: ModelReader) -> None:
    """All tokens counted, up to eight words beyond it, whatever else stands in the batch."""
    texts = [[0, 1, 2, 3], [5], [reader.null, 5, 0], [4, reader.null, 6, 7, 5, 0, 1, 2, 3, 4, 5, 6]]
    changes = [
        _Change(text, place, word)
        for text, words in enumerate(texts)
        for place in range(len(words))
        for word in (3, 5, reader.null)
    ]
    expected = []
    for change in changes:
        words = texts[change.text]
        before = words[: change.place]
        ahead = words[change.place + 1 : change.place + 9]
        made = log_probability(reader, [*before, change.word, *ahead])
        expected.append(made - log_probability(reader, before))
    assert reader.scores(texts, changes) == pytest.approx(expected, abs=1e-4)


def some_candidates(seed: int, places: int) -> Candidates:
    random = np.random.default_rng(seed)
    words = np.stack([random.permutation(len(WORDS) + 1)[:3] for _ in range(places)])
    likelihood = random.random((places, 3))
    return Candidates(
        words, likelihood / likelihood.max(axis=1, keepdims=True), np.full((places, 3), 0.3)
    )


def test_belief_is_bayes_rule_around_the_best_text(reader: ModelReader) -> None:
    found = [some_candidates(seed, places) for seed, places in [(1, 4), (2, 1), (3, 6)]]
    steps: list[str] = []
    guesses = reader.guessed(found, steps.append)
    assert len(steps) == len(found)  # a passage each
    for each, said in zip(found, guesses, strict=True):
        assert len(said.words) == len(each.words)
        # What the reader says at a place fits best among that place's candidates, all else as said
        # by the search; with three candidates a place the search is exhaustive here.
        assert (said.belief <= 0.9 + 1e-9).all()  # a tenth is with words that are no candidates
        assert all(word in row for word, row in zip(said.words, each.words, strict=True))


def test_a_wide_beam_finds_the_best_text(reader: ModelReader, table: Embedding) -> None:
    """Against all texts there are, where every word is one token."""
    single = [word for word in range(len(WORDS)) if len(reader.tokens[word]) == 1]
    own = [word for word in single if float(reader._log_share[word]) == 0.0]
    assert len(own) > 2
    random = np.random.default_rng(5)
    words = np.stack([random.permutation(own)[:3] for _ in range(3)])
    likelihood = random.random((3, 3)) + 0.01
    found = Candidates(words, likelihood, np.full((3, 3), 1 / 3))
    said = reader.guessed([found])[0].words.tolist()
    texts = [
        [int(words[place, column]) for place, column in enumerate(columns)]
        for columns in product(range(3), repeat=3)
    ]
    channel = [
        sum(np.log(likelihood[place, column]) for place, column in enumerate(columns))
        for columns in product(range(3), repeat=3)
    ]
    prior = [log_probability(reader, text) for text in texts]
    assert said == texts[int(np.argmax(np.array(prior) + channel))]


def read(mechanism: WordMechanism, reader: ModelReader) -> float:
    """The share of words that the model recovers."""
    prior = unigram(mechanism.embedding)
    truth = np.random.default_rng(4).choice(len(WORDS), 240, p=prior[:-1] / prior[:-1].sum())
    outs = np.split(mechanism.replace(truth, seeded_rng(5))[:, None], 12)
    channel = channel_of(mechanism, seeded_rng(6))
    said = reader.guessed(Reader(channel, prior).candidates(outs))
    return float((np.concatenate([each.words for each in said]) == truth).mean())


def test_a_leak_raises_what_the_model_reads(table: Embedding, reader: ModelReader) -> None:
    mechanism = Staircase(table, epsilon=1.0, tau=0.2)
    plain, leaking = read(mechanism, reader), read(Leaky(mechanism, share=0.5), reader)
    assert leaking > plain + 4 * np.sqrt(2 * plain * (1 - plain) / 240)
