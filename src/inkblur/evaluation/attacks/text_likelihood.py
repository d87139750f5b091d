"""The likelihood attack, text by text: an author writes as in one of the texts that are known.

Words of a text come together: whoever wrote of steel will write of steel again, or of something
else altogether. So each known text d of an author a has shares of its own, blended with those of
the author and of everybody, and a release is as likely under an author as under their texts in the
mean:

    P_d(o) = t P(o | words of d) + (1 - t) P_a(o),
    P(release | a) = mean over d of the product of P_d(o) over the released words.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import logsumexp

from inkblur.embeddings.table import Embedding
from inkblur.evaluation.attacks.channel import Channel
from inkblur.evaluation.attacks.entering import Entering
from inkblur.evaluation.attacks.likelihood import Likelihood
from inkblur.evaluation.attacks.views import SparseRows
from inkblur.types import Array, Ids, fraction

OWN = 0.35  # of a text's shares are its own
_OUTS = 512  # released words at a time: so much stays in the cache
_MOST = 1_000  # texts that are told apart; of more, several of an author are taken for one


class TextLikelihood(Likelihood):
    """The attack as an object: `fit` on true texts, `predict` or `scores` on released ones.

    >>> from inkblur import Exponential
    >>> from inkblur.evaluation.attacks.channel import ExactChannel
    >>> table = Embedding(["cat", "dog", "sky"], [[1, 0.1], [1, 0.3], [-1, 0.2]], name="toy")
    >>> attack = TextLikelihood(ExactChannel(Exponential(table, epsilon=4.0), 3), table)
    >>> attack.fit(["cat cat dog", "sky"], [0, 1]).predict(["dog", "sky sky", ""]).tolist()
    [0, 1, -1]
    """

    name = "likelihood-texts"

    def __init__(
        self,
        channel: Channel,
        embedding: Embedding,
        enter: Entering | None = None,
        *,
        own: float = OWN,
    ) -> None:
        super().__init__(channel, embedding, enter)
        self.own = fraction(own, "own")

    def _learn(self, writers: Ids, texts: Sequence[Ids]) -> None:
        """Count the words of each author and of each text."""
        from scipy.sparse import csc_matrix

        super()._learn(writers, texts)
        each = max(1, _MOST // len(self.suspects))
        seen = np.zeros(len(self.suspects), np.int64)
        pieces: dict[tuple[int, int], int] = {}  # of an author, by number
        piece_of = np.zeros(len(texts), np.int64)
        for place, author in enumerate(writers.tolist()):
            if len(texts[place]):  # else nothing was written that could be written again
                piece = pieces.setdefault((author, int(seen[author] % each)), len(pieces))
                piece_of[place] = piece
                seen[author] += 1
        for author in np.flatnonzero(seen == 0).tolist():
            pieces[author, 0] = len(pieces)  # a suspect all the same
        columns = np.searchsorted(self._words, np.concatenate(texts))
        lines = np.repeat(piece_of, [len(text) for text in texts])
        shape = (len(pieces), len(self._words))
        each_word = 1.0 / np.bincount(lines, minlength=len(pieces))[lines]
        self._texts: SparseRows = csc_matrix((each_word, (lines, columns)), shape)
        self._writer: Ids = np.array([author for author, _ in pieces], np.int64)

    def _outcomes(self, outs: Ids) -> Array:
        """P_d(o), (texts, outs)."""
        authors = np.zeros((len(self.suspects), len(outs)))
        texts = np.zeros((len(self._writer), len(outs)))
        for part, chances in self._chances(outs):
            authors += self._shares[:, part].astype(chances.dtype) @ chances
            shares = self._texts[:, part].tocsr().astype(chances.dtype)
            for start in range(0, len(outs), _OUTS):
                some = slice(start, start + _OUTS)
                texts[:, some] += shares @ chances[:, some]
        texts *= self.own
        for row, writer in enumerate(self._writer):
            texts[row] += (1.0 - self.own) * authors[writer]
        return texts

    def _by_author(self, scores: Array) -> Array:
        """The mean over an author's texts, of likelihoods whose logarithms are given."""
        found = np.empty((len(scores), len(self.suspects)))
        for author in range(len(self.suspects)):
            own = scores[:, self._writer == author]
            found[:, author] = logsumexp(own, axis=1) - np.log(own.shape[1])
        return found
