"""A scikit-learn transformer over a pool (extra `sklearn`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from inkblur.documents.sklearn_base import KeyedTransformer, records_of, texts_of
from inkblur.pools.mechanism import PoolStaircase
from inkblur.pools.privatizer import PoolPrivatizer


class PoolTextPrivatizer(KeyedTransformer):
    """Texts in, texts of a public pool out; `fit` learns nothing from the data.

    `key` (32 bytes) makes the run repeatable, `seed` makes it repeatable by anyone and so not
    private; without either, each `transform` draws a fresh key. A text's id is its position in `X`,
    so transform one set of texts only under one key.

    >>> import inkblur
    >>> table = inkblur.Embedding(["cat", "dog", "sky"], [[1, 0], [1, 1], [-1, 0]], name="toy")
    >>> texts = [f"{a} {b} {c}" for a in table.words for b in table.words for c in table.words]
    >>> pool = inkblur.build_pool(texts, table, name="toy")
    >>> blur = PoolTextPrivatizer(inkblur.PoolStaircase(pool, table, epsilon=6.0), seed=1)
    >>> blur.fit_transform(["A cat and a cat."])[0] in texts
    True
    """

    def __init__(
        self,
        mechanism: PoolStaircase,
        unit: str = "text",
        *,
        length: int | None = None,
        key: bytes | None = None,
        seed: int | None = None,
    ) -> None:
        self.mechanism = mechanism
        self.unit = unit
        self.length = length
        self.key = key
        self.seed = seed

    def transform(self, X: Any) -> list[str] | NDArray[np.object_]:  # noqa: N803 (scikit-learn's)
        """A text of the pool for each: a list, or an array of one column where `X` is a table."""
        texts, table = texts_of(X)
        released = self._releaser().release_batch(records_of(texts), self._rng()).texts
        return np.array([[text] for text in released], dtype=object) if table else list(released)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The name of the column, as it was given."""
        return np.array(["text"] if input_features is None else input_features, dtype=object)

    def _refuse_weak(self) -> None:
        """No setting copies a text's words: nothing to refuse."""

    def _releaser(self) -> PoolPrivatizer:
        return PoolPrivatizer(self.mechanism, unit=self.unit, length=self.length)
