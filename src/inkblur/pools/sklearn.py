"""A scikit-learn transformer over a pool (extra `sklearn`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

from inkblur.documents.sklearn_base import KeyedTextTransformer
from inkblur.pools.mechanism import PoolStaircase
from inkblur.pools.privatizer import PoolPrivatizer


@dataclass(eq=False, repr=False)
class PoolTextPrivatizer(KeyedTextTransformer):
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

    mechanism: PoolStaircase
    unit: str = "text"
    _: KW_ONLY
    length: int | None = None
    key: bytes | None = None
    seed: int | None = None

    def _refuse_weak(self) -> None:
        """No setting copies a text's words: nothing to refuse."""

    def _refuse_own(self, texts: Sequence[str]) -> None:
        self._releaser().refuse_own(texts)

    def _releaser(self) -> PoolPrivatizer:
        return PoolPrivatizer(self.mechanism, unit=self.unit, length=self.length)
