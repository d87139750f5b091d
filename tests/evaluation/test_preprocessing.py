"""Document forms: what stays, what goes, and that nothing is learned from the test part."""

from __future__ import annotations

import numpy as np
import pytest

from inkblur.errors import ParameterError
from inkblur.evaluation.preprocessing import (
    ProperNouns,
    TopicWords,
    content_words,
    make_form,
)


def test_raw_changes_nothing_and_content_drops_function_words_and_signs() -> None:
    text = "He can’t SEE the sea -- at 5 o'clock."
    assert make_form("raw").transform([text]) == [text]
    assert make_form("content").transform([text, ""]) == ["see sea o'clock", ""]


def test_topic_words_rank_by_chi_squared() -> None:
    """Sum over labels of (O - E)^2 / E, E the word's count times the share of texts of the label."""
    rng = np.random.default_rng(4)
    words = [f"zq{chr(97 + i)}" for i in range(8)]
    documents = [[str(w) for w in rng.choice(words, rng.integers(1, 9))] for _ in range(40)]
    labels = [str(x) for x in rng.integers(0, 3, 40)]

    def score(word: str) -> float:
        total = sum(document.count(word) for document in documents)
        found = 0.0
        for label in set(labels):
            mine = [d for d, held in zip(documents, labels, strict=True) if held == label]
            expected = total * len(mine) / len(documents)
            found += (sum(d.count(word) for d in mine) - expected) ** 2 / expected
        return found

    form = TopicWords(8).fit([" ".join(document) for document in documents], labels)
    assert list(form.words) == sorted(words, key=lambda word: -score(word))


def test_topic_words_are_the_best_of_the_training_part() -> None:
    train = ["rain over town", "rain in town", "fish over town", "fish in town"]
    labels = ["sky", "sky", "sea", "sea"]
    form = TopicWords(2).fit(train, labels)
    assert form.words == ("fish", "rain")
    assert form.transform(["town rain rain fish", "comet town"]) == ["rain rain fish", ""]


def test_texts_without_a_label_teach_nothing() -> None:
    form = TopicWords(1).fit(["rain", "fish", "noise noise noise"], ["sky", "sea", None])
    assert "noise" not in form.words


def test_bad_forms_are_refused() -> None:
    for name in ("bow", "bow-", "bow-x", "wow"):
        with pytest.raises(ParameterError, match="unknown form"):
            make_form(name)
    with pytest.raises(ParameterError, match="at least 1"):
        make_form("bow-0")
    with pytest.raises(ParameterError, match="at least 2 labels"):
        TopicWords(3).fit(["a b", "c"], ["x", "x"])
    with pytest.raises(ParameterError, match="call fit first"):
        TopicWords(3).transform(["a"])


def test_names_go_and_everything_else_stays() -> None:
    nouns = ProperNouns().fit(
        ["We met Draco twice. We call Draco a friend. We call it Rose. A rose is a rose."]
    )
    assert nouns.names == {"draco"}  # Rose is small more often
    assert nouns.transform(["Draco came. Rose oil, said Anna, is sweet. I think I like it."]) == [
        "came. Rose oil, said, is sweet. I think I like it."
    ]


def test_shouting_and_texts_without_names_are_left_alone() -> None:
    nouns = ProperNouns().fit(["We met Draco."])
    for text in ("STOP THE PRESS NOW", "  nothing here. ", "", "Then we left. But why?"):
        assert nouns.transform([text]) == [text]


def test_content_words_fold_case_and_apostrophes() -> None:
    assert content_words("Don’t Panic, PANIC!") == ["panic", "panic"]
