"""Attackers who know a release's settings count the words that enter, and read all that come out."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from inkblur import Exponential, Privatizer, Staircase
from inkblur.documents.policies import TokenPolicies
from inkblur.documents.stop_words import STOP_WORDS
from inkblur.embeddings.table import Embedding
from inkblur.evaluation.attacks.catalogue import CHANNEL_ATTACKS
from inkblur.evaluation.attacks.channel import (
    ClearChannel,
    CopyingChannel,
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
from inkblur.evaluation.attacks.likelihood import Likelihood
from inkblur.evaluation.dataset import Dataset, make_dataset
from inkblur.evaluation.evaluate import evaluate
from inkblur.evaluation.plan import Plan
from inkblur.rng import seeded_rng
from inkblur.spec import ReleaseSpec
from inkblur.types import NULL_ID

sys.path.append(str(Path(__file__).parents[2] / "tools" / "bundled"))

from risk import AuthorTexts, attempts

pytest.importorskip("sklearn")
AUTHORS, PLAN = 6, Plan(seed=4, attacks=("likelihood",), models=(), repeats=1, read_texts=0)
STOP = sorted(word for word in STOP_WORDS if word.isalpha())[:40]
CONTENT = [f"wor{chr(97 + i)}d" for i in range(20)]


def table() -> Embedding:
    """Each stop word lies beside a content word, so that these come out of either."""
    centers = np.random.default_rng(7).normal(size=(20, 8))
    vectors = np.vstack([centers, *[centers + 0.01 * side for side in (1, -1)]])
    return Embedding([*CONTENT, *STOP], vectors, name="made")


def data() -> Dataset:
    """Authors prefer stop words that lie beside the content words of the next author."""
    rng = np.random.default_rng(3)
    texts, names = [], []
    for author in range(AUTHORS):
        own = np.arange(3 * author, 3 * author + 3)
        for _ in range(16):
            liked = rng.random(60) < 0.4
            content = np.where(liked, rng.choice(own, 60), rng.integers(20, size=60))[:25]
            stop = np.where(rng.random(60) < 0.5, rng.choice((own + 3) % 18, 60), 0)
            words = [*(CONTENT[i] for i in content), *(STOP[i] for i in stop)]
            texts.append(" ".join(rng.permutation(words)))
            names.append(f"author {author}")
    return make_dataset(texts, authors=names, seed=4, test_share=0.5)


def test_words_that_do_not_enter_are_not_held_against_an_author() -> None:
    """The likelihood attack counted stop words that never entered, and named nobody."""
    spec = ReleaseSpec("staircase", 3.0, drop=("stop-words",))
    (found,) = evaluate(data(), table(), [spec], PLAN).settings
    assert found.attacks[0].accuracy.mean > 0.6  # chance: 0.17


def test_the_risk_of_a_strength_counts_what_enters_too() -> None:
    made, neighbors_together = data().train, np.array([0, 2, 4, 1, 3, 5])
    authors = neighbors_together[made.authors]
    texts = AuthorTexts(made.texts[::2], authors[::2], made.texts[1::2], authors[1::2])
    blur = ReleaseSpec("staircase", 3.0, drop=("stop-words",)).privatizer(table())
    found = attempts(texts, blur, table(), seeded_rng(2))
    for name in ("likelihood", "likelihood-texts"):
        assert np.mean([each.correct.mean() for each in found if each.attack == name]) > 0.7


def test_words_of_a_vector_enter_as_the_vectorizer_spells_them() -> None:
    """Authors who write Stone or stone, where these are two words; to the attack they were one."""
    lower = [f"stone{chr(97 + i)}" for i in range(10)]
    words = [*lower, *(word.capitalize() for word in lower)]
    made = Embedding(words, np.random.default_rng(7).normal(size=(20, 8)), name="cased")
    rng = np.random.default_rng(3)
    texts = [" ".join(rng.choice(words[start : start + 10], 30)) for start in (0, 10) * 16]
    authored = make_dataset(texts, authors=["lower", "upper"] * 16, seed=4, test_share=0.5)
    spec = ReleaseSpec(
        "staircase", 3.0, release="tf", length=30, morphology="as-is", accept_weak=True
    )
    (found,) = evaluate(authored, made, [spec], PLAN).settings
    assert found.attacks[0].accuracy.mean > 0.9


def test_all_of_a_long_text_enters_however_short_its_vector_is() -> None:
    """As many words were counted as a vector has: of 400 words 20, and the attack knew little."""
    words = [f"stone{chr(97 + i)}" for i in range(20)]
    made = Embedding(words, np.random.default_rng(7).normal(size=(20, 8)), name="stones")
    spec = ReleaseSpec("staircase", 3.0, release="tf", length=2, accept_weak=True)
    synthetic = spec.privatizer(made)
    assert set(entering(synthetic)(" ".join(words)).tolist()) == set(range(20))


def test_what_enters_is_what_the_release_lets_in() -> None:
    words = Embedding(["the", "cat", "anna"], np.eye(3), name="toy")
    mechanism, text = Staircase(words, epsilon=1.0, tau=0.3), "The cat saw Anna, 12 cats."
    for policies in (TokenPolicies(), TokenPolicies.of(drop=["stop-words"], names="blur")):
        blur = Privatizer(mechanism, policies=policies)
        assert entering(blur)(text).tolist() == blur.ids(text).tolist()
    # An author's further words say as much about them as the first ones.
    cut = Privatizer(mechanism, length=2)
    assert entering(cut)(text).tolist() == Privatizer(mechanism).ids(text).tolist()
    # Who is copied comes out, who enters as the null word does not.
    for kept, anna in (
        (TokenPolicies.of(keep=["stop-words"]), NULL_ID),
        (TokenPolicies.of(names="keep"), 2),
    ):
        blur = Privatizer(mechanism, policies=kept)
        assert entering(blur)(text).tolist() == [0, 1, NULL_ID, anna, NULL_ID, NULL_ID]
    dropped = Privatizer(
        mechanism, policies=TokenPolicies.of(keep=["numbers"], drop=["stop-words"])
    )
    assert entering(dropped)(text).tolist() == [1, NULL_ID, NULL_ID, NULL_ID]  # 12 is no word


def test_around_a_channel_words_are_copied() -> None:
    words = Embedding(["the", "cat", "anna", "sky"], np.eye(4), name="toy")
    mechanism = Exponential(words, epsilon=4.0)
    blur = Privatizer(mechanism, policies=TokenPolicies.of(keep=["stop-words", "numbers"]))
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


ODD = ["u.s.", "co2", "new-york", "Paris", "paris", "#tag"]


def test_words_that_no_tokenizer_reads_are_read_where_they_come_out() -> None:
    """A table may spell its words as it likes; half of these were lost to every attacker, and Paris
    was taken for paris.
    """
    words = Embedding(ODD, np.random.default_rng(5).normal(size=(6, 3)), name="odd")
    for id, word in enumerate(ODD):
        assert released_ids(f"{word} {word}.", words).tolist() == [id, id]
    assert released_ids("PARIS, nowhere", words).tolist() == [4, -1]
    channel = channel_of(Staircase(words, epsilon=3.0, tau=0.2), seeded_rng(1))
    seen = channel.likelihood(np.array([4]), np.arange(6))[0]
    near, far = ODD[int(np.argmax(seen))], ODD[int(np.argmin(seen))]
    attack = Likelihood(channel, words, smoothing=0.1).fit(["paris", "nowhere"], [0, 1])
    assert attack.predict([near, far]).tolist() == [0, 1]


@pytest.mark.parametrize("name", CHANNEL_ATTACKS)
def test_texts_that_are_not_released_are_read_on_both_sides_alike(name: str) -> None:
    words = Embedding(ODD, np.eye(6), name="odd")
    attack = CHANNEL_ATTACKS[name](ClearChannel(6), words, None, 1, False)
    attack.fit(["Paris Paris", "nowhere 12"], [0, 1])
    assert attack.predict(["Paris"]).tolist() == [0]
