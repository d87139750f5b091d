"""Reading: Bayes' rule is applied right, beliefs come true, and a leak shows."""

from __future__ import annotations

import numpy as np
import pytest

from inkblur import Embedding, seeded_rng
from inkblur.documents.policies import TokenPolicies
from inkblur.documents.privatizer import Privatizer
from inkblur.errors import ParameterError
from inkblur.evaluation.attacks.channel import (
    ClearChannel,
    EstimatedChannel,
    ExactChannel,
    candidates,
    channel_of,
)
from inkblur.evaluation.attacks.entering import entering_ids, unigram
from inkblur.evaluation.attacks.reading import (
    Kind,
    Reader,
    Trigrams,
    guessed,
    recovered,
    smoothed,
    true_words,
    unchanged,
)
from inkblur.mechanisms.exponential import Exponential
from inkblur.mechanisms.laplace import Laplace
from inkblur.mechanisms.mahalanobis import Mahalanobis
from inkblur.types import NULL_ID, Array, Ids

pytest.importorskip("sklearn")

SIZE = 60
NAMES_ARE_WORDS = TokenPolicies.of(names="blur")


def table(size: int = SIZE, dimension: int = 5) -> Embedding:
    vectors = np.random.default_rng(3).normal(size=(size, dimension))
    return Embedding([f"w{'x' * place}" for place in range(size)], vectors, name="made")


def drawn(prior: Array, count: int, seed: int) -> Ids:
    """Ids by the prior; the null word as NULL_ID."""
    ids = np.random.default_rng(seed).choice(len(prior), count, p=prior)
    return np.where(ids == len(prior) - 1, NULL_ID, ids)


def test_the_posterior_is_bayes_rule_over_all_words() -> None:
    mechanism = Exponential(table(), epsilon=12.0)
    prior = unigram(mechanism.embedding)
    channel = channel_of(mechanism, seeded_rng(1))
    assert isinstance(channel, ExactChannel)
    every = np.append(np.arange(SIZE), NULL_ID)
    outs = np.array([[4, 4], [9, 30], [4, 4]])
    chance = mechanism.probabilities(every)
    joint = prior * chance[:, outs[:, 0]].T * chance[:, outs[:, 1]].T
    wanted = joint / joint.sum(axis=1, keepdims=True)
    found = candidates(channel, prior, outs, kept=SIZE + 1)
    for row in range(3):
        assert found.posterior[row] == pytest.approx(wanted[row, found.words[row]])
        assert (np.diff(found.posterior[row]) <= 0).all()
    few = candidates(channel, prior, outs, kept=3, common=5)
    assert few.words.shape == (3, 3)
    assert set(outs.ravel().tolist()) <= {*candidates(channel, prior, outs, kept=9, common=0)
                                          .words.ravel().tolist()}  # fmt: skip


@pytest.mark.parametrize("releases", [1, 10])
def test_candidates_are_the_best_of_all_words_however_they_are_gone_through(releases: int) -> None:
    """Against the plain way: the logarithms of all chances, sorted."""
    mechanism = Laplace(table(400, 12), epsilon=6.0)
    channel = EstimatedChannel(mechanism, seeded_rng(1), words=300)
    prior = np.random.default_rng(7).dirichlet(np.full(401, 0.3)) + 1e-9
    outs = np.random.default_rng(8).integers(0, 400, (150, releases))
    every = np.append(np.arange(400), NULL_ID)
    logs = np.log(channel.likelihood(every, np.arange(400)).astype(np.float64))
    joint = np.log(prior) + logs[:, outs].sum(axis=2).T  # (observations, words)
    order = np.argsort(-joint, axis=1)[:, :7]
    found = candidates(channel, prior, outs, kept=7)
    assert (found.words == order).all()
    best = np.take_along_axis(joint, order, axis=1)
    wanted = np.exp(best - np.logaddexp.reduce(joint, axis=1)[:, None])
    assert found.posterior == pytest.approx(wanted, rel=1e-5)
    likely = np.exp(best - np.log(prior[order]))
    likely /= likely.max(axis=1, keepdims=True)
    assert found.likelihood == pytest.approx(likely, rel=1e-5)


