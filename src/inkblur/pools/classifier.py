"""The public classifier of a pool: a linear model over tf-idf of words and the point in meaning.

It is fitted on the pool alone (scikit-learn, only then) and gives a private text its label. Scores
are made of whole numbers, so that a text has the same label on every machine.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inkblur.documents.analysis import folded
from inkblur.documents.tokens import TokenClass, tokenize
from inkblur.errors import needs
from inkblur.mechanisms.staircase.nearness import LONGEST
from inkblur.pools.encoder import MASKED, TextPoints
from inkblur.types import Array, Ids

FOLDS = 5
_TRIED = 2  # of them, by which the kind of model is chosen
_ONE = 1 << 10  # 1 as a whole number, of term weights
_FINE = 1 << 20  # of the classifier's own


def terms(text: str) -> Counter[str]:
    """What the classifier sees of a text: words, signs, and that there are numbers and addresses.

    >>> sorted(terms("Call 0800123 now! NOW"))
    ['!', '<number of 7>', 'call', 'now']
    """
    found = Counter(_term(token.kind, token.text) for token in tokenize(MASKED.sub(" ", text)))
    found.update(f"<{what}>" for what in MASKED.findall(text))
    return found


def _term(kind: TokenClass, text: str) -> str:
    if kind is TokenClass.ADDRESS:
        return "<address>"
    # A number is known by its length alone: a phone number, a year, a price.
    return f"<number of {min(len(text), 9)}>" if kind is TokenClass.NUMBER else folded(text)


@dataclass(frozen=True, eq=False)
class LabelClassifier:
    """Scores of labels: the sum over terms of f(count) weights[term], plus the length times
    (`bias` + the sum over coordinates of point `meaning`).

    f(count) is 1 + ln(count); the length is that of the vector of f(count) idf. A text without a
    known term has length 1.
    """

    terms: tuple[str, ...]
    idf: NDArray[np.int32]  # (terms,), in units of 1 / 1024
    weights: NDArray[np.int32]  # (terms, labels): idf times coefficient, in units of 2^-20
    bias: NDArray[np.int64]  # (labels,), in units of 2^-20
    meaning: NDArray[np.int32]  # (dimension, labels), the same; 0 where words alone did better

    @cached_property
    def _index(self) -> dict[str, int]:
        return {term: row for row, term in enumerate(self.terms)}

    def labels(self, texts: Sequence[str], points: TextPoints) -> Ids:
        """The label of each text, which lies at its point; the first of equally good ones."""
        return self.labels_of([terms(text) for text in texts], points)

    def labels_of(self, counted: Sequence[Counter[str]], points: TextPoints) -> Ids:
        """The same of texts whose terms are counted."""
        # Below 2^53 in size, so that float64 holds them: exact in any order of additions.
        steady = self.bias + (points.astype(np.int64) @ self.meaning.astype(np.int64)) / LONGEST
        out = np.zeros(len(counted), dtype=np.int64)
        for row, counts in enumerate(counted):
            known = {self._index[t]: c for t, c in counts.items() if t in self._index}
            at = np.fromiter(known, dtype=np.int64, count=len(known))
            often = np.array([_often(count) for count in known.values()], dtype=np.int64)
            scores = often @ self.weights[at].astype(np.int64)
            # (often idf) are units of 2^-20, as the weights of the scores are of 2^-30. Python's
            # numbers: a long text's squares add up to more than 64 bits.
            squares = (weight * weight for weight in (often * self.idf[at]).tolist())
            length = math.sqrt(sum(squares)) or float(_ONE * _ONE)
            out[row] = np.argmax(scores + np.rint(steady[row] * (length / _ONE)))
        return out


def _often(count: int) -> int:
    return round(_ONE * (1 + math.log(count)))


def fit(texts: Sequence[str], points: TextPoints, labels: Ids) -> tuple[LabelClassifier, Ids]:
    """The classifier of these texts, and the label that it gives to each when fitted on others.

    Which kind of model, and whether it reads points beside words, is decided by such labels of two
    fifths of the texts: the choice with the best macro F1.
    """
    with needs("labels need scikit-learn", "sklearn"):
        from sklearn.feature_extraction import DictVectorizer
        from sklearn.metrics import f1_score
        from sklearn.model_selection import StratifiedKFold
        from sklearn.naive_bayes import ComplementNB
        from sklearn.svm import LinearSVC

    words_alone = np.zeros((len(texts), 0))
    placed = points / float(LONGEST)
    kinds = (
        (LinearSVC(C=0.1, random_state=0), placed),
        (LinearSVC(C=0.3, random_state=0), placed),
        (LinearSVC(C=0.1, class_weight="balanced", random_state=0), placed),
        (LinearSVC(C=0.3, class_weight="balanced", random_state=0), words_alone),
        (ComplementNB(alpha=0.3), words_alone),
    )
    counted = [terms(text) for text in texts]
    columns = DictVectorizer(dtype=np.float64)
    table = columns.fit_transform(counted).tocsr()
    table.data = np.array([_often(int(c)) for c in table.data]) / _ONE
    names = np.asarray(columns.get_feature_names_out(), dtype=object)
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(table, labels))
    given = np.empty(len(texts), dtype=np.int64)

    def give(kind: Any, near: Array, rest: Ids, part: Ids) -> None:
        model = _fitted(kind, table[rest], near[rest], labels[rest], names, points.shape[1])
        given[part] = model.labels_of([counted[row] for row in part], points[part])

    found = []
    for kind, near in kinds:
        for rest, part in folds[:_TRIED]:
            give(kind, near, rest, part)
        tried = np.concatenate([part for _, part in folds[:_TRIED]])
        found.append(float(f1_score(labels[tried], given[tried], average="macro")))
    kind, near = kinds[int(np.argmax(found))]
    for rest, part in folds:
        give(kind, near, rest, part)
    return _fitted(kind, table, near, labels, names, points.shape[1]), given


def _fitted(
    kind: Any, table: Any, near: Array, labels: Ids, names: NDArray[Any], dimension: int
) -> LabelClassifier:
    """A linear model of this kind over tf-idf rows of length 1 and points, in whole numbers."""
    from scipy.sparse import csr_matrix, hstack
    from sklearn.base import clone
    from sklearn.preprocessing import normalize

    occurs = np.asarray((table > 0).sum(axis=0)).ravel()
    kept = np.flatnonzero(occurs >= 2)
    idf = np.rint(_ONE * (1 + np.log((1 + table.shape[0]) / (1 + occurs[kept])))) / _ONE
    rows = normalize(table[:, kept].multiply(idf).tocsr())
    model = clone(kind).fit(hstack([rows, csr_matrix(near)]).tocsr(), labels)
    if hasattr(model, "coef_"):
        coefficients, bias = model.coef_, model.intercept_
    else:  # naive Bayes: rows of one label each, and no bias in its complement form
        coefficients, bias = model.feature_log_prob_, np.zeros(len(model.classes_))
    if len(coefficients) == 1:  # two labels share a row of scores: those of the second
        coefficients = np.vstack([-coefficients, coefficients]) / 2
        bias = np.concatenate([-bias, bias]) / 2
    weights = np.rint(coefficients[:, : len(kept)].T * idf[:, None] * _FINE)
    meaning = np.zeros((dimension, len(coefficients)), dtype=np.int32)
    if near.shape[1]:
        meaning[:] = _held(np.rint(coefficients[:, len(kept) :].T * _FINE))
    return LabelClassifier(
        tuple(names[kept].tolist()),
        (idf * _ONE).astype(np.int32),
        _held(weights),
        np.rint(bias * _FINE).astype(np.int64),
        meaning,
    )


def _held(weights: Array) -> NDArray[np.int32]:
    """Whole numbers, cut to what 32 bits hold."""
    return np.clip(weights, -(2**31) + 1, 2**31 - 1).astype(np.int32)
