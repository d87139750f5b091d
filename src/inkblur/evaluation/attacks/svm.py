"""A linear SVM on words and character n-grams: the strongest plain attack on the author.

One model per author against the rest (scikit-learn's LinearSVC, C = 1), and the author of the
largest margin is named. It studies every known text as an example of its own, where Koppel's attack
joins an author's texts into one vector. What it sees of a text is a view: words, n-grams, or the
true words that are expected behind a release.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from inkblur.embeddings.table import Embedding
from inkblur.errors import ParameterError, needs
from inkblur.evaluation.attacks.base import DONT_KNOW, ScoringAttack, check_fitted, studied_rows
from inkblur.evaluation.attacks.channel import Channel, candidates
from inkblur.evaluation.attacks.entering import Entering, came_out, entering_ids, unigram
from inkblur.evaluation.measures.words import narrow, trained, words_of
from inkblur.types import Array, Ids

MOST_AUTHORS = 2_000  # one model each
_N, _NGRAMS = 4, 200_000  # letters, and how many: the commonest in the known texts
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
    """

    def fit_transform(self, texts: Sequence[str]) -> SparseRows:
        """Rows of the known texts."""
        self._blocks = self._vectorizer()
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

    def _vectorizer(self) -> Any:
        with needs("this attack needs scikit-learn", "evaluation"):
            from sklearn.feature_extraction.text import TfidfVectorizer
        return TfidfVectorizer(analyzer=words_of, sublinear_tf=True, dtype=np.float32)


class WordsAndNgrams(Words):
    """Words joined with character n-grams, each block (1 + log count) idf, scaled to length 1.

    N-grams are taken from the text as it is written and run across spaces, so they see capitals,
    punctuation and which words stand together. Both blocks, four letters and the logarithm were
    chosen by trial on half of the authors of a collection (docs/evaluation.md).
    """

    def _vectorizer(self) -> Any:
        words = super()._vectorizer()
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.pipeline import make_union

        ngrams = TfidfVectorizer(
            analyzer="char",
            ngram_range=(_N, _N),
            lowercase=False,
            sublinear_tf=True,
            max_features=_NGRAMS,
            dtype=np.float32,
        )
        return make_union(words, ngrams)


class ExpectedWords:
    """The true words that are expected behind a release: log(1 + count) idf, length 1.

    For a word o that came out, P(w | o) spreads one count over the words it may have been; a text's
    counts are the sums. An attacker who studied true texts then compares like with like. The known
    texts are true ones (a static attacker), or released ones where `known_released` (an adaptive
    one); the others are always released. `enter` says which words of a true text enter (None: all).
    """

    def __init__(
        self,
        channel: Channel,
        embedding: Embedding,
        enter: Entering | None = None,
        *,
        known_released: bool = False,
    ) -> None:
        self.channel, self.embedding, self.known_released = channel, embedding, known_released
        self.enter = enter if enter is not None else lambda text: entering_ids(text, embedding)

    def fit_transform(self, texts: Sequence[str]) -> SparseRows:
        """Rows of the known texts."""
        with needs("this attack needs scikit-learn", "evaluation"):
            from sklearn.feature_extraction.text import TfidfTransformer
        self._weights: Any = TfidfTransformer()
        counts = (
            self._expected(texts) if self.known_released else self._counted(map(self.enter, texts))
        )
        return narrow(self._weights.fit_transform(_damped(counts)))

    def transform(self, texts: Sequence[str]) -> SparseRows:
        """Rows of released texts."""
        return narrow(self._weights.transform(_damped(self._expected(texts))))

    def _counted(self, texts: Iterable[Ids]) -> SparseRows:
        from scipy.sparse import csr_matrix

        ids = list(texts)
        columns = np.concatenate(ids) % (len(self.embedding) + 1)  # the null word is the last
        ends = np.cumsum([0, *map(len, ids)])
        shape = (len(ids), len(self.embedding) + 1)
        return csr_matrix((np.ones(len(columns)), columns, ends), shape=shape)

    def _expected(self, texts: Sequence[str]) -> SparseRows:
        """Counts of released words, times P(true word | released word)."""
        from scipy.sparse import csr_matrix

        counts = self._counted(came_out(self.channel, text, self.embedding) for text in texts)
        counts.sum_duplicates()
        outs = np.unique(counts.indices)
        outs = outs[outs < len(self.embedding)]  # the null word never comes out
        if not len(outs):
            return counts
        # Words without their places, so the channel is that of words.
        rows = outs[:, None].astype(np.int64)
        likely = candidates(self.channel, unigram(self.embedding), rows)
        ends = np.arange(len(outs) + 1) * likely.words.shape[1]
        shape = (len(outs), len(self.embedding) + 1)
        spread = csr_matrix((likely.posterior.ravel(), likely.words.ravel(), ends), shape=shape)
        return (counts[:, outs] @ spread).tocsr()


def _damped(counts: SparseRows) -> SparseRows:
    """log(1 + count): expected counts are often below 1, where 1 + log(count) is no weight."""
    counts.sum_duplicates()
    counts.data = np.log1p(counts.data)
    return counts


class LinearSvm(ScoringAttack):
    """The attack as an object: `fit` on known texts, `predict` or `scores` on unknown ones.

    Empty known texts are left out; the answer to an empty unknown one is DONT_KNOW.

    >>> known = ["whilst the colour", "while the color", "whilst colour fades", "color fades"]
    >>> attack = LinearSvm(seed=1).fit(known, [0, 1, 0, 1])
    >>> attack.predict(["colour, whilst", "while color", ""]).tolist()
    [0, 1, -1]
    """

    def __init__(self, *, seed: int, view: View | None = None, name: str = "svm") -> None:
        self.seed, self.name = seed, name
        self._view: View = view if view is not None else WordsAndNgrams()

    def fit(self, texts: Sequence[str], authors: ArrayLike) -> Self:
        """Learn what tells each author from the others."""
        with needs("this attack needs scikit-learn", "evaluation"):
            from sklearn.svm import LinearSVC
        known, writers = studied_rows(texts, authors, name=self.name, most=MOST_AUTHORS)
        rows = self._view.fit_transform(known)
        model = LinearSVC(C=1.0, tol=1e-3, max_iter=20_000, random_state=self.seed)
        self._model = trained(model, rows, writers)
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
