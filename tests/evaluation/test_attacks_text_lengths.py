"""Attacks on how long texts are: words may say nothing, there are as many of them as there were."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from inkblur.documents.policies import TokenPolicies
from inkblur.documents.privatizer import Privatizer
from inkblur.embeddings.table import Embedding
from inkblur.evaluation.attacks.base import DONT_KNOW
from inkblur.evaluation.attacks.channel import ExactChannel
from inkblur.evaluation.attacks.entering import entering
from inkblur.evaluation.attacks.length_likelihood import LengthLikelihood
from inkblur.evaluation.attacks.text_lengths import TextLengths
from inkblur.evaluation.attacks.text_likelihood import TextLikelihood
from inkblur.mechanisms.staircase.mechanism import Staircase
from inkblur.rng import seeded_rng
from inkblur.types import Ids, Record

sys.path.append(str(Path(__file__).parents[2] / "tools" / "bundled"))

from risk import ON_LENGTHS, AuthorTexts, attempts, strongest

pytest.importorskip("scipy")

WORDS = ["the", "cat", "dog", "sky", "u.s.", "sea", "hill", "road"]
TABLE = Embedding(WORDS, np.random.default_rng(2).normal(size=(8, 4)), name="made")
MECHANISM = Staircase(TABLE, epsilon=0.01, tau=0.2, frequency_power=0.0)  # words say nothing
CHANNEL = ExactChannel(MECHANISM, len(WORDS))
LENGTHS = (20, 40, 80, 160)  # words of an author's texts, about


def written(each: int, seed: int, lengths: tuple[int, ...] = LENGTHS) -> tuple[list[str], Ids]:
    rng = np.random.default_rng(seed)
    texts, authors = [], []
    for author, mean in enumerate(lengths):
        for size in (mean * np.exp(rng.normal(0, 0.1, each))).astype(int):
            texts.append(" ".join(rng.choice(WORDS, size)))
            authors.append(author)
    return texts, np.array(authors)


def released(texts: list[str], blur: Privatizer) -> list[str]:
    records = [Record(str(row), text) for row, text in enumerate(texts)]
    return list(blur.release_batch(records, seeded_rng(4)).texts)


@pytest.mark.parametrize("kind", ["sequence", "bag"])
def test_lengths_name_authors_whose_words_say_nothing(kind: str) -> None:
    blur = Privatizer(MECHANISM, release=kind)
    known, authors = written(6, seed=1)
    asked, truth = written(20, seed=2)
    out = released(asked, blur)
    for studied in (known, released(known, blur)):
        found = TextLengths(TABLE).fit(studied, authors).predict(out)
        assert (found == truth).mean() > 0.9
    for attack, least, most in ((TextLikelihood, 0.0, 0.5), (LengthLikelihood, 0.9, 1.0)):
        found = attack(CHANNEL, TABLE, entering(blur)).fit(known, authors).predict(out)
        assert least <= (found == truth).mean() <= most


def test_a_fixed_length_says_nothing() -> None:
    blur = Privatizer(MECHANISM, length=50)
    known, authors = written(6, seed=1)
    out = released(written(3, seed=2)[0], blur)
    assert set(TextLengths(TABLE).fit(known, authors).predict(out)) == {DONT_KNOW}
    plain = TextLikelihood(CHANNEL, TABLE, entering(blur)).fit(known, authors)
    joined = LengthLikelihood(CHANNEL, TABLE, entering(blur)).fit(known, authors)
    np.testing.assert_array_equal(joined.scores(out), plain.scores(out))


def test_where_all_write_texts_of_the_same_lengths_the_attack_learns_so() -> None:
    """Then it takes nothing away from what the words say: its scores hardly differ."""
    known, authors = written(12, seed=1, lengths=(60,) * 6)
    attack = TextLengths(TABLE).fit(known, authors)
    spread = np.ptp(attack.scores(written(20, seed=2, lengths=(60,) * 6)[0]), axis=1)
    telling = TextLengths(TABLE).fit(*written(12, seed=1))
    assert spread.max() < 0.5 < 2.0 < np.ptp(telling.scores(written(5, seed=2)[0]), axis=1).min()


def test_words_are_counted_as_they_come_out() -> None:
    """Words that are dropped do not count, so true and released texts are equally long."""
    rng = np.random.default_rng(3)
    words = [*WORDS, "and", "3", "me@x.org", "qqq", "-", "so,", "U.S."]
    texts = [" ".join(rng.choice(words, 40)) for _ in range(20)]
    for policies in (TokenPolicies(), TokenPolicies.of(drop=["stop-words", "numbers"])):
        blur = Privatizer(MECHANISM, policies=policies)
        attack = TextLengths(TABLE, entering(blur))
        entered = [len(entering(blur)(text)) for text in texts]
        np.testing.assert_array_equal(attack._lengths(released(texts, blur)), entered)


def test_the_attacker_studies_how_long_true_texts_come_out() -> None:
    """Who writes the longer texts may release the shorter ones, where stop words are dropped."""
    rng = np.random.default_rng(5)
    blur = Privatizer(MECHANISM, policies=TokenPolicies.of(drop=["stop-words"]))
    both = [" ".join(["the"] * stop + rng.choice(WORDS[1:], rest).tolist())
            for stop, rest in [(60, 10)] * 8 + [(0, 40)] * 8]  # fmt: skip
    authors = np.repeat([0, 1], 8)
    attack = TextLengths(TABLE, entering(blur)).fit(both, authors)
    np.testing.assert_array_equal(attack.predict(released(both, blur)), authors)


def test_texts_without_words_and_very_long_ones() -> None:
    known = ["cat dog", "cat", "?!", "", "cat " * 200_000, "dog " * 150_000]
    attack = TextLengths(TABLE).fit(known, [0, 0, 1, 1, 2, 2])
    assert attack.predict(["sky sky", "sea " * 300_000, "", "..."]).tolist() == [
        0,
        2,
        DONT_KNOW,
        DONT_KNOW,
    ]
    silent = TextLengths(TABLE).fit(["", "?!"], [0, 1])
    assert silent.predict(["cat", "cat dog"]).tolist() == [DONT_KNOW] * 2


def test_the_risk_counts_lengths_where_they_show_and_says_what_is_left_without() -> None:
    lengths = (15, 20, 27, 36, 48, 64, 85, 113)  # of eight authors
    known, authors = written(6, seed=1, lengths=lengths)
    asked, truth = written(6, seed=2, lengths=lengths)
    texts = AuthorTexts(tuple(known), authors, tuple(asked), truth)
    shown = attempts(texts, Privatizer(MECHANISM), TABLE, seeded_rng(1))
    hidden = attempts(texts, Privatizer(MECHANISM, length=40), TABLE, seeded_rng(1))
    by_words = [each for each in shown if each.attack not in ON_LENGTHS]
    assert not {each.attack for each in hidden} & ON_LENGTHS
    for half in (0, 1):
        first, second, third = (
            strongest(each for each in some if each.half == half).risk
            for some in (shown, by_words, hidden)
        )
        assert first > 0.9
        assert third < 0.3
        # Who looks at the words of short texts sees how many there are, in part.
        assert third <= second < first
