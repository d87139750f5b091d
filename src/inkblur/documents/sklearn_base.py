"""What the scikit-learn transformers share (extra `sklearn`)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, Protocol, Self

from inkblur.errors import MissingExtra, ParameterError
from inkblur.guarantees import Guarantee
from inkblur.rng import Rng, keyed_rng, secure_rng, seeded_rng
from inkblur.types import Record

try:
    from sklearn.base import BaseEstimator, TransformerMixin
except ImportError:
    raise MissingExtra("this needs scikit-learn: pip install 'inkblur[sklearn]'") from None


class Guaranteed(Protocol):
    """Anything that releases under a guarantee: Privatizer, SyntheticVectors."""

    def guaranteed(self, rng: Rng) -> Guarantee:
        """What is promised about a release drawn from `rng`."""
        ...


class _Hidden(bytes):
    """A key that is not printed: scikit-learn shows parameters in notebooks and logs."""

    def __repr__(self) -> str:
        return "<hidden>"


class KeyedTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A transformer that learns nothing; `key`, `seed` or neither decides its randomness.

    The key is hidden where the transformer is printed; a pickle of it holds the key.
    """

    key: bytes | None
    seed: int | None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """scikit-learn's parameters, the key among them under a name that does not print it."""
        parameters: dict[str, Any] = super().get_params(deep)
        if isinstance(self.key, bytes) and not isinstance(self.key, _Hidden):
            parameters["key"] = _Hidden(self.key)
        return parameters

    @abstractmethod
    def _releaser(self) -> Guaranteed:
        """What does the work, made from the parameters: wrong ones raise here."""

    def fit(self, X: Iterable[str], y: Any = None) -> Self:  # noqa: N803 (scikit-learn's name)
        """Check the settings. Nothing is learned: fitting on protected text would be a leak."""
        self._releaser()
        return self

    @property
    def guarantee(self) -> Guarantee:
        """What is promised about each text or row that `transform` gives."""
        return self._releaser().guaranteed(self._rng())

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


def records_of(documents: Iterable[str]) -> list[Record]:
    """Texts as records; a text's id is its position."""
    if isinstance(documents, str):
        raise ParameterError("give a list of texts, not one text")
    records = []
    for position, text in enumerate(documents):
        if not isinstance(text, str):
            raise ParameterError(f"text {position} is a {type(text).__name__}, expected a string")
        records.append(Record(str(position), text))
    return records
