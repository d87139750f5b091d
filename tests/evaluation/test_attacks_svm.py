"""The linear SVM: it learns, it knows its limits, and chance is chance."""

import numpy as np
import pytest

from inkblur.errors import ParameterError
from inkblur.evaluation.attacks.base import DONT_KNOW, attribute
from inkblur.evaluation.attacks.koppel import Koppel
from inkblur.evaluation.attacks.svm import MOST_AUTHORS, LinearSvm
from inkblur.evaluation.attacks.views import Words, WordsAndNgrams
from reproduction import corpora

from .made import corpus

pytest.importorskip("sklearn")


def numbered(seed: int, each: int = 10) -> tuple[list[str], np.ndarray]:
    texts, names, _ = corpus(each=each, seed=seed)
    return texts, np.unique(names, return_inverse=True)[1]


def test_learns_the_habits_of_authors() -> None:
    known, authors = numbered(1)
    unknown, truth = numbered(2)
    attack = LinearSvm(seed=1).fit(known, authors)
    assert attribute(attack, unknown, truth, known=authors).accuracy == 1.0


def test_names_nobody_better_than_chance_where_texts_say_nothing() -> None:
    known, authors = numbered(1, each=40)
    unknown, truth = numbered(2, each=40)
    shuffled = np.random.default_rng(3).permutation(authors)
    attack = LinearSvm(seed=1).fit(known, shuffled)
    found = attribute(attack, unknown, truth, known=authors)
    assert found.chance == 0.25
    assert abs(found.accuracy - found.chance) < 0.25


def test_words_alone_name_authors_of_texts_whose_other_words_were_replaced() -> None:
    """One word in three survives, the others come out as words that nobody wrote."""
    known, authors = numbered(1, each=20)
    unknown, truth = numbered(2, each=20)
    draws = np.random.default_rng(5)
    blurred = [
        " ".join(w if draws.random() < 0.35 else f"qx{draws.integers(900)}" for w in text.split())
        for text in unknown
    ]
    attack = LinearSvm(seed=1, view=Words()).fit(known, authors)
    found = attribute(attack, blurred, truth, known=authors)
    assert found.accuracy > 2 * found.chance


def test_sees_what_words_alone_hide() -> None:
    """The same words, another punctuation: only the n-grams tell the two apart."""
    known = ["a cat; a dog; a cow", "a cat, a dog, a cow", "a cow; a dog", "a cow, a dog"]
    attack = LinearSvm(seed=1, view=WordsAndNgrams(n=3)).fit(known, [0, 1, 0, 1])
    assert attack.predict(["a dog; a cat", "a dog, a cat"]).tolist() == [0, 1]


def test_scores_belong_to_suspects_and_agree_with_the_answers() -> None:
    known, authors = numbered(1)
    for chosen in (authors < 2, authors < 4):  # two suspects share one model
        texts = [text for text, keep in zip(known, chosen, strict=True) if keep]
        attack = LinearSvm(seed=1).fit(texts, 7 * authors[chosen])
        scores = attack.scores(texts)
        assert attack.suspects.tolist() == sorted({*(7 * authors[chosen]).tolist()})
        assert scores.shape == (len(texts), len(attack.suspects))
        assert (attack.suspects[scores.argmax(axis=1)] == attack.predict(texts)).all()


def test_awkward_corpora() -> None:
    with pytest.raises(ParameterError, match="fit first"):
        LinearSvm(seed=1).predict(["words"])
    with pytest.raises(ParameterError, match="not empty"):
        LinearSvm(seed=1).fit(["words here", " "], [0, 1])
    with pytest.raises(ParameterError, match="nothing to study"):
        LinearSvm(seed=1).fit(["?", "!"], [0, 1])
    many = MOST_AUTHORS + 1
    with pytest.raises(ParameterError, match="at most 2,000 authors"):
        LinearSvm(seed=1).fit(["text"] * many, np.arange(many))
    attack = LinearSvm(seed=1).fit(["some words", "", "other things"], [0, 0, 1])
    assert attack.predict(["some", "", " \n"]).tolist() == [0, DONT_KNOW, DONT_KNOW]
    assert attack.predict([]).tolist() == []


def test_beats_koppel_on_fan_fiction(data_folder: object) -> None:
    """PAN 2018, problem 2: 21 texts, 5 authors."""
    split = corpora.pan18(2)
    assert split.train.authors is not None
    assert split.test.authors is not None
    found = {
        attack.name: attribute(
            attack.fit(split.train.texts, split.train.authors),
            split.test.texts,
            split.test.authors,
            known=split.train.authors,
        ).correct
        for attack in (LinearSvm(seed=1), Koppel(seed=1))
    }
    print(found)
    assert found["svm"] >= 12
