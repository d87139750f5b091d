"""Attackers who know a release's settings: they count the words that enter, read all that come out,
and their scores are the formulas.
"""

from __future__ import annotations

import numpy as np
import pytest

from inkblur import Privatizer
from inkblur.documents.policies import TokenPolicies
from inkblur.embeddings.table import Embedding
from inkblur.evaluation.attacks import likelihood
from inkblur.evaluation.attacks.channel import (
    CopyingChannel,
    EstimatedChannel,
    ExactChannel,
    channel_of,
)
from inkblur.evaluation.attacks.entering import (
    channel_around,
    entering,
    numbered,
    places,
    released_ids,
)
from inkblur.evaluation.attacks.likelihood import Likelihood, PoolLikelihood, TextLikelihood
from inkblur.evaluation.attacks.svm import ExpectedWords, LinearSvm, Words
from inkblur.evaluation.dataset import make_dataset
from inkblur.evaluation.evaluate import evaluate
from inkblur.evaluation.plan import Plan
from inkblur.mechanisms.exponential import Exponential
from inkblur.mechanisms.laplace import Laplace
from inkblur.mechanisms.staircase import Staircase
from inkblur.pools import PoolStaircase
from inkblur.rng import seeded_rng
from inkblur.spec import ReleaseSpec
from inkblur.types import NULL_ID, Ids
from tests.evaluation.made import attribute
from tests.pools.made import WORDS as POOL_WORDS
from tests.pools.made import pool
from tests.pools.made import table as pool_table

pytest.importorskip("sklearn")
PLAN = Plan(seed=4, attacks=("likelihood",), models=(), repeats=1, read_texts=0)
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


def test_what_stands_together_names_authors_of_the_same_words() -> None:
    known, authors = written(6, seed=1)
    asked, truth = written(40, seed=2)
    for kind, least, most in ((Likelihood, 0.0, 0.65), (TextLikelihood, 0.9, 1.0)):
        said = kind(CHANNEL, TABLE).fit(known, authors).predict(released(asked))
        assert least <= (said == truth).mean() <= most


