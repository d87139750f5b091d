"""The classifiers behind WritePrints: the one file here that uses scikit-learn."""

from __future__ import annotations

import warnings
from enum import Enum
from typing import Any

from inkblur.errors import MissingExtra


class Classifier(Enum):
    """Which model learns an author's features."""

    NAIVE_BAYES = "naive-bayes"  # multinomial, Laplace smoothing
    SVM = "svm"  # linear, C = 1, one model an author against the rest


# Both hold one row of weights an author, and the SVM trains one model for each.
MOST_AUTHORS = {Classifier.NAIVE_BAYES: 20_000, Classifier.SVM: 2_000}


def make_classifier(kind: Classifier, seed: int) -> Any:
    """A scikit-learn estimator; `seed` orders the steps of the SVM's solver."""
    try:
        from sklearn.naive_bayes import MultinomialNB
        from sklearn.svm import LinearSVC
    except ImportError:
        raise MissingExtra(
            "WritePrints needs scikit-learn: pip install 'inkblur[evaluation]'"
        ) from None
    if kind is Classifier.NAIVE_BAYES:
        return MultinomialNB(alpha=1.0)
    return LinearSVC(C=1.0, max_iter=20_000, random_state=seed)


def trained(model: Any, rows: Any, classes: Any) -> Any:
    """The model after `fit`, without scikit-learn's remark that so many classes look like numbers:
    authors with one text each are none.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The number of unique classes is greater")
        return model.fit(rows, classes)
