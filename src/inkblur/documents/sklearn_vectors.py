"""Synthetic vectors as a scikit-learn transformer (extra `sklearn`)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from inkblur.documents.sklearn_base import KeyedTransformer, records_of, texts_of
from inkblur.documents.tf_vector import SyntheticVectors
from inkblur.documents.vectorizer import Vectorizer
from inkblur.mechanisms.base import DiscreteMechanism

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


@dataclass(eq=False, repr=False)
class VectorPrivatizer(KeyedTransformer):
    """Texts in, synthetic term-frequency vectors out; `fit` learns nothing from the data.

    It stands where a CountVectorizer would: `make_pipeline(VectorPrivatizer(...),
    MultinomialNB())`. `key` (32 bytes) makes the run repeatable, `seed` makes it repeatable by
    anyone and so not private; without either, each `transform` draws a fresh key. A text's id is
    its position in `X`. `accept_weak` as in :class:`TextPrivatizer`.

    >>> from inkblur.embeddings.table import Embedding
    >>> table = Embedding(["cat", "dog", "sky"], [[1, 0.1], [1, 0.3], [-1, 0.2]], name="toy")
    >>> vectorizer = Vectorizer(table)
    >>> from inkblur import Exponential
    >>> mechanism = Exponential(vectorizer.embedding, epsilon=8.0)
    >>> blur = VectorPrivatizer(mechanism, vectorizer, length=9, seed=1)
    >>> blur.fit_transform(["A cat.", "The sky!"]).shape
    (2, 3)
    """

    mechanism: DiscreteMechanism
    vectorizer: Vectorizer
    _: KW_ONLY
    length: int
    key: bytes | None = None
    seed: int | None = None
    accept_weak: bool = False

    def transform(self, X: Any) -> csr_matrix:  # noqa: N803 (scikit-learn's name)
        """A synthetic vector for each text, (texts, vocabulary)."""
        records = records_of(texts_of(X)[0])
        self._refuse_weak()
        return self._releaser().vectors(records, self._rng()).vectors

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The vocabulary, in the order of the columns."""
        return self.vectorizer.get_feature_names_out()

    def _releaser(self) -> SyntheticVectors:
        return SyntheticVectors(self.mechanism, self.vectorizer, self.length)
