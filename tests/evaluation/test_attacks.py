"""The contract of every attack on the author: what is planted is found, where nothing is nobody is
named better than by guessing, empty texts and strangers are no answers, and what cannot be studied
is refused.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from inkblur.documents.policies import TokenPolicies
from inkblur.documents.privatizer import Privatizer
from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError
from inkblur.evaluation.attacks import koppel
from inkblur.evaluation.attacks.base import DONT_KNOW, Attack, number_authors
from inkblur.evaluation.attacks.catalogue import ATTACKS, CHANNEL_ATTACKS
from inkblur.evaluation.attacks.channel import ClearChannel, ExactChannel
from inkblur.evaluation.attacks.entering import entering
from inkblur.evaluation.attacks.koppel import Koppel, Similarity
from inkblur.evaluation.attacks.lengths import TextLengths, piece_reader, sentence_lengths
from inkblur.evaluation.attacks.likelihood import LengthLikelihood, PoolLikelihood, TextLikelihood
from inkblur.evaluation.attacks.svm import LinearSvm, Words
from inkblur.evaluation.attacks.writeprints import WritePrints
from inkblur.evaluation.measures.words import space_free_ngrams
from inkblur.mechanisms.staircase.mechanism import Staircase
from inkblur.pools import PoolPrivatizer, PoolStaircase, build_pool
from inkblur.rng import seeded_rng
from inkblur.types import Array, Ids, Record
from reproduction import corpora
from tests.evaluation.made import attribute

for library in ("sklearn", "textblob", "spellchecker"):
    pytest.importorskip(library)

WORDS = [f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(40)]
TABLE = Embedding(WORDS, np.random.default_rng(7).normal(size=(40, 6)), name="made")
AUTHORS = np.array([3, 5, 9, 11])  # numbers need not be without gaps
SUSPECTS = len(AUTHORS)


def written(each: int, seed: int) -> tuple[list[str], Ids]:
    """Each author likes five words of their own, and texts and sentences of a length."""
    rng = np.random.default_rng(seed)
    texts, authors = [], []
    for place, author in enumerate(AUTHORS.tolist()):
        for _ in range(each):
            own = rng.integers(5, size=200) + 5 * place
            ids = np.where(rng.random(200) < 0.6, own, rng.integers(40, size=200))
            size, mean = int(rng.normal(20 + 25 * place, 2)), 3 + 3 * place
            words = [WORDS[i] for i in ids[:size]]
            for end in range(mean - 1, size, mean):
                words[end] += "."
            texts.append(" ".join(words))
            authors.append(author)
    return texts, np.array(authors)


def pool_attack() -> Attack:
    pool = build_pool(written(12, seed=6)[0], TABLE)
    return PoolLikelihood(PoolStaircase(pool, TABLE, epsilon=8.0, tau=0.05))


def informed(name: str) -> Callable[[], Attack]:
    return lambda: CHANNEL_ATTACKS[name](ClearChannel(len(TABLE)), TABLE, None, 1, False)


def blind(name: str) -> Callable[[], Attack]:
    return lambda: ATTACKS[name](TABLE, 1)


EVERY = {
    **{name: blind(name) for name in ATTACKS},
    **{name: informed(name) for name in CHANNEL_ATTACKS},
    "pool": pool_attack,
}


def shown(attack: Attack, texts: list[str]) -> list[str]:
    """What the attack reads: texts as they are, or those of a pool in their place."""
    if not isinstance(attack, PoolLikelihood):
        return texts
    records = [Record(str(row), text) for row, text in enumerate(texts)]
    released = PoolPrivatizer(attack.mechanism).release_batch(records, seeded_rng(4)).texts
    return [new if old.strip() else "" for old, new in zip(texts, released, strict=True)]


@pytest.mark.parametrize("name", EVERY)
def test_every_attack_finds_what_is_planted_and_nothing_where_nothing_is(name: str) -> None:
    known, authors = written(8, seed=1)
    unknown, truth = written(8, seed=2)
    strangers = [*unknown, "who is this"]
    made = EVERY[name]()
    with pytest.raises((ParameterError, AttributeError)):
        made.predict(["words"])
    attack = made.fit(known, authors)
    found = attribute(attack, shown(attack, strangers), [*truth, 77], known=authors)
    least = 0.5 if name in ("pool", "sentence-lengths") else 0.8
    assert found.accuracy > least
    assert (found.suspects, found.known, found.strangers) == (SUSPECTS, len(known), 1)
    assert found.chance == 1 / SUSPECTS
    assert attack.predict(["", " \n"]).tolist() == [DONT_KNOW, DONT_KNOW]
    assert set(attack.predict(unknown).tolist()) <= {*AUTHORS.tolist(), DONT_KNOW}
    rng = np.random.default_rng(3)
    hidden = EVERY[name]().fit(known, rng.permutation(authors))
    found = attribute(hidden, shown(hidden, unknown), rng.permutation(truth), known=authors)
    assert abs(found.accuracy - found.chance) < 0.25


@pytest.mark.parametrize("name", EVERY)
def test_what_no_attack_can_be_built_on_is_refused(name: str) -> None:
    for texts, authors, message in (
        (["wa", "wb"], [1, 1], "at least 2 authors"),
        ([], [], "at least 2 authors"),
        (["", " "], [0, 1], "empty"),
        (["wa", "wb"], [0], "as many authors"),
        (["wa", "wb"], ["x", "y"], "number_authors"),
        (["wa", "wb"], [0, -1], "known text 1 has no author"),
        ("ab", [0, 1], "list of texts"),
    ):
        with pytest.raises(ParameterError, match=message):
            EVERY[name]().fit(texts, authors)


# What comes out of a pool may stand for an empty text: its author is an answer like the others.
@pytest.mark.parametrize("name", sorted(EVERY.keys() - {"pool"}))
def test_an_author_without_a_known_word_is_no_answer(name: str) -> None:
    """Each empty text was taken for one that its author might write again, word for word."""
    known, authors = written(4, seed=1)
    unknown, _ = written(2, seed=2)
    attack = EVERY[name]().fit([*known, "", " "], [*authors, 12, 12])
    assert 12 not in attack.predict(shown(attack, unknown))


@pytest.mark.parametrize("name", ["svm", "svm-words", "writeprints", "writeprints-naive-bayes"])
def test_classifiers_say_how_many_authors_they_take(name: str) -> None:
    many = 20_001
    with pytest.raises(ParameterError, match=r"at most [0-9,]+ authors.*Koppel") as refused:
        ATTACKS[name](TABLE, 1).fit(["text"] * many, np.arange(many))
    assert int(re.findall(r"[0-9,]+", str(refused.value))[0].replace(",", "")) <= many
    with pytest.raises(ParameterError, match="not empty"):
        ATTACKS[name](TABLE, 1).fit(["words here", " "], [0, 1])


@pytest.mark.parametrize(
    ("known", "chance"),
    [
        ([0, 1, 4], 1 / 3),  # evenly among three
        ([0, 0, 1, 4], 0.75),  # always author 0, who has written most
        ([0, 1, 1, 4], 1 / 3),  # author 1 would be right once in four
        ([0, 0, 1, 1, 4], 0.5),  # 0 or 1, by a coin
    ],
)
def test_guessing_knows_who_has_written_most(known: list[int], chance: float) -> None:
    """An attack that answers one prolific author to everything has learned nothing from a text."""

    class Prolific:
        name = "prolific"

        def fit(self, texts: Any, authors: Any) -> Prolific:
            return self

        def predict(self, texts: Any) -> Ids:
            return np.zeros(len(texts), np.int64)

    found = attribute(Prolific(), ["a"] * 4, [0, 0, 0, 1], known=known)
    assert found.accuracy == 0.75
    assert found.chance == pytest.approx(chance)
    with pytest.raises(ParameterError, match="no unknown text"):
        attribute(Prolific(), ["a", "b"], [5, DONT_KNOW], known=[0, 1])


def test_names_become_numbers() -> None:
    assert number_authors(["b", "a", None, "b", ("c", 1)]).tolist() == [0, 1, -1, 0, 2]


@pytest.mark.parametrize("name", CHANNEL_ATTACKS)
def test_texts_that_are_not_released_are_read_on_both_sides_alike(name: str) -> None:
    odd = ["u.s.", "co2", "new-york", "Paris", "paris", "#tag"]
    words = Embedding(odd, np.eye(6), name="odd")
    attack = CHANNEL_ATTACKS[name](ClearChannel(6), words, None, 1, False)
    assert attack.fit(["Paris Paris", "nowhere 12"], [0, 1]).predict(["Paris"]).tolist() == [0]


class TestLengths:
    """Words may say nothing: how many there are, and where sentences end, shows."""

    MECHANISM = Staircase(TABLE, epsilon=0.01, tau=0.2, frequency_power=0.0)
    CHANNEL = ExactChannel(MECHANISM, len(WORDS))

    def released(self, texts: list[str], blur: Privatizer) -> list[str]:
        records = [Record(str(row), text) for row, text in enumerate(texts)]
        return list(blur.release_batch(records, seeded_rng(4)).texts)

    @pytest.mark.parametrize(
        ("name", "options"),
        [
            ("text-lengths", {}),
            ("text-lengths", {"release": "bag"}),
            (
                "sentence-lengths",
                {"length": 90, "policies": TokenPolicies.of(keep=["sentence-ends"])},
            ),
        ],
    )
    def test_they_name_authors_whose_words_say_nothing(
        self, name: str, options: dict[str, Any]
    ) -> None:
        blur = Privatizer(self.MECHANISM, **options)
        known, authors = written(8, seed=1)
        unknown, truth = written(20, seed=2)
        out = self.released(unknown, blur)
        for studied in (known, self.released(known, blur)):
            said = ATTACKS[name](TABLE, 1).fit(studied, authors).predict(out)
            assert (said == truth).mean() > 0.6
        for kind, least, most in ((TextLikelihood, 0.0, 0.5), (LengthLikelihood, 0.6, 1.0)):
            attack = kind(self.CHANNEL, TABLE, entering(blur)).fit(known, authors)
            assert least <= (attack.predict(out) == truth).mean() <= most

    def test_where_no_length_shows_nothing_is_known(self) -> None:
        known, authors = written(6, seed=1)
        out = self.released(written(3, seed=2)[0], Privatizer(self.MECHANISM, length=50))
        for name in ("text-lengths", "sentence-lengths"):
            said = ATTACKS[name](TABLE, 1).fit(known, authors).predict(out)
            assert set(said.tolist()) == {DONT_KNOW}

    def test_true_and_released_texts_have_sentences_of_the_same_lengths(self) -> None:
        """A word with a full stop of its own ends none, and words that are dropped do not count."""
        table = Embedding(["the", "dog", "cat", "u.s.", "road"], np.eye(5), name="toy")
        text = "The dog, the cat and 3 hills: U.S. sea! The. He saw me@x.org, the road? So"
        without = TokenPolicies.of(keep=["sentence-ends"], drop=["stop-words", "numbers"])
        for policies in (TokenPolicies.of(keep=["sentence-ends"]), without):
            mechanism = Staircase(table, epsilon=0.01, tau=0.3, frequency_power=0.0)
            blur = Privatizer(mechanism, policies=policies, length="exact")
            true = sentence_lengths(piece_reader(table, entering(blur))(text))
            for out in self.released([text] * 30, blur):
                assert sentence_lengths(piece_reader(table)(out)).tolist() == true.tolist()

    def test_dropped_words_do_not_count_as_they_do_not_come_out(self) -> None:
        """Who writes the longer texts may release the shorter ones."""
        table = Embedding(["the", *WORDS], np.eye(41), name="toy")
        mechanism = Staircase(table, epsilon=0.01, tau=0.2, frequency_power=0.0)
        blur = Privatizer(mechanism, policies=TokenPolicies.of(drop=["stop-words"]), length="exact")
        sizes = [(60, 10)] * 8 + [(0, 40)] * 8
        texts = [" ".join(["the"] * stop + WORDS[:1] * rest) for stop, rest in sizes]
        authors = np.repeat([0, 1], 8)
        attack = TextLengths(table, entering(blur)).fit(texts, authors)
        assert attack.predict(self.released(texts, blur)).tolist() == authors.tolist()

    def test_where_all_write_texts_of_the_same_lengths_the_attack_learns_so(self) -> None:
        """Then it takes nothing away from what the words say: its scores hardly differ."""
        rng = np.random.default_rng(1)
        texts = [" ".join(WORDS[:1] * int(rng.normal(60, 6))) for _ in range(48)]
        same = TextLengths(TABLE).fit(texts, np.arange(48) % 4)
        telling = TextLengths(TABLE).fit(*written(12, seed=1))
        spread = np.ptp(same.scores(texts), axis=1)
        assert (
            spread.max() < 0.5 < 2.0 < np.ptp(telling.scores(written(5, seed=2)[0]), axis=1).min()
        )

    def test_very_long_texts_and_sentences(self) -> None:
        known = ["waa wab", "waa", "waa " * 200_000, "wab " * 150_000]
        attack = TextLengths(TABLE).fit(known, [0, 0, 2, 2])
        assert attack.predict(["wac wad", "wae " * 300_000]).tolist() == [0, 2]
        long = " ".join(["waa"] * 800) + "."
        ends = ATTACKS["sentence-lengths"](TABLE, 1).fit([long, "Waa. Wab. Waa."], [0, 1])
        assert ends.predict([long, "wac. wad.", "no end"]).tolist() == [0, 1, DONT_KNOW]


def plain_votes(attack: Koppel, known: list[str], authors: Ids, text: str) -> list[set[int]]:
    """The description, half by half and author by author, over dense vectors of all n-grams.

    Equals up to rounding are all right: which of them is first is decided by the last digit.
    """
    suspects = np.unique(authors).tolist()
    counts = [
        space_free_ngrams("\n".join(t for t, b in zip(known, authors, strict=True) if a == b))
        for a in suspects
    ]
    total = sum(counts, Counter())
    grams = [gram for gram, _ in sorted(total.items(), key=lambda item: (-item[1], item[0]))]
    idf = 1 + np.log(
        (1 + len(counts)) / (1 + sum(np.array([g in c for g in grams]) for c in counts))
    )
    cosine = attack.similarity is Similarity.COSINE

    def vector(counter: Counter[str]) -> Array:
        x = np.array([counter[gram] for gram in grams], float)
        weighted: Array = (np.log1p(x) if cosine else x / max(1.0, x.sum())) * idf
        return weighted

    u, xs = vector(space_free_ngrams(text)), np.array([vector(each) for each in counts])
    rng, votes = np.random.default_rng(attack.seed), []
    for _ in range(attack.halves):
        half = rng.permutation(len(grams))[: len(grams) // 2]
        v, ys = u[half], xs[:, half]
        if cosine:
            shared, scale = ys @ v, np.linalg.norm(v) * np.linalg.norm(ys, axis=1)
        else:
            shared, scale = np.minimum(v, ys).sum(axis=1), np.maximum(v, ys).sum(axis=1)
        values = shared / np.maximum(scale, 1e-12)
        best = np.flatnonzero(values > values.max() - 1e-12)
        votes.append({suspects[i] for i in best} if values.max() > 1e-11 else {DONT_KNOW})
    return votes


class TestKoppel:
    @pytest.mark.parametrize("similarity", Similarity)
    @pytest.mark.parametrize("block", [1, 1 << 23])  # 1: every author is a block of its own
    def test_it_equals_the_plain_description(
        self, similarity: Similarity, block: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(koppel, "_BLOCK_NUMBERS", block)
        known, authors = written(3, seed=1)
        attack = Koppel(seed=4, similarity=similarity, halves=12).fit(known, authors)
        unknown = [text[:80] for text in written(1, seed=2)[0]] + ["", "zzzz zz"]
        for text, ballot in zip(unknown, attack.votes(unknown).tolist(), strict=True):
            right = plain_votes(attack, known, authors, text)
            assert all(vote in best for vote, best in zip(ballot, right, strict=True))

    def test_the_most_voted_author_wins_and_the_threshold_holds_back(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ballots = np.array([[2, 2, 3, 3, 5], [7, 7, 7, 7, -1], [-1] * 5, [3, 5, 5, -1, -1]])
        monkeypatch.setattr(Koppel, "votes", lambda *_: ballots)
        for threshold, said in ((0.0, [2, 7, -1, 5]), (0.8, [-1, 7, -1, -1]), (0.81, [-1] * 4)):
            attack = Koppel(seed=0, halves=5, threshold=threshold)
            assert attack.predict(["a", "b", "c", "d"]).tolist() == said

    def test_the_seed_alone_decides(self) -> None:
        known, authors = written(3, seed=1)
        unknown, _ = written(2, seed=2)
        votes = [Koppel(seed=s, halves=30).fit(known, authors).votes(unknown) for s in (1, 1, 2)]
        np.testing.assert_array_equal(votes[0], votes[1])
        assert (votes[0] != votes[2]).any()

    def test_wrong_options_are_refused(self) -> None:
        wrong: tuple[dict[str, Any], ...] = (
            {"similarity": "euclid"},
            {"threshold": 1.5},
            {"halves": 0},
        )
        for options in wrong:
            with pytest.raises(ParameterError):
                Koppel(seed=0, **options)


def test_the_svm_sees_what_words_alone_hide() -> None:
    """The same words, another punctuation: only the n-grams tell the two apart."""
    known = ["a cat; a dog; a cow", "a cat, a dog, a cow", "a cow; a dog", "a cow, a dog"]
    attack = LinearSvm(seed=1).fit(known, [0, 1, 0, 1])
    assert attack.predict(["a dog; a cat", "a dog, a cat"]).tolist() == [0, 1]
    with pytest.raises(ParameterError, match="nothing to study"):
        LinearSvm(seed=1).fit(["?", "!"], [0, 1])


def test_words_alone_name_authors_of_texts_whose_other_words_were_replaced() -> None:
    """One word in three survives, the others come out as words that nobody wrote."""
    known, authors = written(20, seed=1)
    unknown, truth = written(20, seed=2)
    draws = np.random.default_rng(5)
    blurred = [
        " ".join(w if draws.random() < 0.35 else f"qx{draws.integers(900)}" for w in text.split())
        for text in unknown
    ]
    attack = LinearSvm(seed=1, view=Words()).fit(known, authors)
    found = attribute(attack, blurred, truth, known=authors)
    assert found.accuracy > 2 * found.chance


def test_scores_belong_to_suspects_and_agree_with_the_answers() -> None:
    known, authors = written(8, seed=1)
    for count in (2, SUSPECTS):  # two suspects share one model
        rows = np.flatnonzero(np.isin(authors, AUTHORS[:count])).tolist()
        texts = [known[row] for row in rows]
        attack = LinearSvm(seed=1).fit(texts, authors[rows])
        scores = attack.scores(texts)
        assert attack.suspects.tolist() == AUTHORS[:count].tolist()
        assert scores.shape == (len(texts), count)
        assert (attack.suspects[scores.argmax(axis=1)] == attack.predict(texts)).all()
        assert attack.predict([]).tolist() == []


@pytest.mark.parametrize(
    ("attack", "right"),
    [  # texts named rightly, of the 21 by 5 authors: so many were when each was written
        (Koppel(seed=0, similarity="cosine"), 15),
        (Koppel(seed=0), 14),
        (LinearSvm(seed=1), 12),
        (WritePrints(), 11),
    ],
    ids=lambda each: getattr(each, "name", str(each)),
)
def test_attacks_reach_what_they_reached_on_fan_fiction(
    attack: Attack, right: int, data_folder: object
) -> None:
    """PAN 2018, problem 2."""
    split = corpora.pan18(2)
    assert split.train.authors is not None
    assert split.test.authors is not None
    attack.fit(split.train.texts, split.train.authors)
    found = attribute(attack, split.test.texts, split.test.authors, known=split.train.authors)
    assert (found.truth == found.answers).sum() >= right
