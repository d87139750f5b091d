"""The WritePrints attack (limited): 22 groups of style features and a classifier.

As SynTF attacks (section 4.2): features of every known text, and a multinomial naive Bayes
classifier or pairwise linear SVMs, both with Weka's usual parameters. Released term-frequency
vectors are first written out as text by :func:`reverse_vectorized`.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from inkblur.errors import needs
from inkblur.evaluation.attacks.base import DONT_KNOW, check_fitted, studied_rows
from inkblur.evaluation.attacks.writeprints_features import WritePrintsFeatures
from inkblur.evaluation.measures.ngrams import Counts
from inkblur.evaluation.measures.training import trained
from inkblur.types import Array, Ids, choose


class AuthorClassifier(Enum):
    """Which model learns an author's features."""

    NAIVE_BAYES = "naive-bayes"  # multinomial, Laplace smoothing, on the counts as they are
    SVM = "svm"  # linear, C = 1, one model for every pair of authors


# Naive Bayes holds one row of weights per author, the SVM one for every other author and text.
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


class WritePrints:
    """The attack as an object: `fit` on known texts, `predict` on unknown ones.

    It answers for every text that is not empty. Too many authors for the classifier are an error
    that names the limit; Koppel's attack has none.
    """

    def __init__(self, *, classifier: AuthorClassifier | str = AuthorClassifier.SVM) -> None:
        self.classifier = choose(AuthorClassifier, classifier, "classifier")
        self.name = f"writeprints-{self.classifier.value}"
        self._features = WritePrintsFeatures()

    def fit(self, texts: Sequence[str], authors: ArrayLike) -> Self:
        """Measure the known texts and train the classifier; empty texts are left out."""
        most = MOST_AUTHORS[self.classifier]
        numbers, kept = studied_rows(texts, authors, name=self.name, most=most)
        rows = self._features.fit_transform([texts[row] for row in kept])
        self._model = trained(make_classifier(self.classifier), rows, numbers[kept])
        return self

    def predict(self, texts: Sequence[str]) -> Ids:
        """The author of each text; DONT_KNOW for an empty one."""
        check_fitted(self, "_model")
        answers = np.full(len(texts), DONT_KNOW, dtype=np.int64)
        kept = [row for row, text in enumerate(texts) if text.strip()]
        if kept:
            rows = self._features.transform([texts[row] for row in kept])
            answers[kept] = self._model.predict(rows)
        return answers
