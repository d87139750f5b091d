"""What is left: whether a text's label (topic, spam or not) can still be recognized from it.

A classifier is trained on labeled texts and names the labels of others; its scores before and
after a release say what the release cost. Texts become tf-idf vectors over all their words and
numbers (folded to lower case); released term-frequency vectors are weighted as they are. Rules:

- a text without a label (None) is left out;
- a test text whose label no training text has is left out and counted: nobody could name it;
- an empty text stays: the classifier has to guess, as it would have to in practice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from inkblur.errors import ParameterError, needs
from inkblur.evaluation.measures.words import narrow, trained, words_of
from inkblur.types import choose, counted

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class UtilityClassifier(Enum):
    """Which classifier."""

    LOGISTIC = "logistic"  # regression, C = 10, all labels weighted alike, on tf-idf
    NAIVE_BAYES = "naive-bayes"  # multinomial, alpha = 0.01, on tf-idf (SynTF, section 4.2)
    SVM = "svm"  # linear, C = 1, on tf-idf (the same)
    NEIGHBORS = "neighbors"  # the majority of the 5 nearest by cosine of tf-idf


@dataclass(frozen=True, slots=True)
class LabelAnswers:
    """What a classifier said, text by text, beside the truth."""

    model: str
    truth: tuple[str, ...]
    answers: tuple[str, ...]
    trained: int  # texts
    labels: int  # distinct, in the training part
    unseen: int  # test texts left out: no training text has their label


def label_answers(
    train: Sequence[str] | csr_matrix,
    train_labels: Sequence[str | None],
    test: Sequence[str] | csr_matrix,
    test_labels: Sequence[str | None],
    *,
    model: UtilityClassifier | str,
    seed: int,
) -> LabelAnswers:
    """Train on one part and name the labels of the other.

    Both parts are texts, or both are counts over the same terms (released vectors, for example).

    >>> spam = ["win cash", "cash prize now", "see you", "home at six"]
    >>> labels = ["spam", "spam", "ham", "ham"]
    >>> found = label_answers(spam, labels, ["cash now"], ["spam"], model="naive-bayes", seed=1)
    >>> found.answers
    ('spam',)
    """
    kind = choose(UtilityClassifier, model, "model")
    studied, labels = _labeled(train, train_labels, "training")
    asked, asked_labels = _labeled(test, test_labels, "test")
    known = set(labels)
    if len(known) < 2:
        raise ParameterError(
            f"the training part has {counted(len(known), 'label')}, at least 2 are needed: with "
            "one there is nothing to tell apart"
        )
    kept = [row for row, label in enumerate(asked_labels) if label in known]
    if not kept:
        raise ParameterError("no test text has a label of the training part")
    rows, unnamed = _tf_idf(studied, _rows(asked, kept))
    classifier = trained(_classifier(kind, len(labels), seed), rows, np.array(labels))
    return LabelAnswers(
        kind.value,
        tuple(asked_labels[row] for row in kept),
        tuple(map(str, classifier.predict(unnamed))),
        len(labels),
        len(known),
        len(asked_labels) - len(kept),
    )


def _classifier(kind: UtilityClassifier, texts: int, seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import LinearSVC

    if kind is UtilityClassifier.LOGISTIC:
        return LogisticRegression(C=10.0, class_weight="balanced", max_iter=2_000)
    if kind is UtilityClassifier.NAIVE_BAYES:
        return MultinomialNB(alpha=0.01)
    if kind is UtilityClassifier.SVM:
        return LinearSVC(C=1.0, max_iter=20_000, random_state=seed)
    return KNeighborsClassifier(n_neighbors=min(5, texts), metric="cosine", algorithm="brute")


def _tf_idf(train: Any, test: Any) -> tuple[Any, Any]:
    """Both parts weighted by the training part's document frequencies."""
    with needs("scoring labels needs scikit-learn", "evaluation"):
        from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
    if isinstance(train, Sequence):
        counter = CountVectorizer(analyzer=words_of)
        try:
            train, test = counter.fit_transform(train), counter.transform(test)
        except ValueError:  # an empty vocabulary
            raise ParameterError("no training text has a single word") from None
    weight = TfidfTransformer()
    return narrow(weight.fit_transform(train)), narrow(weight.transform(test))


def _rows(documents: Any, rows: list[int]) -> Any:
    return [documents[row] for row in rows] if isinstance(documents, Sequence) else documents[rows]


def _labeled(
    documents: Any, labels: Sequence[str | None], part: str
) -> tuple[Any, tuple[str, ...]]:
    """The documents that have a label, and the labels."""
    if isinstance(documents, str):
        raise ParameterError("give a list of texts, not one text")
    count = len(documents) if isinstance(documents, Sequence) else documents.shape[0]
    if count != len(labels):
        raise ParameterError(
            f"{counted(count, f'{part} text needs', f'{part} texts need')} as many labels, got "
            f"{len(labels)}"
        )
    if not count:
        raise ParameterError(f"the {part} part has no texts")
    rows = [row for row, label in enumerate(labels) if label is not None]
    return _rows(documents, rows), tuple(str(labels[row]) for row in rows)
