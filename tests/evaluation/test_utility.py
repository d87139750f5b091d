"""Label classification: right scores, right features, clear refusals."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from inkblur.documents.analysis import folded
from inkblur.documents.tokens import TokenClass, tokenize
from inkblur.errors import MissingExtra, ParameterError
from inkblur.evaluation.measures.utility import LabelAnswers, UtilityClassifier, label_answers
from inkblur.evaluation.measures.words import words_of
from reproduction.corpora import sms_spam

SKY = ["rain", "wind", "cloud", "storm", "sun", "snow"]
SEA = ["wave", "fish", "boat", "sail", "tide", "crab"]
SHARED = ["the", "day", "was", "long", "and", "we", "saw", "it"]


def corpus(seed: int, size: int) -> tuple[list[str], list[str]]:
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for row in range(size):
        own = SKY if row % 2 else SEA
        words = [*rng.choice(own, 4), *rng.choice(SHARED, 6)]
        texts.append(" ".join(str(word) for word in rng.permutation(words)))
        labels.append("the sky" if row % 2 else "sea")
    return texts, labels


def right(said: LabelAnswers) -> float:
    return float(np.mean([a == b for a, b in zip(said.truth, said.answers, strict=True)]))


@pytest.mark.parametrize("model", UtilityClassifier)
def test_every_model_tells_clear_topics_and_not_noise(model: UtilityClassifier) -> None:
    pytest.importorskip("sklearn")
    train, train_labels = corpus(1, 60)
    test, test_labels = corpus(2, 40)
    said = label_answers(train, train_labels, test, test_labels, model=model, seed=1)
    assert right(said) >= 0.95
    assert (said.trained, len(said.truth), said.labels, said.unseen) == (60, 40, 2, 0)
    blank = ["the day was long"] * 40
    assert right(label_answers(train, train_labels, blank, test_labels, model=model, seed=1)) == 0.5


def test_counts_and_the_texts_they_count_give_the_same_scores() -> None:
    pytest.importorskip("sklearn")
    train, train_labels = corpus(1, 30)
    test, test_labels = corpus(2, 20)
    words = sorted({word for text in train for word in text.split()})

    def counted(texts: list[str]) -> csr_matrix:
        return csr_matrix(np.array([[t.split().count(w) for w in words] for t in texts]))

    for model in ("naive-bayes", "svm", "neighbors"):
        plain = label_answers(train, train_labels, test, test_labels, model=model, seed=1)
        vectors = label_answers(
            counted(train), train_labels, counted(test), test_labels, model=model, seed=1
        )
        assert plain == vectors


def test_a_label_that_no_training_text_has_is_left_out_and_counted() -> None:
    pytest.importorskip("sklearn")
    said = label_answers(
        ["rain", "wave"], ["a", "b"], ["rain", "moon", "wave"], ["a", "c", "a"], model="svm", seed=1
    )
    assert (len(said.truth), said.unseen) == (2, 1)
    assert right(said) == 0.5


@pytest.mark.parametrize(
    ("train", "labels", "test", "test_labels", "message"),
    [
        (["x", "y"], ["a", "a"], ["x"], ["a"], "has 1 label"),
        (["x", "y"], ["a"], ["x"], ["a"], "2 training texts need as many labels, got 1"),
        ([], [], ["x"], ["a"], "training part has no texts"),
        (["x", "y"], ["a", "b"], [], [], "test part has no texts"),
        (["x", "y"], ["a", "b"], ["x"], ["c"], "no test text has a label"),
        (["", "!"], ["a", "b"], ["x"], ["a"], "no training text has a single word"),
    ],
)
def test_what_cannot_be_scored_is_refused(
    train: list[str], labels: list[str], test: list[str], test_labels: list[str], message: str
) -> None:
    pytest.importorskip("sklearn")
    with pytest.raises(ParameterError, match=message):
        label_answers(train, labels, test, test_labels, model="naive-bayes", seed=1)


def test_missing_libraries_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.feature_extraction.text", None)
    with pytest.raises(MissingExtra, match="scikit-learn"):
        label_answers(["x", "y"], ["a", "b"], ["x"], ["a"], model="svm", seed=1)


def test_spam_is_told_from_ham(data_folder: Path) -> None:
    pytest.importorskip("sklearn")
    messages = sms_spam(data_folder)
    assert messages.labels is not None
    cut = 4000
    said = label_answers(
        messages.texts[:cut], messages.labels[:cut], messages.texts[cut:], messages.labels[cut:],
        model="svm", seed=1,
    )  # fmt: skip
    assert right(said) > 0.97


@given(st.text(alphabet="aB3 .,'!@:/w\n\t\u00a0\u2028-", max_size=40))
def test_words_read_piece_by_piece_are_those_of_the_whole_text(text: str) -> None:
    kinds = (TokenClass.WORD, TokenClass.NUMBER)
    assert words_of(text) == [folded(t.text) for t in tokenize(text) if t.kind in kinds]