def test_no_word_is_left_where_every_chance_is_nothing() -> None:
    """Ten releases of which no word can be the origin: all are as unlikely, and none is 0 / 0."""
    found = candidates(ClearChannel(SIZE), unigram(table()), np.arange(10)[None, :])
    assert np.isfinite(found.posterior).all()
    assert found.posterior.sum() == pytest.approx(1.0 - found.rest.sum())


def test_a_reader_with_the_true_prior_is_as_sure_as_right() -> None:
    mechanism = Exponential(table(), epsilon=14.0)
    prior = unigram(mechanism.embedding)
    truth = drawn(prior, 6_000, 5)
    outs = mechanism.replace(truth, seeded_rng(2))
    reader = Reader(channel_of(mechanism, seeded_rng(1)), prior)
    (said,) = reader.read([outs[:, None]])
    right = said.words == truth % (SIZE + 1)
    assert said.belief.mean() == pytest.approx(right.mean(), abs=0.02)
    assert right.mean() > (outs == truth).mean()


def test_a_word_with_the_same_vector_is_not_taken_for_the_word_itself() -> None:
    plain = table(400, 12)
    vectors = plain.vectors.copy()
    vectors[1] = vectors[0]  # of the two, a draw gives the first
    mechanism = Laplace(Embedding(plain.words, vectors, name="twins"), epsilon=12.0)
    channel = EstimatedChannel(mechanism, seeded_rng(1), words=300)
    ids, outs = np.arange(2), np.arange(50)
    first = channel.likelihood(ids, outs)  # with all words, for their sum
    assert first[0, 0] > 2 * first[0, 1]
    assert channel.likelihood(ids, outs) == pytest.approx(first)


@pytest.mark.parametrize("kind", [Laplace, Mahalanobis])
def test_the_estimated_channel_is_near_the_drawn_one(
    kind: type[Laplace] | type[Mahalanobis],
) -> None:
    mechanism = kind(table(400, 12), epsilon=6.0)
    channel = EstimatedChannel(mechanism, seeded_rng(1), words=300)
    every = np.append(np.arange(400), NULL_ID)
    chance = channel.likelihood(every, np.arange(400))
    assert chance.sum(axis=1) == pytest.approx(np.ones(401))
    again = mechanism.replace(np.repeat(np.arange(400), 200), seeded_rng(9)).reshape(400, 200)
    survived = (again == np.arange(400)[:, None]).mean(axis=1)
    missed = float(np.sqrt(((np.diagonal(chance) - survived) ** 2).mean()))
    assert missed < 0.1
    assert channel.error == pytest.approx(missed, abs=0.04)  # the error it states is the real one
    assert np.corrcoef(np.diagonal(chance), survived)[0, 1] > 0.5


