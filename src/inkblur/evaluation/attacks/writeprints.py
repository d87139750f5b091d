"""The WritePrints attack (limited): 22 groups of style features and a classifier.

As SynTF attacks (section 4.2): features of every known text, and a multinomial naive Bayes
classifier or pairwise linear SVMs, both with Weka's usual parameters. Released term-frequency
vectors are first written out as text by :func:`reverse_vectorized`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from inkblur.evaluation.attacks.base import DONT_KNOW, check_fitted, studied_rows
from inkblur.evaluation.attacks.classifiers import MOST_AUTHORS, AuthorClassifier, make_classifier
from inkblur.evaluation.attacks.writeprints_features import WritePrintsFeatures
from inkblur.evaluation.measures.training import trained
from inkblur.types import Ids, choose


class WritePrints:
    """The attack as an object: `fit` on known texts, `predict` on unknown ones.

    It answers for every text that is not empty. Too many authors for the classifier are an error
    that names the limit; Koppel's attack has none.
    """

    def __init__(
        self,
        *,
        classifier: AuthorClassifier | str = AuthorClassifier.SVM,
        limit: int = 50,  # features of each open group, the commonest in the known texts
    ) -> None:
        self.classifier = choose(AuthorClassifier, classifier, "classifier")
        self.name = f"writeprints-{self.classifier.value}"
        self._features = WritePrintsFeatures(limit=limit)

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
