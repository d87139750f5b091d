"""A scikit-learn transformer with the same behaviour (extra `sklearn`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

from inkblur.documents.policies import TokenPolicies
from inkblur.documents.privatizer import Privatizer
from inkblur.errors import MissingExtra, ParameterError
from inkblur.guarantees import Guarantee
from inkblur.io.records import Record
from inkblur.mechanisms.base import WordMechanism
from inkblur.rng import Rng, keyed_rng, secure_rng, seeded_rng

try:
    from sklearn.base import BaseEstimator, TransformerMixin
except ImportError:
    raise MissingExtra(
        "TextPrivatizer needs scikit-learn: pip install 'inkblur[sklearn]'"
    ) from None


class TextPrivatizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Texts in, blurred texts out; `fit` learns nothing from the data.

    `key` (32 bytes) makes the run repeatable, `seed` makes it repeatable by anyone and so not
    private; without either, each `transform` draws a fresh key. A text's id is its position in `X`.

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
        key: bytes | None = None,
        seed: int | None = None,
    ) -> None:
        self.mechanism = mechanism
        self.release = release
        self.policies = policies
        self.length = length
        self.key = key
        self.seed = seed

    def fit(self, X: Iterable[str], y: Any = None) -> Self:  # noqa: N803 (scikit-learn's name)
        """Check the settings. Nothing is learned: fitting on protected text would be a leak."""
        self._privatizer()
        return self

    def transform(self, X: Iterable[str]) -> list[str]:  # noqa: N803
        """The texts, blurred."""
        records = [Record(str(i), text) for i, text in enumerate(_texts(X))]
        return list(self._privatizer().release_batch(records, self._rng()).texts)

    @property
    def guarantee(self) -> Guarantee:
        """What is promised about each text that `transform` gives."""
        return self._privatizer().guaranteed(self._rng())

    def _privatizer(self) -> Privatizer:
        return Privatizer(
            self.mechanism, release=self.release, policies=self.policies, length=self.length
        )

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


def _texts(documents: Iterable[str]) -> list[str]:
    if isinstance(documents, str):
        raise ParameterError("give a list of texts, not one text")
    texts = list(documents)
    for position, text in enumerate(texts):
        if not isinstance(text, str):
            raise ParameterError(f"text {position} is a {type(text).__name__}, expected a string")
    return texts
