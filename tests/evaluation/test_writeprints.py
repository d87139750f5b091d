"""WritePrints: each feature group on a text small enough to count by hand, and the attack itself."""

import sys
from collections.abc import Callable

import numpy as np
import pytest

from inkblur.errors import MissingExtra, ParameterError
from inkblur.evaluation.attacks import writeprints
from inkblur.evaluation.attacks.base import DONT_KNOW
from inkblur.evaluation.attacks.writeprints import (
    AuthorClassifier,
    WritePrints,
    WritePrintsFeatures,
    make_classifier,
    measured_groups,
)
from inkblur.evaluation.releasers import reverse_vectorized

pytest.importorskip("textblob")
pytest.importorskip("spellchecker")
pytest.importorskip("sklearn")

TEXT = "The cat, the CAT! It’s 12 or 345 definately @home."


def measured(name: str, text: str = TEXT) -> dict[str, float]:
    return {
        feature: count for (group, feature), count in measured_groups(text).items() if group == name
    }


@pytest.mark.parametrize(
    ("name", "feature", "value"),
    [
        ("sizes and shares", "characters", 50),
        ("sizes and shares", "characters per word", 32 / 8),
        ("sizes and shares", "% of digits", 10),
        ("sizes and shares", "% of letters", 62),
        ("sizes and shares", "% of upper case", 10),
        ("letters", "t", 6),
        ("digits", "3", 1),
        ("two-digit numbers", "12", 1),
        ("three-digit numbers", "345", 1),
        ("word lengths", "3", 4),
        ("special characters", "@", 1),
        ("punctuation", ",", 1),
        ("letter bigrams", "th", 2),
        ("letter trigrams", "cat", 2),
        ("function words", "the", 2),
        ("words", "cat", 2),
        ("word bigrams", "the cat", 2),
        ("word trigrams", "the cat the", 1),
        ("misspellings", "definately", 1),
    ],
)
def test_groups_count_what_they_say(name: str, feature: str, value: float) -> None:
    assert measured(name)[feature] == pytest.approx(value)


def test_tags_and_their_ngrams_stay_within_a_sentence() -> None:
    text = "The cat sat. A dog sat."
    assert writeprints.sentence_tags(text) == [["DT", "NN", "VBD", "."]] * 2
    assert measured("tags", text)["NN"] == 2
    assert measured("tag bigrams", text)["DT NN"] == 2
    assert ". DT" not in measured("tag bigrams", text)
    assert measured("tag trigrams", text) == {"DT NN VBD": 2, "NN VBD .": 2}


def test_every_token_has_a_tag_of_its_own_clitics_too() -> None:
    text = "and/or | it's &slash; 3,000 \\ don't/can't\nnext_line"
    (tags,) = writeprints.sentence_tags(text)
    assert all(tags)
    assert len(tags) == 19


def test_misspellings_are_one_slip_from_a_word() -> None:
    words = ["recieve", "Recieve", "teh", "letters", "gorbachev", "wich", "wich", "xqzvkw"]
    assert writeprints.misspellings(words) == {"wich": 2, "recieve": 1}


def test_an_empty_text_has_no_style() -> None:
    features = WritePrintsFeatures()
    features.fit_transform([TEXT, "Another one."])
    assert (features.transform([""]).toarray() == 0).all()


def test_columns_come_from_the_known_texts_and_are_limited() -> None:
    features = WritePrintsFeatures(limit=3)
    rows = features.fit_transform(["a b c d e f f", "f f a b"]).toarray()
    words = [name for group, name in features.columns if group == "words"]
    assert words == ["f", "a", "b"]
    f = features.columns["words", "f"]
    assert rows[:, f].tolist() == [2, 2]
    assert features.transform(["zebra"]).shape[1] == len(features.columns)
    with pytest.raises(ParameterError, match="fit first"):
        WritePrintsFeatures().transform(["a"])


KNOWN = [
    "I shall, however, go; whilst others stay.",
    "Whilst I wait, I shall read; however long it takes.",
    "gonna go now!!! u coming??? 2 late",
    "lol no!!! gonna sleep... u 2???",
]


@pytest.mark.parametrize("classifier", AuthorClassifier)
def test_tells_two_styles_apart(classifier: AuthorClassifier) -> None:
    attack = WritePrints(classifier=classifier).fit(KNOWN, [4, 4, 9, 9])
    unknown = ["However, I shall stay; whilst it rains.", "u sleep??? gonna go!!!", "", " \n"]
    assert attack.predict(unknown).tolist() == [4, 9, DONT_KNOW, DONT_KNOW]
    assert attack.predict([]).tolist() == []


def test_the_pairwise_svm_answers_as_on_columns_brought_to_0_and_1() -> None:
    from scipy.sparse import csr_array
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler
    from sklearn.svm import SVC

    draws = np.random.default_rng(4)
    authors = np.repeat(np.arange(5), 8)
    means = draws.uniform(1, 6, (5, 30)) * np.where(np.arange(30) == 0, 500, 1)  # one of large size
    known, unknown = (draws.poisson(means[authors]).astype(np.float64) for _ in range(2))
    plain = make_pipeline(MinMaxScaler(), SVC(kernel="linear", C=1.0)).fit(known, authors)
    ours = make_classifier(AuthorClassifier.SVM).fit(csr_array(known), authors)
    assert ours.predict(csr_array(unknown)).tolist() == plain.predict(unknown).tolist()
    unscaled = SVC(kernel="linear", C=1.0).fit(known, authors).predict(unknown)
    assert unscaled.tolist() != plain.predict(unknown).tolist()


def test_missing_libraries_name_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("textblob.taggers", "spellchecker", "sklearn.svm"):
        monkeypatch.setitem(sys.modules, module, None)
    calls: list[Callable[[], object]] = [
        writeprints._tagger.__wrapped__,
        writeprints._known_words.__wrapped__,
        lambda: make_classifier(AuthorClassifier.SVM),
    ]
    for call in calls:
        with pytest.raises(MissingExtra, match="evaluation"):
            call()


def test_vectors_become_texts_that_can_be_attacked() -> None:
    vocabulary = ["colour", "color", "sky", "sea"]
    known = [[3, 0, 1, 1], [2, 0, 2, 0], [0, 3, 1, 1], [0, 2, 0, 2]]
    attack = WritePrints().fit(reverse_vectorized(known, vocabulary), [0, 0, 1, 1])
    unknown = reverse_vectorized([[4, 0, 0, 1], [0, 4, 1, 0]], vocabulary)
    assert unknown == ["colour colour colour colour sea", "color color color color sky"]
    assert attack.predict(unknown).tolist() == [0, 1]


def test_vectors_that_are_no_counts_are_refused() -> None:
    for vectors in ([[0.5, 1]], [[-1, 1]], [[1, 1, 1]]):
        with pytest.raises(ParameterError):
            reverse_vectorized(vectors, ["a", "b"])


def test_many_authors_with_one_text_each_are_studied_without_a_word() -> None:
    """Warnings are errors here: scikit-learn would take so many classes for numbers."""
    texts = [f"word{'x' * author} and {'more ' * author}" for author in range(40)]
    attack = WritePrints().fit(texts, np.arange(40))
    assert (attack.predict(texts) == np.arange(40)).mean() > 0.5
