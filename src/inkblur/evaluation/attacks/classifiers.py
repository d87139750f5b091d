"""The classifiers behind WritePrints, as Weka makes them."""

from __future__ import annotations

from enum import Enum
from typing import Any, Self

import numpy as np

from inkblur.errors import needs
from inkblur.evaluation.measures.ngrams import Counts
from inkblur.evaluation.measures.training import trained
from inkblur.types import Array


class AuthorClassifier(Enum):
    """Which model learns an author's features."""

    NAIVE_BAYES = "naive-bayes"  # multinomial, Laplace smoothing, on the counts as they are
    SVM = "svm"  # linear, C = 1, one model for every pair of authors


# Naive Bayes holds one row of weights an author, the SVM one for every other author and text.
MOST_AUTHORS = {AuthorClassifier.NAIVE_BAYES: 20_000, AuthorClassifier.SVM: 1_000}


class PairwiseSvm:
    """A linear SVM for each pair of classes and a vote between them: Weka's SMO at its defaults.

    SMO first brings every column to [0, 1] by its least and largest value in the known texts. Here
    columns are only divided by that range, which keeps them sparse; the shift that is left out
    ends in each model's free constant, so the answers are the same.
    """

    def __init__(self) -> None:
        with needs("WritePrints needs scikit-learn", "evaluation"):
            from sklearn.svm import SVC
        self._model = SVC(kernel="linear", C=1.0)

    def fit(self, rows: Counts, classes: Any) -> Self:
        """Learn from rows of features, (texts, columns), and the class of each."""
        spread = rows.max(axis=0).toarray() - rows.min(axis=0).toarray()
        self._range: Array = np.where(spread > 0, spread, 1.0).ravel()
        trained(self._model, self._scaled(rows), classes)
        return self

    def predict(self, rows: Counts) -> Any:
        """The class of each row."""
        return self._model.predict(self._scaled(rows))

    def _scaled(self, rows: Counts) -> Counts:
        scaled = rows.copy()
        scaled.data /= self._range[scaled.indices]
        return scaled


def make_classifier(kind: AuthorClassifier) -> Any:
    """An estimator with `fit` and `predict`."""
    if kind is AuthorClassifier.SVM:
        return PairwiseSvm()
    with needs("WritePrints needs scikit-learn", "evaluation"):
        from sklearn.naive_bayes import MultinomialNB
    return MultinomialNB(alpha=1.0)
