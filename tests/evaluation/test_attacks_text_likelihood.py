"""The likelihood attack text by text: what stands together counts, not only how often it stands."""

from __future__ import annotations

import numpy as np
import pytest

from inkblur.embeddings.table import Embedding
from inkblur.evaluation.attacks import text_likelihood
from inkblur.evaluation.attacks.base import DONT_KNOW
from inkblur.evaluation.attacks.channel import EstimatedChannel, ExactChannel
from inkblur.evaluation.attacks.likelihood import Likelihood
from inkblur.evaluation.attacks.text_likelihood import TextLikelihood
from inkblur.mechanisms.laplace import Laplace
from inkblur.mechanisms.staircase.mechanism import Staircase
from inkblur.rng import seeded_rng
from inkblur.types import Ids

pytest.importorskip("scipy")

WORDS = [f"w{'x' * i}" for i in range(12)]
# Both authors use the same words equally often, in other company.
COMPANY = {0: ("012 678", "345 9ab"), 1: ("012 9ab", "345 678")}
TABLE = Embedding(WORDS, np.random.default_rng(2).normal(size=(12, 6)), name="made")
MECHANISM = Staircase(TABLE, epsilon=3.0, tau=0.09, frequency_power=0.0)
CHANNEL = ExactChannel(MECHANISM, len(WORDS))


def written(each: int, seed: int) -> tuple[list[str], Ids]:
    """Texts of 30 words, `each` of an author and a kind."""
    rng = np.random.default_rng(seed)
    texts, authors = [], []
    for author, kinds in COMPANY.items():
        for kind in kinds:
            words = [int(letter, 12) for letter in kind.replace(" ", "")]
            for _ in range(each):
                texts.append(" ".join(WORDS[word] for word in rng.choice(words, 30)))
                authors.append(author)
    return texts, np.array(authors)


def released(texts: list[str]) -> list[str]:
    rng = seeded_rng(4)
    out = [MECHANISM.replace(TABLE.ids(text.split()), rng.child(text)) for text in texts]
    return [" ".join(WORDS[word] for word in ids) for ids in out]


def named(attack: Likelihood) -> float:
    known, authors = written(6, seed=1)
    asked, truth = written(40, seed=2)
    return float((attack.fit(known, authors).predict(released(asked)) == truth).mean())


def test_what_stands_together_names_authors_of_the_same_words() -> None:
    assert named(Likelihood(CHANNEL, TABLE)) < 0.65
    assert named(TextLikelihood(CHANNEL, TABLE)) > 0.9


@pytest.mark.parametrize("kind", [Likelihood, TextLikelihood])
def test_known_texts_without_a_word_add_nothing(kind: type[Likelihood]) -> None:
    """Each was taken for a text that the author might write again, word for word."""
    known, authors = written(2, seed=1)
    asked = released(written(3, seed=2)[0])
    blank = ["", "?!", ":-)"] * 4
    plain = kind(CHANNEL, TABLE).fit(known, authors)
    beside = kind(CHANNEL, TABLE).fit([*blank, *known], np.append(np.zeros(12, np.int64), authors))
    np.testing.assert_allclose(beside.scores(asked), plain.scores(asked))
    silent = kind(CHANNEL, TABLE).fit([*known, "?!"], np.append(authors, 2))
    assert silent.suspects.tolist() == [0, 1, 2]
    assert 2 not in silent.predict(asked)
    nobody = kind(CHANNEL, TABLE).fit(["?!", ":-)"], [0, 1])
    assert nobody.predict(asked).tolist() == [DONT_KNOW] * len(asked)


@pytest.mark.parametrize("kind", [Likelihood, TextLikelihood])
def test_scores_through_an_estimated_channel_are_the_formula(
    kind: type[Likelihood], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against the module's formula in 64 bits: no answer hangs on how the sums are worked out."""
    monkeypatch.setattr(text_likelihood, "_OUTS", 5)
    channel = EstimatedChannel(Laplace(TABLE, epsilon=3.0), seeded_rng(5), words=12)
    known, authors = written(4, seed=1)
    asked = released(written(10, seed=2)[0])
    attack = kind(channel, TABLE).fit(known, authors)
    chances = channel.likelihood(np.arange(12), np.arange(12)).astype(np.float64)
    counts = np.array([np.bincount(TABLE.ids(text.split()), minlength=12) for text in known])
    own = np.array([counts[authors == author].sum(axis=0) for author in (0, 1)])
    own = own / own.sum(axis=1, keepdims=True)
    shares = 0.5 * own + 0.5 * counts.sum(axis=0) / counts.sum()
    wanted = np.empty((len(asked), 2))
    for row, text in enumerate(asked):
        ids = TABLE.ids(text.split())
        for author in (0, 1):
            under = (shares[author] @ chances)[None]
            if kind is TextLikelihood:
                each = counts[authors == author] / 30
                under = 0.35 * each @ chances + 0.65 * under
            wanted[row, author] = np.log(under[:, ids].prod(axis=1).mean())
    assert attack.scores(asked) == pytest.approx(wanted, rel=1e-6)


def test_texts_without_words_of_their_own_are_their_author() -> None:
    known, authors = written(3, seed=1)
    asked = released(written(5, seed=2)[0])
    plain = Likelihood(CHANNEL, TABLE).fit(known, authors).scores(asked)
    texts = TextLikelihood(CHANNEL, TABLE, own=0.0).fit(known, authors).scores(asked)
    assert np.allclose(plain, texts, atol=1e-3)


def test_the_mean_is_over_likelihoods() -> None:
    """An author of one text is that text: a second copy of it changes nothing."""
    once = TextLikelihood(CHANNEL, TABLE).fit([WORDS[0], WORDS[5]], [0, 1])
    twice = TextLikelihood(CHANNEL, TABLE).fit(
        [WORDS[0], WORDS[0], WORDS[5], WORDS[5]], [0, 0, 1, 1]
    )
    asked = [" ".join(WORDS[:4])]
    assert np.allclose(once.scores(asked), twice.scores(asked), atol=1e-4)


def test_of_too_many_texts_several_are_taken_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_likelihood, "_MOST", 2)
    known, authors = written(6, seed=1)
    asked = released(written(5, seed=2)[0])
    merged = TextLikelihood(CHANNEL, TABLE).fit(known, authors).scores(asked)
    by_author = [" ".join(np.array(known)[authors == author]) for author in (0, 1)]
    whole = TextLikelihood(CHANNEL, TABLE).fit(by_author, [0, 1]).scores(asked)
    assert np.allclose(merged, whole, atol=1e-3)
