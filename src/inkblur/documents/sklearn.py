"""A scikit-learn transformer with the same behavior (extra `sklearn`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from inkblur.documents.policies import TokenPolicies
from inkblur.documents.privatizer import Privatizer
from inkblur.documents.sklearn_base import KeyedTransformer, records_of, texts_of
from inkblur.mechanisms.base import WordMechanism


class TextPrivatizer(KeyedTransformer):
    """Texts in, blurred texts out; `fit` learns nothing from the data.

    `key` (32 bytes) makes the run repeatable, `seed` makes it repeatable by anyone and so not
    private; without either, each `transform` draws a fresh key. A text's id is its position in `X`,
    so transform one set of texts only under one key: equal texts at one position come out alike.

    A list or a column of texts gives a list; a table of one column (a DataFrame, an array of shape
    (n, 1)) gives an array of that shape, as a ColumnTransformer needs it. A setting at which more
    than 95 % of the words would stay is refused unless `accept_weak` is True.

    >>> import inkblur
    >>> table = inkblur.Embedding(["cat", "dog"], [[0.0, 0.0], [0.0, 9.0]], name="toy")
    >>> blur = TextPrivatizer(inkblur.Laplace(table, epsilon=0.3), seed=1)
    >>> blur.fit_transform(["A dog."])
    ['cat dog.']
    """

    def __init__(
        self,
        mechanism: WordMechanism,
        release: str = "sequence",
        *,
        policies: TokenPolicies | None = None,
        length: int | None = None,
        consistent: bool = False,
        key: bytes | None = None,
        seed: int | None = None,
        accept_weak: bool = False,
    ) -> None:
        self.mechanism = mechanism
        self.release = release
        self.policies = policies
        self.length = length
        self.consistent = consistent
        self.key = key
        self.seed = seed
        self.accept_weak = accept_weak

    def transform(self, X: Any) -> list[str] | NDArray[np.object_]:  # noqa: N803 (scikit-learn's)
        """The texts, blurred: a list, or an array of one column where `X` is a table."""
        texts, table = texts_of(X)
        self._refuse_weak()
        released = self._releaser().release_batch(records_of(texts), self._rng()).texts
        return np.array([[text] for text in released], dtype=object) if table else list(released)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The name of the column, as it was given."""
        return np.array(["text"] if input_features is None else input_features, dtype=object)

    def _releaser(self) -> Privatizer:
        return Privatizer(
            self.mechanism,
            release=self.release,
            policies=self.policies,
            length=self.length,
            consistent=self.consistent,
        )