@pytest.mark.parametrize("kind", [Likelihood, TextLikelihood])
def test_scores_through_an_estimated_channel_are_the_formula(
    kind: type[Likelihood], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In 64 bits: no answer hangs on how the sums are worked out."""
    monkeypatch.setattr(likelihood, "_OUTS", 5)
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


def test_of_too_many_texts_several_are_taken_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(likelihood, "_MOST", 2)
    known, authors = written(6, seed=1)
    asked = released(written(5, seed=2)[0])
    merged = TextLikelihood(CHANNEL, TABLE).fit(known, authors).scores(asked)
    by_author = [" ".join(np.array(known)[authors == author]) for author in (0, 1)]
    whole = TextLikelihood(CHANNEL, TABLE).fit(by_author, [0, 1]).scores(asked)
    assert np.allclose(merged, whole, atol=1e-3)


def test_scores_of_a_pool_are_the_exact_chances_of_the_known_texts() -> None:
    table = pool_table()
    known = [POOL_WORDS[0], f"{POOL_WORDS[0]} {POOL_WORDS[1]}", POOL_WORDS[5], POOL_WORDS[6]]
    mechanism = PoolStaircase(pool(table, (300,)), table, epsilon=3.0, tau=0.05)
    attack = PoolLikelihood(mechanism).fit(known, [3, 3, 8, 8])
    texts = mechanism.pool.texts
    shown = next(text for text in texts if list(texts).count(text) == 2)
    places = [place for place, text in enumerate(texts) if text == shown]
    chances = []
    for own in (known[:2], known[2:]):
        weights = [mechanism.weights(mechanism.encode([text]), 0)[places].sum() for text in own]
        chances.append(sum(map(int, weights)) / 2 / 2**64)
    assert attack.scores([shown])[0] == pytest.approx(np.log(chances), abs=1e-5)


class TestUndoing:
    GROUPS, EACH = 20, 5
    SIZE = GROUPS * EACH

    def mechanism(self) -> Exponential:
        """Groups of words that come out as each other."""
        draws = np.random.default_rng(3)
        centers = np.repeat(draws.normal(size=(self.GROUPS, 16)), self.EACH, axis=0)
        vectors = centers + 0.3 * draws.normal(size=(self.SIZE, 16))
        table = Embedding([f"w{'x' * place}" for place in range(self.SIZE)], vectors, name="made")
        return Exponential(table, epsilon=16.0)

    def texts(self, words: Embedding, seed: int, each: int = 25) -> tuple[list[str], Ids]:
        """Authors who like two groups, and of each group one word."""
        draws = np.random.default_rng(seed)
        out, authors = [], np.repeat(np.arange(5), each)
        for author in authors.tolist():
            liked = [self.EACH * (4 * author + group) for group in range(2)]
            any_word = draws.integers(0, self.SIZE, 30)
            ids = np.where(draws.random(30) < 0.3, draws.choice(liked, 30), any_word)
            out.append(" ".join(words.words[i] for i in ids.tolist()))
        return out, authors

    def test_a_static_attacker_gains_by_it(self) -> None:
        mechanism = self.mechanism()
        table = mechanism.embedding
        known, authors = self.texts(table, 1)
        unknown, truth = self.texts(table, 2)
        rng = seeded_rng(4)
        blurred = [" ".join(mechanism.release(text.split(), rng).words) for text in unknown]
        plain, undone = (
            attribute(
                LinearSvm(seed=1, view=view).fit(known, authors), blurred, truth, known=authors
            ).accuracy
            for view in (Words(), ExpectedWords(channel_of(mechanism, seeded_rng(1)), table))
        )
        assert undone > plain > 0.2


def test_words_that_do_not_enter_are_not_held_against_an_author() -> None:
    """The attack counted stop words that never entered, and named nobody."""
    stop = ["the", "of", "and", "to", "in", "is", "was", "for", "on", "with", "as", "by"]
    content = [f"wor{chr(97 + i)}d" for i in range(12)]
    centers = np.random.default_rng(7).normal(size=(12, 8))
    # Each stop word lies beside a content word, so that this comes out of either.
    table = Embedding([*content, *stop], np.vstack([centers, centers + 0.01]), name="made")
    rng = np.random.default_rng(3)
    texts, names = [], []
    for author in range(4):
        own = np.arange(3 * author, 3 * author + 3)
        for _ in range(16):
            liked = np.where(rng.random(60) < 0.4, rng.choice(own, 60), rng.integers(12, size=60))
            beside = rng.choice((own + 3) % 12, 60)  # of the next author
            words = [*(content[i] for i in liked[:25]), *(stop[i] for i in beside)]
            texts.append(" ".join(rng.permutation(words)))
            names.append(f"author {author}")
    data = make_dataset(texts, authors=names, seed=4, test_share=0.5)
    spec = ReleaseSpec("staircase", 3.0, drop=("stop-words",))
    (found,) = evaluate(data, table, [spec], PLAN).settings
    assert found.attacks[0].accuracy.mean > 0.5  # chance: .25


def test_words_of_a_vector_enter_as_the_vectorizer_spells_them() -> None:
    """Authors who write Stone or stone, where these are two words; to the attack they were one. And
    all of a long text enters, however short its vector is.
    """
    lower = [f"stone{chr(97 + i)}" for i in range(10)]
    words = [*lower, *(word.capitalize() for word in lower)]
    made = Embedding(words, np.random.default_rng(7).normal(size=(20, 8)), name="cased")
    rng = np.random.default_rng(3)
    texts = [" ".join(rng.choice(words[start : start + 10], 30)) for start in (0, 10) * 16]
    authored = make_dataset(texts, authors=["lower", "upper"] * 16, seed=4, test_share=0.5)
    options = {"release": "tf", "morphology": "as-is", "accept_weak": True}
    spec = ReleaseSpec.from_json(
        {"mechanism": "staircase", "epsilon": 3.0, "length": 30, **options}
    )
    (found,) = evaluate(authored, made, [spec], PLAN).settings
    assert found.attacks[0].accuracy.mean > 0.9
    short = spec.varied(length=2).privatizer(made)
    assert set(entering(short)(" ".join(words)).tolist()) == set(range(20))


def test_what_enters_is_what_the_release_lets_in() -> None:
    words = Embedding(["the", "cat", "anna"], np.eye(3), name="toy")
    mechanism, text = Staircase(words, epsilon=1.0, tau=0.3), "The cat saw Anna, 12 cats."
    for policies in (TokenPolicies(), TokenPolicies.of(drop=["stop-words"], names="blur")):
        blur = Privatizer(mechanism, policies=policies, length="exact")
        assert entering(blur)(text).tolist() == blur.ids(text).tolist()
    # An author's further words say as much about them as the first ones.
    cut = Privatizer(mechanism, length=2)
    assert entering(cut)(text).tolist() == Privatizer(mechanism, length="exact").ids(text).tolist()
    # Who is copied comes out, who enters as the null word does not.
    for kept, anna in (
        (TokenPolicies.of(keep=["stop-words"]), NULL_ID),
        (TokenPolicies.of(names="keep"), 2),
    ):
        blur = Privatizer(mechanism, policies=kept, length="exact")
        assert entering(blur)(text).tolist() == [0, 1, NULL_ID, anna, NULL_ID, NULL_ID]


def test_around_a_channel_words_are_copied() -> None:
    words = Embedding(["the", "cat", "anna", "sky"], np.eye(4), name="toy")
    mechanism = Exponential(words, epsilon=4.0)
    blur = Privatizer(
        mechanism, policies=TokenPolicies.of(keep=["stop-words", "numbers"]), length="exact"
    )
    channel = channel_around(blur, seeded_rng(1))
    assert isinstance(channel, CopyingChannel)
    assert channel.copied.tolist() == [True, False, False, False]
    others: dict[str, int] = {}
    ids, copied = numbered(places(blur.released("The cat, 12 the 12 7 Anna")), words, others)
    assert ids.tolist() == [0, 1, 4, 0, 4, 5, NULL_ID]
    assert copied.tolist() == [True, False, True, True, True, True, False]
    around = channel.with_copies(np.array([0]), len(others))
    assert around.size == 6
    chances = around.likelihood(np.array([0, 1, 4, 5, NULL_ID]), np.arange(6))
    assert chances[:2].sum(axis=1) == pytest.approx(1.0)
    assert chances[0, 0] > 0.99  # a word like "the'd" may have been drawn
    plain = ExactChannel(mechanism, 4)
    assert chances[1, :4] == pytest.approx(plain.likelihood(np.array([1]), np.arange(4))[0])
    assert chances[2].argmax() == 4
    assert chances[:2, 4:].sum() == chances[4, 4:].sum() == 0.0  # nothing is drawn as a number


def test_words_that_no_tokenizer_reads_are_read_where_they_come_out() -> None:
    """A table may spell its words as it likes; half of these were lost to every attacker, and Paris
    was taken for paris.
    """
    odd = ["u.s.", "co2", "new-york", "Paris", "paris", "#tag"]
    words = Embedding(odd, np.random.default_rng(5).normal(size=(6, 3)), name="odd")
    for id, word in enumerate(odd):
        assert released_ids(f"{word} {word}.", words).tolist() == [id, id]
    assert released_ids("PARIS, nowhere", words).tolist() == [4, -1]
    channel = channel_of(Staircase(words, epsilon=3.0, tau=0.2), seeded_rng(1))
    seen = channel.likelihood(np.array([4]), np.arange(6))[0]
    near, far = odd[int(np.argmax(seen))], odd[int(np.argmin(seen))]
    attack = Likelihood(channel, words, smoothing=0.1).fit(["paris", "nowhere"], [0, 1])
    assert attack.predict([near, far]).tolist() == [0, 1]
