"""Undoing the channel: a released text as the true words that are expected behind it.

For a word o that came out, P(w | o) spreads one count over the words it may have been (Bayes' rule
over the public channel, see `candidates`); a text's counts are the sums. An attacker who studied
true texts then compares like with like.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from inkblur.embeddings.table import Embedding
from inkblur.errors import needs
from inkblur.evaluation.attacks.candidates import candidates
from inkblur.evaluation.attacks.entering import Entering, came_out
from inkblur.evaluation.attacks.language import entering_ids
from inkblur.evaluation.attacks.reading import Reader
from inkblur.evaluation.attacks.views import SparseRows
from inkblur.evaluation.measures.training import narrow
from inkblur.types import Ids


class ExpectedWords:
    """A view of released texts: expected counts of true words, log(1 + count) idf, length 1.

    `reader` knows the channel and the prior. The known texts are true ones (a static attacker), or
    released ones where `known_released` (an adaptive one); the others are always released ones.
    `enter` says which words of a true text enter the release (:func:`.entering`); None: all.
    """

    def __init__(
        self,
        reader: Reader,
        embedding: Embedding,
        enter: Entering | None = None,
        *,
        known_released: bool = False,
    ) -> None:
        self.reader, self.embedding = reader, embedding
        self.enter = enter if enter is not None else partial(entering_ids, embedding=embedding)
        self.known_released = known_released

    def fit_transform(self, texts: Sequence[str]) -> SparseRows:
        """Rows of the known texts."""
        with needs("this attack needs scikit-learn", "evaluation"):
            from sklearn.feature_extraction.text import TfidfTransformer
        self._weights: Any = TfidfTransformer()
        true = not self.known_released
        counts = self._counted(map(self.enter, texts)) if true else self._expected(texts)
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

        channel = self.reader.channel
        counts = self._counted(came_out(channel, text, self.embedding) for text in texts)
        counts.sum_duplicates()
        outs = np.unique(counts.indices)
        outs = outs[outs < len(self.embedding)]  # the null word never comes out
        if not len(outs):
            return counts
        # Words without their places, so the channel is that of words.
        rows = outs[:, None].astype(np.int64)
        found = candidates(channel, self.reader.prior, rows, kept=self.reader.kept)
        ends = np.arange(len(outs) + 1) * found.words.shape[1]
        shape = (len(outs), len(self.embedding) + 1)
        spread = csr_matrix((found.posterior.ravel(), found.words.ravel(), ends), shape=shape)
        return (counts[:, outs] @ spread).tocsr()


def _damped(counts: SparseRows) -> SparseRows:
    """log(1 + count): expected counts are often below 1, where 1 + log(count) is no weight."""
    counts.sum_duplicates()
    counts.data = np.log1p(counts.data)
    return counts
