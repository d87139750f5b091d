"""Synthetic vectors as a scikit-learn transformer (extra `sklearn`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from inkblur.documents.tf_vector import SyntheticVectors
from inkblur.documents.vectoriser import Vectoriser
from inkblur.errors import MissingExtra, ParameterError
from inkblur.guarantees import Guarantee
from inkblur.io.records import Record
from inkblur.mechanisms.exponential import Exponential
from inkblur.rng import Rng, keyed_rng, secure_rng, seeded_rng

try:
    from sklearn.base import BaseEstimator, TransformerMixin
except ImportError:
    raise MissingExtra(
        "VectorPrivatizer needs scikit-learn: pip install 'inkblur[sklearn]'"
    ) from None

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class VectorPrivatizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Texts in, synthetic term-frequency vectors out; `fit` learns nothing from the data.

    It stands where a CountVectorizer would: `make_pipeline(VectorPrivatizer(...),
    MultinomialNB())`. `key` (32 bytes) makes the run repeatable, `seed` makes it repeatable by
    anyone and so not private; without either, each `transform` draws a fresh key. A text's id is
    its position in `X`.

    >>> from inkblur.embeddings.table import Embedding
    >>> table = Embedding(["cat", "dog", "sky"], [[1, 0.1], [1, 0.3], [-1, 0.2]], name="toy")
    >>> vectoriser = Vectoriser(table)
    >>> mechanism = Exponential(vectoriser.embedding, epsilon=8.0)
    >>> blur = VectorPrivatizer(mechanism, vectoriser, length=9, seed=1)
    >>> blur.fit_transform(["A cat.", "The sky!"]).shape
    (2, 3)
    """

    def __init__(
        self,
        mechanism: Exponential,
        vectoriser: Vectoriser,
        *,
        length: int,
        key: bytes | None = None,
        seed: int | None = None,
    ) -> None:
        self.mechanism = mechanism
        self.vectoriser = vectoriser
        self.length = length
        self.key = key
        self.seed = seed

    def fit(self, X: Iterable[str], y: Any = None) -> Self:  # noqa: N803 (scikit-learn's name)
        """Check the settings. Nothing is learned: fitting on protected text would be a leak."""
        self._synthetic()
        return self

    def transform(self, X: Iterable[str]) -> csr_matrix:  # noqa: N803
        """A synthetic vector for each text, (texts, vocabulary)."""
        if isinstance(X, str):
            raise ParameterError("give a list of texts, not one text")
        records = []
        for position, text in enumerate(X):
            if not isinstance(text, str):
                kind = type(text).__name__
                raise ParameterError(f"text {position} is a {kind}, expected a string")
            records.append(Record(str(position), text))
        return self._synthetic().vectors(records, self._rng()).vectors

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The vocabulary, in the order of the columns."""
        return self.vectoriser.get_feature_names_out()

    @property
    def guarantee(self) -> Guarantee:
        """What is promised about each row that `transform` gives."""
        return self._synthetic().guaranteed(self._rng())

    def _synthetic(self) -> SyntheticVectors:
        return SyntheticVectors(self.mechanism, self.vectoriser, self.length)

    def _rng(self) -> Rng:
        if self.key is not None and self.seed is not None:
            raise ParameterError("give a key or a seed, not both")
        if self.key is not None:
            return keyed_rng(self.key)
        return secure_rng() if self.seed is None else seeded_rng(self.seed)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.requires_fit = False
        return tags
