"""A scikit-learn transformer with the same behaviour (extra `sklearn`)."""

from __future__ import annotations

from collections.abc import Iterable

from inkblur.documents.policies import TokenPolicies
from inkblur.documents.privatizer import Privatizer
from inkblur.documents.sklearn_base import KeyedTransformer, records_of
from inkblur.mechanisms.base import WordMechanism


class TextPrivatizer(KeyedTransformer):
    """Texts in, blurred texts out; `fit` learns nothing from the data.

    `key` (32 bytes) makes the run repeatable, `seed` makes it repeatable by anyone and so not
    private; without either, each `transform` draws a fresh key. A text's id is its position in `X`,
    so transform one set of texts only under one key: equal texts at one position come out alike.

    >>> import inkblur
    >>> table = inkblur.Embedding(["cat", "dog"], [[0.0, 0.0], [0.0, 9.0]], name="toy")
    >>> blur = TextPrivatizer(inkblur.Laplace(table, epsilon=50.0), seed=1)
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
    ) -> None:
        self.mechanism = mechanism
        self.release = release
        self.policies = policies
        self.length = length
        self.consistent = consistent
        self.key = key
        self.seed = seed

    def transform(self, X: Iterable[str]) -> list[str]:  # noqa: N803 (scikit-learn's name)
        """The texts, blurred."""
        return list(self._releaser().release_batch(records_of(X), self._rng()).texts)

    def _releaser(self) -> Privatizer:
        return Privatizer(
            self.mechanism,
            release=self.release,
            policies=self.policies,
            length=self.length,
            consistent=self.consistent,
        )
