"""Attacks on where sentences end: words may say nothing, their full stops are where they were."""

from __future__ import annotations

import numpy as np
import pytest

from inkblur.documents.policies import TokenPolicies
from inkblur.documents.privatizer import Privatizer
from inkblur.embeddings.table import Embedding
from inkblur.evaluation.attacks.base import DONT_KNOW
from inkblur.evaluation.attacks.channel import ExactChannel
from inkblur.evaluation.attacks.entering import entering
from inkblur.evaluation.attacks.length_likelihood import LengthLikelihood
from inkblur.evaluation.attacks.sentence_lengths import (
    LONGEST,
    SentenceLengths,
    piece_words,
    sentence_lengths,
)
from inkblur.evaluation.attacks.text_likelihood import TextLikelihood
from inkblur.mechanisms.staircase.mechanism import Staircase
from inkblur.rng import seeded_rng
from inkblur.types import Ids, Record

pytest.importorskip("scipy")

WORDS = ["the", "cat", "dog", "sky", "u.s.", "sea", "hill", "road"]
TABLE = Embedding(WORDS, np.random.default_rng(2).normal(size=(8, 4)), name="made")
MECHANISM = Staircase(TABLE, epsilon=0.01, tau=0.2, frequency_power=0.0)  # words say nothing
CHANNEL = ExactChannel(MECHANISM, len(WORDS))
LENGTHS = {0: 4, 1: 9}  # words of an author's sentences, about


def written(each: int, seed: int) -> tuple[list[str], Ids]:
    """Texts of twelve sentences."""
    rng = np.random.default_rng(seed)
    texts, authors = [], []
    for author, mean in LENGTHS.items():
        for _ in range(each):
            sizes = rng.poisson(mean, 12) + 1
            sentences = (" ".join(rng.choice(WORDS[:4], size)) for size in sizes)
            texts.append(" ".join(f"{sentence}." for sentence in sentences))
            authors.append(author)
    return texts, np.array(authors)


SHOWN = TokenPolicies.of(keep=["sentence-ends"])


def released(texts: list[str], blur: Privatizer) -> list[str]:
    records = [Record(str(row), text) for row, text in enumerate(texts)]
    return list(blur.release_batch(records, seeded_rng(4)).texts)


def test_sentences_name_authors_whose_words_say_nothing() -> None:
    blur = Privatizer(MECHANISM, policies=SHOWN)
    known, authors = written(6, seed=1)
    asked, truth = written(40, seed=2)
    out = released(asked, blur)
    lengths = SentenceLengths(TABLE)
    for studied in (known, released(known, blur)):
        assert (lengths.fit(studied, authors).predict(out) == truth).mean() > 0.9
    for kind, least, most in ((TextLikelihood, 0.0, 0.65), (LengthLikelihood, 0.9, 1.0)):
        found = kind(CHANNEL, TABLE, entering(blur)).fit(known, authors).predict(out)
        assert least <= (found == truth).mean() <= most


def test_where_no_sentence_end_is_shown_nothing_is_known() -> None:
    known, authors = written(6, seed=1)
    asked = written(3, seed=2)[0]
    for blur in (
        Privatizer(MECHANISM),
        Privatizer(MECHANISM, length=50),
        Privatizer(MECHANISM, release="bag"),
    ):
        out = [text.replace("u.s.", "sea") for text in released(asked, blur)]
        assert set(SentenceLengths(TABLE).fit(known, authors).predict(out)) == {DONT_KNOW}


def test_words_are_counted_as_they_come_out() -> None:
    """A word with a full stop of its own ends no sentence, and words that are dropped do not count;
    then true and released texts have sentences of the same lengths.
    """
    text = "The dog, the cat and 3 hills: U.S. sea! The. He saw me@x.org, the road? So"
    without = TokenPolicies.of(keep=["sentence-ends"], drop=["stop-words", "numbers"])
    for policies in (SHOWN, without):
        blur = Privatizer(MECHANISM, policies=policies)
        attack = SentenceLengths(TABLE, entering(blur))
        true = sentence_lengths([attack._known_piece(piece) for piece in text.split()])
        for out in released([text] * 30, blur):
            shown = sentence_lengths([piece_words(piece, TABLE) for piece in out.split()])
            np.testing.assert_array_equal(shown, true)


def test_very_long_sentences_and_texts_without_one() -> None:
    long = " ".join(["cat"] * 10 * LONGEST) + "."
    attack = SentenceLengths(TABLE).fit([long, "Cat. Dog. Cat.", "no end"], [0, 1, 2])
    assert attack.predict([long, "sky. sea.", "", "?!"]).tolist() == [0, 1, DONT_KNOW, DONT_KNOW]
    silent = SentenceLengths(TABLE).fit(["no end", "none here"], [0, 1])
    assert silent.predict(["Cat."]).tolist() == [DONT_KNOW]