class TestTrigrams:
    def test_what_follows_sums_to_one(self) -> None:
        prior = unigram(table())
        texts = [drawn(prior, 500, seed) for seed in range(4)]
        model = Trigrams(texts, prior)
        every = np.arange(SIZE + 1)
        for a, b in ((int(texts[0][0]), int(texts[0][1])), (57, 58), (3, SIZE)):
            assert model.after_two(np.array(a), np.array(b), every).sum() == pytest.approx(1.0)
            assert model.after_one(np.array(b), every).sum() == pytest.approx(1.0)

    def test_three_words_of_three_million_are_told_apart(self) -> None:
        """As many as Google News has: three of them in one number pass 64 bits."""
        few, many = 20, 3_000_000
        shift = many - few
        texts = [np.random.default_rng(seed).integers(0, few, 200) for seed in range(3)]
        small = Trigrams(texts, np.full(few, 1e-9))
        large = Trigrams([text + shift for text in texts], np.full(many, 1e-9))
        a, b, c = texts[0][:-2], texts[0][1:-1], texts[0][2:]
        assert large.after_two(a + shift, b + shift, c + shift) == pytest.approx(
            small.after_two(a, b, c)
        )

    def test_forward_backward_agrees_with_trying_every_text(self) -> None:
        mechanism = Exponential(table(6, 2), epsilon=4.0)
        prior = unigram(mechanism.embedding)
        model = Trigrams([drawn(prior, 300, 1)], prior)
        outs = np.array([1, 4, 0, 2])
        found = candidates(ExactChannel(mechanism, 6), prior, outs[:, None], kept=7)
        chance = mechanism.probabilities(np.append(np.arange(6), NULL_ID))
        belief = np.zeros((4, 7))
        for a, b, c, d in np.ndindex(7, 7, 7, 7):
            weight = (
                prior[a]
                * model.after_one(np.array(a), np.array(b))
                * model.after_two(np.array(a), np.array(b), np.array(c))
                * model.after_two(np.array(b), np.array(c), np.array(d))
                * chance[[a, b, c, d], outs].prod()
            )
            belief[np.arange(4), [a, b, c, d]] += float(weight)
        belief /= belief.sum(axis=1, keepdims=True)
        wanted = np.take_along_axis(belief, found.words, axis=1)
        assert smoothed(found, model) == pytest.approx(wanted)

    def test_text_with_an_order_is_read_better_with_trigrams(self) -> None:
        mechanism = Exponential(table(), epsilon=9.0)
        prior = unigram(mechanism.embedding)
        public, private = (np.cumsum(np.random.default_rng(s).integers(1, 3, 4_000)) % SIZE
                           for s in (1, 2))  # fmt: skip
        outs = mechanism.replace(private, seeded_rng(3))
        reader = Reader(ExactChannel(mechanism, SIZE), prior)
        (found,) = reader.candidates([outs[:, None]])
        alone = (guessed(found).words == private).mean()
        together = (guessed(found, Trigrams([public], prior)).words == private).mean()
        assert together > alone + 0.2


def test_true_words_are_sorted_by_kind() -> None:
    made = Embedding(["the", "old", "kim", "house"], np.eye(4), name="toy")
    text = "Old Kim, 84. House of kim@x.org; the Zorp Kim"
    blur = Privatizer(Exponential(made, epsilon=30.0), policies=NAMES_ARE_WORDS)
    found = true_words(text, blur)
    assert found.kinds.tolist() == [
        Kind.WORD, Kind.NAME, Kind.NUMBER, Kind.WORD, Kind.STOP_WORD, Kind.UNKNOWN,
        Kind.STOP_WORD, Kind.NAME, Kind.NAME,
    ]  # fmt: skip
    assert found.ids.tolist() == [1, 2, NULL_ID, 3, NULL_ID, NULL_ID, 0, NULL_ID, 2]
    assert entering_ids("Old Kim, 84.", made).tolist() == [1, 2, NULL_ID]


def test_what_is_counted() -> None:
    made = Embedding(["the", "old", "kim"], np.eye(3), name="toy")
    texts = ["the old Kim 84", "old old"]
    blur = Privatizer(Exponential(made, epsilon=30.0), policies=NAMES_ARE_WORDS)
    truth = [true_words(text, blur) for text in texts]
    outs = [np.array([0, 0, 2, 1]), np.array([1, 2])]
    prior = np.full(4, 0.25)
    reader = Reader(ExactChannel(Exponential(made, epsilon=30.0), 3), prior)
    shares = recovered(truth, reader.read([out[:, None] for out in outs]), 0.9, 1)
    recovered_words, names, numbers = (
        shares[f"{kind} recovered"] for kind in ("words", "names", "numbers")
    )
    assert recovered_words is not None
    assert names is not None
    assert numbers is not None
    assert unchanged(truth, outs) == recovered_words.mean == pytest.approx(3 / 6)
    assert recovered_words.low is not None
    assert recovered_words.low <= 0.5
    assert (names.mean, numbers.mean) == (1.0, 0.0)
    assert recovered([], [], 0.9, 1)["names recovered"] is None


def test_a_public_file_without_three_words_is_refused() -> None:
    channel = ExactChannel(Exponential(table(), epsilon=1.0), SIZE)
    with pytest.raises(ParameterError, match="three words"):
        Trigrams([np.array([1, 2])], unigram(table()))
    assert Reader(channel, unigram(table())).read([]) == []
