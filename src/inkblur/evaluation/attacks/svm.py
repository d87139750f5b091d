"""A linear SVM on words and character n-grams: the strongest plain attack on the author.

One model per author against the rest (scikit-learn's LinearSVC, C = 1), and the author of the
largest margin is named. It studies every known text as an example of its own, where Koppel's attack
joins an author's texts into one vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from inkblur.errors import needs
from inkblur.evaluation.attacks.base import (
    DONT_KNOW,
    ScoringAttack,
    check_fitted,
    studied_rows,
)
from inkblur.evaluation.attacks.views import View, WordsAndNgrams
from inkblur.evaluation.measures.training import trained
from inkblur.types import Array, Ids

MOST_AUTHORS = 2_000  # one model each


class LinearSvm(ScoringAttack):
    """The attack as an object: `fit` on known texts, `predict` or `scores` on unknown ones.

    `view` is what the classifier sees of a text. Empty known texts are left out; the answer to an
    empty unknown one is DONT_KNOW.

    >>> known = ["whilst the colour", "while the color", "whilst colour fades", "color fades"]
    >>> attack = LinearSvm(seed=1).fit(known, [0, 1, 0, 1])
    >>> attack.predict(["colour, whilst", "while color", ""]).tolist()
    [0, 1, -1]
    """

    def __init__(self, *, seed: int, view: View | None = None, name: str = "svm") -> None:
        self.seed = seed
        self.name = name
        self._view: View = view if view is not None else WordsAndNgrams()

    def fit(self, texts: Sequence[str], authors: ArrayLike) -> Self:
        """Learn what tells each author from the others."""
        with needs("this attack needs scikit-learn", "evaluation"):
            from sklearn.svm import LinearSVC
        numbers, kept = studied_rows(texts, authors, name=self.name, most=MOST_AUTHORS)
        rows = self._view.fit_transform([texts[row] for row in kept])
        model = LinearSVC(C=1.0, tol=1e-3, max_iter=20_000, random_state=self.seed)
        self._model = trained(model, rows, numbers[kept])
        self.suspects = self._model.classes_.astype(np.int64)
        return self

    def named(self, texts: Sequence[str], scores: Array) -> Ids:
        """The author of the largest margin; DONT_KNOW for an empty text."""
        answers: Ids = self.suspects[scores.argmax(axis=1)]
        answers[[not text.strip() for text in texts]] = DONT_KNOW
        return answers

    def scores(self, texts: Sequence[str]) -> Array:
        """Margins, (texts, suspects): the larger, the likelier."""
        check_fitted(self, "_model")
        if not len(texts):
            return np.empty((0, len(self.suspects)))
        margins = self._model.decision_function(self._view.transform(texts))
        if margins.ndim == 1:  # two suspects share one model
            margins = np.stack([-margins, margins], axis=1)
        return np.asarray(margins, np.float64)
