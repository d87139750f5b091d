"""How a linear classifier sees texts: as sparse rows of weights, learned from the known texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from inkblur.errors import ParameterError, needs
from inkblur.evaluation.measures.training import narrow
from inkblur.evaluation.measures.words import words_of
from inkblur.types import whole

_NGRAMS = 200_000  # the commonest in the known texts
SparseRows = Any  # a SciPy sparse table (texts, columns), with 32-bit places


class View(Protocol):
    """Texts as rows of numbers."""

    def fit_transform(self, texts: Sequence[str]) -> SparseRows:
        """Choose columns and weights from the known texts, and give their rows."""
        ...

    def transform(self, texts: Sequence[str]) -> SparseRows:
        """Rows of other texts, over the same columns."""
        ...


class Words:
    """Words alone, (1 + log count) idf, scaled to length 1; folded to lower case.

    Where a release replaces words with others, true and released texts have little in common but
    the words that survived: a static attacker does better without n-grams.

    >>> Words().fit_transform(["The cat", "a dog"]).shape
    (2, 4)
    """

    def fit_transform(self, texts: Sequence[str]) -> SparseRows:
        """Rows of the known texts."""
        self._blocks = self._made()
        try:
            return narrow(self._blocks.fit_transform(texts))
        except ValueError as error:
            if "empty vocabulary" not in str(error):
                raise
            raise ParameterError(
                "no known text has a word, or none is as long as an n-gram: nothing to study"
            ) from None

    def transform(self, texts: Sequence[str]) -> SparseRows:
        """Rows of other texts."""
        return narrow(self._blocks.transform(texts))

    def _made(self) -> Any:
        with needs("this attack needs scikit-learn", "evaluation"):
            from sklearn.feature_extraction.text import TfidfVectorizer
        return TfidfVectorizer(analyzer=words_of, sublinear_tf=True, dtype=np.float32)


class WordsAndNgrams(Words):
    """Words joined with character n-grams, each block (1 + log count) idf, scaled to length 1.

    Words are folded to lower case. N-grams are taken from the text as it is written and run across
    spaces, so they see capitals, punctuation and which words stand together.

    Both blocks, n = 4 and the logarithm were chosen by trial on half of the authors of a
    collection (docs/evaluation.md).

    >>> WordsAndNgrams(n=3).fit_transform(["The cat", "a dog"]).shape
    (2, 12)
    """

    def __init__(self, *, n: int = 4) -> None:
        self.n = whole(n, "n")

    def _made(self) -> Any:
        words = super()._made()
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.pipeline import make_union

        ngrams = TfidfVectorizer(
            analyzer="char",
            ngram_range=(self.n, self.n),
            lowercase=False,
            sublinear_tf=True,
            max_features=_NGRAMS,
            dtype=np.float32,
        )
        return make_union(words, ngrams)
