"""A scikit-learn transformer with the same behavior (extra `sklearn`)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from inkblur.documents.policies import TokenPolicies
from inkblur.documents.privatizer import Privatizer
from inkblur.documents.sklearn_base import KeyedTextTransformer
from inkblur.mechanisms.base import WordMechanism


@dataclass(eq=False, repr=False)
class TextPrivatizer(KeyedTextTransformer):
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

    mechanism: WordMechanism
    release: str = "sequence"
    _: KW_ONLY
    policies: TokenPolicies | None = None
    length: int | None = None
    consistent: bool = False
    key: bytes | None = None
    seed: int | None = None
    accept_weak: bool = False

    def _releaser(self) -> Privatizer:
        return Privatizer(
            self.mechanism,
            release=self.release,
            policies=self.policies,
            length=self.length,
            consistent=self.consistent,
        )
