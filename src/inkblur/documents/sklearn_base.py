"""What the scikit-learn transformers share (extra `sklearn`)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from inkblur.documents.weakness import refuse_weak
from inkblur.errors import ParameterError, needs
from inkblur.guarantees import NOBODY_COUNTS, Guarantee
from inkblur.rng import Rng, keyed_rng, secure_rng, seeded_rng
from inkblur.types import Record

with needs("this needs scikit-learn", "sklearn"):
    from sklearn.base import BaseEstimator, TransformerMixin


class Guaranteed(Protocol):
    """Anything that releases under a guarantee: Privatizer, SyntheticVectors."""

    mechanism: Any

    def guaranteed(self, rng: Rng) -> Guarantee:
        """What is promised about a release drawn from `rng`."""
        ...


class ReleasesInBatches(Guaranteed, Protocol):
    """Anything that releases texts as texts."""

    def release_batch(self, records: Sequence[Record], rng: Rng) -> Any:
        """The texts under `.texts`, one a record."""
        ...


class _Hidden(bytes):
    """A key that is not printed: scikit-learn shows parameters in notebooks and logs."""

    def __repr__(self) -> str:
        return "<hidden>"


class _LeftOut:
    """Stands for the key in a pickle."""

    def __repr__(self) -> str:
        return "<left out of the pickle>"


class KeyedTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A transformer that learns nothing; `key`, `seed` or neither decides its randomness.

    The key is hidden where the transformer is printed and left out where it is pickled: a copy made
    by unpickling must be given its key again.
    """

    key: bytes | _LeftOut | None
    seed: int | None
    accept_weak: bool

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """scikit-learn's parameters, the key among them under a name that does not print it."""
        parameters: dict[str, Any] = super().get_params(deep)
        if isinstance(self.key, bytes | bytearray) and not isinstance(self.key, _Hidden):
            parameters["key"] = _Hidden(self.key)
        return parameters

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the key: a pickle may be kept, sent or shared."""
        state = dict(super().__getstate__())
        if state.get("key") is not None:
            state["key"] = _LeftOut()
        return state

    @abstractmethod
    def _releaser(self) -> Guaranteed:
        """What does the work, made from the parameters: wrong ones raise here."""

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803 (scikit-learn's name)
        """Check the settings. Nothing is learned: fitting on protected text would be a leak."""
        if hasattr(X, "tocsr"):
            raise ParameterError("give a list of texts, not a sparse matrix")
        self._refuse_weak()
        return self

    def _refuse_weak(self) -> None:
        """Raise where the setting hides nothing and nobody accepted that."""
        refuse_weak(self._releaser().mechanism, accept_weak=self.accept_weak)

    @property
    def guarantee(self) -> Guarantee:
        """What is promised about each text or row that `transform` gives. No ledger counts them, as
        a pipeline is fitted many times over.
        """
        promised = self._releaser().guaranteed(self._rng())
        return promised.revealing(NOBODY_COUNTS) if promised.private else promised

    def _rng(self) -> Rng:
        if self.key is not None and self.seed is not None:
            raise ParameterError("give a key or a seed, not both")
        if isinstance(self.key, _LeftOut):
            raise ParameterError(
                "this transformer was unpickled, and a pickle holds no key: set_params(key=...) "
                "gives it one; worker processes (n_jobs) need a fresh key each, so give none there"
            )
        if self.key is not None:
            return keyed_rng(self.key)
        return secure_rng() if self.seed is None else seeded_rng(self.seed)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.requires_fit = False
        tags.no_validation = True  # by fit, which does not look at the texts
        tags.transformer_tags.preserves_dtype = []
        tags.non_deterministic = self.key is None and self.seed is None
        return tags


class KeyedTextTransformer(KeyedTransformer):
    """A transformer that gives a text for a text."""

    @abstractmethod
    def _releaser(self) -> ReleasesInBatches: ...

    def transform(self, X: Any) -> list[str] | NDArray[np.object_]:  # noqa: N803 (scikit-learn's)
        """The texts, replaced: a list, or an array of one column where `X` is a table."""
        texts, table = texts_of(X)
        records, releaser = records_of(texts), self._releaser()
        self._refuse_weak()
        self._refuse_own(texts)
        released = releaser.release_batch(records, self._rng()).texts
        return np.array([[text] for text in released], dtype=object) if table else list(released)

    def _refuse_own(self, texts: Sequence[str]) -> None:
        """Raise where what comes out was made from these texts."""

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The name of the column, as it was given."""
        return np.array(["text"] if input_features is None else input_features, dtype=object)


def texts_of(documents: Any) -> tuple[Sequence[Any], bool]:
    """The texts of a list, a column, or a table of one column; and whether it was a table.

    >>> texts_of(["a", "b"])
    (['a', 'b'], False)
    """
    if isinstance(documents, str):
        raise ParameterError("give a list of texts, not one text")
    if not isinstance(documents, Iterable):
        raise ParameterError(f"give a list of texts, not {type(documents).__name__}")
    given: Any = documents
    shape: tuple[int, ...] = getattr(given, "shape", ())
    if len(shape) < 2:
        return list(documents), False
    if len(shape) > 2 or shape[1] != 1:
        raise ParameterError(
            f"expected one column of texts, got a table of shape {tuple(shape)}; choose a column, "
            "as in ColumnTransformer([('blur', transformer, ['text'])])"
        )
    if hasattr(given, "columns"):  # pandas, polars: iterating over a table gives its header
        return list(given[given.columns[0]]), True
    return [row[0] for row in given], True


def records_of(texts: Sequence[Any]) -> list[Record]:
    """Texts as records; a text's id is its position."""
    for position, text in enumerate(texts):
        if not isinstance(text, str):
            raise ParameterError(f"text {position} is a {type(text).__name__}, expected a string")
    return [Record(str(position), str(text)) for position, text in enumerate(texts)]
